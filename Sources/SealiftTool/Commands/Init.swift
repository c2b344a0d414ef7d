import ArgumentParser
import Sealift

struct Init: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a repository at a target.",
    discussion: """
      Makes the keys, seals them with your passphrase (typed twice, or from a file) and writes the repository. Without \
      the passphrase nobody can read it again, so note it, and print a recovery key with `sealift key recovery`.

        sealift --target file:///srv/backup init
        sealift --target nas init --if-missing
      """)

  @Flag(help: "Be content when there is a repository already and the key opens it.")
  var ifMissing = false

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration, isNew: true)
    let world = try session.world(configuration)
    let secret = SecretSource.forAll(session.options)
    var tries = Tries<Initialize.Outcome>()
    for target in try targets.all() {
      await tries.attempt(target.name, session.terminal) {
        let access = try targets.access(target, mayBeAbsent: true)
        let outcome = try await Initialize(world).run(
          at: access, ifMissing: ifMissing, maker: Self.maker(of: target, targets))
        if !session.options.json {
          session.terminal.report(
            "\(printable(target.name)): \(outcome.created ? "made" : "found") repository \(outcome.repository)")
        }
        if outcome.created {
          session.terminal.notice(
            "without this \(Self.kind(of: secret ?? target.unlock)) nobody can read what is pushed there; "
              + "`sealift key recovery` prints a second key")
          if let remark = Self.remark(onKeyOf: target, session.options) {
            session.terminal.notice(remark)
          }
        }
        return outcome
      }
    }
    if session.options.json {
      session.terminal.report(
        Documents.repositories(tries.done, failures: tries.failures, notices: session.terminal.notices))
    }
    return try tries.status("repositories", session.terminal)
  }

  private static func kind(of secret: SecretSource?) -> String {
    switch secret {
    case .keyFile?: "key file"
    case .recoveryKeyFile?: "recovery key"
    default: "passphrase"
    }
  }

  /// A variable stays in the shell that it was set in, and is not there in a timer's run: that one would be refused.
  private static func remark(onKeyOf target: TargetSettings, _ options: GlobalOptions) -> String? {
    guard SecretSource.of(options) == nil, let variable = SecretSource.ofEnvironment, let own = target.unlock,
      own != variable, !areOneFile(own, variable)
    else { return nil }
    return "made with SEALIFT_PASSPHRASE_FILE, not with 'targets.\(target.name).\(key(of: own))', which is what a run "
      + "without that variable tries; while it is set, \(addition(of: own, at: target.name))"
  }

  /// The passphrase in it is the same, whatever the file is called.
  private static func areOneFile(_ own: SecretSource, _ variable: SecretSource) -> Bool {
    guard case .file(let path) = own, case .file(let other) = variable else { return false }
    return Paths.leadToOnePlace(path, other)
  }

  /// A new key comes from an option or the terminal, and never from the configuration.
  private static func addition(of own: SecretSource, at target: String) -> String {
    let add = "sealift --target \(shellQuoted(target)) key add"
    return switch own {
    case .keyFile(let path): "`\(add) --new-key-file \(shellQuoted(path))` adds it"
    case .file(let path): "`\(add) --new-passphrase-file \(shellQuoted(path))` adds it"
    default: "`\(add)` adds it: type there what the command prints"
    }
  }

  private static func key(of secret: SecretSource) -> String {
    switch secret {
    case .keyFile: "keyFile"
    case .command: "passphraseCommand"
    default: "passphraseFile"
    }
  }

  /// - Returns: `nil` for a bucket, which has to be there.
  private static func maker(of target: TargetSettings, _ targets: Targets) -> Initialize.Maker? {
    guard target.place.canBeMade else { return nil }
    return Initialize.Maker {
      try target.place.demandMakeable()
    } make: {
      try targets.access(target, create: true, doing: "making a repository at \(target.name)")
    }
  }
}
