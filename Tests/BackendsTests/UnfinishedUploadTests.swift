import Storage
import TestKit
import Testing

@testable import Backends

/// ownCloud Infinite Scale and its kin look at an upload before they let anybody have it: until then its properties are
/// 425, and it cannot be moved.
@Suite struct UnfinishedUploadTests {
  private let name = ObjectName("packs/one")!
  private let clock = ManualClock()

  private func store(_ server: ScriptedServer) throws -> WebDAVStore {
    let address = try WebAddress("http://127.0.0.1:\(server.port)/dav")
    return WebDAVStore(
      WebDAVConfiguration(address: address, user: nil, password: nil), clock: clock.storeClock,
      now: { 784_111_777 })
  }

  /// - Parameter isUnfinished: what is said of files; collections are always there.
  private static func answer(_ hrefs: String..., isUnfinished: Bool = false) -> ScriptedServer.Reply {
    let responses = hrefs.map { href in
      let isCollection = href.hasSuffix("/")
      let type = isCollection ? "<D:collection/>" : ""
      let length = isCollection ? "" : "<D:getcontentlength>3</D:getcontentlength>"
      let status = isUnfinished && !isCollection ? "425 TOO EARLY" : "200 OK"
      return "<D:response><D:href>\(href)</D:href><D:propstat><D:prop><D:resourcetype>\(type)</D:resourcetype>\(length)"
        + "</D:prop><D:status>HTTP/1.1 \(status)</D:status></D:propstat></D:response>"
    }
    return .status(207, [:], "<D:multistatus xmlns:D=\"DAV:\">\(responses.joined())</D:multistatus>")
  }

  @Test func `it is waited for, and not sent again`() async throws {
    let looks = Locked(0)
    let moves = Locked([423, 425, 503])
    try await withServer { request in
      switch request.method {
      case "PROPFIND" where request.target.hasSuffix("/"): return Self.answer(request.target)
      case "PROPFIND":
        // Three of the upload, the others of what it became.
        let number = looks.withLock { looks in
          looks += 1
          return looks
        }
        return Self.answer(request.target, isUnfinished: [1, 2, 4].contains(number))
      case "MOVE": return .status(moves.withLock { $0.isEmpty ? 201 : $0.removeFirst() })
      default: return .status(201)
      }
    } _: { server in
      try await store(server).put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let moves = server.requests.filter { $0.method == "MOVE" }
      #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
      #expect(moves.count == 4 && Set(moves.map(\.target)).count == 1)
      #expect(!server.requests.contains { $0.method == "DELETE" })
      #expect(clock.waits == [300, 600, 300, 600, 1200, 300].map { Duration.milliseconds($0) })
    }
  }

  @Test(arguments: ["PROPFIND", "MOVE"])
  func `a server that is never done with it is given up`(_ busy: String) async throws {
    try await withServer { request in
      if request.method == "PROPFIND" { return Self.answer(request.target, isUnfinished: busy == "PROPFIND") }
      return .status(request.method == busy ? 425 : 201)
    } _: { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.code == .unavailable)
      #expect(error?.retry == .later(after: nil))
      let waited = clock.waits.reduce(Duration.zero, +)
      #expect(waited > .seconds(120) && waited <= .seconds(180))
      #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
      #expect(server.requests.last?.method == "DELETE")
    }
  }

  /// What failed for another reason, and what the server wants to be left alone with for longer.
  @Test(arguments: [(500, nil), (502, nil), (503, 1000)] as [(Int, Int?)])
  func `nothing else is waited for`(_ status: Int, _ after: Int?) async throws {
    let headers = after.map { ["Retry-After": "\($0)"] } ?? [:]
    try await withServer { request in
      if request.method == "PROPFIND" { return Self.answer(request.target) }
      return request.method == "MOVE" ? .status(status, headers) : .status(201)
    } _: { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.retry == .later(after: after.map { .seconds($0) }))
      #expect(clock.waits.isEmpty)
    }
  }

  @Test func `whoever looks for it is told to come back`() async throws {
    try await withServer { request in
      request.target == "/dav/packs/"
        ? Self.answer("/dav/packs/", "/dav/packs/one", isUnfinished: true)
        : Self.answer(request.target, isUnfinished: true)
    } _: { server in
      let store = try store(server)
      let requests: [() async throws -> Void] = [
        { _ = try await store.head(name) }, { _ = try await store.list(prefix: "packs/") },
        { try await store.delete(name) },
      ]
      for request in requests {
        let error = await storeError(request)
        #expect(error?.code == .unavailable)
        #expect(error?.retry == .later(after: nil))
      }
      #expect(clock.waits.isEmpty)
    }
  }
}
