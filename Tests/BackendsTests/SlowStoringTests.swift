import Storage
import Testing

@testable import Backends

/// A server may hand an object on to a cloud, or look for viruses in it, before it says that it has it. It has longer for
/// that once it has all of it, and not before.
@Suite struct SlowStoringTests {
  private typealias Reply = ScriptedServer.Reply

  private let name = ObjectName("packs/one")!
  private static let body: [UInt8] = [1, 2, 3]
  /// Three times what any transfer may stand still here.
  private static let silence = Duration.seconds(6)

  private static var settings: HTTPSettings {
    var settings = HTTPSettings()
    settings.stallTimeout = .seconds(2)
    return settings
  }

  private static func silent(for time: Duration, _ status: Int = 201) -> Reply {
    var reply = Reply.status(status)
    reply.silence = time
    return reply
  }

  /// Until one comes through: a server that has no turn for two seconds is given up, rightly, where it answers at once.
  private func oneOfFour(_ isStored: () async throws -> Bool) async throws {
    for _ in 0..<4 { if try await isStored() { return } }
    Issue.record("given up each time")
  }

  // MARK: S3

  private func bucket(
    _ server: ScriptedServer, patience: Duration = LongestStoring.patience, isLocked: Bool = false
  ) throws -> S3Store {
    var configuration = S3Configuration(
      endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket", prefix: "")
    if isLocked { configuration.objectLock = S3Configuration.ObjectLock(days: 1, mode: .governance) }
    var store = S3Store(configuration, settings: Self.settings, now: { 784_111_777 }) {
      S3Credentials(accessKey: "AKIA", secretKey: "secret")
    }
    store.storingPatience = patience
    return store
  }

  private static let empty = Reply.status(
    200, [:], "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")

  @Test func `a bucket may take its time before it says that an object is stored`() async throws {
    try await oneOfFour {
      let taken = Locked<ContinuousClock.Instant?>(nil)
      return try await withServer { request in
        switch request.method {
        case "PUT":
          taken.withLock { $0 = ContinuousClock.now }
          return Self.silent(for: Self.silence, 200)
        case "HEAD":
          // It is there when the answer is given, and not before.
          let time = taken.withLock { $0.map { ContinuousClock.now - $0 } } ?? .zero
          return time < Self.silence ? .status(404) : .status(200, ["Content-Length": "3"])
        default: return Self.empty
        }
      } _: { server in
        let store = try bucket(server)
        let error = await storeError { try await store.put(ObjectBody(Self.body), at: name, ifAbsent: false) }
        if error?.cause is Stall { return false }
        #expect(error == nil)
        #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
        return true
      }
    }
  }

  /// The answer may have been lost on its way.
  @Test func `what a bucket took without an answer is looked for, and not sent anew where it is`() async throws {
    try await oneOfFour {
      try await withServer { request in
        switch request.method {
        case "PUT": Self.silent(for: .seconds(600))
        case "HEAD": .status(200, ["Content-Length": "3"])
        default: .status(200, [:], Self.body)
        }
      } _: { server in
        let store = try bucket(server, patience: .seconds(4))
        let error = await storeError { try await store.put(ObjectBody(Self.body), at: name, ifAbsent: false) }
        if error?.cause is Stall { return false }
        #expect(error == nil)
        #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
        return true
      }
    }
  }

  /// Other bytes of that size are damage that was to be replaced; those of before may have a lock that ends sooner.
  @Test(arguments: [(nil, false), ([1, 2, 4], false), ([1, 2, 3], true)] as [([UInt8]?, Bool)])
  func `nothing else there passes for it, and the server's silence is told`(
    _ there: [UInt8]?, _ isLocked: Bool
  ) async throws {
    try await withServer { request in
      switch request.method {
      case "PUT": return Self.silent(for: .seconds(600))
      case "HEAD": return there == nil ? .status(404) : .status(200, ["Content-Length": "3"])
      default: return there.map { Reply.status(200, [:], $0) } ?? Self.empty
      }
    } _: { server in
      let store = try bucket(server, patience: .seconds(4), isLocked: isLocked)
      let error = await storeError { try await store.put(ObjectBody(Self.body), at: name, ifAbsent: false) }
      // Once more and no longer: each try may leave a copy.
      #expect(error?.code == .unavailable && error?.retry == .once)
      #expect(error?.hint?.contains("took everything and did not answer") == true)
      #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
    }
  }

  // MARK: WebDAV

  private static func properties(of href: String) -> Reply {
    let isCollection = href.hasSuffix("/")
    let type = isCollection ? "<D:collection/>" : ""
    let length = isCollection ? "" : "<D:getcontentlength>3</D:getcontentlength>"
    return .status(
      207, [:],
      "<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>\(href)</D:href><D:propstat><D:prop><D:resourcetype>\(type)"
        + "</D:resourcetype>\(length)</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        + "</D:multistatus>")
  }

  private func collection(_ server: ScriptedServer) throws -> WebDAVConfiguration {
    WebDAVConfiguration(address: try WebAddress("http://127.0.0.1:\(server.port)/dav"), user: nil, password: nil)
  }

  @Test(arguments: ["PUT", "MOVE"])
  func `a WebDAV server may take its time to store an object, and to name it`(_ slow: String) async throws {
    try await oneOfFour {
      try await withServer { request in
        if request.method == "PROPFIND" { return Self.properties(of: request.target) }
        return request.method == slow ? Self.silent(for: Self.silence) : .status(201)
      } _: { server in
        let store = WebDAVStore(try collection(server), settings: Self.settings, now: { 0 })
        let error = await storeError { try await store.put(ObjectBody(Self.body), at: name, ifAbsent: false) }
        if error?.cause is Stall { return false }
        #expect(error == nil)
        #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
        #expect(server.requests.filter { $0.method == "MOVE" }.count == 1)
        return true
      }
    }
  }

  @Test func `one that never comes to an end is told what to look at`() async throws {
    try await withServer { _ in
      Self.silent(for: .seconds(600))
    } _: { server in
      var requests = WebDAVRequests(try collection(server), HTTPClient(Self.settings), now: { 0 })
      requests.storingPatience = .seconds(4)
      let error = await storeError { [requests] in
        _ = try await requests.move("tmp/x", to: "packs/one", overwriting: false)
      }
      #expect(error?.code == .unavailable && error?.retry == .once)
      #expect(error?.hint?.contains("hands on, or checks, what it takes") == true)
    }
  }

  // MARK: what is not there yet

  private func put(_ server: ScriptedServer, bytes: Int) -> HTTPRequest {
    var request = HTTPRequest("PUT", "http://127.0.0.1:\(server.port)/x")
    request.body = [UInt8](repeating: 7, count: bytes)
    request.patience = .seconds(30)
    return request
  }

  /// More than the kernel takes for it.
  @Test func `a server that stops in the middle of a body is given up as ever`() async {
    await withServer(appetite: ScriptedServer.Appetite(bytes: 4096, rest: .seconds(600))) { _ in
      .status(201)
    } _: { server in
      let request = put(server, bytes: 16 << 20)
      let error = await storeError { _ = try await HTTPClient(Self.settings).send(request) }
      #expect(error?.code == .unavailable && error?.retry == .later(after: nil) && error?.hint == nil)
    }
  }

  /// Digest is asked for without the body.
  @Test func `a server that has not been sent the body yet is given up as ever`() async {
    await withServer { _ in
      Self.silent(for: .seconds(600))
    } _: { server in
      var request = put(server, bytes: 3)
      request.login = HTTPLogin(user: "ali", password: "open-sesame", schemes: .digest)
      let error = await storeError { [request] in _ = try await HTTPClient(Self.settings).send(request) }
      #expect(error?.code == .unavailable && error?.retry == .later(after: nil) && error?.hint == nil)
      #expect(server.requests.first?.body.isEmpty == true)
    }
  }
}
