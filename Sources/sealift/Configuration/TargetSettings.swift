import Operations

/// A target as the configuration or the command line names it: where it is, who we are there, and what opens it.
struct TargetSettings: Sendable {
  enum Style: String, Sendable {
    case path
    case virtual
  }

  /// The name from the configuration; for a URL of the command line, the URL.
  var name: String
  var url: String
  var caFile: String?

  // S3
  var endpoint: String?
  var region: String?
  var style: Style?
  var storageClass: String?
  var profile: String?
  var credentialsFile: String?
  var accessKeyID: String?
  var secretKey: SecretSource?
  var sessionToken: SecretSource?

  // WebDAV
  var user: String?
  var password: SecretSource?

  /// What opens the repository there; `nil`: ask elsewhere.
  var unlock: SecretSource?

  /// A target that is only a URL.
  init(url: String) {
    name = url
    self.url = url
  }

  init(name: String, _ section: ConfigurationSection) throws {
    guard let url = try section.text("url") else {
      throw section.wrong("url", "is missing: a target needs a URL such as s3://bucket/prefix or file:///path")
    }
    if Self.hasPassword(url) {
      throw section.wrong(
        "url", "has a password in it",
        hint: "Write the user as 'user', and the password as passwordFile or passwordCommand.")
    }
    self.name = name
    self.url = url
    caFile = try section.text("caFile").map(Paths.expanded)
    endpoint = try section.text("endpoint")
    region = try section.text("region")
    style = try section.value("style", "path or virtual", Style.init(rawValue:))
    storageClass = try section.text("storageClass")
    profile = try section.text("profile")
    credentialsFile = try section.text("credentialsFile").map(Paths.expanded)
    accessKeyID = try section.text("accessKeyId")
    secretKey = try Self.secret(section, file: "secretKeyFile", command: "secretKeyCommand")
    sessionToken = try Self.secret(section, file: "sessionTokenFile", command: "sessionTokenCommand")
    user = try section.text("user")
    password = try Self.secret(section, file: "passwordFile", command: "passwordCommand")
    let passphrase = try Self.secret(section, file: "passphraseFile", command: "passphraseCommand")
    let keyFile = try section.text("keyFile").map { SecretSource.keyFile(Paths.expanded($0)) }
    if passphrase != nil, keyFile != nil { throw section.wrong("keyFile", "and a passphrase exclude each other") }
    unlock = passphrase ?? keyFile
    try section.finish()
  }

  /// `scheme://user:password@host`: a URL is shown in messages and by `ps`.
  static func hasPassword(_ url: String) -> Bool {
    guard let scheme = url.firstRange(of: "://") else { return false }
    let authority = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let at = authority.lastIndex(of: "@") else { return false }
    return authority[..<at].contains(":")
  }

  private static func secret(_ section: ConfigurationSection, file: String, command: String) throws -> SecretSource? {
    let path = try section.text(file).map { SecretSource.file(Paths.expanded($0)) }
    let program = try section.hiddenText(command).map(SecretSource.command)
    if path != nil, program != nil { throw section.wrong(command, "and '\(file)' exclude each other") }
    return path ?? program
  }
}
