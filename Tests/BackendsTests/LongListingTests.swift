import Storage
import Testing

@testable import Backends

/// A collection may hold more than a listing can tell: then the person must learn why nothing works, and what still does.
@Suite struct LongListingTests {
  private func listing(_ path: String, files: Int) -> String {
    let responses = (0..<files).map { file in
      "<response><href>\(path)\(file)</href><propstat><prop><resourcetype/><getcontentlength>5</getcontentlength></prop>"
        + "<status>HTTP/1.1 200 OK</status></propstat></response>"
    }
    let own =
      "<response><href>\(path)</href><propstat><prop><resourcetype><collection/></resourcetype></prop>"
      + "<status>HTTP/1.1 200 OK</status></propstat></response>"
    return "<multistatus xmlns=\"DAV:\">\(own)\(responses.joined())</multistatus>"
  }

  private func requests(_ server: ScriptedServer, longest: Int) throws -> WebDAVRequests {
    let address = try WebAddress("http://127.0.0.1:\(server.port)/dav")
    var requests = WebDAVRequests(
      WebDAVConfiguration(address: address, user: nil, password: nil), HTTPClient(), now: { 0 })
    requests.longestListing = longest
    return requests
  }

  @Test func `a listing that is too long says so, and what still helps`() async throws {
    let body = listing("/dav/packs/", files: 100)
    try await withServer { _ in
      .status(207, [:], body)
    } _: { server in
      let whole = try await requests(server, longest: body.utf8.count).find("packs/", depth: 1)
      #expect(whole?.resources.count == 101)
      let short = try requests(server, longest: body.utf8.count - 1)
      let error = await storeError { _ = try await short.find("packs/", depth: 1) }
      #expect(error?.code == .badAnswer && error?.retry == .never)
      #expect(error?.message.contains("/dav/packs/") == true)
      #expect(error?.hint?.contains("prune NAME --one-run`") == true)
    }
  }

  /// As Nutstore does from 750 entries on.
  @Test(arguments: [
    ("</dav/packs/?mk=1>; rel=\"next\"", true), ("</dav/packs/?mk=1>;REL = next", true),
    ("</a>; rel=first, </dav/packs/?mk=1>; rel=\"last next\"; title=\"2\"", true),
    ("</dav/packs/?rel=next>; rel=\"canonical\", </next>; rel=next-archive", false), ("next", false),
  ])
  func `a first page passes for no listing`(_ link: String, _ leadsOn: Bool) async throws {
    try await withServer { request in
      let file =
        "<multistatus xmlns=\"DAV:\"><response><href>/dav/packs/0</href><propstat><prop><resourcetype/>"
        + "<getcontentlength>5</getcontentlength></prop><status>HTTP/1.1 200 OK</status></propstat></response>"
        + "</multistatus>"
      let body = request.target == "/dav/packs/0" ? file : listing("/dav/packs/", files: 3)
      return .status(207, ["Link": link], body)
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)/dav")
      let store = WebDAVStore(WebDAVConfiguration(address: address, user: nil, password: nil), now: { 0 })
      #expect(try await store.head(ObjectName("packs/0")!)?.size == 5)
      guard leadsOn else {
        #expect(try await store.list(prefix: "packs/").count == 3)
        return
      }
      let error = await storeError { _ = try await store.list(prefix: "packs/") }
      #expect(error?.code == .unsupported && error?.retry == .never)
      #expect(error?.hint?.contains("another kind of target") == true)
    }
  }

  @Test func `each of several Link headers counts`() {
    let links = ["</style>; rel=preload", "</dav/packs/?mk=1>; rel=\"next\""].map { (name: "link", value: $0) }
    #expect(HTTPResponse(status: 207, headers: links, body: []).hasNextPage)
    #expect(!HTTPResponse(status: 207, headers: Array(links.dropLast()), body: []).hasNextPage)
  }

  @Test func `so does one of too many objects`() async throws {
    let body = Array(listing("/dav/packs/", files: 9).utf8)
    #expect(try Multistatus(body, mostResources: 10).resources.count == 10)
    let refusal = #expect(throws: XMLRefusal.self) { try Multistatus(body, mostResources: 9) }
    #expect(refusal == .tooManyResources)
    try await withServer { _ in
      .status(404)
    } _: { server in
      let requests = try requests(server, longest: 1 << 20)
      #expect(requests.refused(.tooManyResources, "packs/").hint?.contains("prune NAME --one-run`") == true)
      #expect(requests.refused(XMLRefusal("no"), "packs/").hint?.contains("prune NAME --one-run`") == false)
    }
  }

  @Test func `what helps is said for each prefix`() throws {
    for prefix in ["tomb/", "notes/", "gone/", "packs/"] {
      #expect(LongestListing.wayOut(prefix).contains("`sealift copy`"))
    }
    #expect(LongestListing.wayOut("versions/").contains("file:///path"))
    for prefix in ["packs/", "versions/", "tomb/"] {
      #expect(LongestListing.wayOut("\(prefix)00112233445566778899aabbccddeeff/").contains("\"fork\""))
    }
  }

  /// Each collection by itself is short enough.
  @Test func `so does one of too many collections`() async throws {
    try await withServer { request in
      .status(207, [:], listing(request.target, files: 9))
    } _: { server in
      let address = try WebAddress("http://127.0.0.1:\(server.port)/dav")
      var store = WebDAVStore(
        WebDAVConfiguration(address: address, user: nil, password: nil), now: { 0 })
      store.mostListed = 8
      let error = await storeError { _ = try await store.list(prefix: "packs/") }
      #expect(error?.code == .badAnswer && error?.message.contains("more than 8 objects") == true)
      #expect(error?.hint == LongestListing.wayOut("packs/"))
      store.mostListed = 9
      #expect(try await store.list(prefix: "packs/").count == 9)
    }
  }
}
