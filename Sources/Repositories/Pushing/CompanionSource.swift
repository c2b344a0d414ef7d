/// A member beside the database that is about to be written.
package struct CompanionSource: Sendable {
  package enum Content: Sendable {
    case folder
    case link(target: String)
    /// A file, opened when its turn comes, and again when it changed while it was read; `nil` once it is gone.
    case file(@Sendable () throws -> (any CompanionFile)?)
  }

  /// Path inside the version, relative.
  package var path: String
  /// Permission bits.
  package var mode: UInt32
  /// Milliseconds since 1970 UTC.
  package var modified: UInt64
  package var content: Content

  package init(path: String, mode: UInt32, modified: UInt64, content: Content) {
    self.path = path
    self.mode = mode
    self.modified = modified
    self.content = content
  }
}

/// A file held open while it is read as a member. Others may write to it meanwhile; it may be asked from any task.
package protocol CompanionFile: AnyObject, Sendable {
  /// In bytes, when it was opened.
  var length: Int { get }
  /// Permission bits.
  var mode: UInt32 { get }
  /// Milliseconds since 1970 UTC.
  var modified: UInt64 { get }
  /// Exactly that part; zeros where the file has come to end before.
  func read(_ range: Range<Int>) throws -> [UInt8]
  /// Whether it was left alone since it was opened.
  func isSettled() -> Bool
  /// Told when it changed each time that it was read, and what was read last is kept all the same.
  func keptUnsettled()
}
