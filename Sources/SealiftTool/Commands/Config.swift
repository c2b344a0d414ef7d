import ArgumentParser
import Sealift

struct Config: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Look at the configuration.", discussion: "  sealift config check", subcommands: [ConfigCheck.self])

  func run() throws {
    throw ValidationError("'config' needs: check")
  }
}

struct ConfigCheck: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check the configuration and show what is in effect, and why.",
    discussion: """
      Reads the configuration strictly: unknown keys and wrong values are errors. Secrets are never shown, only where \
      they come from. Of S3 targets the region, the endpoint and whose credentials are taken are shown as a run finds \
      them. No target is asked, and no command runs.

        sealift config check
        sealift --config ./sealift.json config check --json
      """)

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let asked = try session.options.targets.map(targets.settings)
    let lines = try Self.effective(configuration, asked, session.options)
    try Self.demandQueries(of: configuration)
    try Self.demandPlaces(of: configuration, session.terminal)
    let databases = configuration.databases.map(\.source)
    for remark in Restore.overlaps(among: databases) { session.terminal.notice(remark) }
    let state = OwnFolder.state(try StatePlace(configuration).path)
    let folders = configuration.ownFolders(session.options.targets) + [state]
    for remark in try Restore.ownFolders(folders, among: databases) { session.terminal.notice(remark) }
    for target in configuration.targets where target.accessKeyID != nil && target.sessionToken != nil {
      session.terminal.notice(
        "\(target.name): temporary credentials have another access key each time they are renewed, and accessKeyId"
          + " stays: keep all three in a profile (credentialsFile)")
    }
    guard !session.options.json else {
      try session.terminal.result(
        Documents.configuration(configuration.file, lines, notices: session.terminal.notices))
      return .success
    }
    try session.terminal.result("configuration: \(configuration.file ?? "none")")
    for line in lines { try session.terminal.result(printable("\(line.key) = \(line.value)  (\(line.from))")) }
    return .success
  }

  /// A slip in a query would show in the next drill only, which may be a week away.
  private static func demandQueries(of configuration: Configuration) throws {
    for database in configuration.databases {
      do throws(OperationError) {
        try database.drill.demandQuery()
      } catch {
        let key = "databases.\(database.source.name).drill.query"
        let place = configuration.lines.first { $0.key == key }.map { "\($0.from): " } ?? ""
        var error = error
        error.message = "\(place)'\(key)': \(error.message)"
        throw error
      }
    }
  }

  /// One address may be two targets, such as for a key that only writes and for that of who prunes. Of a database that goes
  /// to both each push would be told as half failed.
  private static func demandPlaces(of configuration: Configuration, _ terminal: Terminal) throws {
    for (index, target) in configuration.targets.enumerated() {
      for other in configuration.targets[..<index] where other.isPlace(of: target) {
        let names = [other.name, target.name]
        let shared = configuration.databases.filter { database in
          database.targets.map { Set(names).isSubset(of: $0) } ?? true
        }
        guard let first = shared.first else { continue }
        let places = names.map { name in
          let key = "targets.\(name).url"
          return configuration.lines.first { $0.key == key }.map { "\($0.from): '\(key)'" } ?? "'\(key)'"
        }
        guard other.webDAVUser == target.webDAVUser else {
          terminal.notice(
            "\(places.joined(separator: " and ")) are one address and two users: where both see one folder there, each"
              + " push of '\(first.source.name)' to both would be half failed")
          continue
        }
        throw OperationError(
          .usage, code: "sameRepository",
          "\(places.joined(separator: " and ")) are one address, and '\(first.source.name)' would be pushed to both",
          hint: "Leave one out, or name in the \"targets\" of the database the one that it is pushed to.")
      }
    }
  }

  /// Every value with where it came from: what stands in the file, what stands outside of it, and what is assumed.
  /// - Parameter asked: targets of the command line, configured or not.
  static func effective(
    _ configuration: Configuration, _ asked: [TargetSettings], _ options: GlobalOptions
  ) throws -> [SettingLine] {
    var lines = configuration.lines
    if configuration.file == nil {
      for (key, value) in [("verifyRemote", "24h"), ("baseLimit", "20GiB"), ("patience", "15m")] {
        lines.append(SettingLine(key: key, value: value, from: "default"))
      }
    }
    let place = try StatePlace(configuration)
    if configuration.stateFolder == nil {
      lines.append(SettingLine(key: "stateFolder", value: place.path, from: place.from))
    }
    if configuration.host == nil { lines.append(host(notedIn: place.path)) }
    for database in configuration.databases where database.source.keepsBases && database.source.baseFolder == nil {
      let key = "databases.\(database.source.name).baseFolder"
      lines.append(SettingLine(key: key, value: "\(place.path)/bases", from: "default"))
    }
    let others = asked.filter { one in !configuration.targets.contains { $0.name == one.name } }
    for target in configuration.targets + others {
      // The URL of a configured one may say something else than the file.
      let meant = asked.first { $0.name == target.name } ?? target
      let effective = try EffectiveTarget(meant, insteadOf: target, besides: configuration.lines).lines
      let keys = Set(effective.map(\.key))
      // What the URL says goes before some keys.
      lines.removeAll { keys.contains($0.key) }
      lines += effective
    }
    for (key, option) in [("limits.upload", options.limitUpload), ("limits.download", options.limitDownload)] {
      guard let option else { continue }
      lines.removeAll { $0.key == key }
      lines.append(SettingLine(key: key, value: option, from: "command line"))
    }
    if let source = SecretSource.forAll(options) {
      let isOption =
        options.passphraseFd ?? -1 >= 0
        || [options.passphraseFile, options.keyFile, options.recoveryKeyFile].contains { $0 != nil }
      lines.append(
        SettingLine(
          key: "(secret of every target)", value: source.place,
          from: isOption ? "command line" : "environment SEALIFT_PASSPHRASE_FILE"))
    }
    return lines
  }

  /// The name that the first push or init noted, or would note.
  private static func host(notedIn folder: String) -> SettingLine {
    let place = "\(folder)/host"
    do {
      guard let noted = try HostName.noted(in: folder) else {
        return SettingLine(key: "host", value: HostName.ofSystem(), from: "default")
      }
      return SettingLine(key: "host", value: noted, from: place)
    } catch {
      return SettingLine(key: "host", value: "(cannot be read)", from: place)
    }
  }
}
