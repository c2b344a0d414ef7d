import Storage

extension ObjectStore {
  /// The object, or `nil` when there is none (it may go between a listing and this).
  func present(_ name: ObjectName) async throws(StoreError) -> [UInt8]? {
    do {
      return try await get(name, range: nil)
    } catch  where error.code == .notFound {
      return nil
    }
  }

  /// The same for whoever has another copy to try.
  /// - Parameter unread: why it cannot be read though it is there, unless another could not before.
  func present(_ name: ObjectName, _ unread: inout StoreError?) async throws(StoreError) -> [UInt8]? {
    do {
      return try await present(name)
    } catch  where error.code == .unreadable {
      unread = unread ?? error
      return nil
    }
  }

  /// The same for whoever judges what is there: of one that cannot be read no byte is as it should be.
  func left(of name: ObjectName) async throws(StoreError) -> [UInt8]? {
    do {
      return try await present(name)
    } catch  where error.code == .unreadable {
      return []
    }
  }
}
