import Storage
import Testing

@testable import Backends

/// Not every 404 is the S3 server's: a proxy says so as well while the server behind it is away.
@Suite struct DoubtfulAbsenceTests {
  private typealias Reply = ScriptedServer.Reply
  private let name = ObjectName("packs/one")!
  private static let key = "some/where/packs/one"

  private func store(_ server: ScriptedServer) throws -> S3Store {
    let configuration = S3Configuration(
      endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket", prefix: "some/where")
    return S3Store(configuration, now: { 784_111_777 }) { S3Credentials(accessKey: "AKIA", secretKey: "secret") }
  }

  private static func refusal(_ code: String) -> String { "<Error><Code>\(code)</Code><Message>no</Message></Error>" }

  private static func listing(_ keys: [String] = []) -> Reply {
    let contents = keys.map { "<Contents><Key>\($0)</Key><Size>3</Size></Contents>" }.joined()
    return .status(200, [:], "<ListBucketResult><IsTruncated>false</IsTruncated>\(contents)</ListBucketResult>")
  }

  /// What Traefik says while a container starts anew.
  @Test func `a proxy whose server is away makes nothing absent`() async throws {
    let isAway = Locked(false)
    try await withServer { request in
      guard isAway.withLock({ $0 }) else { return Self.listing() }
      return .status(404, ["Content-Type": "text/plain"], request.method == "HEAD" ? "" : "404 page not found\n")
    } _: { server in
      let store = try store(server)
      // From here on it is known that the bucket is there.
      _ = try await store.list(prefix: "")
      isAway.withLock { $0 = true }
      let requests: [() async throws -> Void] = [
        { _ = try await store.head(name) }, { _ = try await store.get(name, range: nil) },
        { _ = try await store.get(name, range: 0..<2) }, { try await store.delete(name) },
        { _ = try await store.list(prefix: "") },
        { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) },
      ]
      for request in requests {
        let error = await storeError(request)
        #expect(error?.code == .unavailable)
        #expect(error?.retry == .later(after: nil))
        #expect(error?.hint?.contains("proxy") == true)
      }
    }
  }

  @Test(arguments: ["", "<html>nothing here</html>", "<Error/>", refusal("NotFound"), refusal("NoSuchKey")])
  func `what is not there is absent, however a server says so`(_ body: String) async throws {
    try await withServer { request in
      guard !request.target.contains("list-type") else { return Self.listing(["\(Self.key)-another"]) }
      return .status(404, [:], request.method == "HEAD" ? "" : body)
    } _: { server in
      let store = try store(server)
      #expect(try await store.head(name) == nil)
      #expect(await storeError { _ = try await store.get(name, range: nil) }?.code == .notFound)
      try await store.delete(name)
      // Of the name itself, and of no more than that; S3's own word needs none.
      let questions = server.requests.filter { $0.target.contains("list-type") }
      #expect(questions.count == (body == Self.refusal("NoSuchKey") ? 1 : 3))
      #expect(
        questions.allSatisfy {
          $0.target.contains("prefix=some%2Fwhere%2Fpacks%2Fone") && $0.target.contains("max-keys=1&")
        })
    }
  }

  @Test func `what is listed is not absent`() async throws {
    try await withServer { request in
      request.target.contains("list-type") ? Self.listing([Self.key]) : .status(404)
    } _: { server in
      let store = try store(server)
      let requests: [() async throws -> Void] = [
        { _ = try await store.head(name) }, { _ = try await store.get(name, range: nil) },
        { try await store.delete(name) },
      ]
      for request in requests {
        let error = await storeError(request)
        #expect(error?.code == .unavailable)
        #expect(error?.retry == .later(after: nil))
      }
    }
  }

  /// As Storj says of a large folder, for the name of one object in it.
  @Test(
    arguments: [("NoSuchKey", nil), ("", .unsupported), ("NoSuchBucket", .unsupported)] as [(String, StoreError.Code?)])
  func `what cannot be listed by its name is asked for itself`(_ word: String, _ code: StoreError.Code?) async throws {
    try await withServer { request in
      guard !request.target.contains("list-type") else { return .status(501, [:], Self.refusal("NotImplemented")) }
      return .status(404, [:], request.method == "HEAD" || word.isEmpty ? "" : Self.refusal(word))
    } _: { server in
      let store = try store(server)
      let error = await storeError {
        let found = try await store.head(name)
        #expect(found == nil)
      }
      #expect(error?.code == code)
      #expect(server.requests.map(\.method) == ["HEAD", "GET", "GET"])
      #expect(server.requests.last?.headers["range"] == "bytes=0-0")
    }
  }

  @Test func `what is stored while it is looked for is found`() async throws {
    try await withServer { request in
      guard request.method == "HEAD" else { return Self.listing([Self.key]) }
      return request.number == 0 ? .status(404) : .status(200, ["Content-Length": "3"])
    } _: { server in
      let found = try await store(server).head(name)
      #expect(found?.size == 3)
      #expect(server.requests.map(\.method) == ["HEAD", "GET", "HEAD"])
    }
  }

  /// As with Swift, whose HEAD says 404 of what is just stored a second time.
  @Test func `what is exchanged while it is looked for is found a moment later`() async throws {
    let waited = Locked<[Duration]>([])
    try await withServer { request in
      guard request.method == "HEAD" else { return Self.listing([Self.key]) }
      return waited.withLock { $0.isEmpty } ? .status(404) : .status(200, ["Content-Length": "3"])
    } _: { server in
      var store = try store(server)
      store.clock = StoreClock(now: { .zero }, wait: { wait in waited.withLock { $0.append(wait) } })
      #expect(try await store.head(name)?.size == 3)
      #expect(server.requests.map(\.method) == ["HEAD", "GET", "HEAD", "HEAD"])
      #expect(waited.withLock { $0 } == [.milliseconds(250)])
    }
  }

  /// Whoever may list below a prefix only is told 403 of what is not there; a line that is cut then says nothing.
  @Test func `a listing that fails for another reason forbids nothing`() async throws {
    try await withServer { request in
      request.target.contains("list-type") ? .status(503) : .status(403, [:], Self.refusal("AccessDenied"))
    } _: { server in
      let store = try store(server)
      for request: () async throws -> Void in [
        { _ = try await store.head(name) }, { _ = try await store.get(name, range: nil) },
      ] {
        let error = await storeError(request)
        #expect(error?.code == .throttled && error?.retry == .later(after: nil))
      }
    }
  }

  @Test func `who may not list learns of no absence`() async throws {
    try await withServer { request in
      request.target.contains("list-type") ? .status(403, [:], Self.refusal("AccessDenied")) : .status(404)
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.head(name) }
      #expect(error?.code == .forbidden && error?.hint?.contains("s3:ListBucket") == true)
    }
  }
}
