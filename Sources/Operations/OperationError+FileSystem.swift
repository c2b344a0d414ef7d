import Glibc

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
}
