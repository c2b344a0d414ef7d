import Storage
import TestKit
import Testing

@testable import Backends

/// What real S3 servers will not do on demand.
@Suite struct S3ScriptedTests {
  private typealias Reply = ScriptedServer.Reply
  private let name = ObjectName("packs/one")!
  private static let secret = "the-very-secret-key"

  private func store(
    _ server: ScriptedServer, storageClass: String? = nil, token: String? = nil,
    now: @escaping @Sendable () -> Int = { 784_111_777 }
  ) throws -> S3Store {
    let configuration = S3Configuration(
      endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket", prefix: "some/where",
      storageClass: storageClass)
    return S3Store(configuration, now: now) {
      S3Credentials(accessKey: "AKIA", secretKey: Self.secret, sessionToken: token)
    }
  }

  private static func refusal(_ code: String, _ more: String = "") -> String {
    "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>it was \(code)</Message>\(more)</Error>"
  }

  private static func listing(_ keys: [String], next: String? = nil, truncated: String = "false") -> String {
    let contents = keys.map { "<Contents><Key>\($0)</Key><Size>5</Size></Contents>" }.joined()
    let token = next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? ""
    return "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>\(truncated)</IsTruncated>"
      + "\(token)\(contents)</ListBucketResult>"
  }

  @Test func `a redirect is not followed, and its target sees nothing`() async throws {
    try await withServer { _ in
      .status(200, [:], "stolen")
    } _: { thief in
      let elsewhere = "http://127.0.0.1:\(thief.port)/bucket/some/where/packs/one"
      for status in [301, 302, 303, 307, 308] {
        try await withServer { _ in
          .status(
            status, ["Location": elsewhere, "x-amz-bucket-region": "eu-west-7"], Self.refusal("PermanentRedirect"))
        } _: { server in
          let store = try store(server, token: "temporary")
          let requests: [() async throws -> Void] = [
            { _ = try await store.get(name, range: nil) }, { _ = try await store.head(name) },
            { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }, { try await store.delete(name) },
            { _ = try await store.list(prefix: "") },
          ]
          for request in requests {
            let error = await storeError(request)
            #expect(error?.code == .redirected)
            #expect(error?.retry == .never)
          }
          let error = await storeError { _ = try await store.list(prefix: "") }
          #expect(error?.hint?.contains("region eu-west-7") == true)
        }
      }
      #expect(thief.connections == 0)
    }
    Fault.credentials.met(30, "redirect")
  }

  @Test(arguments: ["InternalError", "SlowDown"])
  func `a 200 that carries an error is an error`(_ code: String) async throws {
    try await withServer { request in
      // The size is right: an older object of the same length stands there.
      request.method == "HEAD" ? .status(200, ["Content-Length": "1"]) : .status(200, [:], Self.refusal(code))
    } _: { server in
      let store = try store(server)
      let put = await storeError { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }
      #expect(put?.retry == .later(after: nil))
      let list = await storeError { _ = try await store.list(prefix: "") }
      #expect(list?.retry == .later(after: nil))
    }
  }

  @Test(
    arguments: [
      (200, true, .badAnswer), (200, false, nil), (204, true, nil), (404, false, nil), (404, true, .unavailable),
    ] as [(Int, Bool, StoreError.Code?)])
  func `a deletion that only a portal confirmed is none`(
    _ status: Int, _ isThere: Bool, _ code: StoreError.Code?
  ) async throws {
    try await withServer { request in
      switch request.method {
      case "DELETE": .status(status, [:], "<html>Welcome to our hotel</html>")
      case "HEAD": isThere ? .status(200, ["Content-Length": "1"]) : .status(404)
      default: .status(200, [:], Self.listing(isThere ? ["some/where/packs/one"] : []))
      }
    } _: { server in
      let store = try store(server)
      let error = await storeError { try await store.delete(name) }
      #expect(error?.code == code)
    }
  }

  /// A policy that allows `s3:ListBucket` below a prefix only makes servers say so of what is not there.
  @Test(arguments: [true, false]) func `forbidden may mean that there is nothing`(_ isListed: Bool) async throws {
    try await withServer { request in
      guard request.target.contains("list-type") else { return .status(403, [:], Self.refusal("AccessDenied")) }
      return isListed ? .status(200, [:], Self.listing([])) : .status(403, [:], Self.refusal("AccessDenied"))
    } _: { server in
      let store = try store(server)
      let (head, get) = (
        await storeError { _ = try await store.head(name) },
        await storeError { _ = try await store.get(name, range: nil) }
      )
      #expect(head?.code == (isListed ? nil : .forbidden))
      #expect(get?.code == (isListed ? .notFound : .forbidden))
    }
  }

  /// Where a rule of the bucket lets nothing be replaced, a PUT whose first answer was lost is refused.
  @Test(
    arguments: [
      (403, "AccessDenied", "one", nil), (409, "ObjectLockedByBucketPolicy", "one", nil),
      (409, "FileImmutable", "one", nil), (409, "FileImmutable", "two", .forbidden),
      (403, "AccessDenied", "two", .forbidden), (403, "AccessDenied", "longer", .forbidden),
      (403, "AccessDenied", nil, .forbidden), (403, "SignatureDoesNotMatch", "one", .unauthenticated),
    ] as [(Int, String, String?, StoreError.Code?)])
  func `a PUT that is refused is none where these bytes are there`(
    _ status: Int, _ code: String, _ held: String?, _ meaning: StoreError.Code?
  ) async throws {
    try await withServer { request in
      switch (request.method, held) {
      case ("PUT", _): .status(status, [:], Self.refusal(code))
      case ("HEAD", let held?): .status(200, ["Content-Length": "\(held.utf8.count)"])
      case ("GET", let held?): .status(200, [:], held)
      // What stands in the way of looking is not told in place of the refusal.
      default: .status(503)
      }
    } _: { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody(Array("one".utf8)), at: name, ifAbsent: false) }
      #expect(error?.code == meaning)
      #expect(error.map { $0.message.contains(code) } ?? (meaning == nil))
      #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
    }
  }

  @Test func `an object that is shorter at the server than what was sent is not stored`() async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(200, ["Content-Length": "2"]) : .status(200)
    } _: { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.code == .badAnswer)
      #expect(error?.message.contains("3 bytes") == true && error?.message.contains("2 bytes") == true)
    }
  }

  @Test(
    arguments: [
      (206, "bytes 10-19/100", 10, true), (200, "bytes 10-19/100", 10, true), (206, "bytes 10-19/*", 10, true),
      (200, nil, 100, true), (206, nil, 10, false), (206, "bytes 0-9/100", 10, false),
      (206, "bytes 11-20/100", 10, false),
      (206, "bytes 10-19/100", 9, false), (206, "bytes 10-20/100", 11, false), (206, "bytes 10-14/100", 5, false),
      (206, "nonsense", 10, false), (206, "bytes 19-10/100", 10, false), (206, "bytes -1-19/100", 10, false),
      (206, "bytes 10-9223372036854775807/100", 10, false),
    ] as [(Int, String?, Int, Bool)])
  func `only the range that was asked for is taken`(
    _ status: Int, _ contentRange: String?, _ count: Int, _ isGood: Bool
  ) async throws {
    let object = (0..<100).map { UInt8($0) }
    try await withServer { _ in
      let headers = contentRange.map { ["Content-Range": $0] } ?? [:]
      return .status(status, headers, count == 100 ? object : Array(object[10..<10 + count]))
    } _: { server in
      let store = try store(server)
      let range = 10..<20
      if isGood {
        #expect(try await store.get(name, range: range) == Array(object[range]))
      } else {
        let error = await storeError { _ = try await store.get(name, range: range) }
        #expect(error?.code == .badAnswer)
      }
      #expect(server.requests.last?.headers["range"] == "bytes=10-19")
    }
  }

  /// As RFC 9110 §15.3.7.2 forbids for one range: what stands before and behind the part is no content.
  @Test func `a range is not taken from an answer in several parts`() async throws {
    let body =
      "--x\r\nContent-Type: text/plain\r\nContent-Range: bytes 10-19/100\r\n\r\n0123456789\r\n--x--\r\n"
    let length = body.utf8.count
    for range in [10..<20, 0..<length, 10..<10 + length] {
      try await withServer { _ in
        .status(206, ["Content-Type": "multipart/byteranges; boundary=x"], body)
      } _: { server in
        let store = try store(server)
        let error = await storeError { _ = try await store.get(name, range: range) }
        #expect(error?.code == .badAnswer, "\(range)")
      }
    }
  }

  @Test func `a range beyond the end is refused in every way a server may say it`() async throws {
    for reply in [
      Reply.status(416, [:], Self.refusal("InvalidRange")), .status(416),
      .status(206, ["Content-Range": "bytes 10-14/15"], "12345"), .status(200, [:], "0123456789"),
    ] {
      try await withServer { _ in
        reply
      } _: { server in
        let store = try store(server)
        let error = await storeError { _ = try await store.get(name, range: 10..<20) }
        #expect(error?.code == .badRange)
      }
    }
  }

  @Test func `pages are put together, and keys of others left out`() async throws {
    try await withServer { request in
      if request.target.contains("continuation-token=two%2B%2F%3D") {
        return .status(200, [:], Self.listing(["some/where/packs/b", "some/where/packs/UPPER", "some/where/packs/.x"]))
      }
      return .status(200, [:], Self.listing(["some/where/packs/a"], next: "two+/=", truncated: "true"))
    } _: { server in
      let listed = try await store(server).list(prefix: "packs/")
      #expect(listed.map(\.name.text).sorted() == ["packs/a", "packs/b"])
      #expect(listed.allSatisfy { $0.size == 5 })
      #expect(server.requests.count == 2)
      #expect(server.requests[0].target.contains("prefix=some%2Fwhere%2Fpacks%2F"))
    }
  }

  @Test func `encoded keys are decoded when the server says that it encoded them`() async throws {
    let page = Self.listing(["some%2Fwhere%2Fpacks%2Fa", "some%2Fwhere%2Fpacks%2Fwith+space"])
      .replacing("<IsTruncated>", with: "<EncodingType>url</EncodingType><IsTruncated>")
    try await withServer { _ in
      .status(200, [:], page)
    } _: { server in
      let listed = try await store(server).list(prefix: "packs/")
      #expect(listed.map(\.name.text) == ["packs/a"])
    }
  }

  @Test(arguments: [
    "", "not XML", "<ListBucketResult>", "<Other/>", listing(["elsewhere/a"]), listing(["some/wherever/a"]),
    listing([], truncated: "true"), listing([], truncated: "maybe"),
    "<ListBucketResult><Contents><Key>some/where/a</Key><Size>5</Size></Contents></ListBucketResult>",
    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>some/where/a</Key></Contents></ListBucketResult>",
    listing(["some/where/a"]).replacing("<Size>5", with: "<Size>-5"),
    listing(["some/where/a"]).replacing("<Size>5", with: "<Size>99999999999999999999"),
    listing(["some/where/a"]) + "<more/>", String(listing(["some/where/a"]).dropLast(20)),
    "<!DOCTYPE x [<!ENTITY e 'some/where/a'>]>" + listing(["&e;"]),
    "<!DOCTYPE x SYSTEM 'file:///etc/passwd'>" + listing([]), listing(["&unknown;"]),
    listing(["some/where/" + String(repeating: "a", count: 10_000)]),
    listing([]).replacing(
      "</List", with: String(repeating: "<a>", count: 20) + String(repeating: "</a>", count: 20) + "</List"),
    String(repeating: "<a>", count: 100_000), "<ListBucketResult>" + String(repeating: "<a>", count: 30),
  ])
  func `a listing that is not whole is refused`(_ body: String) async throws {
    try await withServer { _ in
      .status(200, [:], body)
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .badAnswer)
      #expect(error?.retry == .once)
      #expect(server.requests.count == 1)
    }
  }

  /// It always has news.
  @Test func `a listing that goes round in a circle is ended`() async throws {
    try await withServer { request in
      let page = Self.listing(["some/where/a\(request.number)"], next: "t\(request.number % 3)", truncated: "true")
      return .status(200, [:], request.number < 500 ? page : "")
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .badAnswer)
      #expect(server.requests.count < 10)
    }
  }

  /// Each deletion in a bucket that keeps versions leaves a marker, and a page may have nothing else.
  @Test func `a listing goes on over many pages without an object`() async throws {
    try await withServer { request in
      let next = request.number < 150 ? "t\(request.number)" : nil
      let keys = next == nil ? ["some/where/packs/a"] : []
      return .status(200, [:], Self.listing(keys, next: next, truncated: next == nil ? "false" : "true"))
    } _: { server in
      let listed = try await store(server).list(prefix: "packs/")
      #expect(listed.map(\.name.text) == ["packs/a"] && server.requests.count == 151)
    }
  }

  @Test func `a listing that never has news is ended`() throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket", prefix: "some/where")
    var listing = S3Listing(configuration, prefix: "", mostPagesWithoutNews: 20)
    var page = try S3ListingPage(Array(Self.listing(["some/where/a"], next: "x", truncated: "true").utf8))
    var pages = 0
    let error = #expect(throws: XMLRefusal.self) {
      while pages < 1000 {
        pages += 1
        page.next = "t\(pages)"
        try listing.add(page)
      }
    }
    // The first one has news.
    #expect(error == .endless && pages == 22)
  }

  /// Each page may be minutes in the making.
  @Test func `a listing that has no news for an hour is ended`() throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket", prefix: "some/where")
    let time = ManualClock()
    var listing = S3Listing(configuration, prefix: "", clock: time.storeClock)
    var page = try S3ListingPage(Array(Self.listing([], next: "x", truncated: "true").utf8))
    for number in 1...9 {
      time.advance(by: .seconds(600))
      page.next = "t\(number)"
      // News halfway.
      page.objects = number == 5 ? [(key: configuration.key("a"), size: 1, stored: nil)] : []
      try listing.add(page)
    }
    time.advance(by: .seconds(1201))
    page.next = "t10"
    #expect(throws: XMLRefusal.endless) { try listing.add(page) }
  }

  @Test func `a listing of nothing but keys of others comes to an end, too`() throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket", prefix: "some/where")
    var listing = S3Listing(configuration, prefix: "", mostPages: 500)
    var page = try S3ListingPage(Array(Self.listing([], next: "x", truncated: "true").utf8))
    var pages = 0
    let error = #expect(throws: XMLRefusal.self) {
      while pages < 1000 {
        pages += 1
        page.next = "t\(pages)"
        page.objects = [(key: configuration.key("UPPER\(pages)"), size: 1, stored: nil)]
        try listing.add(page)
      }
    }
    #expect(error != nil && pages == 500)
  }

  @Test func `a listing of more objects than can be held is refused`() throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket", prefix: "some/where")
    var listing = S3Listing(configuration, prefix: "", mostObjects: 5)
    var page = try S3ListingPage(Array(Self.listing([], next: "x", truncated: "true").utf8))
    func objects(_ numbers: ClosedRange<Int>) -> [(key: String, size: Int, stored: Int?)] {
      numbers.map { (key: configuration.key("a\($0)"), size: 1, stored: nil) }
    }
    (page.next, page.objects) = ("t1", objects(1...5))
    try listing.add(page)
    (page.next, page.objects) = ("t2", objects(6...6))
    #expect(throws: XMLRefusal.tooManyResources) { try listing.add(page) }
  }

  @Test func `a listing that is too long is not asked for again, and what helps is said`() async throws {
    try await withServer { _ in
      .status(404)
    } _: { server in
      let store = try store(server)
      for prefix in ["versions/", "tomb/"] {
        let error = store.unreadable(.tooManyResources, prefix)
        #expect(error.code == .badAnswer && error.retry == .never && error.hint == LongestListing.wayOut(prefix))
      }
      let endless = store.unreadable(.endless, "tomb/")
      #expect(endless.retry == .never && endless.hint?.contains("expired delete markers") == true)
      #expect(store.unreadable(XMLRefusal("no"), "tomb/").hint?.contains("ListObjectsV2") == true)
    }
  }

  @Test func `a listing cut on its second page is no short listing`() async throws {
    try await withServer { request in
      if request.number == 0 { return .status(200, [:], Self.listing(["some/where/a"], next: "2", truncated: "true")) }
      return Reply(bytes: Array("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<ListBucketRes".utf8), closes: true)
    } _: { server in
      let store = try store(server)
      #expect(await storeError { _ = try await store.list(prefix: "") }?.code == .unavailable)
    }
  }

  @Test func `a missing bucket is no missing object`() async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(404) : .status(404, [:], Self.refusal("NoSuchBucket"))
    } _: { server in
      let store = try store(server)
      #expect(await storeError { _ = try await store.head(name) }?.code == .noTarget)
      #expect(await storeError { try await store.delete(name) }?.code == .noTarget)
      #expect(await storeError { _ = try await store.get(name, range: nil) }?.code == .noTarget)
    }
  }

  /// Alibaba says it with 400.
  @Test(arguments: [400, 501])
  func `a server without conditions is asked without them, once it said so`(_ status: Int) async throws {
    let held = Locked<Set<String>>([])
    try await withServer { request in
      switch request.method {
      case "PUT" where request.headers["if-none-match"] != nil:
        return .status(status, [:], Self.refusal("NotImplemented"))
      case "PUT":
        _ = held.withLock { $0.insert(request.target) }
        return .status(200)
      case "HEAD":
        return held.withLock { $0.contains(request.target) } ? .status(200, ["Content-Length": "1"]) : .status(404)
      default: return .status(200, [:], Self.listing([]))
      }
    } _: { server in
      let store = try store(server)
      try await store.put(ObjectBody([1]), at: name, ifAbsent: true)
      try await store.put(ObjectBody([1]), at: ObjectName("packs/two")!, ifAbsent: true)
      #expect(server.requests.filter { $0.headers["if-none-match"] != nil }.count == 1)
      #expect(server.requests.filter { $0.method == "PUT" }.count == 3)
    }
  }

  @Test func `what is signed and sent along is what was configured`() async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(200, ["Content-Length": "3"]) : .status(200)
    } _: { server in
      let store = try store(server, storageClass: "STANDARD_IA", token: "temporary")
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let put = try #require(server.requests.first)
      #expect(put.target == "/bucket/some/where/packs/one")
      #expect(put.headers["x-amz-storage-class"] == "STANDARD_IA")
      #expect(put.headers["x-amz-security-token"] == "temporary")
      #expect(put.headers["x-amz-date"] == "19941106T084937Z")
      #expect(put.headers["content-length"] == "3")
      #expect(put.headers["x-amz-content-sha256"] == Signature.hex(Signature.sha256([1, 2, 3])))
      let signed = "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token;x-amz-storage-class,"
      #expect(put.headers["authorization"]?.contains(signed) == true)
      #expect(put.headers["transfer-encoding"] == nil)
    }
  }

  @Test func `the hash that came with a body is the one that is signed`() async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(200, ["Content-Length": "1"]) : .status(200)
    } _: { server in
      let hash = [UInt8](repeating: 0xab, count: 32)
      try await store(server).put(ObjectBody([1], sha256: hash), at: name, ifAbsent: false)
      #expect(server.requests.first?.headers["x-amz-content-sha256"] == Signature.hex(hash))
    }
  }

  private static let meanings: [(Int, String, StoreError.Code, Bool)] = [
    (403, "SignatureDoesNotMatch", .unauthenticated, false), (403, "InvalidAccessKeyId", .unauthenticated, false),
    (400, "ExpiredToken", .unauthenticated, false), (403, "RequestTimeTooSkewed", .clockSkew, false),
    (403, "SecurityTokenExpired", .unauthenticated, false), (400, "ExpiredRequest", .clockSkew, false),
    (403, "SecondLevelDomainForbidden", .unsupported, false),
    (403, "AccessDenied", .forbidden, false), (404, "NoSuchBucket", .noTarget, false),
    (403, "ObjectLockedByBucketPolicy", .forbidden, false), (409, "ObjectLockedByBucketPolicy", .forbidden, false),
    (409, "FileImmutable", .forbidden, false),
    (404, "NoSuchKey", .notFound, false), (503, "SlowDown", .throttled, true),
    (500, "InternalError", .unavailable, true),
    (400, "RequestTimeout", .unavailable, true), (403, "QuotaExceeded", .full, false), (507, "", .full, false),
    (403, "StorageLimitExceeded", .full, false), (403, "SegmentsLimitExceeded", .full, false),
    (403, "BandwidthLimitExceeded", .full, false), (503, "BandwidthLimitExceeded", .throttled, true),
    (509, "BandwidthLimitExceeded", .throttled, true),
    (400, "XAmzContentSHA256Mismatch", .unavailable, true), (400, "InvalidStorageClass", .unsupported, false),
    (403, "InvalidObjectState", .unreadable, false), (404, "", .unavailable, true),
    (404, "<html>", .unavailable, true), (404, "NoSuchUpload", .notFound, false),
    (400, "XMinioAdminBucketQuotaExceeded", .full, false),
    (400, "KMS.DisabledException", .forbidden, false), (400, "KMS.KMSInvalidStateException", .forbidden, false),
    (400, "KMS.NotFoundException", .forbidden, false), (400, "KMS.ThrottlingException", .throttled, true),
    (400, "ThrottlingException", .throttled, true),
    (400, "AuthorizationHeaderMalformed", .unauthenticated, false), (501, "NotImplemented", .unsupported, false),
    (400, "IllegalLocationConstraintException", .unauthenticated, false),
    (400, "InvalidRegionName", .unauthenticated, false),
    (401, "", .unauthenticated, false), (429, "", .throttled, true), (502, "", .unavailable, true),
    (503, "", .throttled, true), (504, "<html>", .unavailable, true), (400, "Unheard", .badAnswer, false),
    (403, "<html>", .unavailable, false), (403, "", .forbidden, false), (407, "<html>", .unavailable, false),
    (418, "", .badAnswer, false), (409, "OperationAborted", .unavailable, true), (599, "", .unavailable, true),
  ]

  @Test(arguments: meanings)
  func `each status and code has its meaning`(
    _ status: Int, _ code: String, _ meaning: StoreError.Code, _ mayRetry: Bool
  ) throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket")
    let body = code.isEmpty || code == "<html>" ? code : Self.refusal(code)
    for after in [nil, 17] {
      let headers = after.map { [("retry-after", "\($0)")] } ?? []
      let response = HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
      let error = S3Errors(configuration: configuration, now: 0).error(response, "packs/x is not read", for: .read)
      #expect(error.code == meaning)
      #expect(error.retry == (mayRetry ? .later(after: after.map { .seconds($0) }) : .never))
      #expect(error.message.hasPrefix("packs/x is not read: "))
      #expect(error.message.contains("\(status)"))
    }
  }

  /// Seconds that pass while the first answer is awaited, its code, what comes of it, and of how many requests.
  private static let delays: [(Int, String, StoreError.Code?, Int)] = [
    (1200, "RequestTimeTooSkewed", nil, 2), (1200, "RequestExpired", nil, 2), (1200, "ExpiredRequest", nil, 2),
    (0, "RequestTimeTooSkewed", .clockSkew, 1), (59, "RequestTimeTooSkewed", .clockSkew, 1),
    (1200, "SignatureDoesNotMatch", .unauthenticated, 1),
  ]

  /// After a sleep of the machine, libcurl sends what a dead connection swallowed once more, as it was signed.
  @Test(arguments: delays)
  func `what was signed long before it arrived is signed once more`(
    _ delay: Int, _ code: String, _ meaning: StoreError.Code?, _ requests: Int
  ) async throws {
    let time = Locked(784_111_777)
    try await withServer { request in
      guard request.number == 0 else { return .status(200, [:], Self.listing([])) }
      time.withLock { $0 += delay }
      return .status(403, [:], Self.refusal(code))
    } _: { server in
      let store = try store(server) { time.withLock { $0 } }
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == meaning)
      #expect(Set(server.requests.compactMap { $0.headers["x-amz-date"] }).count == requests)
    }
  }

  @Test func `a HEAD that was refused without a word is signed once more, and a wrong clock is told`() async throws {
    let time = Locked(784_111_777)
    try await withServer { request in
      if request.method == "HEAD", request.number > 0 { return .status(200, ["Content-Length": "3"]) }
      time.withLock { $0 += 1200 }
      return .status(403, [:], request.method == "HEAD" ? "" : Self.refusal("RequestTimeTooSkewed"))
    } _: { server in
      let store = try store(server) { time.withLock { $0 } }
      #expect(try await store.head(name)?.size == 3)
      #expect(server.requests.map(\.method) == ["HEAD", "HEAD"])
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .clockSkew)
      #expect(server.requests.count == 4)
    }
  }

  private static let limits: [(String, AccessRight, StoreError.Code, Bool)] = [
    ("Forbidden: Bucket size quota is reached, maximum total size of objects: 1024", .write, .full, true),
    ("Forbidden: Object quota is reached, maximum objects for this bucket: 7", .write, .full, true),
    ("Cannot upload files, storage cap exceeded. See the Caps page.", .write, .full, true),
    ("Cannot download file, download cap exceeded. See the Caps page.", .read, .full, false),
    ("Forbidden: Operation is not allowed for this key.", .write, .forbidden, false),
    ("Bucket size quota is reached", .read, .forbidden, false),
  ]

  /// What Garage and Backblaze say with the code of a missing right.
  @Test(arguments: limits)
  func `a limit that is told in words alone is no missing right`(
    _ words: String, _ right: AccessRight, _ code: StoreError.Code, _ needsRoom: Bool
  ) throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket")
    let body = "<Error><Code>AccessDenied</Code><Message>\(words)</Message></Error>"
    let response = HTTPResponse(status: 403, headers: [], body: Array(body.utf8))
    let error = S3Errors(configuration: configuration, now: 0).error(response, "x", for: right)
    #expect(error.code == code && error.retry == .never)
    #expect((error.hint == S3Errors.makeRoom) == needsRoom)
  }

  /// Amazon shows all that was signed: with a long session token that is long.
  @Test func `a signature that does not match is told as that, however much the server shows of it`() throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket")
    let shown = "<CanonicalRequestBytes>\(String(repeating: "34 ", count: 20_000))</CanonicalRequestBytes>"
    let response = HTTPResponse(
      status: 403, headers: [], body: Array(Self.refusal("SignatureDoesNotMatch", shown).utf8))
    let error = S3Errors(configuration: configuration, now: 0).error(response, "x", for: .read)
    #expect(error.code == .unauthenticated)
  }

  @Test func `errors name a way out, and what a server says is kept to one clean line`() throws {
    let configuration = S3Configuration(endpoint: try WebAddress("http://host"), bucket: "bucket")
    let errors = S3Errors(configuration: configuration, now: 784_111_777)
    let wrongRegion = Self.refusal("AuthorizationHeaderMalformed", "<Region>eu-central-1</Region>")
    #expect(
      errors.error(HTTPResponse(status: 400, headers: [], body: Array(wrongRegion.utf8)), "x", for: .list).hint
        == "Set the target's region to eu-central-1.")
    let unnamed = HTTPResponse(status: 400, headers: [], body: Array(Self.refusal("InvalidRegionName").utf8))
    #expect(errors.error(unnamed, "x", for: .list).hint?.contains("`auto` at Cloudflare") == true)
    let skewed = HTTPResponse(
      status: 403, headers: [("date", "Sun, 06 Nov 1994 09:49:37 GMT")],
      body: Array(Self.refusal("RequestTimeTooSkewed").utf8))
    #expect(errors.error(skewed, "x", for: .list).message.contains("by 3600 seconds"))
    let loud =
      "<Error><Code>AccessDenied</Code><Message>one\n\u{9b}two &#10;" + String(repeating: "z", count: 5000)
      + "</Message></Error>"
    let refused = HTTPResponse(status: 403, headers: [], body: Array(loud.utf8))
    let message = errors.error(refused, "x", for: .list).message
    #expect(message.count < 400)
    #expect(!message.unicodeScalars.contains { $0.properties.generalCategory == .control })
  }

  @Test func `no error says the secret`() async throws {
    for status in [400, 401, 403, 404, 500, 200] {
      try await withServer { request in
        // A server that repeats everything it was sent.
        let echo = request.headers.map { "\($0.key): \($0.value)" }.sorted().joined(separator: " ")
        return .status(status, [:], "<Error><Code>Odd</Code><Message>\(echo)</Message></Error>")
      } _: { server in
        let store = try store(server, token: "temporary-secret")
        let error = await storeError { _ = try await store.list(prefix: "") }
        var dumped = ""
        dump(error, to: &dumped)
        #expect(error != nil)
        #expect(!dumped.contains(Self.secret) && !dumped.contains("temporary-secret"))
      }
    }
  }
}
