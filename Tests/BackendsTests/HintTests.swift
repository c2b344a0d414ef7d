import CCurl
import Glibc
import Storage
import Testing

@testable import Backends

/// A hint names the one right, place or limit that it is about, so that nobody grants or searches more than that.
@Suite struct HintTests {
  private let name = ObjectName("packs/one")!

  private func s3(
    _ server: ScriptedServer, isLocked: Bool = false, _ source: S3Credentials.Source = .target
  ) throws -> S3Store {
    var configuration = S3Configuration(
      endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket", prefix: "some/where")
    if isLocked { configuration.objectLock = S3Configuration.ObjectLock(days: 1, mode: .governance) }
    return S3Store(configuration, now: { 784_111_777 }) {
      S3Credentials(accessKey: "AKIA", secretKey: "secret", sessionToken: "token", source: source)
    }
  }

  private static func refusal(_ code: String) -> String {
    "<Error><Code>\(code)</Code><Message>no</Message></Error>"
  }

  // MARK: authorities

  /// As in an image without ca-certificates: a caFile that nobody gave cannot be mended.
  @Test func `authorities that cannot be read are the system's, where the target has none`() {
    func error(_ caFile: String?) -> StoreError {
      .transport(CURLE_SSL_CACERT_BADFILE, detail: "error setting", authority: "host:443", caFile: caFile)
    }
    #expect(error("/ca.pem").hint == "The target's caFile must be a PEM file.")
    #expect(error(nil).hint?.contains("apt-get install ca-certificates") == true)
    for caFile in ["/ca.pem", nil] { #expect(error(caFile).code == .tls && error(caFile).retry == .never) }
  }

  /// The numbers of OpenSSL, of the server's certificate and of the proxy's.
  @Test(
    arguments: [
      (1, 0, "of host:443 was", "write one that is in it into the target's URL"),
      (62, 0, "of host:443 was", "write one that is in it into the target's URL"),
      (9, 0, "of host:443 was", "Check this machine's clock; where it is right, renew the server's"),
      (10, 0, "of host:443 was", "Check this machine's clock; where it is right, renew the server's"),
      (18, 0, "of host:443 was", "give its certificate as the target's caFile."),
      (20, 0, "of host:443 was", "give its certificate as the target's caFile."),
      (23, 0, "of host:443 was", "caFile; check this machine's clock"),
      (0, 1, "of the proxy was", "write one that is in it into http_proxy"),
      (0, 10, "of the proxy was", "where it is right, renew the proxy's"),
      (0, 18, "of the proxy was", "update-ca-certificates"), (0, 23, "of the proxy was", "update-ca-certificates"),
    ] as [(Int, Int, String, String)])
  func `a certificate that is refused is told with what helps against that`(
    _ server: Int, _ proxy: Int, _ whose: String, _ help: String
  ) {
    let error = StoreError.transport(
      CURLE_PEER_FAILED_VERIFICATION, detail: "SSL", authority: "host:443", caFile: nil,
      verdict: CertificateVerdict(server: server, proxy: proxy))
    #expect(error.code == .tls && error.retry == .never)
    #expect(error.message.contains(whose), "\(error.message)")
    #expect(error.hint?.contains(help) == true, "\(error.hint ?? "")")
  }

  /// As libcurl says it with OpenSSL 3.0.
  @Test func `a server that wants a certificate of ours is told as such, and not asked again`() {
    let words =
      "OpenSSL SSL_read: OpenSSL/3.0.19: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"
    let error = StoreError.transport(CURLE_RECV_ERROR, detail: words, authority: "host:443", caFile: nil)
    #expect(error.code == .tls && error.retry == .never)
    #expect(error.message == "host:443 wants a certificate of ours, and Sealift has none")
    #expect(error.hint != nil)
  }

  // MARK: proxies

  @Test(
    arguments: [
      (.http, "http_proxy", true), (.http, "HTTP_PROXY", false), (.http, "https_proxy", false),
      (.http, "all_proxy", true), (.http, "ALL_PROXY", true), (.https, "https_proxy", true),
      (.https, "HTTPS_PROXY", true), (.https, "http_proxy", false), (.https, "all_proxy", true),
      (.https, "no_proxy", false),
    ] as [(WebAddress.Scheme, String, Bool)])
  func `proxies are where libcurl finds them`(_ scheme: WebAddress.Scheme, _ variable: String, _ isNamed: Bool) {
    #expect(ProxyVariables.nameProxy(for: scheme, isSet: { $0 == variable }) == isNamed)
  }

  // MARK: rights

  /// A hint that asked for all rights would give away what keeps the versions from whoever takes over this machine.
  @Test(arguments: [false, true])
  func `an S3 server that says no is told as the right that the request needs`(_ isLocked: Bool) async throws {
    try await withServer { request in
      .status(403, [:], request.method == "HEAD" ? "" : Self.refusal("AccessDenied"))
    } _: { server in
      let store = try s3(server, isLocked: isLocked)
      let errors: [(right: String, error: StoreError?)] = [
        ("s3:ListBucket", await storeError { _ = try await store.list(prefix: "") }),
        ("s3:GetObject", await storeError { _ = try await store.get(name, range: nil) }),
        ("s3:GetObject", await storeError { _ = try await store.head(name) }),
        ("s3:PutObject", await storeError { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }),
        ("s3:DeleteObject", await storeError { try await store.delete(name) }),
      ]
      for (right, error) in errors {
        #expect(error?.code == .forbidden)
        let hint = try #require(error?.hint)
        #expect(hint.contains(right), "\(hint)")
        #expect(hint.contains("delete") == (right == "s3:DeleteObject"), "\(hint)")
        #expect(hint.contains("s3:PutObjectRetention") == (isLocked && right == "s3:PutObject"), "\(hint)")
      }
    }
  }

  @Test(arguments: [("PROPFIND", "list"), ("GET", "read"), ("PUT", "write"), ("MOVE", "write"), ("DELETE", "delete")])
  func `a WebDAV server that says no is told as the right that the request needs`(
    _ refused: String, _ right: String
  ) async throws {
    try await withServer { request in
      if request.method == refused { return .status(403) }
      guard request.method == "PROPFIND" else { return .status(201) }
      let isCollection = request.target.hasSuffix("/")
      let type = isCollection ? "<D:collection/>" : ""
      let length = isCollection ? "" : "<D:getcontentlength>1</D:getcontentlength>"
      return .status(
        207, [:],
        "<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>\(request.target)</D:href><D:propstat><D:prop>"
          + "<D:resourcetype>\(type)</D:resourcetype>\(length)</D:prop><D:status>HTTP/1.1 200 OK</D:status>"
          + "</D:propstat></D:response></D:multistatus>")
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)/dav")
      let store = WebDAVStore(WebDAVConfiguration(address: address, user: nil, password: nil), now: { 0 })
      let error = await storeError {
        switch refused {
        case "PROPFIND": _ = try await store.list(prefix: "")
        case "GET": _ = try await store.get(name, range: nil)
        case "DELETE": try await store.delete(name)
        default: try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
        }
      }
      #expect(error?.code == .forbidden)
      let hint = try #require(error?.hint)
      #expect(hint.contains(" \(right)") && hint.contains(refused), "\(hint)")
      #expect(hint.contains("delete") == (refused == "DELETE"), "\(hint)")
    }
  }

  @Test(arguments: [(AccessRight.list, "read"), (.read, "read"), (.write, "write"), (.delete, "delete")])
  func `a folder that may not be used is told as the right that is missing`(_ right: AccessRight, _ word: String) throws
  {
    for number in [EACCES, EPERM, EROFS] {
      let error = StoreError.system(number, "packs/x could not be had", for: right)
      #expect(error.code == .forbidden)
      let hint = try #require(error.hint)
      #expect(hint.contains(" \(word)"), "\(hint)")
      #expect(hint.contains("delete") == (right == .delete), "\(hint)")
    }
  }

  /// As Amazon says it of a bucket with SSE-KMS.
  @Test func `a right or a key that the bucket's encryption needs is told as such`() throws {
    let errors = S3Errors(
      configuration: S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket"), now: 0)
    func error(_ status: Int, _ code: String, _ message: String, _ right: AccessRight) -> StoreError {
      let body = "<Error><Code>\(code)</Code><Message>\(message)</Message></Error>"
      return errors.error(HTTPResponse(status: status, headers: [], body: Array(body.utf8)), "x", for: right)
    }
    let words = "User: arn:aws:iam::1:user/ali is not authorized to perform: kms:GenerateDataKey on resource: key/1"
    for right in [AccessRight.read, .write] {
      let refused = error(403, "AccessDenied", words, right)
      #expect(refused.code == .forbidden && refused.retry == .never)
      #expect(refused.hint?.contains("kms:GenerateDataKey and kms:Decrypt") == true)
      #expect(refused.hint?.contains("s3:") == false)
    }
    let disabled = error(400, "KMS.DisabledException", "key/1 is disabled.", .read)
    #expect(disabled.message.contains("the key that the bucket encrypts with cannot be used"))
    #expect(disabled.hint?.contains("cancel its deletion") == true)
  }

  // MARK: room

  @Test func `a full target is told how to get room, and one that takes no large body what to change`() throws {
    let bucket = S3Errors(
      configuration: S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket"), now: 0)
    let collection = WebDAVErrors(
      configuration: WebDAVConfiguration(address: try WebAddress("https://host/dav"), user: "ali"), now: 0)
    func response(_ status: Int, _ body: String = "") -> HTTPResponse {
      HTTPResponse(status: status, headers: [], body: Array(body.utf8))
    }
    let full = [
      bucket.error(response(507), "x", for: .write),
      bucket.error(response(403, Self.refusal("QuotaExceeded")), "x", for: .write),
      collection.error(response(507), "x", for: .write), StoreError.system(ENOSPC, "x", for: .write),
    ]
    for error in full {
      #expect(error.code == .full)
      let hint = try #require(error.hint)
      #expect(hint.contains("`sealift forget`, then `sealift prune`") && hint.contains("quota"), "\(hint)")
    }
    // Only a bucket may keep what was deleted.
    #expect(full.map { $0.hint?.contains("lifecycle rule") } == [true, true, false, false])
    let large = [
      bucket.error(response(413, "<html>"), "x", for: .write),
      bucket.error(response(400, Self.refusal("EntityTooLarge")), "x", for: .write),
      collection.error(response(413), "x", for: .write),
    ]
    for error in large {
      #expect(error.code == .full && error.retry == .never)
      let hint = try #require(error.hint)
      #expect(hint.contains("client_max_body_size") && !hint.contains("forget"), "\(hint)")
    }
  }

  // MARK: credentials

  private static let sources: [S3Credentials.Source] = [.target, .variables, .profile("work", file: "/f")]

  @Test(
    arguments: [
      ("ExpiredToken", ["sessionTokenFile", "AWS_SESSION_TOKEN", "aws_session_token of profile work in /f"]),
      ("InvalidAccessKeyId", ["accessKeyId", "AWS_ACCESS_KEY_ID", "aws_access_key_id of profile work in /f"]),
      (
        "SignatureDoesNotMatch",
        ["secretKeyFile", "AWS_SECRET_ACCESS_KEY", "aws_secret_access_key of profile work in /f"]
      ),
    ] as [(String, [String])])
  func `keys are to be changed where they come from, and nowhere else`(
    _ code: String, _ places: [String]
  ) async throws {
    for (source, own) in zip(Self.sources, places) {
      try await withServer { _ in
        .status(403, [:], Self.refusal(code))
      } _: { server in
        let store = try s3(server, source)
        let error = await storeError { _ = try await store.list(prefix: "") }
        #expect(error?.code == .unauthenticated)
        let hint = try #require(error?.hint)
        #expect(places.filter { hint.contains($0) } == [own], "\(hint)")
      }
    }
  }

  /// What was signed is the host and the path that we asked for.
  @Test func `a signature that does not match may be a proxy's doing, before a server of one's own`() throws {
    for (endpoint, mayBeProxy) in [("https://s3.us-east-1.amazonaws.com", false), ("https://s3.example", true)] {
      let configuration = S3Configuration(endpoint: try WebAddress(endpoint), bucket: "bucket")
      let response = HTTPResponse(status: 403, headers: [], body: Array(Self.refusal("SignatureDoesNotMatch").utf8))
      let error = S3Errors(configuration: configuration, now: 0).error(response, "x", for: .list)
      #expect(error.hint?.contains("secretKeyFile") == true)
      #expect(error.hint?.contains("must pass the Host header") == mayBeProxy)
    }
  }

  @Test func `a login without a user or a password is told as such`() throws {
    let address = try WebAddress("https://host/dav")
    let response = HTTPResponse(status: 401, headers: [], body: [], offered: .basic)
    func error(_ user: String?, _ password: String?) -> StoreError {
      let configuration = WebDAVConfiguration(address: address, user: user, password: password)
      return WebDAVErrors(configuration: configuration, now: 0).error(response, "x", for: .list)
    }
    let (nobody, unproved, wrong) = (error(nil, nil), error("ali", nil), error("ali", "no"))
    #expect([nobody, unproved, wrong].allSatisfy { $0.code == .unauthenticated && $0.retry == .never })
    #expect(nobody.hint?.contains("Give the target user and passwordFile") == true)
    #expect(unproved.message.contains("no password is known"))
    #expect(unproved.hint?.contains("Give the target passwordFile") == true)
    #expect(wrong.message.contains("user or password is wrong"))
  }
}
