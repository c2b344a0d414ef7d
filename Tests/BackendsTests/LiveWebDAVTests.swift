import Storage
import TestKit
import Testing

@testable import Backends

extension LiveTarget {
  func webdavStore(
    folder: String = "", password: String? = nil, create: Bool = true, caFile: String? = nil
  ) throws -> WebDAVStore {
    let address = try WebAddress(url! + (folder.isEmpty ? "" : "/\(folder)"))
    var configuration = WebDAVConfiguration(address: address, user: user, password: password ?? self.password)
    configuration.create = create
    var settings = HTTPSettings()
    settings.caFile = caFile ?? self.caFile
    return WebDAVStore(configuration, settings: settings, now: LiveTarget.now)
  }
}

extension LiveTargetTests {
  @Suite(.enabled(if: !LiveTarget.all.isEmpty)) struct WebDAVTests {
    private let folder = "test-\(UInt64.random(in: 0 ... .max))"
    private let name = ObjectName("packs/one")!

    @Test(arguments: LiveTarget.webdav)
    func `every promise is kept`(_ target: LiveTarget) async throws {
      let broken = await brokenPromises(of: try target.webdavStore(folder: folder))
      #expect(broken == [])
    }

    @Test(arguments: LiveTarget.webdav)
    func `a missing collection is no empty target`(_ target: LiveTarget) async throws {
      let store = try target.webdavStore(folder: folder, create: false)
      let requests: [() async throws -> Void] = [
        { _ = try await store.head(name) }, { _ = try await store.list(prefix: "") },
        { _ = try await store.list(prefix: "packs/") }, { _ = try await store.get(name, range: nil) },
        { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }, { try await store.delete(name) },
      ]
      for request in requests {
        let error = await storeError(request)
        #expect(error?.code == .noTarget)
      }
    }

    @Test(arguments: LiveTarget.webdav)
    func `a wrong password is told as such`(_ target: LiveTarget) async throws {
      let store = try target.webdavStore(password: "wrong-password")
      let large = [UInt8](repeating: 1, count: 3_000_000)
      let requests: [() async throws -> Void] = [
        { _ = try await store.head(name) }, { _ = try await store.list(prefix: "") },
        { try await store.put(ObjectBody(large), at: name, ifAbsent: false) },
      ]
      for request in requests {
        let error = await storeError(request)
        #expect(error?.code == .unauthenticated)
        #expect(error?.retry == .never)
        #expect(error?.description.contains("wrong-password") == false)
      }
    }

    @Test(arguments: LiveTarget.webdav)
    func `large objects and many of them come back whole`(_ target: LiveTarget) async throws {
      let store = try target.webdavStore(folder: folder)
      var random = SeededRandom(1)
      let block = random.bytes(1 << 16)
      var body: [UInt8] = []
      for _ in 0..<256 { body += block }
      try await store.put(ObjectBody(body), at: name, ifAbsent: true)
      #expect(sameBytes(try await store.get(name, range: nil), body))
      #expect(try await store.get(name, range: 12_345_678..<12_345_700) == Array(body[12_345_678..<12_345_700]))
      let limited = ThrottledStore(store, concurrency: 8)
      let names = (100..<300).map { ObjectName("many/\($0)")! }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in names { group.addTask { try await limited.put(ObjectBody([1, 2]), at: name, ifAbsent: false) } }
        try await group.waitForAll()
      }
      #expect(try await store.list(prefix: "many/").map(\.name).sorted() == names)
      #expect(try await store.list(prefix: "tmp/").isEmpty)
      for info in try await store.list(prefix: "") { try await store.delete(info.name) }
    }

    @Test func `a certificate of an unknown authority is refused`() async throws {
      let target = try #require(LiveTarget.webdav.first { $0.name == "apache-tls" })
      let store = try target.webdavStore(caFile: "/etc/ssl/certs/ca-certificates.crt")
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .tls)
      #expect(error?.retry == .never)
      #expect(error?.hint == "For a private authority give its certificate as the target's caFile.")
    }

    @Test func `collections that vanish are made again`() async throws {
      for target in LiveTarget.webdav {
        let store = try target.webdavStore(folder: folder)
        try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
        try await store.delete(name)
        for collection in ["packs/", "tmp/"] {
          let address = try WebAddress("\(target.url!)/\(folder)")
          let other = WebDAVRequests(
            WebDAVConfiguration(address: address, user: target.user, password: target.password),
            HTTPClient(
              { () -> HTTPSettings in
                var settings = HTTPSettings()
                settings.caFile = target.caFile
                return settings
              }()), now: LiveTarget.now)
          #expect(try await other.send("DELETE", collection).status == 204)
        }
        var policy = RetryingStore.Policy()
        policy.firstPause = .milliseconds(1)
        try await RetryingStore(store, policy: policy).put(ObjectBody([2]), at: name, ifAbsent: false)
        #expect(try await store.get(name, range: nil) == [2])
        try await store.delete(name)
      }
    }
  }
}
