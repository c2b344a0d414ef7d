import ArgumentParser
import Sealift

struct Key: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "List, add and remove the keys that open a repository.",
    discussion: """
      A repository may be opened by several passphrases, key files and printed recovery keys. What data is sealed with \
      stays the same: whoever has a removed key and an old copy of its slot (a versioned bucket keeps one) opens all, \
      also what is stored later. If a key may be known to others, make a repository with another one, `sealift copy` \
      what is there, and push to that from then on.

        sealift key list
        sealift key add --new-passphrase-file ./new-passphrase
        sealift key recovery
      """, subcommands: [KeyList.self, KeyAdd.self, KeyRemove.self, KeyRecovery.self])

  func run() throws {
    throw ValidationError("'key' needs one of: list, add, remove, recovery")
  }
}

struct KeyList: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the keys of a repository.", discussion: "  sealift --target nas key list")

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let (keys, target) = try session.keys()
    let slots = try await keys.list(at: target)
    guard !session.options.json else {
      try session.terminal.result(Documents.keys(slots, notices: session.terminal.notices))
      return .success
    }
    var table = Table([("ID", .left), ("KIND", .left), ("CREATED", .left), ("", .left)])
    for slot in slots {
      table.add([slot.id, slot.kind, slot.created.map(Times.seconds) ?? "", slot.current ? "in use now" : ""])
    }
    for line in table.lines(within: session.terminal.manner.width) { try session.terminal.result(line) }
    return .success
  }
}

struct KeyAdd: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a passphrase or a key file.",
    discussion: """
      Without an option the new passphrase is asked for at the terminal, twice. The present key comes from where it \
      always comes from.

        sealift key add
        sealift key add --new-key-file ./sealift.key
      """)

  @Option(
    help: ArgumentHelp("The new key: the whole content of this file (mode 600).", valueName: "file"),
    completion: .file())
  var newKeyFile: String?

  @Option(help: ArgumentHelp("The new passphrase, in this file (mode 600).", valueName: "file"), completion: .file())
  var newPassphraseFile: String?

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if newKeyFile != nil, newPassphraseFile != nil {
      throw ValidationError("--new-key-file and --new-passphrase-file exclude each other")
    }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    let (keys, target) = try session.keys()
    let slot = try await keys.add(try secret(for: target.name, session.terminal), at: target)
    try session.tell("added", slot, at: target)
    return .success
  }

  private func secret(for target: String, _ terminal: Terminal) throws -> UnlockSecret {
    if let newKeyFile { return try SecretSource.keyFile(newKeyFile).unlockSecret() }
    if let newPassphraseFile { return try SecretSource.file(newPassphraseFile).unlockSecret() }
    let question = "additional passphrase for \(target)"
    return .passphrase(
      try Prompt.passphrase(question, twice: true, on: terminal, missing: Prompt.noTerminalForAdded))
  }
}

struct KeyRemove: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a key by its id.", discussion: "  sealift key remove 1f0c52ab")

  @Argument(help: "The id that `key list` shows, or an unambiguous prefix of it.")
  var id: String

  @Flag(help: "Remove even the key in use now.")
  var force = false

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let (keys, target) = try session.keys()
    let slot = try await keys.remove(id, at: target, force: force)
    try session.tell("removed", slot, at: target)
    return .success
  }
}

struct KeyRecovery: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery", abstract: "Make a recovery key to print.",
    discussion: """
      The key is shown once and kept nowhere. Print it, and lock it away: it opens the repository with \
      --recovery-key-file.

        sealift key recovery
      """)

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let (keys, target) = try session.keys()
    let (slot, text) = try await keys.addRecoveryKey(at: target)
    do {
      guard !session.options.json else {
        try session.terminal.result(Documents.recovery(slot, text, notices: session.terminal.notices))
        return .success
      }
      try session.terminal.result(text)
    } catch {
      throw await undone(slot, keys, target, after: error)
    }
    session.terminal.notice("\(target.name): recovery key \(slot.id); it is shown this once: print it and lock it away")
    return .success
  }

  /// A key that nobody has seen opens the repository for nobody: its slot goes again.
  private func undone(
    _ slot: ManageKeys.Slot, _ keys: ManageKeys, _ target: TargetAccess, after error: any Error
  ) async -> OperationError {
    var told = OperationError(error)
    let isGone = (try? await keys.remove(slot.id, at: target, force: false)) != nil
    told.message += isGone ? "; no recovery key was added" : "; nobody has seen the recovery key \(slot.id)"
    told.hint = isGone ? "Run it again where its output can be read." : "Remove it: `sealift key remove \(slot.id)`."
    return told
  }
}

extension Session {
  fileprivate func keys() throws -> (ManageKeys, TargetAccess) {
    let configuration = try configuration()
    let targets = try Targets(self, configuration)
    let target = try targets.access(try targets.one())
    return (ManageKeys(try world(configuration)), target)
  }

  /// - Parameter verb: what was done with it.
  fileprivate func tell(_ verb: String, _ slot: ManageKeys.Slot, at target: TargetAccess) throws {
    try terminal.result(of: "\(slot.kind) \(slot.id) was \(verb)") {
      if options.json {
        try terminal.result(Documents.changed(slot, notices: terminal.notices))
      } else {
        try terminal.result("\(printable(target.name)): \(verb) \(slot.kind) \(slot.id)")
      }
    }
  }
}
