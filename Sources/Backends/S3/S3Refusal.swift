/// The body of an S3 error.
struct S3Refusal: Sendable {
  var code = ""
  var message = ""
  /// Where the bucket is said to be, in a redirect or a wrong signature's scope.
  var region: String?
  var endpoint: String?

  /// What servers say of a session token that was good once.
  static let endsOfTokens: Set<String> = [
    "ExpiredToken", "ExpiredTokenException", "InvalidToken", "InvalidTokenId", "SecurityTokenExpired",
    "TokenRefreshRequired",
  ]

  /// What servers say of a signature whose time is not theirs.
  static let skews: Set<String> = ["RequestTimeTooSkewed", "RequestExpired", "ExpiredRequest"]

  /// What servers say of an object that a rule of its whole bucket keeps. Cloudflare's has status 409 or 403, Alibaba's
  /// 409.
  static let keptByRules: Set<String> = [
    "ObjectLockedByBucketPolicy", "RetentionPolicyNotMet", "ObjectUnderActiveHold", "FileImmutable",
  ]

  /// Whether other credentials may be taken where these were not. Of temporary ones some servers forget the key, too.
  func isEnd(of credentials: S3Credentials) -> Bool {
    Self.endsOfTokens.contains(code) || credentials.sessionToken != nil && code == "InvalidAccessKeyId"
  }

  /// It speaks of locks, each server in its own spelling: "Object Lock", "ObjectLockConfiguration", "object-lock-mode".
  var namesLock: Bool {
    let words = message.lowercased()
    return words.contains("retention") || words.filter { $0 != " " && $0 != "-" }.contains("objectlock")
  }

  /// `nil` when the body is no `<Error>`.
  init?(_ body: [UInt8]) {
    guard !body.isEmpty, let document = try? XMLReader.read(body, into: Document()), document.isError else {
      return nil
    }
    code = document.values["Code"] ?? ""
    message = document.values["Message"] ?? ""
    region = document.values["Region"]
    endpoint = document.values["Endpoint"]
  }

  private struct Document: XMLReader.Listener {
    /// Amazon shows all that was signed, with the session token in it, three characters a byte.
    static let longestText = 1 << 20
    var isError = false
    var values: [String: String] = [:]

    mutating func began(_ name: XMLName, depth: Int) {
      if depth == 1 { isError = name.local == "Error" }
    }

    mutating func ended(_ name: XMLName, text: String, depth: Int) {
      if depth == 2 { values[name.local] = text.trimmed }
    }
  }
}
