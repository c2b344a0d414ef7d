import Sealing
import Storage

extension Error {
  /// Whether it says that bytes at the target are not what they should be, or of a later format (`isLater`): that they
  /// cannot be used; not that they could not be asked for. What the target cannot read is as good as spoilt.
  var isDamage: Bool {
    switch self {
    case let error as SealError: error.code != .failed
    case let error as RepositoryError: error.code == .damaged
    case let error as StoreError: error.code == .unreadable
    default: false
    }
  }

  /// Whether it says that the target cannot read bytes that it shows: others of that object may be had all the same.
  var isUnreadable: Bool {
    let cause: any Error = (self as? RepositoryError)?.cause ?? self
    return (cause as? StoreError)?.code == .unreadable
  }
}

/// What is read, or `nil` where the bytes at the target are not what they should be.
func unlessDamaged<Value>(_ read: () throws -> Value) throws -> Value? {
  do { return try read() } catch let error where error.isDamage { return nil }
}
