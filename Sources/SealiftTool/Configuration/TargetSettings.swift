import Sealift

/// A target as the configuration or the command line names it: where it is, who we are there, and what opens it.
struct TargetSettings: Sendable {
  /// The name from the configuration; for a URL of the command line, the URL.
  let name: String
  /// What the URL says, and what the configuration adds to it.
  private(set) var place: Target
  private(set) var caFile: String?

  // S3
  private(set) var credentialsFile: String?
  private(set) var accessKeyID: String?
  private(set) var secretKey: SecretSource?
  private(set) var sessionToken: SecretSource?

  // WebDAV
  private(set) var user: String?
  private(set) var password: SecretSource?
  /// The password may be shown over a line that is not encrypted.
  private(set) var allowPlainPassword = false

  /// What opens the repository there; `nil`: ask elsewhere.
  private(set) var unlock: SecretSource?

  /// A target of the command line.
  /// - Throws: `OperationError` of kind `.usage` that does not repeat the URL, which may have a password in it.
  init(url: String) throws {
    name = url
    do { place = try TargetURL.parse(url) } catch {
      throw OperationError(.usage, code: "badTarget", error.message, hint: error.hint)
    }
  }

  init(name: String, _ section: ConfigurationSection) throws {
    guard let url = try section.hiddenText("url") else {
      throw section.missing("url", "a target needs a URL such as s3://bucket/prefix or file:///path")
    }
    let parsed: Target
    do { parsed = try TargetURL.parse(url) } catch {
      throw section.wrong("url", "cannot be used: \(error.message)", hint: error.hint)
    }
    section.show("url", as: url)
    self.name = name
    place = try Self.completed(parsed, section)
    caFile = try section.path("caFile")
    credentialsFile = try section.path("credentialsFile")
    accessKeyID = try section.text("accessKeyId")
    secretKey = try Self.secret(section, file: "secretKeyFile", command: "secretKeyCommand")
    sessionToken = try Self.secret(section, file: "sessionTokenFile", command: "sessionTokenCommand")
    if (accessKeyID == nil) != (secretKey == nil) {
      throw section.wrong("accessKeyId", "and secretKeyFile or secretKeyCommand belong together")
    }
    user = try section.text("user")
    password = try Self.secret(section, file: "passwordFile", command: "passwordCommand")
    if case .webdav = place { allowPlainPassword = try section.flag("allowPlainPassword", default: false) }
    let passphrase = try Self.secret(section, file: "passphraseFile", command: "passphraseCommand")
    let keyFile = try section.path("keyFile").map(SecretSource.keyFile)
    if passphrase != nil, keyFile != nil { throw section.wrong("keyFile", "and a passphrase exclude each other") }
    unlock = passphrase ?? keyFile
    try refuseForeignKeys(section)
    try refuseStrays(section)
    try section.finish()
  }

  /// The URL's location with the keys of the configuration, which go before the URL's own options.
  private static func completed(_ place: Target, _ section: ConfigurationSection) throws -> Target {
    // Said without the value: people write a user and a password into URLs.
    let endpoint = try section.hiddenText("endpoint").map { text in
      do throws(WebAddress.Refusal) {
        let address = try WebAddress(text)
        section.show("endpoint", as: text)
        return address
      } catch {
        throw section.wrong("endpoint", "must be a URL such as https://s3.example.com; this one \(error.reason)")
      }
    }
    let region = try section.value("region", "a region such as eu-central-1", TargetURL.word)
    let style = try section.value("style", "path or virtual", S3Configuration.Style.init(rawValue:))
    let storageClass = try section.value("storageClass", "a storage class such as STANDARD_IA", TargetURL.word)
    let profile = try section.text("profile")
    let objectLock = try section.section("objectLock").map(Self.objectLock)
    guard case .s3(var location) = place else { return place }
    location.endpoint = endpoint ?? location.endpoint
    location.region = region ?? location.region
    location.style = style ?? location.style
    location.storageClass = storageClass ?? location.storageClass
    location.profile = profile ?? location.profile
    location.objectLock = objectLock
    return .s3(location)
  }

  private static func objectLock(_ section: ConfigurationSection) throws -> S3Configuration.ObjectLock {
    guard section.has("days") else { throw section.missing("days", "an object lock needs the days it holds") }
    let days = try section.integer("days", in: 1...36_500, default: 1)
    let mode = try section.value("mode", "governance or compliance", S3Configuration.ObjectLock.Mode.init(rawValue:))
    guard let mode else { throw section.missing("mode", "an object lock is of mode governance or compliance") }
    try section.finish()
    return S3Configuration.ObjectLock(days: days, mode: mode)
  }

  /// Both are one place, whatever they are called and whoever we are there.
  func isPlace(of other: TargetSettings) -> Bool {
    switch (place, other.place) {
    case (.folder(let one), .folder(let another)): one.utf8.elementsEqual(another.utf8)
    case (.webdav(let one, _), .webdav(let another, _)): one == another
    case (.s3(let one), .s3(let another)):
      one.bucket == another.bucket && one.prefix == another.prefix && one.endpoint == another.endpoint
    default: false
    }
  }

  /// Who we are at a WebDAV server: one address may be a place of each user's own there.
  var webDAVUser: String? {
    guard case .webdav(_, let named) = place else { return nil }
    return named ?? user
  }

  /// The keys of an S3 target whose values a URL of the command line has changed.
  func keysChanged(from configured: TargetSettings) -> Set<String> {
    guard case .s3(let own) = place, case .s3(let known) = configured.place else { return [] }
    var keys: Set<String> = []
    if own.region != known.region { keys.insert("region") }
    if own.style != known.style { keys.insert("style") }
    if own.storageClass != known.storageClass { keys.insert("storageClass") }
    return keys
  }

  /// This target as a URL of the command line means it.
  /// - Parameter url: what it says beside the place goes before what is said here.
  /// - Returns: `nil` where it is another place, or names another user or profile.
  func meant(by url: TargetSettings) -> TargetSettings? {
    guard isPlace(of: url) else { return nil }
    switch (place, url.place) {
    case (.webdav(_, let ownUser), .webdav(_, let named)):
      return named == nil || named == ownUser ?? user ? self : nil
    case (.s3(var own), .s3(let said)):
      guard said.profile == nil || said.profile == own.profile else { return nil }
      own.region = said.region ?? own.region
      own.style = said.style ?? own.style
      own.storageClass = said.storageClass ?? own.storageClass
      var other = self
      other.place = .s3(own)
      return other
    default: return self
    }
  }

  /// The same target for what is not to stay.
  var withoutLock: TargetSettings {
    var other = self
    other.place = place.withoutLock
    return other
  }

  /// A key that this kind of target has no use for is a mistake, like an unknown one.
  private func refuseForeignKeys(_ section: ConfigurationSection) throws {
    let s3 = [
      "endpoint", "region", "style", "storageClass", "profile", "credentialsFile", "accessKeyId", "secretKeyFile",
      "secretKeyCommand", "sessionTokenFile", "sessionTokenCommand", "objectLock",
    ]
    let webDAV = ["user", "passwordFile", "passwordCommand", "allowPlainPassword"]
    let foreign: [String]
    switch place {
    case .s3: foreign = webDAV
    case .webdav: foreign = s3
    case .folder: foreign = s3 + webDAV + ["caFile"]
    }
    guard let key = foreign.first(where: section.has) else { return }
    throw section.wrong(key, "has no meaning for this kind of target", hint: "Remove it, or check the target's URL.")
  }

  /// What would go without effect beside what else is there, or is not, is a mistake as well.
  private func refuseStrays(_ section: ConfigurationSection) throws {
    func first(_ keys: String...) -> String? { keys.first(where: section.has) }
    if accessKeyID == nil, let token = first("sessionTokenFile", "sessionTokenCommand") {
      throw section.wrong(token, "belongs to 'accessKeyId', which is missing")
    }
    if accessKeyID != nil, let other = first("profile", "credentialsFile") {
      throw section.wrong(other, "and 'accessKeyId' exclude each other")
    }
    if case .webdav(_, let named) = place, user ?? named == nil, let secret = first("passwordFile", "passwordCommand") {
      throw section.wrong(secret, "belongs to 'user', which is missing")
    }
  }

  private static func secret(_ section: ConfigurationSection, file: String, command: String) throws -> SecretSource? {
    let path = try section.path(file).map(SecretSource.file)
    let key = SecretSource.ConfigurationKey(text: "\(section.path).\(command)")
    let program = try section.hiddenText(command).map { SecretSource.command($0, of: key) }
    if path != nil, program != nil { throw section.wrong(command, "and '\(file)' exclude each other") }
    return path ?? program
  }
}
