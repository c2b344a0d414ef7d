import Glibc
import Operations

/// Files that hold secrets: only their owner may read them.
package enum SecretFile {
  package static let limit = 64 << 10

  /// The whole content.
  /// - Parameter isCancelled: ends the wait for a pipe.
  /// - Throws: `OperationError` of kind `.usage`, which names the file and what is wrong with it, never the content;
  ///   `CancellationError`.
  package static func read(_ path: String, isCancelled: () -> Bool = { Task.isCancelled }) throws -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try FileContent.read(
        path, limit: limit,
        accepting: { (status, _) throws(FileContent.Failure) in
          let forbidden: mode_t = isCredential(path) ? 0o037 : 0o077
          guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & forbidden != 0 else { return }
          throw FileContent.Failure(reason: exposed)
        }, isCancelled: isCancelled)
    } catch  where error.reason == exposed {
      throw openToOthers(path)
    } catch {
      if isCancelled() { throw CancellationError() }
      throw OperationError(
        .usage, code: "secretUnreadable", "cannot read the secret in \(path): \(error.reason)",
        hint: "Check the path, and that this user may read the file.")
    }
    guard !bytes.isEmpty else {
      throw OperationError(
        .usage, code: "secretEmpty", "\(path) is empty",
        hint: "An empty key protects nothing. Write the secret into it.")
    }
    return bytes
  }

  private static let exposed = "open to others"

  /// What is to be run can be run as it stands.
  private static func openToOthers(_ path: String) -> OperationError {
    let change = "if others have used this machine, change the secret too."
    if let file = handedOver(as: path) {
      return OperationError(
        .usage, code: "secretExposed",
        "\(file), handed over as \(path), can be read or changed by others than its owner",
        hint: "Let nobody but its owner read or change that file (mode 600); \(change)")
    }
    let name = path.hasPrefix("-") ? shellQuoted("./\(path)") : shellWord(path)
    return OperationError(
      .usage, code: "secretExposed", "\(path) can be read or changed by others than its owner",
      hint: "Close it with `chmod 600 \(name)`; \(change) "
        + "In a configuration, one that a container mounts: \"passphraseCommand\": \"\(inJSON("cat \(name)"))\".")
  }

  /// The file that a shell opened, where the path is only a name of what is open, such as `/dev/stdin`.
  private static func handedOver(as path: String) -> String? {
    guard ["/dev/stdin", "/dev/fd/", "/proc/"].contains(where: { path.hasPrefix($0) }) else { return nil }
    let file = resolved(path)
    return file == path ? "a file without a name" : file
  }

  private static func inJSON(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where scalar.value < 0x20:
        result += "\\u00" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// systemd's own copy for one service (`LoadCredential=`), in a folder that nobody else can enter: where the service has a
  /// `User=`, an access list lets that user read it, and what looks like the right of a group is the mask of that list.
  private static func isCredential(_ path: String) -> Bool {
    guard let folder = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }), !folder.isEmpty else {
      return false
    }
    return resolved(path).utf8.starts(with: "\(resolved(folder))/".utf8)
  }

  /// Without links and detours where the file exists; else as it is.
  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }
}
