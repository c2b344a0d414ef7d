/// Scheme, host, port and path of a server; nothing else may be in its URL, secrets least of all.
package struct WebAddress: Sendable, Hashable {
  package enum Scheme: String, Sendable {
    case http
    case https
    var port: Int { self == .http ? 80 : 443 }
  }

  package let scheme: Scheme
  /// In lower case; an IPv6 address in its brackets, and in its shortest spelling.
  package let host: String
  /// `nil` when it is the scheme's own.
  package let port: Int?
  /// As given, percent-encoded, without `/` at the end; "" for the root.
  package let path: String

  /// Why a URL is no such address; a sentence's end: "… has a password in it".
  package struct Refusal: Error, Hashable {
    package let reason: String
  }

  /// - Throws: `Refusal`; it never quotes what may be a secret.
  package init(_ url: String) throws(Refusal) {
    guard let separator = url.firstRange(of: "://"),
      let scheme = Scheme(rawValue: url[..<separator.lowerBound].lowercased())
    else { throw Refusal(reason: "does not begin with http:// or https://") }
    try self.init(scheme: scheme, rest: url[separator.upperBound...])
  }

  /// - Parameter rest: what follows the `://`.
  init(scheme: Scheme, rest: Substring) throws(Refusal) {
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let path = rest[authority.endIndex...]
    guard !authority.contains("@") else { throw Refusal(reason: "has a user or password in it") }
    guard !path.contains("?"), !path.contains("#") else { throw Refusal(reason: "has a ? or # in it") }
    guard path.utf8.allSatisfy(Self.isAllowedInPath), Self.hasWholeEscapes(path) else {
      throw Refusal(reason: "has a character in its path that must be percent-encoded")
    }
    let segments = path.split(separator: "/")
    guard !segments.contains(where: { [".", ".."].contains(PercentEncoding.decode($0) ?? "..") }) else {
      throw Refusal(reason: "has . or .. in its path")
    }
    let (host, port) = try Self.split(authority)
    self.scheme = scheme
    self.host = host
    self.port = port == scheme.port ? nil : port
    self.path = segments.isEmpty ? "" : "/" + segments.joined(separator: "/")
  }

  private init(scheme: Scheme, host: String, port: Int?, path: String) {
    (self.scheme, self.host, self.port, self.path) = (scheme, host, port, path)
  }

  /// Amazon's S3 in that region. Those in China are a cloud of their own, and so is the European Sovereign Cloud.
  init(amazonRegion region: String) {
    let domain =
      region.hasPrefix("cn-") ? "amazonaws.com.cn" : region.hasPrefix("eusc-") ? "amazonaws.eu" : "amazonaws.com"
    self.init(scheme: .https, host: "s3.\(region).\(domain)", port: nil, path: "")
  }

  /// `host`, or `host:port` when the port is not the scheme's own: as in the Host header.
  package var authority: String { port.map { "\(host):\($0)" } ?? host }

  package var text: String { "\(scheme.rawValue)://\(authority)\(path)" }

  /// Itself, and what lies above it at the same server: the nearest first, the root never.
  var andThoseAbove: [WebAddress] {
    let steps = path.split(separator: "/")
    guard steps.count > 1 else { return [self] }
    return (1...steps.count).reversed().map { count in
      WebAddress(scheme: scheme, host: host, port: port, path: "/" + steps.prefix(count).joined(separator: "/"))
    }
  }

  /// The same server under `label.host`.
  func withSubdomain(_ label: String) -> WebAddress {
    WebAddress(scheme: scheme, host: "\(label).\(host)", port: port, path: path)
  }

  /// This machine: what is sent there does not pass a network.
  var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
      || host.hasPrefix("[::ffff:127.")
      || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
        && host.allSatisfy { $0.isNumber || $0 == "." })
  }

  private static func split(_ authority: Substring) throws(Refusal) -> (host: String, port: Int?) {
    var host = authority
    var port: Int?
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      let digits = authority[authority.index(after: colon)...]
      guard let number = Int(digits), (1...65_535).contains(number), digits.allSatisfy(\.isNumber) else {
        throw Refusal(reason: "has a port that is none")
      }
      (host, port) = (authority[..<colon], number)
    }
    let isAddress = host.hasPrefix("[") && host.hasSuffix("]")
    let inner = isAddress ? host.dropFirst().dropLast() : host
    let allowed = { (character: Character) -> Bool in
      character.isASCII
        && (character.isLetter || character.isNumber || character == "." || character == "-"
          || character == "_" || (isAddress && character == ":"))
    }
    guard inner.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw Refusal(reason: "names its host in letters beyond ASCII, which must be in their xn-- form")
    }
    guard !inner.isEmpty, inner.allSatisfy(allowed) else { throw Refusal(reason: "names no host") }
    let name = inner.lowercased()
    if isAddress {
      guard let address = HostAddress.version6(name) else {
        throw Refusal(reason: "has something in brackets that is no IPv6 address")
      }
      return ("[\(address)]", port)
    }
    guard !HostAddress.isInNumbers(name) || HostAddress.isVersion4(name) else {
      throw Refusal(
        reason:
          "has an address that is not four plain numbers of 0 to 255 (a zero in front means octal, 0x hexadecimal)")
    }
    return (name, port)
  }

  private static func isAllowedInPath(_ byte: UInt8) -> Bool {
    // RFC 3986: pchar and "/".
    byte > 0x20 && byte < 0x7f && !"\"<>[\\]^`{|}".utf8.contains(byte)
  }

  private static func hasWholeEscapes(_ path: Substring) -> Bool { PercentEncoding.decode(path) != nil }
}
