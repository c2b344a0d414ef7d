import Storage
import TestKit
import Testing

@testable import Backends

extension LiveTargetTests {
  @Suite(.enabled(if: !LiveTarget.all.isEmpty)) struct S3Tests {
    private let folder = "test-\(UInt64.random(in: 0 ... .max))"
    private let name = ObjectName("packs/one")!

    @Test(arguments: LiveTarget.s3)
    func `every promise is kept`(_ target: LiveTarget) async throws {
      let broken = await brokenPromises(of: try target.s3Store(prefix: folder))
      #expect(broken == [])
    }

    @Test(arguments: LiveTarget.s3)
    func `wrong keys, buckets and clocks are told apart`(_ target: LiveTarget) async throws {
      let secret = try target.s3Store(prefix: folder, secretKey: "wrong" + target.secretKey!.dropFirst(5))
      let key = try target.s3Store(prefix: folder, accessKey: "nobody:knows")
      let bucket = try target.s3Store(prefix: folder, bucket: "no-such-bucket")
      let past = try target.s3Store(prefix: folder, now: { LiveTarget.now() - 3 * 3600 })
      let future = try target.s3Store(prefix: folder, now: { LiveTarget.now() + 3 * 3600 })
      let cases: [(S3Store, [StoreError.Code])] = [
        (secret, [.unauthenticated]), (key, [.unauthenticated, .forbidden]), (bucket, [.noTarget]),
        (past, [.clockSkew]), (future, [.clockSkew]),
      ]
      for (store, codes) in cases {
        let requests: [() async throws -> Void] = [
          { _ = try await store.head(name) }, { _ = try await store.list(prefix: "") },
          { _ = try await store.get(name, range: nil) },
          { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) },
          { try await store.put(ObjectBody([1]), at: name, ifAbsent: true) }, { try await store.delete(name) },
        ]
        for (number, request) in requests.enumerated() {
          let error = await storeError(request)
          #expect(error.map { codes.contains($0.code) } == true, "\(codes) \(number): \(error as Any)")
          #expect(error?.retry == .never)
          #expect(error?.hint != nil)
          #expect(error?.description.contains(target.secretKey!) == false)
        }
      }
      let skew = await storeError { _ = try await past.list(prefix: "") }
      #expect(skew?.message.contains("by 10") == true, "\(skew as Any)")
    }

    @Test func `a wrong region is told as such by a server that minds`() async throws {
      let swift = try #require(LiveTarget.s3.first { $0.name == "swift" })
      let store = try swift.s3Store(prefix: folder, region: "eu-nowhere-1")
      let error = await storeError { _ = try await store.list(prefix: "") }
      #expect(error?.code == .unauthenticated)
      #expect(error?.hint == "Set the target's region to us-east-1.", "\(error as Any)")
    }

    @Test(arguments: LiveTarget.s3)
    func `listings go over many pages`(_ target: LiveTarget) async throws {
      let store = try target.s3Store(prefix: folder, pageSize: 7)
      let names = try await fill(store, count: 40, folder: "pages")
      #expect(try await store.list(prefix: "pages/").map(\.name).sorted() == names)
      #expect(try await store.list(prefix: "pages/00").map(\.name).sorted() == Array(names.prefix(10)))
      try await clear(store)
    }

    @Test func `more than a thousand objects are listed`() async throws {
      let ceph = try #require(LiveTarget.s3.first { $0.name == "ceph" })
      let store = try ceph.s3Store(prefix: folder)
      let names = try await fill(store, count: 1100, folder: "many")
      let listed = try await store.list(prefix: "many/")
      #expect(listed.map(\.name).sorted() == names)
      #expect(listed.allSatisfy { $0.size == 8 })
      try await clear(store)
    }

    @Test(arguments: LiveTarget.s3)
    func `keys of others below the prefix are not ours`(_ target: LiveTarget) async throws {
      let store = try target.s3Store(prefix: folder)
      try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
      // The same bucket seen with another prefix: names that begin alike are not below ours.
      let other = try target.s3Store(prefix: folder + "-other")
      try await other.put(ObjectBody([2]), at: name, ifAbsent: false)
      #expect(try await store.list(prefix: "").map(\.name) == [name])
      try await clear(store)
      try await clear(other)
    }

    @Test(arguments: LiveTarget.s3)
    func `the largest pack goes up and comes down`(_ target: LiveTarget) async throws {
      let store = try target.s3Store(prefix: folder)
      var random = SeededRandom(1)
      let block = random.bytes(1 << 16)
      var body: [UInt8] = []
      for _ in 0..<256 { body += block }
      try await store.put(ObjectBody(body), at: name, ifAbsent: true)
      #expect(sameBytes(try await store.get(name, range: nil), body))
      #expect(try await store.get(name, range: 12_345_678..<12_345_700) == Array(body[12_345_678..<12_345_700]))
      try await clear(store)
    }

    private func fill(_ store: S3Store, count: Int, folder: String) async throws -> [ObjectName] {
      let names = (0..<count).map { number in
        let digits = String(1000 + number).dropFirst(number < 1000 ? 1 : 0)
        return ObjectName("\(folder)/\(digits)")!
      }
      let limited = ThrottledStore(RetryingStore(store), concurrency: 8)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in names {
          group.addTask { try await limited.put(ObjectBody([1, 2, 3, 4, 5, 6, 7, 8]), at: name, ifAbsent: false) }
        }
        try await group.waitForAll()
      }
      return names.sorted()
    }

    private func clear(_ store: S3Store) async throws {
      let names = try await store.list(prefix: "").map(\.name)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in names { group.addTask { try await store.delete(name) } }
        try await group.waitForAll()
      }
    }
  }
}
