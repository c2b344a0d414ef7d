import Glibc
import Storage

extension OperationError {
  /// What the system says of a file or a folder.
  /// - Parameters:
  ///   - number: as in `errno`.
  ///   - hint: the way out; a full disk has one of its own.
  static func fileSystem(_ message: String, _ number: Int32, hint: String? = nil) -> OperationError {
    let isFull = number == ENOSPC || number == EDQUOT
    return OperationError(
      .failed, code: isFull ? "noSpace" : "fileSystem", "\(message): \(String(cString: strerror(number)))",
      hint: isFull ? "Free some space, or choose another disk." : hint)
  }

  /// - Parameter writing: as of `ForeignLink.refusal`.
  /// - Throws: `.usage`, code `plantedLink`, where another user leads root to what is not theirs.
  package static func demandOwnLinks(on path: String, writing: Bool = true) throws(OperationError) {
    guard let refusal = ForeignLink.refusal(on: path, writing: writing) else { return }
    throw OperationError(.usage, code: "plantedLink", refusal, hint: ownLinksHint)
  }

  static let ownLinksHint =
    "Run as that user, or name what is meant without that link: as root only what root alone can make is safe."
}
