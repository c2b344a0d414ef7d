import Storage
import TestKit
import Testing

@testable import Backends

/// Temporary credentials that end in the middle of a run, while somebody renews them where they were found.
@Suite struct RenewedCredentialTests {
  private typealias Reply = ScriptedServer.Reply
  private let name = ObjectName("packs/one")!
  private let clock = ManualClock()
  private let lookups = Locked(0)
  private struct Unreadable: Error {}

  private func credentials(_ token: String) -> S3Credentials {
    S3Credentials(accessKey: "AKIA", secretKey: "the-very-secret-key", sessionToken: token)
  }

  /// - Parameter found: the token that a lookup finds; none: it fails.
  private func store(_ server: ScriptedServer, found: String?) throws -> S3Store {
    let configuration = S3Configuration(endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket")
    let found = found.map { credentials($0) }
    let lookups = lookups
    let renewal = RenewableCredentials(credentials("token-old"), clock: clock.storeClock) {
      lookups.withLock { $0 += 1 }
      guard let found else { throw Unreadable() }
      return found
    }
    return S3Store(configuration, now: { 784_111_777 }, renewal: renewal) { () async throws(StoreError) in
      try await renewal.current()
    }
  }

  /// A server that takes the old token so often, and the new one always.
  private static func answer(
    _ request: ScriptedServer.Request, old: Int = 0, status: Int = 400, code: String = "ExpiredToken"
  ) -> Reply {
    let token = request.headers["x-amz-security-token"]
    guard token == "token-new" || token == "token-old" && request.number < old else {
      let refusal = "<Error><Code>\(code)</Code><Message>no</Message></Error>"
      return .status(status, [:], request.method == "HEAD" ? "" : refusal)
    }
    switch request.method {
    case "HEAD": return .status(200, ["Content-Length": "3"])
    case "DELETE": return .status(204)
    case "GET" where request.target.contains("list-type"):
      return .status(200, [:], "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
    default: return .status(200, [:], request.method == "GET" ? "abc" : "")
    }
  }

  @Test(arguments: FaultyStore.Call.allCases, [400, 403])
  func `every request is made again with what was renewed`(_ call: FaultyStore.Call, _ status: Int) async throws {
    try await withServer {
      Self.answer($0, status: status)
    } _: { server in
      let store = try store(server, found: "token-new")
      switch call {
      case .put: try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      case .get: #expect(try await store.get(name, range: nil) == Array("abc".utf8))
      // Whose 403 is explained by a listing, which has no such object here.
      case .head: #expect(try await store.head(name)?.size == (status == 400 ? 3 : nil))
      case .list: #expect(try await store.list(prefix: "") == [])
      case .delete: try await store.delete(name)
      }
      #expect(lookups.withLock { $0 } == 1)
      let before = server.requests.count
      _ = try await store.list(prefix: "")
      #expect(server.requests.count == before + 1)
    }
  }

  @Test(arguments: [
    "ExpiredToken", "ExpiredTokenException", "InvalidToken", "InvalidTokenId", "TokenRefreshRequired",
    "InvalidAccessKeyId",
  ])
  func `a token that ends in the middle is told by any of these`(_ code: String) async throws {
    try await withServer {
      Self.answer($0, old: 3, code: code)
    } _: { server in
      let store = try store(server, found: "token-new")
      for _ in 0..<6 { _ = try await store.get(name, range: nil) }
      let old = server.requests.filter { $0.headers["x-amz-security-token"] == "token-old" }
      #expect(old.count == 4)
      #expect(server.requests.count == 7 && lookups.withLock { $0 } == 1)
    }
  }

  @Test func `of many requests that are refused at once, one looks them up`() async throws {
    try await withServer {
      Self.answer($0)
    } _: { server in
      let store = try store(server, found: "token-new")
      let name = name
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<12 { group.addTask { _ = try await store.get(name, range: nil) } }
        try await group.waitForAll()
      }
      #expect(lookups.withLock { $0 } == 1)
    }
  }

  /// What was found is the same, cannot be had, or is refused as well.
  @Test(arguments: [("token-old", 1), (nil, 1), ("token-bad", 2)] as [(String?, Int)])
  func `what nobody renewed is told at once, and looked up once a minute`(
    _ found: String?, _ requests: Int
  ) async throws {
    try await withServer {
      Self.answer($0)
    } _: { server in
      let store = try store(server, found: found)
      for turn in 0..<3 {
        let error = await storeError { _ = try await store.list(prefix: "") }
        #expect(error?.code == .unauthenticated && error?.retry == .never)
        #expect(error?.hint?.contains("Get new temporary credentials") == true)
        var dumped = "\(String(describing: error))"
        dump(error, to: &dumped)
        #expect(!dumped.contains("token-old") && !dumped.contains("token-bad") && !dumped.contains("the-very-secret"))
        #expect(server.requests.count == requests + turn && lookups.withLock { $0 } == 1)
      }
      let head = await storeError { _ = try await store.head(name) }
      #expect(head?.code == .unauthenticated)
      clock.advance(by: .seconds(61))
      _ = await storeError { _ = try await store.list(prefix: "") }
      #expect(lookups.withLock { $0 } == 2)
    }
  }

  @Test func `a refusal of another kind looks nothing up`() async throws {
    for code in ["AccessDenied", "SignatureDoesNotMatch", "NoSuchBucket"] {
      try await withServer {
        Self.answer($0, status: 403, code: code)
      } _: { server in
        let store = try store(server, found: "token-new")
        #expect(await storeError { _ = try await store.list(prefix: "") } != nil)
        #expect(server.requests.count == 1 && lookups.withLock { $0 } == 0)
      }
    }
  }

  @Test func `credentials are looked up for the first request, and not again`() async throws {
    try await withServer {
      Self.answer($0, old: 9)
    } _: { server in
      let configuration = S3Configuration(endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket")
      let (lookups, old) = (lookups, credentials("token-old"))
      let renewal = RenewableCredentials(
        first: { () throws(StoreError) in
          let isFirst = lookups.withLock { count in
            count += 1
            return count == 1
          }
          if isFirst { throw StoreError(.unauthenticated, "the vault is locked") }
          return old
        }, find: { throw Unreadable() })
      let store = S3Store(configuration, now: { 784_111_777 }, renewal: renewal) { () async throws(StoreError) in
        try await renewal.current()
      }
      #expect(lookups.withLock { $0 } == 0)
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .unauthenticated && server.requests.isEmpty)
      for _ in 0..<3 { _ = try await store.list(prefix: "") }
      #expect(server.requests.count == 3 && lookups.withLock { $0 } == 2)
    }
  }

  @Test func `credentials say nothing of their secrets`() async throws {
    let holder = RenewableCredentials(credentials("token-old")) { throw Unreadable() }
    var dumped = "\(holder) \(String(reflecting: holder))"
    dump(holder, to: &dumped)
    #expect(!dumped.contains("token-old") && !dumped.contains("the-very-secret"))
  }
}
