import Storage
import Testing

@testable import Backends

/// A listing asks for many collections at once: one round trip each would be a minute for a thousand chains.
@Suite struct WebDAVListingTests {
  private typealias Reply = ScriptedServer.Reply
  private static let chains = (0..<40).map { "chain-\($0)" }

  /// Of each chain a version, of one chain something below that, and a file beside the chains.
  private static func answer(_ request: ScriptedServer.Request) -> Reply {
    let path = request.target
    return switch path {
    case "/dav/": .status(207, [:], listing(path))
    case "/dav/versions/": .status(207, [:], listing(path, collections: chains, files: ["head": 7]))
    case "/dav/versions/chain-3/": .status(207, [:], listing(path, collections: ["deep"], files: ["1": 5]))
    case "/dav/versions/chain-3/deep/": .status(207, [:], listing(path, files: ["down": 3]))
    default: .status(207, [:], listing(path, files: ["1": 5]))
    }
  }

  private static let expected =
    ["versions/chain-3/deep/down 3", "versions/head 7"] + chains.map { "versions/\($0)/1 5" }

  private static func listing(_ path: String, collections: [String] = [], files: [String: Int] = [:]) -> String {
    let responses =
      [response(path, nil)] + collections.map { response("\(path)\($0)/", nil) }
      + files.map { response("\(path)\($0.key)", $0.value) }
    return "<D:multistatus xmlns:D=\"DAV:\">\(responses.joined())</D:multistatus>"
  }

  /// - Parameter size: of a file.
  private static func response(_ href: String, _ size: Int?) -> String {
    let type = size == nil ? "<D:collection/>" : ""
    let length = size.map { "<D:getcontentlength>\($0)</D:getcontentlength>" } ?? ""
    return "<D:response><D:href>\(href)</D:href><D:propstat><D:prop><D:resourcetype>\(type)</D:resourcetype>\(length)"
      + "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
  }

  private func store(_ server: ScriptedServer) throws -> WebDAVStore {
    let address = try WebAddress("http://127.0.0.1:\(server.port)/dav")
    return WebDAVStore(WebDAVConfiguration(address: address, user: nil, password: nil), now: { 0 })
  }

  @Test func `collections are looked into side by side, and each object is listed once`() async throws {
    try await withServer { request in
      var reply = Self.answer(request)
      reply.silence = .milliseconds(30)
      return reply
    } _: { server in
      let listed = try await store(server).list(prefix: "versions/")
      #expect(listed.map { "\($0.name) \($0.size)" }.sorted() == Self.expected.sorted())
      #expect(server.requests.count == Self.chains.count + 2)
      #expect(server.mostAtOnce > 1 && server.mostAtOnce <= HTTPSettings().concurrency)
    }
  }

  @Test(arguments: [(404, nil), (500, .unavailable), (403, .forbidden)] as [(Int, StoreError.Code?)])
  func `a collection that is gone by then is left out, one that cannot be read is an error`(
    _ status: Int, _ code: StoreError.Code?
  ) async throws {
    try await withServer { request in
      request.target == "/dav/versions/chain-17/" ? .status(status) : Self.answer(request)
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.list(prefix: "versions/") }
      #expect(error?.code == code)
      guard code == nil else { return }
      let listed = try await store.list(prefix: "versions/").map(\.name.text)
      #expect(listed.count == Self.expected.count - 1 && !listed.contains("versions/chain-17/1"))
    }
  }

  @Test func `a listing that is cancelled ends at once`() async throws {
    try await withServer { request in
      var reply = Self.answer(request)
      if request.target.contains("chain-") { reply.silence = .seconds(600) }
      return reply
    } _: { server in
      let store = try store(server)
      let start = ContinuousClock.now
      let task = Task { try await store.list(prefix: "versions/") }
      while server.requests.count < 3 { await Task.yield() }
      task.cancel()
      let error = await storeError { _ = try await task.value }
      #expect(error?.code == .cancelled)
      #expect(ContinuousClock.now - start < .seconds(300))
    }
  }
}
