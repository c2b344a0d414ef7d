import Operations

extension Repository {
  /// What opens a repository. Its description hides it.
  public struct Key: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let unlock: @Sendable () async throws -> UnlockSecret

    /// A passphrase.
    public static func passphrase(_ text: String) -> Key { Key { .passphrase(Array(text.utf8)) } }

    /// A passphrase in a file that only its owner may read (mode 600); a newline at its end is not part of it. A
    /// credential of systemd's, below the folder in `CREDENTIALS_DIRECTORY`, may have the mode that it is given (440).
    public static func passphraseFile(_ path: String) -> Key {
      Key {
        let bytes = try await content(of: path)
        return .passphrase(bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes)
      }
    }

    /// A key file: its whole content, at least 32 random bytes, is the key. Only its owner may be allowed to read it
    /// (mode 600), or it is a credential, as in ``passphraseFile(_:)``.
    public static func keyFile(_ path: String) -> Key { Key { .keyFile(try await content(of: path)) } }

    /// The content of a key file: at least 32 random bytes.
    public static func keyFile(content: [UInt8]) -> Key { Key { .keyFile(content) } }

    /// A recovery key as it was printed.
    public static func recoveryKey(_ text: String) -> Key { Key { .recoveryKey(text) } }

    /// A key that is fetched each time it is needed, from a vault for example, and kept nowhere in between.
    ///
    /// ```swift
    /// let key = Repository.Key.fetched { .passphrase(try await vault.secret(named: "backup")) }
    /// ```
    ///
    /// What `fetch` throws becomes the ``SealiftError/cause`` of an error with the code `keyNotFetched`, and stands in no
    /// message: only the application knows whether it holds a secret.
    public static func fetched(_ fetch: @escaping @Sendable () async throws -> Key) -> Key {
      Key {
        let key: Key
        do { key = try await fetch() } catch {
          // A time-out of its own may throw the same as a task that was cancelled, and is an error.
          try Task.checkCancellation()
          throw OperationError(.failed, code: "keyNotFetched", "the key could not be fetched", cause: error)
        }
        return try await key.unlock()
      }
    }

    private static func content(of path: String) async throws -> [UInt8] {
      try await onOwnThread { isCancelled in try SecretFile.read(path, isCancelled: isCancelled) }
    }

    public var description: String { "(key)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
  }
}
