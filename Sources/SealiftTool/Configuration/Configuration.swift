import Sealift

/// Everything the configuration file says, decoded and checked.
struct Configuration: Sendable {
  /// `nil` when there is no file.
  var file: String?
  var host: String?
  var stateFolder: String?
  var targets: [TargetSettings] = []
  var databases: [DatabaseSettings] = []
  /// Bytes a second.
  var limitUpload: Int?
  var limitDownload: Int?
  /// Milliseconds.
  var verifyRemote: UInt64 = 24 * 3_600_000
  /// Bytes.
  var baseLimit: Int?
  /// How long a target is waited for that has answered before.
  var patience = RetryingStore.Policy().patience
  var lines: [SettingLine] = []

  struct DatabaseSettings: Sendable {
    var source: DatabaseSource
    /// Names of targets; `nil` is all of them.
    var targets: [String]?
    /// What `forget` keeps of it.
    var keep: RetentionRules?
    /// What a drill asks of it.
    var drill = Drill.Trial()
  }

  /// - Throws: `OperationError` of kind `.usage`: not JSON, an unknown key, a wrong type, a secret.
  init(json bytes: [UInt8], file: String) throws {
    let root: JSONNode
    do {
      root = try JSONReader.read(bytes)
    } catch {
      throw ConfigurationSection.mistake(
        "notJSON", file, error.line, error.message,
        hint: error.hint ?? "The file must be one JSON object, without comments.")
    }
    let provenance = ConfigurationSection.Provenance()
    let top = try ConfigurationSection(root, file: file, path: "", provenance: provenance)
    self.file = file
    host = try top.text("host")
    if let host, !isHostName(host) {
      throw top.wrong(
        "host", "cannot be the name of a machine",
        hint: "It has 1 to 200 bytes, one that is no space, no control characters, and does not begin with '-'.")
    }
    stateFolder = try top.path("stateFolder")
    verifyRemote = UInt64(try top.value("verifyRemote", default: "24h", "a time such as 24h", TimeSpan.parse) ?? 0)
    baseLimit = try top.value("baseLimit", default: "20GiB", "a number of bytes such as 20GiB", ByteCount.parse)
    patience = .milliseconds(try top.value("patience", default: "15m", "a time such as 15m", TimeSpan.parse) ?? 0)
    if let limits = try top.section("limits") {
      let rate = "bytes a second such as 5MiB/s, at least 1KiB/s"
      limitUpload = try limits.value("upload", rate, ByteCount.parseRate)
      limitDownload = try limits.value("download", rate, ByteCount.parseRate)
      try limits.finish()
    }
    targets = try top.namedSections("targets").map { try TargetSettings(name: $0.name, $0.section) }
    databases = try top.namedSections("databases").map { named in
      try DatabaseSettings(name: named.name, named.section, targets: targets.map(\.name))
    }
    try top.finish()
    lines = provenance.entries
  }

  /// Without a file.
  init() {}
}

extension Configuration.DatabaseSettings {
  init(name: String, _ section: ConfigurationSection, targets known: [String]) throws {
    guard let path = try section.path("path") else {
      throw section.missing("path", "a database needs the path of its file")
    }
    let method = try section.value(
      "method", default: "vacuum", "vacuum, pages or file", DatabaseSource.Method.init(rawValue:))
    let tags = try section.texts("tags") ?? []
    let targets = try section.texts("targets")
    let wait = try section.value("busyTimeout", default: "30s", "a time such as 30s", TimeSpan.parse)
    source = DatabaseSource(
      name: name, path: try Paths.fromRoot(path), method: method ?? .vacuum,
      busyTimeoutMilliseconds: wait ?? 30_000,
      maxWalGrowth: try section.value("maxWalGrowth", "a number of bytes such as 1GiB", ByteCount.parse),
      allowRecovery: try section.flag("allowRecovery", default: false),
      keepFreePages: try section.flag("keepFreePages", default: false),
      compressionLevel: try section.integer("compression", in: 0...19, default: 1),
      delta: try section.flag("delta", default: true),
      baseFolder: try section.path("baseFolder").map(Paths.fromRoot), tags: tags)
    source.companions = try Companion.list(section, of: source.path)
    source.externalData = try section.flag("externalData", default: true)
    source.fork = UInt32(try section.integer("fork", in: 0...1_000_000, default: 0))
    self.targets = targets
    keep = try section.section("keep").map(RetentionRules.init)
    // Of a file as its application made it there is nothing to ask.
    let asked = try source.method == .file ? section.section("drill") : section.sectionOrDefaults("drill")
    if let asked { drill = try Drill.Trial(asked) }
    try section.finish()
    try demandFitting(section)
    if let stray = targets?.first(where: { !known.contains($0) }) {
      throw section.wrong(
        "targets", "names '\(stray)', which is not a target",
        hint: Nearest.match(for: stray, among: known).map { "Did you mean '\($0)'?" }
          ?? "Targets here: \(known.joined(separator: ", ")).")
    }
    var seen: Set<String> = []
    if let double = targets?.first(where: { !seen.insert($0).inserted }) {
      throw section.wrong("targets", "names '\(double)' twice", hint: "Name each target once.")
    }
    if targets?.isEmpty == true { throw section.wrong("targets", "is empty: leave it out to mean all targets") }
  }
}

extension Configuration.DatabaseSettings {
  /// What only a database has is a mistake where a file is kept as it is.
  fileprivate func demandFitting(_ section: ConfigurationSection) throws {
    guard source.method == .file else { return }
    let strays = [
      ("allowRecovery", source.allowRecovery), ("keepFreePages", source.keepFreePages),
      ("maxWalGrowth", source.maxWalGrowth != nil), ("drill", drill.query != nil),
    ]
    guard let stray = strays.first(where: \.1) else { return }
    throw section.wrong(
      stray.0, "is for databases: with \"method\": \"file\" nothing is read of the file but its bytes",
      hint: "Leave one of the two out.")
  }
}

extension Drill.Trial {
  fileprivate init(_ section: ConfigurationSection) throws {
    self.init(query: try section.text("query"))
    let limit = try section.value("timeout", default: "60s", "a time above 0, such as 60s", TimeSpan.parseSome)
    queryLimit = .milliseconds(limit ?? 60_000)
    foreignKeys = try section.flag("foreignKeys", default: true)
    try section.finish()
  }
}
