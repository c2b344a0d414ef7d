/// Reads the URLs of targets: `s3://bucket/prefix?endpoint=…&region=…&style=path`, `webdavs://host/path`,
/// `webdav://host/path` (without TLS), `file:///path`, or an absolute path.
///
/// URLs end up in logs, process lists and shell histories, so a password in one is an error, and no error quotes one.
package enum TargetURL {
  package struct Refusal: Error, Hashable, CustomStringConvertible {
    /// What is wrong with it; lower case, no full stop, never the URL itself.
    package let message: String
    package let hint: String
    package var description: String { "\(message)\nhint: \(hint)" }
  }

  /// - Throws: `Refusal`.
  package static func parse(_ text: String) throws(Refusal) -> Target {
    if text.hasPrefix("/") { return .folder(path: try folderPath(text)) }
    guard let separator = text.firstRange(of: "://") else {
      throw Refusal(
        message: "the target is neither a URL nor an absolute path",
        hint: "Write s3://bucket/prefix, webdavs://host/path, file:///path or /path.")
    }
    let rest = text[separator.upperBound...]
    switch text[..<separator.lowerBound].lowercased() {
    case "file": return try folder(rest)
    case "webdav": return try webDAV(rest, .http)
    case "webdavs": return try webDAV(rest, .https)
    case "s3": return try s3(rest)
    default:
      throw Refusal(
        message: "the target's URL begins with something unknown",
        hint: "Write s3://bucket/prefix, webdavs://host/path, webdav://host/path or file:///path.")
    }
  }

  private static func folder(_ rest: Substring) throws(Refusal) -> Target {
    let path = rest.hasPrefix("localhost/") ? rest.dropFirst("localhost".count) : rest
    guard path.hasPrefix("/"), !path.contains("?"), !path.contains("#") else {
      throw Refusal(
        message: "the target's file URL is none",
        hint: "Write three slashes and an absolute path, as in file:///srv/backup; ? and # are %3F and %23.")
    }
    guard let decoded = PercentEncoding.decode(path) else {
      throw Refusal(
        message: "the target's file URL has a % that begins no escape, or its path is not UTF-8",
        hint: "Write % as %25, and name a folder whose name is UTF-8.")
    }
    return .folder(path: try folderPath(decoded))
  }

  private static func folderPath(_ path: String) throws(Refusal) -> String {
    guard !path.contains("\0") else {
      throw Refusal(message: "the target's path has a zero byte in it", hint: "Name a folder without one.")
    }
    let trimmed = path.trimmingEnd("/")
    return trimmed.isEmpty ? "/" : trimmed
  }

  private static func webDAV(_ rest: Substring, _ scheme: WebAddress.Scheme) throws(Refusal) -> Target {
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let at = authority.lastIndex(of: "@")
    if let at { try refusePassword(authority[..<at], "passwordFile or passwordCommand") }
    let user = at.map { PercentEncoding.decode(authority[..<$0]) ?? "" }
    if user == "" {
      throw Refusal(message: "the target's user cannot be read", hint: "Write webdavs://user@host/path.")
    }
    let address: WebAddress
    do { address = try WebAddress(scheme: scheme, rest: at.map { rest[rest.index(after: $0)...] } ?? rest) } catch {
      throw Refusal(message: "the target's URL \(error.reason)", hint: "Write webdavs://user@host:port/path.")
    }
    return .webdav(address, user: user)
  }

  private static func s3(_ rest: Substring) throws(Refusal) -> Target {
    let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = halves.first ?? ""
    let pieces = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    guard let bucket = pieces.first, path.first != "/", isBucket(bucket) else {
      if path.contains("@") { try refusePassword(":", "accessKeyId, and secretKeyFile or secretKeyCommand") }
      throw Refusal(
        message: "the target's bucket has no name that a bucket can have",
        hint: "Write s3://bucket/prefix with 3 to 63 of a-z, A-Z, 0-9, ., _ and -.")
    }
    let prefix = pieces.dropFirst()
    guard prefix.allSatisfy(isPrefixPart) else {
      throw Refusal(
        message: "the target's prefix has a character that does not travel everywhere",
        hint: "Use letters, digits, . _ and - in the prefix, and no . or .. alone.")
    }
    var location = Target.S3Location(bucket: bucket, prefix: prefix.joined(separator: "/"))
    for pair in halves.dropFirst().first?.split(separator: "&") ?? [] { try set(pair, in: &location) }
    return .s3(location)
  }

  private static func set(_ pair: Substring, in location: inout Target.S3Location) throws(Refusal) {
    let halves = pair.split(separator: "=", maxSplits: 1).map { PercentEncoding.decode($0) ?? "" }
    guard halves.count == 2, !halves[1].isEmpty else {
      throw Refusal(message: "an option of the target's URL has no value", hint: "Write name=value, joined by &.")
    }
    switch halves[0] {
    case "endpoint":
      do { location.endpoint = try WebAddress(halves[1]) } catch {
        throw Refusal(message: "the target's endpoint \(error.reason)", hint: "Write endpoint=https://host:port.")
      }
    case "region":
      guard isPrefixPart(halves[1]) else {
        throw Refusal(message: "the target's region is none", hint: "Write a region as in region=eu-central-1.")
      }
      location.region = halves[1]
    case "storageClass":
      guard isPrefixPart(halves[1]) else {
        throw Refusal(
          message: "the target's storage class is none", hint: "Write one as in storageClass=STANDARD_IA.")
      }
      location.storageClass = halves[1]
    case "profile": location.profile = halves[1]
    case "style":
      guard let style = S3Configuration.Style(rawValue: halves[1]) else {
        throw Refusal(message: "the target's style is unknown", hint: "Write style=path or style=virtual.")
      }
      location.style = style
    default:
      throw Refusal(
        message: "the target's URL has an unknown option",
        hint: "Options are endpoint, region, style, storageClass and profile; keys are never among them.")
    }
  }

  /// - Parameter keys: what gives it instead, in a target of the configuration.
  private static func refusePassword(_ userInfo: Substring, _ keys: String) throws(Refusal) {
    guard userInfo.contains(":") else { return }
    throw Refusal(
      message: "the target's URL has a password in it",
      hint: "Take it out, change it where it may have been seen, and give it by \(keys) of a configured target.")
  }

  private static func isBucket(_ name: String) -> Bool {
    (3...63).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
          || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      }
  }

  /// A region or a storage class as it may stand in a request; `nil` for what is none.
  package static func word(_ text: String) -> String? { isPrefixPart(text) ? text : nil }

  private static func isPrefixPart(_ part: String) -> Bool {
    part != "." && part != ".."
      && part.unicodeScalars.allSatisfy { scalar in
        scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
          || "._-=".unicodeScalars.contains(scalar)
      }
  }
}
