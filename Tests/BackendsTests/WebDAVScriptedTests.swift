import Storage
import TestKit
import Testing

@testable import Backends

/// What real WebDAV servers will not do on demand.
@Suite struct WebDAVScriptedTests {
  private typealias Reply = ScriptedServer.Reply
  private let name = ObjectName("packs/one")!
  private static let password = "open-sesame"

  private func store(_ server: ScriptedServer, user: String? = nil) throws -> WebDAVStore {
    let address = try WebAddress("http://127.0.0.1:\(server.port)/dav%20files")
    return WebDAVStore(
      WebDAVConfiguration(address: address, user: user, password: user.map { _ in Self.password }),
      now: { 784_111_777 })
  }

  private static func response(_ href: String, size: Int? = nil, status: String? = nil) -> String {
    let type = size == nil ? "<D:collection/>" : ""
    let length = size.map { "<D:getcontentlength>\($0)</D:getcontentlength>" } ?? ""
    let own = status.map { "<D:status>\($0)</D:status>" } ?? ""
    return "<D:response><D:href>\(href)</D:href>\(own)<D:propstat><D:prop><D:resourcetype>\(type)</D:resourcetype>"
      + "\(length)</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
  }

  private static func multistatus(_ responses: String...) -> String {
    "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">\(responses.joined())</D:multistatus>"
  }

  private static let root = response("/dav%20files/")

  /// Answers PROPFIND like a server that holds one file at `packs/one`, and everything else with `other`.
  private static func server(
    size: Int = 3, _ other: @escaping @Sendable (ScriptedServer.Request) -> Reply
  ) -> @Sendable (ScriptedServer.Request) -> Reply {
    { request in
      guard request.method == "PROPFIND" else { return other(request) }
      let isCollection = request.target.hasSuffix("/")
      return .status(207, [:], multistatus(response(request.target, size: isCollection ? nil : size)))
    }
  }

  @Test func `children are listed, whatever way the href is written`() async throws {
    try await withServer { request in
      let base = "http://\(request.headers["host"] ?? "")/dav%20files"
      return .status(
        207, [:],
        Self.multistatus(
          Self.response("/dav%20files"), Self.response("/dav%20files/a", size: 1), Self.response("\(base)/b", size: 2),
          Self.response("/dav%20files/%63", size: 3), Self.response("/dav%20files/.hidden", size: 4),
          Self.response("/dav%20files/With%20Space/"), Self.response("/dav%20files/tmp/")))
    } _: { server in
      let listed = try await store(server).list(prefix: "")
      #expect(listed.sorted { $0.name < $1.name }.map { "\($0.name) \($0.size)" } == ["a 1", "b 2", "c 3"])
      let request = try #require(server.requests.first)
      #expect(request.method == "PROPFIND" && request.target == "/dav%20files/")
      #expect(request.headers["depth"] == "1")
      #expect(request.headers["content-type"] == "application/xml")
      #expect(server.requests.count == 1)
    }
  }

  /// What a proxy says while the server behind it starts anew, and what it says a moment later.
  @Test func `one 404 makes nothing absent`() async throws {
    let asked = Locked(0)
    try await withServer { request in
      if request.target == "/dav%20files/" { return .status(207, [:], Self.multistatus(Self.root)) }
      let count = asked.withLock { asked in
        asked += 1
        return asked
      }
      guard count % 2 == 0 else { return .status(404, [:], "404 page not found") }
      let own = Self.response(request.target, size: request.target.hasSuffix("/") ? nil : 3)
      let file = Self.response("/dav%20files/packs/one", size: 3)
      return .status(207, [:], request.target.hasSuffix("/") ? Self.multistatus(own, file) : Self.multistatus(own))
    } _: { server in
      let store = try store(server)
      #expect(try await store.list(prefix: "packs/").map(\.name) == [name])
      #expect(try await store.head(name)?.size == 3)
    }
  }

  /// What Cyrus, and nginx with an older dav-ext, say of what is not there.
  private static func absence(_ href: String, _ isOfItself: Bool, status: Int = 404) -> Reply {
    let own = "<D:status>HTTP/1.1 \(status) Status</D:status>"
    let told = isOfItself ? own : "<D:propstat><D:prop></D:prop>\(own)</D:propstat>"
    return .status(207, [:], multistatus("<D:response><D:href>\(href)</D:href>\(told)</D:response>"))
  }

  @Test func `absence may be said in a multistatus, of the resource itself`() async throws {
    let isMade = Locked(false)
    try await withServer { request in
      if request.method == "MKCOL" {
        isMade.withLock { $0 = true }
        return .status(201)
      }
      guard request.target == "/dav%20files/", isMade.withLock({ $0 }) else {
        return Self.absence(request.target, true)
      }
      return .status(207, [:], Self.multistatus(Self.root))
    } _: { server in
      let never = try store(server)
      #expect(await storeError { _ = try await never.list(prefix: "") }?.code == .noTarget)
      var configuration = WebDAVConfiguration(address: try WebAddress("http://127.0.0.1:\(server.port)/dav%20files"))
      configuration.create = true
      let store = WebDAVStore(configuration, now: { 0 })
      #expect(try await store.list(prefix: "packs/").isEmpty)
      #expect(try await store.head(name) == nil)
      #expect(server.requests.filter { $0.method == "MKCOL" }.map(\.target) == ["/dav%20files/"])
    }
  }

  /// Of a folder that it cannot read such a server gives what it has, as if that were all.
  @Test func `a server whose listings may be short is refused by what it says of what is not there`() async throws {
    try await withServer { request in
      request.target == "/dav%20files/"
        ? .status(207, [:], Self.multistatus(Self.root)) : Self.absence(request.target, false)
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.head(name) }
      #expect(error?.code == .unsupported && error?.retry == .never)
      #expect(error?.message.contains("dav-ext") == true && error?.hint?.contains("Update") == true)
      #expect(await storeError { _ = try await store.list(prefix: "packs/") }?.code == .unsupported)
    }
  }

  /// An error must never pass for absence.
  @Test func `what a multistatus says of another resource, of a property or for a while is no absence`() async throws {
    let named = Self.response("/dav%20files/packs/one", size: 3).replacing("200 OK", with: "404 Not Found")
    let answers: [(Reply, StoreError.Code)] = [
      (Self.absence("/dav%20files/packs/two", true), .badAnswer),
      (Self.absence("/dav%20files/packs/one/%ff", true), .badAnswer),
      (Self.absence("/dav%20files/packs/one", true, status: 403), .badAnswer),
      (Self.absence("/dav%20files/packs/one", false, status: 403), .badAnswer),
      (Self.absence("/dav%20files/packs/one", false, status: 425), .unavailable),
      (.status(207, [:], Self.multistatus(named)), .badAnswer),
    ]
    for (answer, code) in answers {
      try await withServer { request in
        request.target == "/dav%20files/" ? .status(207, [:], Self.multistatus(Self.root)) : answer
      } _: { server in
        let store = try store(server)
        #expect(await storeError { _ = try await store.head(name) }?.code == code)
      }
    }
  }

  @Test(arguments: [("/remote.php/webdav/backup", true), ("/remote.php/dav/files/ali/backup", false)])
  func `a path that Nextcloud gives up is told as that`(_ path: String, _ isOld: Bool) async throws {
    try await withServer { _ in
      .status(207, [:], "<?xml version=\"1.0\"?><d:multistatus xmlns:d=\"DAV:\">")
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)\(path)")
      let store = WebDAVStore(WebDAVConfiguration(address: address), now: { 0 })
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .badAnswer && error?.hint?.contains("/remote.php/dav/files/USER") == isOld)
    }
  }

  /// IIS gives nothing whose name has no extension, and lists it all the same.
  @Test func `what is listed and not given cannot be read, and is not missing`() async throws {
    try await withServer(Self.server { _ in .status(404) }) { server in
      let store = try store(server)
      for range in [nil, 0..<2] as [Range<Int>?] {
        let error = await storeError { _ = try await store.get(name, range: range) }
        #expect(error?.code == .unreadable && error?.retry == .once)
        #expect(error?.message.contains("lists it") == true && error?.hint?.contains("MIME type") == true)
      }
    }
  }

  @Test func `what is neither given nor listed is not there`() async throws {
    try await withServer { request in
      request.target == "/dav%20files/" ? .status(207, [:], Self.multistatus(Self.root)) : .status(404)
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.get(name, range: nil) }
      #expect(error?.code == .notFound)
      let file = "/dav%20files/packs/one"
      #expect(server.requests.map(\.target) == [file, file, "/dav%20files/", file])
    }
  }

  @Test func `what is stored while it is looked for is read by the next try`() async throws {
    let replies = Self.server { $0.number == 0 ? .status(404) : .status(200, [:], "123") }
    try await withServer(replies) { server in
      let store = RetryingStore(try store(server), clock: ManualClock().storeClock, random: { 0 })
      #expect(try await store.get(name, range: nil) == Array("123".utf8))
    }
  }

  @Test func `a target that was there is worth another try`() async throws {
    let isAway = Locked(true)
    try await withServer { request in
      isAway.withLock { $0 } ? .status(404) : .status(207, [:], Self.multistatus(Self.response(request.target)))
    } _: { server in
      let store = try store(server)
      let never = await storeError { _ = try await store.list(prefix: "") }
      #expect(never?.code == .noTarget && never?.retry == .never)
      isAway.withLock { $0 = false }
      #expect(try await store.list(prefix: "").isEmpty)
      isAway.withLock { $0 = true }
      let later = await storeError { _ = try await store.list(prefix: "") }
      #expect(later?.code == .noTarget && later?.retry == .later(after: nil))
    }
  }

  @Test(arguments: [
    "http://evil.example/dav%20files/a", "https://127.0.0.1/dav%20files/a", "//evil.example/dav%20files/a",
    "/dav%20files/../a", "/dav%20files/%2e%2e/a", "/dav%20files/%2e%2e", "/dav%20files/a%2fb",
    "/dav%20files/a%2F..%2Fb",
    "/dav%20files/a/b", "/other/a", "/a", "/", "a", "../a", "", "/dav%20files//a", "/dav%20files/a%00",
    "/dav%20files/%ff/a", "/dav%20files/a/%ff", "/other/%ff", "/dav+files/a", "http://user:pw@127.0.0.1/dav%20files/a",
  ])
  func `an href that leads elsewhere makes the listing an error`(_ href: String) async throws {
    let body = Self.multistatus(Self.root, Self.response(href, size: 1))
    try await withServer { _ in
      .status(207, [:], body)
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .badAnswer)
      #expect(server.requests.count == 1)
    }
    Fault.hostileNames.met("href")
  }

  @Test func `files of somebody else are passed over, whatever they are called`() async throws {
    let theirs = ["caf%E9.txt", "100%", "%zz", "Report.pdf", "caf%C3%A9/"].map {
      Self.response("/dav%20files/\($0)", size: $0.hasSuffix("/") ? nil : 2)
    }
    let sizeless = Self.response("/dav%20files/Upper", size: 1).replacing(
      "<D:getcontentlength>1</D:getcontentlength>", with: "")
    let body = Self.multistatus(Self.root, theirs.joined(), sizeless, Self.response("/dav%20files/a", size: 1))
    try await withServer { _ in
      .status(207, [:], body)
    } _: { server in
      let store = try store(server)
      #expect(try await store.list(prefix: "").map(\.name.text) == ["a"])
    }
  }

  /// Behind a proxy, servers write the scheme and the host that they see.
  @Test(arguments: ["http://inner:8080", "https://127.0.0.1", "http://127.0.0.1"])
  func `a server may call itself otherwise, and is asked where it is`(_ origin: String) async throws {
    try await withServer { request in
      let path = "\(origin)\(request.target)"
      guard request.target == "/dav%20files/" else {
        return .status(207, [:], Self.multistatus(Self.response(path), Self.response("\(path)one", size: 3)))
      }
      return .status(
        207, [:],
        Self.multistatus(
          Self.response("\(path)a", size: 1), Self.response("\(path)packs/"), Self.response(path),
          Self.response("\(request.target)b", size: 2)))
    } _: { server in
      let listed = try await store(server).list(prefix: "")
      #expect(listed.map { "\($0.name) \($0.size)" }.sorted() == ["a 1", "b 2", "packs/one 3"])
      #expect(server.requests.map(\.target) == ["/dav%20files/", "/dav%20files/packs/"])
    }
  }

  @Test(arguments: [
    ("http://inner:8080", "http://evil.example"), ("http://inner:8080", "https://inner:8080"),
    ("", "http://inner:8080"),
  ])
  func `an entry is at no other server than its collection`(_ own: String, _ other: String) async throws {
    let body = Self.multistatus(
      Self.response("\(own)/dav%20files/"), Self.response("\(other)/dav%20files/a", size: 1))
    try await withServer { _ in
      .status(207, [:], body)
    } _: { server in
      let store = try store(server)
      #expect(await storeError { _ = try await store.list(prefix: "") }?.code == .badAnswer)
    }
    Fault.hostileNames.met("href")
  }

  @Test(arguments: [
    multistatus(), multistatus(response("/dav%20files/a", size: 1)),
    multistatus(root, response("/dav%20files/a", size: 1), response("/dav%20files/a", size: 1)),
    multistatus(root, response("/dav%20files/a", size: 1, status: "HTTP/1.1 507 Insufficient Storage")),
    multistatus(
      root, response("/dav%20files/a", size: 1).replacing("<D:getcontentlength>1</D:getcontentlength>", with: "")),
    multistatus(root, response("/dav%20files/a", size: 1).replacing("200 OK", with: "404 Not Found")),
    multistatus(root, response("/dav%20files/a", size: -1)), multistatus(response("/dav%20files/", size: 5)),
    multistatus(root).replacing("DAV:", with: "urn:other"), "<D:multistatus xmlns:D=\"DAV:\"/>", "", "<html></html>",
    String(multistatus(root).dropLast(10)), "<!DOCTYPE html>" + multistatus(root),
  ])
  func `an answer that is not whole makes the listing an error`(_ body: String) async throws {
    try await withServer { _ in
      .status(207, [:], body)
    } _: { server in
      let store = try store(server)
      #expect(await storeError { _ = try await store.list(prefix: "") }?.code == .badAnswer)
    }
  }

  @Test func `an object that is shorter under its name than what was moved there is not stored`() async throws {
    try await withServer { request in
      guard request.method == "PROPFIND" else { return .status(201) }
      let size = request.target.hasSuffix("packs/one") ? 2 : 3
      return .status(
        207, [:], Self.multistatus(Self.response(request.target, size: request.target.hasSuffix("/") ? nil : size)))
    } _: { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.code == .badAnswer)
      #expect(server.requests.contains { $0.method == "MOVE" })
    }
  }

  @Test func `a new target gets the collections above it as well`() async throws {
    let made = Locked<Set<String>>(["/dav/"])
    try await withServer { request in
      let parent =
        request.target.dropLast().prefix { _ in true }.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/"
      switch request.method {
      case "PROPFIND":
        return made.withLock { $0.contains(request.target) }
          ? .status(207, [:], Self.multistatus(Self.response(request.target))) : .status(404)
      case "MKCOL":
        return made.withLock { made in
          guard made.contains(parent) else { return .status(409) }
          made.insert(request.target)
          return .status(201)
        }
      default: return .status(500)
      }
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)/dav/some/where/new")
      var configuration = WebDAVConfiguration(address: address, user: nil, password: nil)
      configuration.create = true
      _ = try await WebDAVStore(configuration, now: { 0 }).list(prefix: "")
      #expect(made.withLock { $0 } == ["/dav/", "/dav/some/", "/dav/some/where/", "/dav/some/where/new/"])
    }
  }

  @Test func `where nothing above a new target can be made, that is said at once`() async throws {
    try await withServer { request in
      request.method == "MKCOL" ? .status(409) : .status(404)
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)/dav/new")
      var configuration = WebDAVConfiguration(address: address, user: nil, password: nil)
      configuration.create = true
      let store = WebDAVStore(configuration, now: { 0 })
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .noTarget && error?.retry == .never && error?.hint != nil)
      #expect(server.requests.filter { $0.method == "MKCOL" }.map(\.target) == ["/dav/new/", "/dav/"])
    }
  }

  @Test func `stock nginx is recognised by what it cannot do`() async throws {
    try await withServer { request in
      request.method == "PROPFIND" ? .status(405) : .status(201)
    } _: { server in
      let store = try store(server)
      for work in [
        { _ = try await store.list(prefix: "") }, { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) },
      ] as [() async throws -> Void] {
        let error = await storeError(work)
        #expect(error?.code == .unsupported)
        #expect(error?.hint?.contains("nginx") == true)
      }
    }
  }

  @Test func `a redirect is not followed, and its target sees nothing`() async throws {
    try await withServer { _ in
      .status(200, [:], "stolen")
    } _: { thief in
      try await withServer { request in
        .status(302, ["Location": "http://127.0.0.1:\(thief.port)\(request.target)?token=abc"])
      } _: { server in
        let store = try store(server, user: "ali")
        for work in [
          { _ = try await store.list(prefix: "") }, { _ = try await store.get(name, range: nil) },
          { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }, { try await store.delete(name) },
        ] as [() async throws -> Void] {
          let error = await storeError(work)
          #expect(error?.code == .redirected)
          #expect(error?.description.contains("token") == false)
        }
      }
      #expect(thief.connections == 0)
    }
    Fault.credentials.met(4, "redirect")
  }

  @Test func `an object goes to tmp, is measured, and then gets its name`() async throws {
    try await withServer(Self.server { _ in .status(201) }) { server in
      try await store(server).put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let requests = server.requests.map { request in
        let target = request.target.hasPrefix("/dav%20files/tmp/") && request.target.count > 18 ? "TMP" : request.target
        return "\(request.method) \(target)"
      }
      #expect(
        requests == [
          "PROPFIND /dav%20files/", "MKCOL /dav%20files/tmp/", "MKCOL /dav%20files/packs/", "PUT TMP", "PROPFIND TMP",
          "MOVE TMP", "PROPFIND /dav%20files/packs/one",
        ])
      let move = try #require(server.requests.first { $0.method == "MOVE" })
      #expect(move.headers["destination"] == "http://127.0.0.1:\(server.port)/dav%20files/packs/one")
      #expect(move.headers["overwrite"] == "F")
    }
  }

  /// Behind a proxy that ends TLS, servers find that a whole URL is another server's.
  @Test(arguments: [400, 502])
  func `a server that takes no whole URL as Destination is given the path, from then on at once`(
    _ refusal: Int
  ) async throws {
    let replies = Self.server { request in
      request.method == "MOVE" && request.headers["destination"]?.hasPrefix("/") != true
        ? .status(refusal) : .status(201)
    }
    try await withServer(replies) { server in
      let store = try store(server)
      for _ in 1...2 { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      let url = "http://127.0.0.1:\(server.port)/dav%20files/packs/one"
      let destinations = server.requests.filter { $0.method == "MOVE" }.map { $0.headers["destination"] }
      #expect(destinations == [url, "/dav%20files/packs/one", "/dav%20files/packs/one"])
    }
  }

  @Test(arguments: [(502, 400, StoreError.Code.unsupported), (502, 502, .unavailable), (400, 400, .unsupported)])
  func `a server that takes no Destination is told from one whose proxy cannot reach it`(
    _ ofURL: Int, _ ofPath: Int, _ code: StoreError.Code
  ) async throws {
    let replies = Self.server { request in
      guard request.method == "MOVE" else { return .status(201) }
      return .status(request.headers["destination"]?.hasPrefix("/") == true ? ofPath : ofURL)
    }
    try await withServer(replies) { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.code == code)
      #expect((error?.retry == .never) == (code == .unsupported))
      if code == .unsupported { #expect(error?.hint?.contains("proxy") == true) }
    }
  }

  /// As Nextcloud does of names that Windows keeps for itself.
  @Test func `a name that is refused is no fault of a Destination that was taken before`() async throws {
    let replies = Self.server { request in
      request.method == "MOVE" && request.headers["destination"]?.hasSuffix("/con") == true
        ? .status(400) : .status(201)
    }
    try await withServer(replies) { server in
      let store = try store(server)
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let error = await storeError {
        try await store.put(ObjectBody([1, 2, 3]), at: ObjectName("packs/con")!, ifAbsent: false)
      }
      #expect(error?.code == .badAnswer)
      #expect(server.requests.filter { $0.method == "MOVE" }.count == 2)
    }
  }

  @Test func `what arrived short never gets its name`() async throws {
    try await withServer(Self.server(size: 2) { _ in .status(201) }) { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.code == .unavailable)
      #expect(error?.retry == .later(after: nil))
      #expect(!server.requests.contains { $0.method == "MOVE" })
      #expect(server.requests.last?.method == "DELETE")
    }
  }

  /// As a virus scanner does that takes it for a virus.
  @Test(arguments: ["/tmp/", "/packs/one"])
  func `what is taken and not kept is told as that`(_ place: String) async throws {
    let replies = Self.server { _ in .status(201) }
    try await withServer { request in
      let isAsked = request.method == "PROPFIND" && !request.target.hasSuffix("/")
      return isAsked && request.target.contains(place) ? .status(404) : replies(request)
    } _: { server in
      let store = RetryingStore(try store(server), clock: ManualClock().storeClock, random: { 1 })
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.code == .badAnswer && error?.hint?.contains("virus scanner") == true)
      #expect(error?.message.hasPrefix("packs/one was taken") == true)
      #expect(error?.message.hasSuffix("is not there") == true)
      #expect(server.requests.filter { $0.method == "PUT" }.count == RetryingStore.Policy().tries)
    }
  }

  @Test(arguments: [(200, true), (202, true), (404, true), (410, true), (204, false)])
  func `a deletion that is only promised, or denied, is looked after`(_ status: Int, _ isDoubted: Bool) async throws {
    try await withServer(Self.server(size: 2) { _ in .status(status) }) { server in
      let store = try store(server)
      let error = await storeError { try await store.delete(name) }
      #expect(error?.code == (isDoubted ? .badAnswer : nil))
    }
  }

  @Test func `what somebody else deleted meanwhile is gone`() async throws {
    let isGone = Locked(false)
    let replies = Self.server { request in
      isGone.withLock { $0 = true }
      return .status(404)
    }
    try await withServer { request in
      request.target.hasSuffix("/packs/one") && isGone.withLock({ $0 }) ? .status(404) : replies(request)
    } _: { server in
      try await store(server).delete(name)
      #expect(server.requests.contains { $0.method == "DELETE" })
    }
  }

  @Test func `a MOVE that finds the same bytes there is a success, and other bytes are not`() async throws {
    for content in ["123", "124"] {
      let replies = Self.server { request in
        switch request.method {
        case "MOVE": request.headers["overwrite"] == "F" ? .status(412) : .status(204)
        case "GET": .status(200, [:], content)
        default: .status(201)
        }
      }
      try await withServer(replies) { server in
        let store = try store(server)
        try await store.put(ObjectBody(Array("123".utf8)), at: name, ifAbsent: false)
        let overwrites = server.requests.filter { $0.method == "MOVE" }.compactMap { $0.headers["overwrite"] }
        #expect(overwrites == (content == "123" ? ["F"] : ["F", "T"]))
        let error = await storeError { try await store.put(ObjectBody(Array("123".utf8)), at: name, ifAbsent: true) }
        #expect(error?.code == (content == "123" ? nil : .exists))
      }
    }
  }

  /// So a repair mends a file that Nextcloud lists and its disk lost.
  @Test func `a MOVE that finds what is listed and not given replaces it, unless it must not`() async throws {
    let replies = Self.server { request in
      switch request.method {
      case "MOVE": request.headers["overwrite"] == "F" ? .status(412) : .status(204)
      case "GET": .status(404)
      default: .status(201)
      }
    }
    try await withServer(replies) { server in
      let store = try store(server)
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      func overwrites() -> [String] {
        server.requests.filter { $0.method == "MOVE" }.compactMap { $0.headers["overwrite"] }
      }
      #expect(overwrites() == ["F", "T"])
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: true) }
      #expect(error?.code == .unreadable && overwrites() == ["F", "T"])
    }
  }

  @Test func `what comes under a name meanwhile and is not given is no other bytes`() async throws {
    let isThere = Locked(false)
    let replies = Self.server { request in
      if request.method == "MOVE" { isThere.withLock { $0 = true } }
      return .status(["MOVE": 412, "GET": 404][request.method] ?? 201)
    }
    try await withServer { request in
      let isAsked = request.method == "PROPFIND" && request.target.hasSuffix("/packs/one")
      return isAsked && !isThere.withLock { $0 } ? .status(404) : replies(request)
    } _: { server in
      let store = try store(server)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: true) }
      #expect(error?.code == .unreadable && server.requests.contains { $0.method == "MOVE" })
    }
  }

  @Test func `storing needs no right to delete`() async throws {
    let replies = Self.server { request in
      switch request.method {
      case "DELETE": .status(403)
      case "MOVE": .status(412)
      case "GET": .status(200, [:], "123")
      default: .status(201)
      }
    }
    try await withServer(replies) { server in
      // Stored before, and the answer lost: that the upload in tmp/ cannot be taken away is nothing to fail for.
      try await store(server).put(ObjectBody(Array("123".utf8)), at: name, ifAbsent: false)
      #expect(server.requests.contains { $0.method == "DELETE" })
    }
  }

  @Test func `a busy server is waited for as long as it says, and a full one is not`() async throws {
    let clock = ManualClock()
    try await withServer(
      Self.server { request in
        guard request.method == "PUT" else { return .status(201) }
        switch request.number {
        case ..<6: return .status(503, ["Retry-After": "7"])
        case ..<11: return .status(423, ["Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT"])
        default: return .status(201)
        }
      }
    ) { server in
      let store = RetryingStore(try store(server), clock: clock.storeClock, random: { 0 })
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      #expect(clock.waits.prefix(1) == [.seconds(7)])
      #expect(clock.waits.contains(.seconds(60)))
    }
    try await withServer(Self.server { $0.method == "PUT" ? .status(507) : .status(201) }) { server in
      let full = try store(server)
      let store = RetryingStore(full, clock: clock.storeClock)
      let error = await storeError { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }
      #expect(error?.code == .full)
      #expect(server.requests.filter { $0.method == "PUT" }.count == 1)
    }
  }

  /// Nextcloud says 400 of a body that was cut on its way.
  @Test func `an upload that a server calls bad is sent anew`() async throws {
    let puts = Locked(0)
    let replies = Self.server { request in
      guard request.method == "PUT" else { return .status(201) }
      let number = puts.withLock { puts in
        puts += 1
        return puts
      }
      return .status(number == 1 ? 400 : 201)
    }
    try await withServer(replies) { server in
      let store = RetryingStore(try store(server), clock: ManualClock().storeClock, random: { 0 })
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      #expect(server.requests.filter { $0.method == "PUT" }.count == 2)
    }
  }

  /// A store that has answered would be waited for by time, if this were an outage.
  @Test func `a server that calls every upload bad is given up after the tries`() async throws {
    try await withServer(Self.server { $0.method == "PUT" ? .status(400) : .status(201) }) { server in
      let store = RetryingStore(try store(server), clock: ManualClock().storeClock, random: { 1 })
      _ = try await store.head(name)
      let error = await storeError { try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false) }
      #expect(error?.code == .badAnswer && error?.message.contains("did not arrive whole") == true)
      #expect(server.requests.filter { $0.method == "PUT" }.count == RetryingStore.Policy().tries)
    }
  }

  @Test func `deleting the name of a collection deletes nothing`() async throws {
    try await withServer { _ in
      .status(207, [:], Self.multistatus(Self.response("/dav%20files/packs/")))
    } _: { server in
      try await store(server).delete(ObjectName("packs")!)
      #expect(!server.requests.contains { $0.method == "DELETE" })
    }
  }

  @Test func `a range that the server ignores is cut out`() async throws {
    try await withServer { _ in
      .status(200, [:], "0123456789")
    } _: { server in
      let store = try store(server)
      #expect(try await store.get(name, range: 3..<6) == Array("345".utf8))
      #expect(await storeError { _ = try await store.get(name, range: 3..<11) }?.code == .badRange)
    }
  }

  @Test func `nothing is held, or waited for, beyond the range that was asked for`() async throws {
    let objects = [UInt8](0...255) + [UInt8](repeating: 0, count: 2 << 20)
    try await withServer { request in
      var reply = Reply.status(200, [:], objects)
      // All of it would take most of a day.
      reply.drip = .milliseconds(30)
      return reply
    } _: { server in
      let store = try store(server)
      #expect(try await store.get(name, range: 20..<40) == [UInt8](20..<40))
    }
    try await withServer { _ in
      .status(206, ["Content-Range": "bytes 0-2/3"], objects)
    } _: { server in
      let store = try store(server)
      let error = await storeError { _ = try await store.get(name, range: 0..<3) }
      #expect(error?.code == .badAnswer && error?.message.contains("longer than 1048576 bytes") == true)
    }
  }

  @Test func `a server that lets anybody ask is asked once, and then knows its user`() async throws {
    let asksBasic = ["WWW-Authenticate": "Basic realm=\"x\""]
    try await withServer { request in
      if request.method == "OPTIONS" { return .status(200) }
      return request.headers["authorization"] == nil
        ? .status(401, asksBasic) : .status(207, [:], Self.multistatus(Self.root))
    } _: { server in
      let store = try store(server, user: "ali")
      for _ in 0..<3 { _ = try await store.list(prefix: "") }
      #expect(server.requests.map(\.method) == ["OPTIONS", "PROPFIND", "PROPFIND", "PROPFIND", "PROPFIND"])
      #expect(server.requests.map { $0.headers["authorization"] != nil } == [false, false, true, true, true])
    }
  }

  /// A proxy before it may answer OPTIONS by itself.
  @Test func `a server that asks for a password later gets it then`() async throws {
    try await withServer { request in
      if request.method == "OPTIONS" { return .status(401, ["WWW-Authenticate": "Bearer"]) }
      let asksBasic = ["WWW-Authenticate": "Basic realm=\"x\""]
      guard request.headers["authorization"] != nil else { return .status(401, asksBasic) }
      return Self.server { _ in .status(201) }(request)
    } _: { server in
      try await store(server, user: "ali").put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let shown = server.requests.map { $0.headers["authorization"] != nil }
      #expect(shown.prefix(3) == [false, false, true] && !shown.dropFirst(3).contains(false))
    }
  }

  /// As one does whose proxy takes the header away.
  @Test func `a server that names no login at all gets a password where that may be sent`() async throws {
    try await withServer { request in
      guard request.headers["authorization"]?.hasPrefix("Basic ") == true else { return .status(401) }
      return Self.server { _ in .status(201) }(request)
    } _: { server in
      try await store(server, user: "ali").put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let shown = server.requests.map { $0.headers["authorization"] != nil }
      #expect(shown.first == false && !shown.dropFirst().contains(false))
    }
    try await withServer { _ in
      .status(401)
    } _: { server in
      let store = try store(server, user: "ali")
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .unauthenticated && error?.message.contains("wrong") == true)
    }
  }

  @Test(arguments: ["Bearer realm=\"x\"", "Negotiate"])
  func `a server that asks for another login never sees the password, and calls none wrong`(
    _ scheme: String
  ) async throws {
    try await withServer { _ in
      .status(401, ["WWW-Authenticate": scheme])
    } _: { server in
      let store = try store(server, user: "ali")
      for work in [
        { _ = try await store.list(prefix: "") }, { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) },
      ] as [() async throws -> Void] {
        let error = await storeError(work)
        #expect(error?.code == .unauthenticated && error?.retry == .never)
        #expect(error?.message.contains("neither a password (Basic) nor Digest") == true)
        #expect(error?.message.contains("wrong") == false && error?.hint?.contains("app password") == true)
      }
      #expect(server.requests.allSatisfy { $0.headers["authorization"] == nil })
    }
    Fault.credentials.met("login")
  }

  /// As a server does that counts failed logins.
  @Test func `a password is wrong where a server has asked for it, whatever it says later`() async throws {
    try await withServer { request in
      .status(401, request.headers["authorization"] == nil ? ["WWW-Authenticate": "Basic realm=\"x\""] : [:])
    } _: { server in
      let store = try store(server, user: "ali")
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .unauthenticated && error?.message.contains("wrong") == true)
    }
  }

  @Test func `the password is sent to nobody who does not ask, and never in the clear over a network`() async throws {
    let asksBasic = ["WWW-Authenticate": "Basic realm=\"x\""]
    // Loopback: may be sent, once it was asked for.
    try await withServer { request in
      request.headers["authorization"] == nil
        ? .status(401, asksBasic) : .status(207, [:], Self.multistatus(Self.root))
    } _: { server in
      let store = try store(server, user: "ali")
      for _ in 0..<3 { _ = try await store.list(prefix: "") }
      #expect(server.requests.map { $0.headers["authorization"] != nil } == [false, true, true, true])
      #expect(server.requests[0].method == "OPTIONS" && server.requests[0].body.isEmpty)
    }
    // The same server, were it elsewhere: Basic is not among the ways.
    let remote = WebDAVConfiguration(address: try WebAddress("http://backup.example/dav"), user: "ali", password: "x")
    #expect(remote.schemes == .digest)
    var allowed = remote
    allowed.allowPlainPassword = true
    #expect(allowed.schemes == [.basic, .digest])
    let encrypted = WebDAVConfiguration(address: try WebAddress("https://backup.example/dav"), user: "ali")
    #expect(encrypted.schemes == [.basic, .digest])
    let response = HTTPResponse(status: 401, headers: [], body: [], offered: .basic)
    let error = WebDAVErrors(configuration: remote, now: 0).error(response, "x", for: .list)
    #expect(error.hint?.contains("webdavs://") == true)
    Fault.credentials.met(4, "login")
  }

  @Test func `a server that asks for Digest never sees the password`() async throws {
    let asks = ["WWW-Authenticate": "Digest realm=\"x\", nonce=\"abc\", qop=\"auth\", algorithm=MD5"]
    try await withServer { request in
      guard let login = request.headers["authorization"], login.hasPrefix("Digest ") else { return .status(401, asks) }
      return Self.server { _ in .status(201) }(request)
    } _: { server in
      try await store(server, user: "ali").put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      #expect(server.requests.contains { $0.method == "PUT" && $0.body == [1, 2, 3] })
      // Refused tries carry no body.
      #expect(!server.requests.contains { $0.headers["authorization"] == nil && $0.body == [1, 2, 3] })
      #expect(
        !server.requests.contains { "\($0.headers)".contains("Basic") || "\($0.headers)".contains(Self.password) })
    }
    Fault.credentials.met("login")
  }

  @Test(arguments: ["http://ali:open-sesame@host/dav", "//ali:open-sesame@host/dav", "ali:open-sesame@host?x#y"])
  func `a redirect shows no password of whoever is redirected`(place: String) throws {
    let configuration = WebDAVConfiguration(
      address: try WebAddress("https://host/dav"), user: "ali", password: Self.password)
    let response = HTTPResponse(status: 302, headers: [("location", place)], body: [])
    let error = WebDAVErrors(configuration: configuration, now: 0).error(response, "packs/x is not read", for: .read)
    #expect(error.code == .redirected && "\(error)".contains("host"))
    #expect(!"\(error) \(error.hint ?? "")".contains("open-sesame"))
    Fault.credentials.met("redirect")
  }

  private static let meanings: [(Int, StoreError.Code, Bool)] = [
    (301, .redirected, false), (401, .unauthenticated, false), (403, .forbidden, false), (404, .notFound, false),
    (405, .unsupported, false), (409, .unavailable, true), (412, .exists, false), (413, .full, false),
    (416, .badRange, false), (423, .unavailable, true), (429, .throttled, true), (500, .unavailable, true),
    (502, .unavailable, true), (503, .throttled, true), (504, .unavailable, true), (507, .full, false),
    (599, .unavailable, true), (418, .badAnswer, false), (99, .badAnswer, false),
  ]

  /// A target of the configuration is told what it lacks, not to become one.
  @Test(arguments: [(nil, "Give the target user and"), ("ali", "Give the target passwordFile")] as [(String?, String)])
  func `a login that is missing is told by its keys`(_ user: String?, _ beginning: String) throws {
    let configuration = WebDAVConfiguration(address: try WebAddress("https://host/dav"), user: user)
    let response = HTTPResponse(status: 401, headers: [], body: [])
    let error = WebDAVErrors(configuration: configuration, now: 0).error(response, "packs/x is not read", for: .read)
    #expect(error.code == .unauthenticated && error.hint?.hasPrefix(beginning) == true)
  }

  @Test(arguments: meanings)
  func `each status has its meaning`(_ status: Int, _ code: StoreError.Code, _ mayRetry: Bool) throws {
    let configuration = WebDAVConfiguration(
      address: try WebAddress("https://host/dav"), user: "ali", password: Self.password)
    for after in [nil, 17] {
      let headers = after.map { [("retry-after", "\($0)")] } ?? []
      let response = HTTPResponse(status: status, headers: headers, body: [])
      let error = WebDAVErrors(configuration: configuration, now: 0).error(response, "packs/x is not read", for: .read)
      #expect(error.code == code)
      #expect(error.retry == (mayRetry ? .later(after: after.map { .seconds($0) }) : .never))
      #expect(error.message.contains("\(status)"))
      #expect(!error.description.contains(Self.password))
    }
    var dumped = ""
    dump(configuration, to: &dumped)
    #expect(!dumped.contains(Self.password) && !"\(configuration)".contains(Self.password))
  }
}
