import COpenSSL
import Storage

/// AWS Signature Version 4 as S3 wants it: the path encoded once and taken as it is, the payload's hash signed.
/// Pure: the same values give the same signature.
///
/// See: docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
struct Signature {
  var credentials: S3Credentials
  var region: String
  /// `yyyyMMdd'T'HHmmss'Z'`.
  var time: String

  /// What is signed of a request.
  struct Request {
    var method: String
    /// As in the Host header: with the port when it is not the scheme's own.
    var host: String
    /// Absolute, not encoded yet.
    var path: String
    /// Not encoded, in any order.
    var query: [(name: String, value: String)] = []
    /// Beside host, date, hash and token, which are added.
    var headers: [(name: String, value: String)] = []
    /// SHA-256 of the body in lower-case hex.
    var payloadHash: String
  }

  /// - Returns: path and query as they go over the wire, and all headers but the host.
  func sign(_ request: Request) -> (target: String, headers: [(name: String, value: String)]) {
    var headers = request.headers + [("x-amz-date", time), ("x-amz-content-sha256", request.payloadHash)]
    if let token = credentials.sessionToken { headers.append(("x-amz-security-token", token)) }
    let path = PercentEncoding.encode(request.path, keepingSlashes: true)
    let query = canonicalQuery(request.query)
    let canonical = canonicalHeaders(headers + [("host", request.host)])
    let names = canonical.map(\.name).joined(separator: ";")
    let lines =
      [request.method, path, query] + canonical.map { "\($0.name):\($0.value)" } + ["", names, request.payloadHash]
    let scope = "\(time.prefix(8))/\(region)/s3/aws4_request"
    let toSign = [
      "AWS4-HMAC-SHA256", time, scope, Self.hex(Self.sha256(Array(lines.joined(separator: "\n").utf8))),
    ].joined(separator: "\n")
    let signature = Self.hex(Self.mac(key: signingKey, toSign))
    headers.append(
      (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope),SignedHeaders=\(names),Signature=\(signature)"
      ))
    return (query.isEmpty ? path : "\(path)?\(query)", headers)
  }

  private func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
    query
      .map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .joined(separator: "&")
  }

  private func canonicalHeaders(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
    headers
      .map { ($0.name.lowercased(), $0.value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")) }
      .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
  }

  private var signingKey: [UInt8] {
    [String(time.prefix(8)), region, "s3", "aws4_request"]
      .reduce(Array("AWS4\(credentials.secretKey)".utf8)) { key, part in Self.mac(key: key, part) }
  }
}

extension Signature {
  static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var state = SHA256_CTX()
    SHA256_Init(&state)
    SHA256_Update(&state, bytes, bytes.count)
    SHA256_Final(&digest, &state)
    return digest
  }

  /// What the Content-MD5 header holds, encoded (RFC 1864): proves nothing, and some servers ask for it.
  static func md5(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 16)
    var state = MD5_CTX()
    MD5_Init(&state)
    MD5_Update(&state, bytes, bytes.count)
    MD5_Final(&digest, &state)
    return digest
  }

  static func mac(key: [UInt8], _ text: String) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: 32)
    let data = Array(text.utf8)
    var hash = sl_keyed_hash()
    sl_keyed_hash_begin(&hash, key, key.count)
    sl_keyed_hash_code(&hash, data, data.count, nil, 0, &mac)
    return mac
  }

  static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Seconds since 1970 UTC, as the signature writes time.
  static func time(_ seconds: Int) -> String {
    let date = CivilDay.date(of: seconds / 86_400)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let clock = seconds % 86_400
    return
      "\(date.year)\(two(date.month))\(two(date.day))T\(two(clock / 3600))\(two(clock / 60 % 60))\(two(clock % 60))Z"
  }
}
