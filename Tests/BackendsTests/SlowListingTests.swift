import Storage
import Testing

@testable import Backends

/// A server may think for minutes before it says the first word of a large collection, or of a bucket with a long run
/// of delete markers; of nothing else it may.
@Suite struct SlowListingTests {
  private typealias Reply = ScriptedServer.Reply

  private static let listing =
    "<multistatus xmlns=\"DAV:\"><response><href>/dav/packs/</href><propstat><prop><resourcetype><collection/>"
    + "</resourcetype></prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"

  private func requests(_ server: ScriptedServer, patience: Duration, user: String? = nil) throws -> WebDAVRequests {
    var settings = HTTPSettings()
    settings.stallTimeout = .seconds(2)
    let address = try WebAddress("http://127.0.0.1:\(server.port)/dav")
    let configuration = WebDAVConfiguration(address: address, user: user, password: user.map { _ in "open-sesame" })
    var requests = WebDAVRequests(configuration, HTTPClient(settings), now: { 0 })
    requests.listingPatience = patience
    return requests
  }

  private static func silent(for time: Duration) -> Reply {
    var reply = Reply.status(207, [:], listing)
    reply.silence = time
    return reply
  }

  /// A login that is asked for has an answer of its own, which is no beginning of the listing.
  @Test(arguments: [false, true])
  func `a listing may be long in the making`(_ hasLogin: Bool) async throws {
    let asks = ["WWW-Authenticate": "Digest realm=\"x\", nonce=\"abc\", qop=\"auth\", algorithm=MD5"]
    try await withServer { request in
      if hasLogin, request.headers["authorization"]?.hasPrefix("Digest ") != true {
        return .status(401, asks, "who is there?")
      }
      return Self.silent(for: .seconds(6))
    } _: { server in
      let requests = try requests(server, patience: .seconds(300), user: hasLogin ? "ali" : nil)
      let found = try await requests.find("packs/", depth: 1)
      #expect(found?.resources.count == 1)
    }
  }

  @Test func `one that takes too long is told with the way out, and not asked for again`() async throws {
    try await withServer { _ in
      Self.silent(for: .seconds(600))
    } _: { server in
      let requests = try requests(server, patience: .seconds(4))
      let error = await storeError { _ = try await requests.find("packs/", depth: 1) }
      #expect(error?.code == .unavailable && error?.retry == .never)
      #expect(error?.message.contains("/dav/packs/") == true)
      #expect(error?.hint?.contains("prune NAME --one-run`") == true)
    }
  }

  @Test func `one that has begun is to go on`() async throws {
    try await withServer { _ in
      var reply = Reply.status(207, [:], [UInt8](repeating: UInt8(ascii: " "), count: 100_000))
      reply.drip = .milliseconds(50)
      return reply
    } _: { server in
      let requests = try requests(server, patience: .seconds(600))
      let start = ContinuousClock.now
      let error = await storeError { _ = try await requests.find("packs/", depth: 1) }
      #expect(error?.code == .unavailable && error?.retry == .later(after: nil) && error?.hint == nil)
      #expect(ContinuousClock.now - start < .seconds(300))
    }
  }

  @Test func `a single object is given up as ever`() async throws {
    try await withServer { _ in
      Self.silent(for: .seconds(600))
    } _: { server in
      let requests = try requests(server, patience: .seconds(600))
      let start = ContinuousClock.now
      let error = await storeError { _ = try await requests.find("packs/one", depth: 0) }
      #expect(error?.code == .unavailable && error?.retry == .later(after: nil) && error?.hint == nil)
      #expect(ContinuousClock.now - start < .seconds(300))
    }
  }

  // MARK: S3

  private func store(_ server: ScriptedServer, patience: Duration) throws -> S3Store {
    var settings = HTTPSettings()
    settings.stallTimeout = .seconds(2)
    let endpoint = try WebAddress("http://127.0.0.1:\(server.port)")
    let configuration = S3Configuration(endpoint: endpoint, bucket: "bucket")
    var store = S3Store(configuration, settings: settings, now: { 784_111_777 }) {
      S3Credentials(accessKey: "AKIA", secretKey: "secret")
    }
    store.listingPatience = patience
    return store
  }

  private static func page(after silence: Duration) -> Reply {
    let objects = "<Contents><Key>packs/one</Key><Size>5</Size></Contents>"
    var reply = Reply.status(
      200, [:], "<ListBucketResult><IsTruncated>false</IsTruncated>\(objects)</ListBucketResult>")
    reply.silence = silence
    return reply
  }

  @Test func `a page of a bucket may be long in the making`() async throws {
    try await withServer { _ in
      Self.page(after: .seconds(6))
    } _: { server in
      let store = try store(server, patience: .seconds(300))
      #expect(try await store.list(prefix: "packs/").map(\.name.text) == ["packs/one"])
    }
  }

  /// The server may have hung.
  @Test func `one of a bucket that takes too long is told with the way out, and asked for once more`() async throws {
    try await withServer { _ in
      Self.page(after: .seconds(600))
    } _: { server in
      let store = try store(server, patience: .seconds(4))
      let error = await storeError { _ = try await store.list(prefix: "packs/") }
      #expect(error?.code == .unavailable && error?.retry == .once)
      #expect(error?.message.contains("s3://bucket could not be listed") == true)
      #expect(error?.hint?.contains("expired delete markers") == true && error?.hint?.contains("hangs") == true)
    }
  }

  /// A HEAD that finds nothing, or may not be asked, is borne out by a listing of that name alone.
  @Test(arguments: [404, 403]) func `a single object of a bucket is given up as ever`(_ status: Int) async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(status) : Self.page(after: .seconds(600))
    } _: { server in
      let store = try store(server, patience: .seconds(600))
      let start = ContinuousClock.now
      let error = await storeError { _ = try await store.head(ObjectName("packs/one")!) }
      #expect(error?.code == .unavailable && error?.retry == .later(after: nil) && error?.hint == nil)
      #expect(ContinuousClock.now - start < .seconds(300))
    }
  }
}
