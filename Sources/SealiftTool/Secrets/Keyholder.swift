import Sealift

/// Fetches what opens each repository, when it is needed and once: a descriptor can be read only once, and nobody types
/// a passphrase twice for one command.
actor Keyholder {
  private let sourceForAll: SecretSource?
  /// A new repository's passphrase is typed twice.
  private let isNew: Bool
  private var bySource: [SecretSource: UnlockSecret] = [:]
  private var typed: [String: UnlockSecret] = [:]

  /// - Parameter sourceForAll: from the options or the environment; it goes before a target's own.
  init(sourceForAll: SecretSource?, isNew: Bool) {
    self.sourceForAll = sourceForAll
    self.isNew = isNew
  }

  func secret(for target: TargetSettings) throws -> UnlockSecret {
    guard let source = sourceForAll ?? target.unlock else { return try prompted(for: target) }
    if let held = bySource[source] { return held }
    let secret = try source.unlockSecret()
    bySource[source] = secret
    return secret
  }

  private func prompted(for target: TargetSettings) throws -> UnlockSecret {
    if let held = typed[target.name] { return held }
    let question = isNew ? "new passphrase for \(target.name)" : "passphrase or recovery key for \(target.name)"
    let answer = try Prompt.passphrase(question, twice: isNew)
    let secret = isNew ? UnlockSecret.passphrase(answer) : .typed(answer)
    typed[target.name] = secret
    return secret
  }
}

extension SecretSource {
  /// The source that options or environment give for every target of this run.
  static func forAll(_ options: GlobalOptions) -> SecretSource? {
    if let number = options.passphraseFd {
      SecretFile.hide(number)
      return .descriptor(number)
    }
    if let path = options.passphraseFile { return .file(path) }
    if let path = options.keyFile { return .keyFile(path) }
    if let path = options.recoveryKeyFile { return .recoveryKeyFile(path) }
    return Environment.filled("SEALIFT_PASSPHRASE_FILE").map(SecretSource.file)
  }
}
