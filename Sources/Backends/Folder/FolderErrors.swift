import Glibc
import Platform
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
      EREMOTEIO, EMFILE, ENFILE, EINTR, EKEYEXPIRED:
      return StoreError(.unavailable, message, retry: .later(after: nil))
    // On SMB, while a virus scanner holds what was just written.
    case EBUSY, ETXTBSY:
      return StoreError(.unavailable, message, retry: .later(after: nil))
    case EIO: return StoreError(.fileSystem, message, cause: InputOutputFailure())
    default: return StoreError(.fileSystem, message)
    }
  }

  /// The same of the content of one object: a bad sector, or bytes that fail the file system's checksum, harm no other.
  static func content(_ number: Int32, _ what: String) -> StoreError {
    let error = system(number, what)
    guard [EIO, EUCLEAN, EBADMSG].contains(number) else { return error }
    return StoreError(
      .unreadable, error.message,
      hint: "The disk or the file system of the target has lost it. `sealift repair` writes anew what it can.",
      cause: error.cause)
  }

  /// What it means in this mount: NFS, SMB and programs as sshfs say EIO also of a server that did not answer.
  /// - Parameter findMount: asked only then, as it reads the list of all mounts.
  func said(by findMount: @autoclosure () -> MountTable.Mount?) -> StoreError {
    guard cause is InputOutputFailure, let mount = findMount(), mount.isBehindNetwork else { return self }
    let hint = "It is a mount (\(mount.type)): look whether its server answers."
    guard code == .unreadable else {
      return StoreError(.unavailable, message, hint: hint, retry: .later(after: nil), cause: cause)
    }
    // The folder was opened for it a moment ago, so the server's disk may as well have lost this one object: it is
    // tried again, and not waited for as an outage is.
    return StoreError(
      .unreadable, message, hint: "\(hint) Else its disk has lost it: `sealift repair` writes anew what it can.",
      retry: .later(after: nil), cause: cause)
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

/// EIO, which says nothing of where it failed.
struct InputOutputFailure: Error, CustomStringConvertible {
  var description: String { "the system says EIO" }
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
