import Glibc
import Sealift

/// Where a secret comes from. Never an argument, never a value in the configuration: others can read both.
enum SecretSource: Sendable, Hashable {
  /// A file with a passphrase or password in it.
  case file(String)
  /// A command for `/bin/sh -c` that prints it.
  case command(String, of: ConfigurationKey = ConfigurationKey())
  /// An open descriptor, read to its end.
  case descriptor(Int32)
  /// A file whose whole content is the key.
  case keyFile(String)
  /// A file with a printed recovery key typed into it.
  case recoveryKeyFile(String)

  /// Which key of the configuration has it: for messages. It makes no difference: a command that two keys have is one, and
  /// runs once.
  struct ConfigurationKey: Sendable, Hashable {
    var text: String?

    static func == (_: Self, _: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  /// What opens a repository.
  /// - Throws: `OperationError` of kind `.usage` that names the source and what is wrong with it, never the content.
  func unlockSecret() throws -> UnlockSecret {
    switch self {
    case .file, .command, .descriptor: return .passphrase(try text())
    case .keyFile(let path): return .keyFile(try SecretFile.read(path))
    case .recoveryKeyFile(let path):
      let text = withoutNewline(try SecretFile.read(path))
      return .recoveryKey(String(decoding: text, as: UTF8.self))
    }
  }

  /// The bytes of a passphrase or password, without the one newline that editors and `echo` leave at the end.
  func text() throws -> [UInt8] {
    let bytes: [UInt8]
    switch self {
    case .file(let path), .keyFile(let path), .recoveryKeyFile(let path):
      bytes = withoutNewline(try SecretFile.read(path))
    case .command(let line, _): bytes = withoutNewline(try SecretCommand.output(of: line, calledBy: commandName))
    case .descriptor(let number): bytes = withoutNewline(try SecretFile.read(descriptor: number))
    }
    guard !bytes.isEmpty else { throw empty }
    return bytes
  }

  private var empty: OperationError {
    guard case .command = self else {
      return OperationError(
        .usage, code: "secretEmpty", "the secret from \(place) is empty",
        hint: "An empty passphrase protects nothing. Write one line of text there.")
    }
    return OperationError(
      .usage, code: "secretEmpty", "what \(commandName) prints is empty", hint: SecretCommand.hint)
  }

  /// What stands in the configuration is not shown: people put secrets where they should not.
  private var commandName: String {
    guard case .command(_, let key) = self, let path = key.text else { return "the command that prints the secret" }
    return "'\(path)'"
  }

  /// How messages call it.
  var place: String {
    switch self {
    case .file(let path), .keyFile(let path), .recoveryKeyFile(let path): path
    case .command: "the command"
    case .descriptor(let number): "descriptor \(number)"
    }
  }

  private func withoutNewline(_ bytes: [UInt8]) -> [UInt8] {
    bytes.last == UInt8(ascii: "\n") ? Array(bytes.dropLast()) : bytes
  }
}

extension SecretFile {
  static func read(descriptor: Int32) throws -> [UInt8] {
    do {
      try demandGiven(descriptor)
      defer { close(descriptor) }
      return try FileContent.readAll(asWritten: descriptor, limit: limit)
    } catch let error as FileContent.Failure {
      throw OperationError(
        .usage, code: "secretUnreadable", "cannot read the passphrase from descriptor \(descriptor): \(error.reason)",
        hint: "Open it in the shell: `sealift --passphrase-fd 3 list 3<passphrase.txt`.")
    }
  }

  /// One that was given to us is open in whoever starts a program, so it cannot be closed by that. What has the number of one
  /// that was not given may be ours, such as the pipe of `Signals`, which nobody ever writes a passphrase to.
  private static func demandGiven(_ descriptor: Int32) throws(FileContent.Failure) {
    if hidden.withLock({ $0.contains(descriptor) }) { return }
    let flags = fcntl(descriptor, F_GETFD)
    guard flags < 0 || flags & FD_CLOEXEC != 0 else { return }
    throw FileContent.Failure(reason: String(cString: strerror(EBADF)).lowercased())
  }

  private static let hidden = Locked<Set<Int32>>([])

  /// It is read when a repository is opened. Commands that print other secrets run before that, and none of what they start is
  /// to have it.
  static func hide(_ descriptor: Int32) {
    let flags = fcntl(descriptor, F_GETFD)
    guard flags >= 0, flags & FD_CLOEXEC == 0, fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0 else { return }
    hidden.withLock { _ = $0.insert(descriptor) }
  }
}
