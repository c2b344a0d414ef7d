import ArgumentParser
import Sealift

struct Copy: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Copy versions from one repository to another, with other keys.",
    discussion: """
      Each version is restored, proved and sealed anew, oldest first; name, host, time, tags and note stay, its id does \
      not. What is there already is passed over, so a copy that was cut goes on where it was; tags and a note that it was \
      given since come along. What was forgotten there is passed over, too, unless --versions names it. What a prune has \
      taken there since is passed over only where this machine saw it there in an earlier copy; else it is copied again. \
      Copies continue the chain of their database: push from its host meanwhile to other targets only.

        sealift copy --from nas --to bucket
        sealift copy --from nas --to bucket app --latest
        sealift copy --from file:///old --from-key-file old.key --to file:///new \\
          --key-file new.key
      """)

  @Argument(help: ArgumentHelp("Databases by name; all when there are none.", valueName: "name"))
  var databases: [String] = []

  @Option(help: ArgumentHelp("The target to copy from: a name or a URL.", valueName: "name|url"))
  var from: String

  @Option(help: ArgumentHelp("The target to copy to: a name or a URL.", valueName: "name|url"))
  var to: String

  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      "Only this version, also where it was forgotten at the other target; may be given more than once.",
      valueName: "version"))
  var versions: [String] = []

  @Flag(help: "Only the newest version of each database.")
  var latest = false

  @Option(
    help: ArgumentHelp("Open the repository copied from with the passphrase in this file.", valueName: "file"),
    completion: .file())
  var fromPassphraseFile: String?

  @Option(
    help: ArgumentHelp("Open the repository copied from with this key file.", valueName: "file"), completion: .file())
  var fromKeyFile: String?

  @Option(
    help: ArgumentHelp(
      "Open the repository copied from with the recovery key written in this file.", valueName: "file"),
    completion: .file())
  var fromRecoveryKeyFile: String?

  @Option(
    help: ArgumentHelp(
      "Restore below this folder, which must be there, instead of the state folder.", valueName: "folder"),
    completion: .directory)
  var scratch: String?

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if latest, !versions.isEmpty { throw ValidationError("--latest and --versions exclude each other") }
    if !databases.isEmpty, !versions.isEmpty {
      throw ValidationError("--versions names what is copied: it goes without names")
    }
    if [fromPassphraseFile, fromKeyFile, fromRecoveryKeyFile].compactMap({ $0 }).count > 1 {
      throw ValidationError(
        "give one of --from-passphrase-file, --from-key-file and --from-recovery-key-file, not several")
    }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    guard session.options.targets.isEmpty else {
      throw OperationError(.usage, "copy has two targets", hint: "Name them with --from and --to instead of --target.")
    }
    var request = CopyVersions.Request()
    request.databases = databases
    request.choice =
      latest ? .newest : versions.isEmpty ? .all : .versions(try versions.map(VersionSelector.init(parsing:)))
    request.scratch = try scratch.map(Paths.existingFolder)
    let configuration = try session.configuration()
    for database in configuration.databases {
      request.compressionLevels[database.source.name] = database.source.compressionLevel
    }
    let targets = try Targets(session, configuration)
    let source = try targets.access(targets.settings(from), opening: secret)
    let target = try targets.access(targets.settings(to))
    let world = try session.world(configuration)
    let outcome = try await CopyVersions(world).run(request, from: source, to: target) {
      [terminal = session.terminal] in
      if !terminal.manner.json { terminal.report(Self.line($0)) }
    }
    return try tell(outcome, session.terminal)
  }

  private var secret: SecretSource? {
    fromPassphraseFile.map(SecretSource.file) ?? fromKeyFile.map(SecretSource.keyFile)
      ?? fromRecoveryKeyFile.map(SecretSource.recoveryKeyFile)
  }

  private func tell(_ outcome: CopyVersions.Outcome, _ terminal: Terminal) throws -> ExitStatus {
    if outcome.copied.isEmpty, outcome.forgotten.isEmpty, outcome.failures.isEmpty {
      terminal.notice("there was nothing to copy")
    }
    if terminal.manner.json { terminal.report(Documents.copy(outcome, notices: terminal.notices)) }
    if let interruption = outcome.interruption {
      for failure in outcome.failures { terminal.tell(failure.error) }
      throw interruption
    }
    guard let first = outcome.failures.first else { return .success }
    if let worst = outcome.failures.first(where: { $0.error.kind == .verificationFailed }) {
      for failure in outcome.failures { terminal.tell(failure.error) }
      terminal.tellDocument(worst.error)
      return .verificationFailed
    }
    guard !outcome.copied.isEmpty else {
      for failure in outcome.failures.dropFirst() { terminal.tell(failure.error) }
      throw first.error
    }
    for failure in outcome.failures { terminal.tell(failure.error) }
    terminal.tellDocument(
      OperationError(
        .partlyDone,
        "\(outcome.copied.count) versions are there, \(outcome.failures.count) things went wrong: \(first.error.message)",
        hint: first.error.hint))
    return .partlyDone
  }

  /// `app 3f2a91c0 -> bucket: version 9c06ab3f, 8.4 MiB, 120.0 KiB new, head 12-0123456789abcdef`.
  static func line(_ copied: CopyVersions.Copied) -> String {
    let version = copied.version
    let place = "\(printable(version.database)) \(copied.origin.id.prefix(8)) -> \(printable(version.target))"
    let facts = copied.wasThere ? "there already" : "\(ByteCount.text(version.bytesNew)) new"
    return "\(place): version \(version.id.prefix(8)), \(ByteCount.text(version.size)), \(facts), head \(version.head)"
  }
}
