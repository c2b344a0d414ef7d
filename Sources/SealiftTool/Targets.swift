import Sealift

/// Which targets a command works on, and how they are opened.
struct Targets: Sendable {
  let configuration: Configuration
  private let stores: Stores
  private let keyholder: Keyholder
  private let asked: [String]
  private let terminal: Terminal

  /// - Parameter isNew: a repository or a key is being made: a typed passphrase is asked for twice.
  init(_ session: Session, _ configuration: Configuration, isNew: Bool = false) throws {
    self.configuration = configuration
    stores = try Stores(session.options, configuration, session.terminal)
    terminal = session.terminal
    keyholder = Keyholder(sourceForAll: SecretSource.forAll(session.options), isNew: isNew, terminal)
    asked = session.options.targets
  }

  /// The targets named on the command line, else all of the configuration.
  /// - Throws: `.usage` when there are none.
  func all() throws -> [TargetSettings] {
    guard asked.isEmpty else { return try distinct(asked.map(settings)) }
    guard !configuration.targets.isEmpty else {
      throw OperationError(
        .usage, code: "noTarget", "no target is named, and none is configured",
        hint: "Give one, such as --target file:///srv/backup, or write a configuration: config.example.json shows how.")
    }
    return configuration.targets
  }

  /// The targets of one database: those of the command line, else its own, else all.
  /// - Parameter isNamed: the line names the database: it goes to whatever targets are named there. Where it does not, the
  ///   database's own keep it away from others: they may be other people's, or open to them.
  func all(for database: Configuration.DatabaseSettings, isNamed: Bool) throws -> [TargetSettings] {
    guard asked.isEmpty, let names = database.targets else {
      return try all().filter { expects(database, at: $0, isNamed: isNamed) }
    }
    return try names.map(settings)
  }

  /// Whether versions of a database are to be at a target.
  /// - Parameter isNamed: the line names the database: then the targets that it names count, not the database's own.
  func expects(_ database: Configuration.DatabaseSettings, at target: TargetSettings, isNamed: Bool) -> Bool {
    if isNamed, !asked.isEmpty { return true }
    return database.targets?.contains(target.name) ?? true
  }

  /// Whether no configured database goes to a configured target. Who names it on the line looks for something there.
  func expectsNothing(at target: TargetSettings) -> Bool {
    asked.isEmpty && !configuration.databases.isEmpty
      && !configuration.databases.contains { expects($0, at: target, isNamed: false) }
  }

  /// Where the line names targets, and no database: what is passed over there, each with the targets it does not go to.
  func passedOver(_ databases: [Configuration.DatabaseSettings]) throws -> [(database: String, targets: [String])] {
    guard !asked.isEmpty else { return [] }
    let all = try all()
    return databases.compactMap { database in
      let away = all.filter { !expects(database, at: $0, isNamed: false) }.map(\.name)
      guard !away.isEmpty else { return nil }
      return (database: database.source.name, targets: away)
    }
  }

  /// Of databases that were named, those that are to be at a target; what the configuration does not know may be anywhere.
  /// - Returns: no names where none were given, which stands for all; `nil` where none of them belongs there.
  func among(_ names: [String], at target: TargetSettings) -> [String]? {
    let here = names.filter { name in
      let known = configuration.databases.first { $0.source.name.isSameName(as: name) }
      return known.map { expects($0, at: target, isNamed: true) } ?? true
    }
    return here.isEmpty && !names.isEmpty ? nil : here
  }

  /// Other configured targets that may have versions of these databases, too, for a configured one.
  func others(than name: String, for databases: [String]) -> [String] {
    guard configuration.targets.contains(where: { $0.name == name }) else { return [] }
    let others = configuration.targets.filter { target in
      target.name != name
        && databases.contains { database in
          let known = configuration.databases.first { $0.source.name.isSameName(as: database) }
          return known.map { expects($0, at: target, isNamed: false) } ?? true
        }
    }
    return others.map(\.name)
  }

  /// How a command begins that is to be run for this target: its name is needed where the configuration has others, or
  /// does not have it.
  func command(for target: TargetSettings) -> String {
    configuration.targets.map(\.name) == [target.name] ? "sealift" : "sealift --target \(shellWord(target.name))"
  }

  /// The one target that versions are read from or marked at.
  /// - Parameter selectors: what names the versions; of a database of the configuration only its own targets come into
  ///   question.
  /// - Throws: `.usage` when there are several: which one is meant is for the person to say.
  func one(for selectors: [VersionSelector] = []) throws -> TargetSettings {
    let names = Set(selectors.map { $0.database.map { ExactName($0) } })
    let own = names.count == 1 ? configuration.databases.first { ExactName($0.source.name) == names.first } : nil
    let all = try own.map { try self.all(for: $0, isNamed: true) } ?? self.all()
    guard all.count == 1 else {
      throw OperationError(
        .usage, code: "severalTargets", "there are \(all.count) targets: \(all.map(\.name).joined(separator: ", "))",
        hint: "Name the one that is meant, such as --target \(shellWord(all[0].name)).")
    }
    return all[0]
  }

  /// A target ready for an operation. Nothing is asked of it or of the person yet.
  /// - Parameters:
  ///   - create: make its folder or collection when it is missing.
  ///   - mayBeAbsent: a folder that is missing is told by the first request.
  ///   - locking: give what is stored the target's object lock.
  ///   - isPatient: wait for the target when it has answered and then does not.
  ///   - readsSecrets: at once, so that a command that fails is told before anything else is done; else when the access
  ///     is prepared, or its server asked anything.
  ///   - context: what it is for, when that says more than the target's name: "pushing 'app' to nas".
  ///   - source: what opens this one, whatever opens the others.
  func access(
    _ target: TargetSettings, create: Bool = false, mayBeAbsent: Bool = false, locking: Bool = true,
    isPatient: Bool = true, readsSecrets: Bool = true, doing context: String? = nil, opening source: SecretSource? = nil
  ) throws -> TargetAccess {
    let store: any ObjectStore
    do {
      let settings = locking ? target : target.withoutLock
      if readsSecrets { try stores.readSecrets(of: target) }
      store = try stores.store(for: settings, create: create, mayBeAbsent: mayBeAbsent, isPatient: isPatient)
    } catch {
      var error = OperationError(error)
      error.message = "\(context ?? "opening \(target.name)"): \(error.message)"
      throw error
    }
    let keyholder = source.map { Keyholder(sourceForAll: $0, isNew: false, terminal) } ?? keyholder
    var access = TargetAccess(name: target.name, store: store) { try await keyholder.secret(for: target) }
    access.prepare = { [stores] in
      try stores.readSecrets(of: target)
      _ = try await keyholder.secret(for: target)
    }
    access.isUntried = { await keyholder.takeUntried(target) }
    access.unlockAgain = { try await keyholder.another(for: target) }
    return access
  }

  /// Why the object lock of a target may be without effect.
  func lockDoubt(of target: TargetSettings) async throws -> String? { try await stores.lockDoubt(of: target) }

  /// A target by its name, or by a URL.
  func settings(_ text: String) throws -> TargetSettings { try configuration.target(text) }

  private func distinct(_ targets: [TargetSettings]) -> [TargetSettings] {
    var seen: Set<String> = []
    return targets.filter { seen.insert($0.name).inserted }
  }
}

extension Configuration {
  /// A target by its name, or by a URL. The URL of a configured target is that one, with its lock, its key and its
  /// name: what the configuration demands of a place holds however that is called.
  /// - Throws: `.usage`; also for the URL of several, which differ in who we are there, or in what opens it.
  func target(_ text: String) throws -> TargetSettings {
    if let named = targets.first(where: { $0.name == text }) { return named }
    guard text.contains("://") || text.hasPrefix("/") else { throw unknownTarget(text) }
    let url = try TargetSettings(url: text)
    let meant = targets.compactMap { $0.meant(by: url) }
    guard meant.count < 2 else {
      throw OperationError(
        .usage, code: "severalTargets",
        "this URL is that of \(meant.count) configured targets: \(meant.map(\.name).joined(separator: ", "))",
        hint: "Name the one that is meant in its place, such as \(meant[0].name).")
    }
    return meant.first ?? url
  }

  private func unknownTarget(_ text: String) -> OperationError {
    let known = targets.map(\.name)
    return OperationError(
      .usage, code: "unknownTarget", "'\(text)' is neither a configured target nor a URL",
      hint: text.contains("/")
        ? "A folder is written file:///absolute/path, or /path."
        : Nearest.match(for: text, among: known).map { "Did you mean '\($0)'?" }
          ?? (known.isEmpty
            ? "A target is a URL such as file:///srv/backup, s3://bucket/prefix or webdavs://host/folder."
            : "Configured: \(known.joined(separator: ", "))."))
  }
}
