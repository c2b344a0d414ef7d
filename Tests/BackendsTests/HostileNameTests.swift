import Storage
import TestKit
import Testing

@testable import Backends

/// Names that a server shows to be led elsewhere by: none becomes a name of ours, and no request goes where it points.
@Suite struct HostileNameTests {
  private let now: @Sendable () -> Int = { 784_111_777 }

  /// As an XML text that any parser takes; what XML cannot hold at all stays as it is.
  private func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
  }

  @Test func `none is the name of an object`() throws {
    for path in HostilePaths.all {
      try #require(ObjectName(path) == nil, "\(path.debugDescription.prefix(80))")
      Fault.hostileNames.met("name of an object")
    }
  }

  @Test func `no key of a listing of S3 leads elsewhere`() async throws {
    let page = Locked("")
    try await withServer { _ in
      .status(200, [:], page.withLock { $0 })
    } _: { server in
      let configuration = S3Configuration(
        endpoint: try WebAddress("http://127.0.0.1:\(server.port)"), bucket: "bucket", prefix: "some/where")
      let store = S3Store(configuration, now: now) { S3Credentials(accessKey: "A", secretKey: "b", sessionToken: nil) }
      var read = 0
      for path in HostilePaths.all {
        let size = "<Size>5</Size>"
        page.withLock {
          $0 =
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>false</IsTruncated>"
            + "<Contents><Key>some/where/\(escaped(path))</Key>\(size)</Contents>"
            + "<Contents><Key>some/where/packs/one</Key>\(size)</Contents></ListBucketResult>"
        }
        let listed = try? await store.list(prefix: "")
        try #require(listed.map { $0.map(\.name.text) == ["packs/one"] } ?? true, "\(path.debugDescription.prefix(80))")
        if listed != nil { read += 1 }
        Fault.hostileNames.met("key of a listing")
      }
      #expect(read > 0, "a store that refuses every listing proves nothing")
      #expect(server.requests.allSatisfy { $0.target.hasPrefix("/bucket?") || $0.target.hasPrefix("/bucket/?") })
    }
  }

  @Test func `no href leads elsewhere`() async throws {
    let answer = Locked("")
    try await withServer { request in
      // Of a collection that it does list, it says that nothing is in it.
      return request.target == "/dav%20files/"
        ? .status(207, [:], answer.withLock { $0 })
        : .status(207, [:], Self.multistatus(Self.response(request.target, isCollection: true)))
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)/dav%20files")
      let store = WebDAVStore(WebDAVConfiguration(address: address, user: nil, password: nil), now: now)
      var read = 0
      for path in HostilePaths.all {
        for (href, isCollection) in [(path, false), ("/dav%20files/\(path)", false), ("/dav%20files/\(path)/", true)] {
          let before = server.requests.count
          answer.withLock {
            $0 = Self.multistatus(
              Self.response("/dav%20files/", isCollection: true),
              Self.response(escaped(href), isCollection: isCollection))
          }
          let listed = try? await store.list(prefix: "")
          if listed != nil { read += 1 }
          // "a/", with blanks that XML may have around it, is no way out: it is the child that is called so.
          let own = path.split(whereSeparator: \.isWhitespace) == ["a/"] ? ["a"] : []
          try #require(
            (listed ?? []).allSatisfy { own.contains($0.name.text) },
            "\(href.debugDescription.prefix(80)): \(listed ?? [])")
          for request in server.requests.dropFirst(before) {
            try #require(
              request.target.hasPrefix("/dav%20files/") && !request.target.contains("..")
                && !request.target.lowercased().contains("%2e") && request.headers["authorization"] == nil,
              "\(request.target.prefix(80))")
          }
          Fault.hostileNames.met("href")
        }
      }
      #expect(read > 0, "a store that refuses every listing proves nothing")
    }
  }

  private static func response(_ href: String, isCollection: Bool) -> String {
    let type = isCollection ? "<D:collection/>" : ""
    let length = isCollection ? "" : "<D:getcontentlength>5</D:getcontentlength>"
    return "<D:response><D:href>\(href)</D:href><D:propstat><D:prop><D:resourcetype>\(type)</D:resourcetype>"
      + "\(length)</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
  }

  private static func multistatus(_ responses: String...) -> String {
    "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">\(responses.joined())</D:multistatus>"
  }
}
