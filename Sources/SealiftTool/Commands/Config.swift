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
      they come from.

        sealift config check
        sealift --config ./sealift.json config check --json
      """)

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let lines = try Self.effective(configuration, session.options)
    _ = try Stores(session.options, configuration, session.terminal)
    guard !session.options.json else {
      try session.terminal.result(
        Documents.configuration(configuration.file, lines, notices: session.terminal.notices))
      return .success
    }
    try session.terminal.result("configuration: \(configuration.file ?? "none")")
    for line in lines { try session.terminal.result(printable("\(line.key) = \(line.value)  (\(line.from))")) }
    return .success
  }

  /// Every value with where it came from: what stands in the file, what stands outside of it, and what is assumed.
  static func effective(_ configuration: Configuration, _ options: GlobalOptions) throws -> [SettingLine] {
    var lines = configuration.lines
    if configuration.file == nil {
      lines.append(SettingLine(key: "verifyRemote", value: "24h", from: "default"))
      lines.append(SettingLine(key: "patience", value: "15m", from: "default"))
    }
    if configuration.stateFolder == nil {
      let place = try StatePlace(configuration)
      lines.append(SettingLine(key: "stateFolder", value: place.path, from: place.from))
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
}
