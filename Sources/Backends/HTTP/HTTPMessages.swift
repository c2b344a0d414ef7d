import Storage

/// One request, complete before it is sent: a retry is the same value again.
struct HTTPRequest: Sendable {
  var method: String
  /// Absolute, encoded as it goes over the wire; never with a user or password in it.
  var url: String
  var headers: [(name: String, value: String)] = []
  var body: [UInt8]?
  /// Answers with a longer body, in bytes, are refused while they come in.
  var largestAnswer = 1 << 20
  /// The part of a resource that is asked for, in bytes. Of a server that sends all of it instead, only that part is held,
  /// and what lies behind it is not waited for.
  var wanted: Range<Int>?
  /// How long the answer may be in the making, until the first byte of its body: what comes before may be a refused
  /// login, or a word that it is on its way. As the settings say when `nil`.
  var patience: Duration?
  var login: HTTPLogin?

  init(_ method: String, _ url: String) {
    self.method = method
    self.url = url
  }

  /// Of an object, or of a part of it, or of what a server has to say instead, in bytes.
  static func largestAnswer(with part: Range<Int>?) -> Int { max(1 << 20, part?.count ?? ObjectBody.largest) }

  /// `host` or `host:port`, as messages name it.
  var authority: Substring {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    return rest.prefix { $0 != "/" && $0 != "?" }
  }
}

struct HTTPResponse: Sendable {
  var status: Int
  /// Names in lower case.
  var headers: [(name: String, value: String)]
  var body: [UInt8]
  /// Bytes that came before what was wanted, and are not held.
  var skipped = 0
  /// How the server would let us log in, when it did not.
  var offered: HTTPLogin.Schemes = []

  /// The value of the first such header.
  /// - Parameter name: in lower case.
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// It says of some ways to log in, known to us or not, that it takes them.
  var namesLogins: Bool { header("www-authenticate") != nil }

  /// A `Link` header leads on (RFC 8288): what came is not all that there is.
  var hasNextPage: Bool { headers.contains { $0.name == "link" && Self.leadsOn($0.value) } }

  /// - Parameter links: one or several, each with its parameters.
  private static func leadsOn(_ links: String) -> Bool {
    links.lowercased().split(whereSeparator: { ";,".contains($0) }).contains { parameter in
      guard let equals = parameter.firstIndex(of: "=") else { return false }
      let name = parameter[..<equals].trimming { $0.isWhitespace }
      // There may be several, in quotes.
      let relations = parameter[parameter.index(after: equals)...]
        .split(whereSeparator: { $0 == "\"" || $0.isWhitespace })
      return name == "rel" && relations.contains { $0 == "next" }
    }
  }
}

/// User and password, and the ways in which the password may be shown to the server.
struct HTTPLogin: Sendable {
  struct Schemes: OptionSet, Sendable {
    let rawValue: Int
    /// The password itself goes over the wire.
    static let basic = Schemes(rawValue: 1)
    static let digest = Schemes(rawValue: 2)
  }

  var user: String
  var password: String
  var schemes: Schemes
}
