import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Backends

/// Objects that nobody may delete for a time, and when objects were stored.
@Suite struct ObjectLockTests {
  private let name = ObjectName("packs/one")!

  private func store(_ server: ScriptedServer, _ lock: S3Configuration.ObjectLock?) throws -> S3Store {
    var configuration = S3Configuration(
      endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket", prefix: "some/where")
    configuration.objectLock = lock
    return S3Store(configuration, now: { 784_111_777 }) { S3Credentials(accessKey: "AKIA", secretKey: "secret") }
  }

  @Test(arguments: [("governance", 1, "1994-11-07T08:49:37Z"), ("compliance", 30, "1994-12-06T08:49:37Z")])
  func `every object is stored with its lock, signed and with a checksum`(
    mode: String, days: Int, until: String
  ) async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(200, ["Content-Length": "3"]) : .status(200)
    } _: { server in
      let lock = S3Configuration.ObjectLock(days: days, mode: try #require(.init(rawValue: mode)))
      let locked = try store(server, lock)
      try await locked.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let put = try #require(server.requests.first)
      #expect(put.headers["x-amz-object-lock-mode"] == mode.uppercased())
      #expect(put.headers["x-amz-object-lock-retain-until-date"] == until)
      // printf '\1\2\3' | openssl dgst -md5 -binary | base64
      #expect(put.headers["content-md5"] == "Uonfc331cyb83SJZevsfrA==")
      // Backblaze refuses a PUT that has one of these.
      #expect(!put.headers.keys.contains { $0.hasPrefix("x-amz-checksum") })
      let signed =
        "content-md5;host;x-amz-content-sha256;x-amz-date;x-amz-object-lock-mode;x-amz-object-lock-retain"
      #expect(put.headers["authorization"]?.contains(signed) == true)
      _ = try await locked.head(name)
      #expect(server.requests.last?.headers.keys.contains { $0.contains("lock") } == false)
    }
  }

  @Test func `without a lock nothing is said of one`() async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(200, ["Content-Length": "1"]) : .status(200)
    } _: { server in
      try await store(server, nil).put(ObjectBody([1]), at: name, ifAbsent: false)
      let put = try #require(server.requests.first)
      #expect(!put.headers.keys.contains { $0.contains("lock") || $0.contains("checksum") || $0.contains("md5") })
    }
  }

  /// What `doctor` stores is not to stay, and a bucket with a default retention takes nothing without a checksum.
  @Test func `what is stored without the target's lock has its checksum all the same`() async throws {
    try await withServer { request in
      request.method == "HEAD" ? .status(200, ["Content-Length": "3"]) : .status(200)
    } _: { server in
      var location = Target.S3Location(bucket: "bucket", prefix: "some/where")
      location.endpoint = try WebAddress("http://127.0.0.1:\(server.port)")
      let plain = Target.s3(location)
      #expect(plain.withoutLock == plain)
      location.objectLock = .init(days: 1, mode: .governance)
      guard case .s3(let unlocked) = Target.s3(location).withoutLock else { throw StoreError(.badAnswer, "no S3") }
      let store = S3Store(unlocked.configuration(region: nil), now: { 784_111_777 }) {
        S3Credentials(accessKey: "AKIA", secretKey: "secret")
      }
      try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
      let put = try #require(server.requests.first)
      #expect(put.headers["content-md5"] == "Uonfc331cyb83SJZevsfrA==")
      #expect(!put.headers.keys.contains { $0.contains("lock") })
    }
  }

  @Test func `a bucket that locks by itself is told as such to a target without a lock`() async throws {
    let words =
      "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters"
    try await withServer { _ in
      .status(400, [:], "<Error><Code>InvalidRequest</Code><Message>\(words)</Message></Error>")
    } _: { server in
      let store = try store(server, nil)
      let error = await storeError { try await store.put(ObjectBody([1]), at: name, ifAbsent: false) }
      #expect(error?.code == .unsupported && error?.retry == .never)
      #expect(error?.hint?.contains("Set objectLock") == true)
    }
  }

  @Test(
    arguments: [
      (400, "InvalidRequest", "Bucket is missing Object Lock Configuration"),
      (400, "InvalidRequest", "Bucket is missing ObjectLockConfiguration"),
      (400, "InvalidArgument", "The retain until date must be in the future: x-amz-object-lock-retain-until-date"),
      (409, "InvalidBucketState", "Object lock requires bucket versioning to be enabled"),
      (501, "NotImplemented", "Header 'x-amz-object-lock-mode' with value 'COMPLIANCE' not implemented"),
    ] as [(Int, String, String)])
  func `a bucket that takes no lock is told as such`(_ status: Int, _ code: String, _ message: String) async throws {
    try await withServer { request in
      switch request.method {
      case "HEAD": .status(404)
      case "GET": .status(200, [:], "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
      default: .status(status, [:], "<Error><Code>\(code)</Code><Message>\(message)</Message></Error>")
      }
    } _: { server in
      let store = try store(server, .init(days: 1, mode: .governance))
      for ifAbsent in [false, true] {
        let error = await storeError { try await store.put(ObjectBody([1]), at: name, ifAbsent: ifAbsent) }
        #expect(error?.code == .unsupported && error?.retry == .never)
        #expect(error?.hint?.contains("objectLock") == true)
      }
      // Nothing was sent again for want of conditions.
      #expect(server.requests.filter { $0.method == "PUT" }.count == 2)
    }
  }

  /// Garage answers 200 to a PUT with a lock, and 501 to this; others pass the question over, and list.
  @Test(
    arguments: [
      (200, "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>", nil),
      (200, "<ObjectLockConfiguration></ObjectLockConfiguration>", "locks nothing"),
      (200, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>", "locks nothing"),
      (404, "<Error><Code>ObjectLockConfigurationNotFoundError</Code></Error>", "locks nothing"),
      (501, "<Error><Code>NotImplemented</Code></Error>", "locks nothing"),
      (403, "<Error><Code>AccessDenied</Code></Error>", "s3:GetBucketObjectLockConfiguration"),
      (500, "", "could not be asked"),
    ] as [(Int, String, String?)])
  func `a bucket that locks nothing is told from one that does`(
    _ status: Int, _ body: String, _ words: String?
  ) async throws {
    try await withServer { _ in
      .status(status, [:], body)
    } _: { server in
      let store = try store(server, nil)
      let doubt = await store.lockDoubt()
      if let words { #expect(doubt?.contains(words) == true) } else { #expect(doubt == nil) }
      #expect(server.requests.first?.target.contains("object-lock") == true)
    }
  }

  @Test func `a listing tells when objects were stored, as far as the server does`() async throws {
    try await withServer { _ in
      .status(
        200, [:],
        """
        <ListBucketResult><IsTruncated>false</IsTruncated>
        <Contents><Key>some/where/a</Key><Size>5</Size><LastModified>1994-11-06T08:49:37.000Z</LastModified></Contents>
        <Contents><Key>some/where/b</Key><Size>5</Size><LastModified>yesterday</LastModified></Contents>
        <Contents><Key>some/where/c</Key><Size>5</Size></Contents></ListBucketResult>
        """)
    } _: { server in
      let listed = try await store(server, nil).list(prefix: "").sorted { $0.name < $1.name }
      #expect(listed.map(\.stored) == [784_111_777, nil, nil])
    }
  }

  @Test func `a WebDAV server tells it too`() async throws {
    try await withServer { _ in
      .status(
        207, [:],
        """
        <D:multistatus xmlns:D="DAV:"><D:response><D:href>/packs/</D:href><D:propstat><D:prop><D:resourcetype>\
        <D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\
        <D:response><D:href>/packs/one</D:href><D:propstat><D:prop><D:resourcetype/><D:getcontentlength>3\
        </D:getcontentlength><D:getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</D:getlastmodified></D:prop>\
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>
        """)
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)")
      let store = WebDAVStore(WebDAVConfiguration(address: address, user: nil, password: nil), now: { 0 })
      #expect(try await store.list(prefix: "packs/").map(\.stored) == [784_111_777])
    }
  }

  @Test func `so does a folder`() async throws {
    let scratch = try Scratch()
    let store = try FolderStore(path: scratch.path)
    #expect(store.traits.listsAtOnce)
    let before = LiveTarget.now()
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    let stored = try #require(try await store.list(prefix: "").first?.stored)
    #expect((before - 1...LiveTarget.now() + 1).contains(stored))
  }

  @Test func `times are read and written`() {
    #expect(HTTPTime.iso(784_111_777) == "1994-11-06T08:49:37Z")
    for time in [0, 951_782_400, 4_102_444_799] { #expect(HTTPTime.secondsOfISO(HTTPTime.iso(time)) == time) }
    for text in [
      "", "1994-11-06", "1994-11-06T08:49:37", "1994-13-06T08:49:37Z", "1994-11-06T24:49:37Z", "x-y-zT1:2:3Z",
    ] {
      #expect(HTTPTime.secondsOfISO(text) == nil)
    }
  }

  @Test func `when an object was stored makes no difference to which it is`() {
    let objects = [nil, 1, 2].map { ObjectInfo(name: name, size: 1, stored: $0) }
    #expect(Set(objects).count == 1)
  }
}
