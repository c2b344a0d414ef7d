import Repositories
import Sealing

extension TargetAccess {
  /// Asks for the secret and opens the repository.
  func open() async throws -> Repository {
    try await Repository.open(at: store, with: try await unlock().slotSecret())
  }
}

extension UnlockSecret {
  /// - Throws: `SealError` when a recovery key was mistyped.
  func slotSecret() throws -> SlotSecret {
    switch self {
    case .passphrase(let bytes): .passphrase(bytes)
    case .keyFile(let bytes): .keyFile(bytes)
    case .recoveryKey(let text): .recoveryKey(try RecoveryKey.parse(text))
    }
  }
}
