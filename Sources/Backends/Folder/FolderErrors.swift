import Glibc
import Storage

extension StoreError {
  /// What a failed system call means.
  /// - Parameters:
  ///   - number: errno, read at once after the call.
  ///   - what: what was to be done to what: "packs/x could not be read".
  ///   - right: what the call needs.
  static func system(_ number: Int32, _ what: String, for right: AccessRight = .read) -> StoreError {
    let message = "\(what): \(String(cString: strerror(number)).lowercased())"
    switch number {
    case ENOSPC, EDQUOT, EFBIG: return StoreError(.full, message, hint: makeRoom)
    case EACCES, EPERM, EROFS: return StoreError(.forbidden, message, hint: right.ofFolder)
    case ENOENT: return StoreError(.notFound, message)
    case ESTALE, EAGAIN, ETIMEDOUT, ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ECONNABORTED, ECONNRESET,
      EREMOTEIO, EMFILE, ENFILE:
      return StoreError(.unavailable, message, retry: .later(after: nil))
    default: return StoreError(.fileSystem, message)
    }
  }

  /// The same of the content of one object: a bad sector, or bytes that fail the file system's checksum, harm no other.
  static func content(_ number: Int32, _ what: String) -> StoreError {
    let error = system(number, what)
    guard [EIO, EUCLEAN, EBADMSG].contains(number) else { return error }
    return StoreError(
      .unreadable, error.message,
      hint: "The disk or the file system of the target has lost it. `sealift repair` writes anew what it can.")
  }

  static func planted(_ refusal: String) -> StoreError {
    StoreError(
      .fileSystem, refusal, hint: "It leads where that user wants: name the folder that is meant.")
  }

  static func symbolicLink(_ path: String) -> StoreError {
    StoreError(
      .badAnswer, "\(path) is a symbolic link, and those are not followed inside a target folder",
      hint: "Put the real folder or file in its place; to keep everything elsewhere, link the target folder itself.")
  }
}

extension AccessRight {
  fileprivate var ofFolder: String {
    switch self {
    case .list, .read: "Check owner and mode of the target folder; this user must be able to read there."
    case .write: "Check owner and mode of the target folder; this user must be able to write there."
    case .delete: "\(AccessRight.deletion) Run this as a user that may write there."
    }
  }
}
