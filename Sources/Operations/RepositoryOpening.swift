import Repositories
import Sealing

extension TargetAccess {
  /// Asks for the secret and opens the repository.
  func open(_ world: World) async throws -> Repository { try await open(with: try await unlock(), world) }

  /// - Parameter lackingFile: open also a repository whose file was lost.
  /// - Throws: also `.rolledBack` when this machine has seen a newer keyring, or used another repository there.
  func open(with secret: UnlockSecret, _ world: World, lackingFile: Bool = false) async throws -> Repository {
    let repository = try await Repository.open(
      at: store, with: try secret.slotSecret(), random: world.random, state: world.stateFolder,
      lackingFile: lackingFile)
    let state = StateFolder(reading: world.stateFolder, repository: repository.id)
    try repository.checkPlace(in: world.stateFolder)
    try repository.checkKeyring(in: state)
    repository.rememberSlot(in: state)
    if repository.lacksFile, !lackingFile {
      world.reporter.notice("\(name): the repository file was lost; `sealift repair` stores it anew")
    }
    return repository
  }
}

extension UnlockSecret {
  /// - Throws: `.usage` for a key file that cannot be one, `.wrongKey` for a recovery key that was mistyped.
  func slotSecret() throws -> SlotSecret {
    switch self {
    case .passphrase(let bytes):
      guard !bytes.isEmpty else {
        throw OperationError(
          .usage, code: "secretEmpty", "the passphrase is empty", hint: "An empty passphrase protects nothing.")
      }
      return .passphrase(bytes)
    case .keyFile(let bytes):
      guard bytes.count >= 32 else {
        throw OperationError(
          .usage, code: "keyFileTooShort", "the key file has only \(bytes.count) bytes",
          hint: "A key file holds at least 32 random bytes: `head -c 32 /dev/urandom > FILE` makes one.")
      }
      return .keyFile(bytes)
    case .recoveryKey(let text):
      do throws(SealError) {
        return .recoveryKey(try RecoveryKey.parse(text))
      } catch {
        throw OperationError(.wrongKey, code: "mistyped", error.message, hint: error.hint, cause: error)
      }
    }
  }
}
