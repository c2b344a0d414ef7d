import Sealing

/// What opens a key slot. Its description never shows the content.
package enum UnlockSecret: Sendable, CustomStringConvertible, CustomReflectable {
  /// The bytes of the passphrase, a trailing newline already removed.
  case passphrase([UInt8])
  /// The whole content of a key file.
  case keyFile([UInt8])
  /// The text of a printed recovery key.
  case recoveryKey(String)

  package var description: String { "(secret)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension UnlockSecret {
  /// What a person typed where a passphrase was asked for: with a recovery key's check in it, it is one.
  package static func typed(_ bytes: [UInt8]) -> UnlockSecret {
    let text = String(decoding: bytes, as: UTF8.self)
    return (try? RecoveryKey.parse(text)) == nil ? .passphrase(bytes) : .recoveryKey(text)
  }

  /// As long as a recovery key, and none.
  package var isMistypedRecoveryKey: Bool {
    guard case .passphrase(let bytes) = self else { return false }
    return RecoveryKey.isMistyped(String(decoding: bytes, as: UTF8.self))
  }

  /// Of a key that is to open from now on.
  /// - Throws: `.usage` also for a passphrase that is a recovery key: where it is typed, it is taken for one.
  func newSlotSecret() throws -> SlotSecret {
    if case .passphrase(let bytes) = self, case .recoveryKey = UnlockSecret.typed(bytes) {
      throw OperationError(
        .usage, code: "passphraseIsRecoveryKey",
        "the new passphrase is a recovery key, which opens the repository that it was made for",
        hint: "Choose a passphrase. Once the repository is there, `sealift key recovery` makes a recovery key for it.")
    }
    return try slotSecret()
  }

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
          hint: "A key file holds at least 32 random bytes: `(umask 077; head -c 32 /dev/urandom > FILE)` makes one.")
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
