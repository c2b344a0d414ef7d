/// Why bytes could not be sealed or opened. The first five cases are the failure classes of `Docs/Format.md`; a reader
/// never merges them, for a person needs to know whether the key is wrong or the object is broken.
package struct SealError: Error, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    case wrongKey
    case damaged
    case truncated
    case unsupported
    case malformed
    /// A library refused to work (no memory, no randomness); says nothing about the bytes.
    case failed
  }

  package var code: Code
  package var message: String
  package var hint: String?

  package init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// Where an object says that it is another repository's: nothing is wrong with it.
  static let ofAnotherRepository = "an object belongs to another repository"
  package var isOfAnotherRepository: Bool { code == .damaged && message == Self.ofAnotherRepository }

  /// A library refused to work: it tells nothing of the bytes, and is no damage.
  static func noMemory(_ message: String) -> SealError {
    SealError(.failed, message, hint: "There may not be enough memory: make more available, and try again.")
  }

  package var description: String { hint.map { "\(message)\nhint: \($0)" } ?? message }
}
