import Sealift

/// Fetches what opens each repository, when it is needed and once: a descriptor can be read only once, and nobody types
/// a passphrase twice for one command, unless it was mistyped.
actor Keyholder {
  /// How often a person is asked for what opens one repository.
  private static let tries = 3

  private let sourceForAll: SecretSource?
  /// A new repository's passphrase is typed twice.
  private let isNew: Bool
  private var bySource: [SecretSource: UnlockSecret] = [:]
  private let terminal: Terminal
  private var typed: [String: UnlockSecret] = [:]
  /// How often each target was asked for.
  private var asked: [String: Int] = [:]
  /// Targets whose answer has opened nothing yet.
  private var untried: Set<String> = []

  /// - Parameters:
  ///   - sourceForAll: from the options or the environment; it goes before a target's own.
  ///   - terminal: what is on the screen while a person is asked.
  init(sourceForAll: SecretSource?, isNew: Bool, _ terminal: Terminal) {
    self.sourceForAll = sourceForAll
    self.isNew = isNew
    self.terminal = terminal
  }

  func secret(for target: TargetSettings) throws -> UnlockSecret {
    guard let source = sourceForAll ?? target.unlock else { return try prompted(for: target) }
    if let held = bySource[source] { return held }
    let secret = try source.unlockSecret()
    bySource[source] = secret
    return secret
  }

  /// Another answer, where the one that was typed did not open the repository: it is not kept. A recovery key may be somebody's
  /// passphrase.
  /// - Returns: `nil` where none was typed, or nobody is asked once more.
  func another(for target: TargetSettings) throws -> UnlockSecret? {
    guard !isNew, let tried = typed.removeValue(forKey: target.name) else { return nil }
    if case .recoveryKey(let text) = tried {
      let same = UnlockSecret.passphrase(Array(text.utf8))
      typed[target.name] = same
      return same
    }
    return try isGivenUp(target) ? nil : prompted(for: target, after: tried)
  }

  /// Whether what was typed for a target has not been tried. It is taken as tried from then on.
  func takeUntried(_ target: TargetSettings) -> Bool { untried.remove(target.name) != nil }

  private func isGivenUp(_ target: TargetSettings) -> Bool { asked[target.name, default: 0] >= Self.tries }

  /// - Parameter tried: what was typed before.
  private func prompted(for target: TargetSettings, after tried: UnlockSecret? = nil) throws -> UnlockSecret {
    if let held = typed[target.name] { return held }
    // Nobody is asked three times for each of a thousand databases.
    guard isNew || !isGivenUp(target) else {
      throw OperationError(
        .wrongKey, "nothing that was typed opens the repository at \(target.name)",
        hint: "Run it again with its passphrase or recovery key.")
    }
    let isAgain = asked[target.name] != nil
    let answer = try Prompt.passphrase(
      question(for: target, isAgain: isAgain, after: tried), twice: isNew, on: terminal)
    let secret = isNew ? UnlockSecret.passphrase(answer) : .typed(answer)
    asked[target.name, default: 0] += 1
    if !isNew, !isAgain { untried.insert(target.name) }
    typed[target.name] = secret
    return secret
  }

  private func question(for target: TargetSettings, isAgain: Bool, after tried: UnlockSecret?) -> String {
    if isNew { return "new passphrase for \(target.name)" }
    let slip = tried?.isMistypedRecoveryKey == true ? " (if it is a recovery key, it is mistyped)" : ""
    return "\(isAgain ? "that does not open it\(slip); " : "")passphrase or recovery key for \(target.name)"
  }
}

extension SecretSource {
  /// The source that options or environment give for every target of this run.
  static func forAll(_ options: GlobalOptions) -> SecretSource? { of(options) ?? ofEnvironment }

  static func of(_ options: GlobalOptions) -> SecretSource? {
    if let number = options.passphraseFd {
      SecretFile.hide(number)
      return .descriptor(number)
    }
    if let path = options.passphraseFile { return .file(path) }
    if let path = options.keyFile { return .keyFile(path) }
    return options.recoveryKeyFile.map(SecretSource.recoveryKeyFile)
  }

  static var ofEnvironment: SecretSource? { Environment.filled("SEALIFT_PASSPHRASE_FILE").map(SecretSource.file) }
}
