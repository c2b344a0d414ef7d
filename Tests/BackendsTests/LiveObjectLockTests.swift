import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Backends

extension LiveTargetTests {
  /// What a lock and a deletion come to on a real server, in a bucket made for it.
  @Suite(.enabled(if: !LiveTarget.all.isEmpty)) struct ObjectLockTests {
    private let bucket = "locked-\(UInt64.random(in: 0 ... .max))"
    private let name = ObjectName("packs/one")!

    private func request(
      _ target: LiveTarget, _ method: String, _ key: String? = nil, query: [(name: String, value: String)] = [],
      headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) async throws -> HTTPResponse {
      let address = try WebAddress(target.endpoint!)
      let signature = Signature(
        credentials: S3Credentials(accessKey: target.accessKey!, secretKey: target.secretKey!),
        region: target.region!, time: Signature.time(LiveTarget.now()))
      let signed = signature.sign(
        Signature.Request(
          method: method, host: address.authority, path: "/\(bucket)" + (key.map { "/\($0)" } ?? ""), query: query,
          headers: headers, payloadHash: Signature.hex(Signature.sha256(body))))
      var message = HTTPRequest(method, "\(address.scheme.rawValue)://\(address.authority)\(signed.target)")
      message.headers = signed.headers
      if method == "PUT" { message.body = body }
      message.largestAnswer = 1 << 20
      return try await HTTPClient(HTTPSettings()).send(message)
    }

    private func store(_ target: LiveTarget, bucket: String) throws -> S3Store {
      var configuration = S3Configuration(
        endpoint: try WebAddress(target.endpoint!), bucket: bucket, prefix: "repository", region: target.region!)
      configuration.objectLock = .init(days: 1, mode: .governance)
      return S3Store(configuration, now: LiveTarget.now) {
        S3Credentials(accessKey: target.accessKey!, secretKey: target.secretKey!)
      }
    }

    @Test func `what is locked is only hidden by a deletion, and cannot be destroyed`() async throws {
      let ceph = try #require(LiveTarget.s3.first { $0.name == "ceph" })
      let made = try await request(ceph, "PUT", headers: [("x-amz-bucket-object-lock-enabled", "true")])
      #expect(made.status == 200, "\(String(decoding: made.body, as: UTF8.self))")
      let store = try store(ceph, bucket: bucket)
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: true)
      #expect(try await store.get(name, range: nil) == [1, 2, 3])
      let stored = try #require(try await store.list(prefix: "").first?.stored)
      #expect(abs(stored - LiveTarget.now()) < 600)
      let head = try await request(ceph, "HEAD", "repository/packs/one")
      #expect(head.header("x-amz-object-lock-mode") == "GOVERNANCE")
      #expect(head.header("x-amz-object-lock-retain-until-date") != nil)

      try await store.delete(name)
      #expect(store.traits.hidden.count == 1)
      #expect(try await store.list(prefix: "") == [])
      let versions = String(
        decoding: try await request(ceph, "GET", query: [("versions", "")]).body, as: UTF8.self)
      let version = try #require(versions.firstMatch(of: #/<Version>.*?<VersionId>([^<]+)</#)?.1)
      let id = [(name: "versionId", value: String(version))]
      #expect(try await request(ceph, "DELETE", "repository/packs/one", query: id).status == 403)
      let bypassing = [(name: "x-amz-bypass-governance-retention", value: "true")]
      let destroyed = try await request(ceph, "DELETE", "repository/packs/one", query: id, headers: bypassing)
      #expect(destroyed.status == 204)
    }

    /// The policy of `Docs/Stores.md` for a host that only pushes, for a user that owns nothing.
    @Test func `a key that may store and not delete pushes, and is told what it may not`() async throws {
      let ceph = try #require(LiveTarget.s3.first { $0.name == "ceph" })
      let pusher = try #require(ceph.pusher)
      #expect(try await request(ceph, "PUT").status == 200)
      let page = try String(contentsOfFile: "\(SourceTree.root)/Docs/Stores.md", encoding: .utf8)
      let documented = try #require(page.firstMatch(of: #/(?s)A host that only pushes needs.*?```json\n(.*?)```/#)?.1)
      let policy = documented.replacing("BUCKET", with: bucket).replacing("PREFIX", with: "repository").replacing(
        #""Effect": "Allow","#, with: #""Effect": "Allow", "Principal": {"AWS": ["arn:aws:iam:::user/pusher"]},"#)
      let set = try await request(ceph, "PUT", query: [("policy", "")], body: Array(policy.utf8))
      #expect(set.status == 204 || set.status == 200, "\(String(decoding: set.body, as: UTF8.self))")

      func pushing(to prefix: String) throws -> S3Store {
        try ceph.s3Store(prefix: prefix, bucket: bucket, accessKey: pusher.accessKey, secretKey: pusher.secretKey)
      }
      let store = try pushing(to: "repository")
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: true)
      #expect(try await store.get(name, range: nil) == [1, 2, 3])
      #expect(try await store.list(prefix: "packs/").map(\.name) == [name])
      #expect(await storeError { try await store.delete(name) }?.code == .forbidden)
      #expect(try await store.head(name)?.size == 3)
      let elsewhere = try pushing(to: "elsewhere")
      let error = await storeError { try await elsewhere.put(ObjectBody([1]), at: name, ifAbsent: false) }
      #expect(error?.code == .forbidden)
      let owner = try ceph.s3Store(prefix: "repository", bucket: bucket)
      try await owner.delete(name)
      #expect(owner.traits.hidden.count == 0)
    }

    @Test func `a bucket without locks is told as such`() async throws {
      let ceph = try #require(LiveTarget.s3.first { $0.name == "ceph" })
      let store = try store(ceph, bucket: ceph.bucket!)
      let error = await storeError { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }
      #expect(error?.code == .unsupported, "\(error as Any)")
      #expect(error?.hint?.contains("objectLock") == true)
    }
  }
}
