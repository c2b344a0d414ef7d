import Storage
import TestKit
import Testing

@testable import Backends

@Suite struct TargetURLTests {
  @Test func `folders are paths or file URLs`() throws {
    #expect(try TargetURL.parse("/srv/backup/") == .folder(path: "/srv/backup"))
    #expect(try TargetURL.parse("/srv/a b%20c#?") == .folder(path: "/srv/a b%20c#?"))
    #expect(try TargetURL.parse("file:///srv/a%20b") == .folder(path: "/srv/a b"))
    #expect(try TargetURL.parse("file://localhost/srv") == .folder(path: "/srv"))
    #expect(try TargetURL.parse("/") == .folder(path: "/"))
  }

  @Test func `S3 has a bucket, a prefix and options`() throws {
    let text = "s3://my-bucket/a/b/?endpoint=http://localhost:9000&region=eu-central-1&style=virtual&storageClass=COLD"
    var location = Target.S3Location(bucket: "my-bucket", prefix: "a/b")
    location.endpoint = try WebAddress("http://localhost:9000")
    location.region = "eu-central-1"
    location.style = .virtual
    location.storageClass = "COLD"
    #expect(try TargetURL.parse(text) == .s3(location))
    #expect(try TargetURL.parse(text).location == "s3://my-bucket/a/b")
    guard case .s3(let encoded) = try TargetURL.parse("s3://bucket?endpoint=https%3A%2F%2Fs3.example%3A444&profile=p")
    else { throw StoreError(.badAnswer, "no S3") }
    #expect(encoded.endpoint?.text == "https://s3.example:444")
    #expect(encoded.profile == "p")
  }

  @Test func `without an endpoint it is Amazon's`() throws {
    let plain = Target.S3Location(bucket: "bucket", prefix: "").configuration(region: "eu-west-1")
    #expect(plain.endpoint.text == "https://s3.eu-west-1.amazonaws.com")
    #expect(plain.style == .virtual)
    #expect(plain.place(of: "k").server.authority == "bucket.s3.eu-west-1.amazonaws.com")
    #expect(plain.place(of: "k").path == "/k")
    let chinese = Target.S3Location(bucket: "bucket", prefix: "").configuration(region: "cn-north-1")
    #expect(chinese.endpoint.text == "https://s3.cn-north-1.amazonaws.com.cn")
    let sovereign = Target.S3Location(bucket: "bucket", prefix: "").configuration(region: "eusc-de-east-1")
    #expect(sovereign.endpoint.text == "https://s3.eusc-de-east-1.amazonaws.eu")
    var own = Target.S3Location(bucket: "bucket", prefix: "")
    own.endpoint = try WebAddress("https://host/base")
    let configuration = own.configuration(region: nil)
    #expect(configuration.style == .path && configuration.region == "us-east-1")
    #expect(configuration.place(of: "a/b").path == "/base/bucket/a/b")
    #expect(configuration.place(of: nil).path == "/base/bucket")
  }

  /// By host, Amazon would look for the bucket of the name in small letters, which may be somebody else's.
  @Test(
    arguments: [
      ("my-bucket", .virtual), ("bucket9", .virtual), ("my.bucket", .path), ("MyBucket", .path), ("my_bucket", .path),
    ] as [(String, S3Configuration.Style)])
  func `a bucket whose name is none of a host is asked for by path`(
    _ bucket: String, _ style: S3Configuration.Style
  ) throws {
    guard case .s3(let location) = try TargetURL.parse("s3://\(bucket)") else { throw StoreError(.badAnswer, "no S3") }
    #expect(location.configuration(region: nil).style == style)
  }

  @Test func `WebDAV has a host and a path, and may have a user`() throws {
    let address = try WebAddress("https://host.example:8443/remote.php/dav%20x")
    #expect(
      try TargetURL.parse("webdavs://ali%40home@HOST.example:8443/remote.php/dav%20x/")
        == .webdav(address, user: "ali@home"))
    #expect(try TargetURL.parse("webdav://[::1]:8080/") == .webdav(try WebAddress("http://[::1]:8080"), user: nil))
    #expect(try TargetURL.parse("webdavs://host:443/d").location == "webdavs://host/d")
  }

  @Test(arguments: [
    "webdavs://ali:geheim@host/path", "webdav://:geheim@host/", "webdavs://ali:geheim@evil@host/",
    "s3://AKIA:geheim@bucket/x",
    "webdavs://host/path?password=geheim", "s3://bucket?secretKey=geheim", "s3://bucket?endpoint=http://a:geheim@host",
    "https://ali:geheim@host/", "geheim", "webdavs://host/#geheim", "s3://bucket/ge heim", "webdavs://host/ge heim",
    "file://geheim", "s3://geheim%/x",
  ])
  func `secrets are refused and never repeated`(_ text: String) {
    let refusal = #expect(throws: TargetURL.Refusal.self) { _ = try TargetURL.parse(text) }
    #expect(refusal?.description.contains("heim") == false)
    #expect(refusal?.hint.isEmpty == false)
  }

  @Test(arguments: [("webdavs://ali:geheim@host/path", "passwordFile"), ("s3://AKIA:geheim@bucket/x", "secretKeyFile")])
  func `a password in a URL is told where it belongs`(_ text: String, _ key: String) {
    let refusal = #expect(throws: TargetURL.Refusal.self) { _ = try TargetURL.parse(text) }
    #expect(refusal?.hint.contains(key) == true && refusal?.hint.contains("of a configured target") == true)
  }

  @Test(arguments: [
    "", "relative/path", "./x", "http://host/", "ftp://host", "s3://", "s3:///prefix", "s3://b", "s3://bucket/..",
    "s3://bucket?style=odd", "s3://bucket?storageClass=COLD%0D%0Ax", "s3://bucket?storageClass=a/b",
    "s3://bucket?region=", "s3://bucket?region=a/b", "s3://bucket?x=y", "webdav://",
    "webdavs://host:0/", "webdavs://host:99999/", "webdavs://ho st/", "webdavs://host/../x", "webdavs://host/%2e%2e/x",
    "webdavs://host/%zz", "file://host/path", "file://relative", "webdavs://@host/",
    "s3://bucket/p?endpoint=minio:9000",
  ])
  func `these are no targets`(_ text: String) {
    #expect(throws: TargetURL.Refusal.self) { _ = try TargetURL.parse(text) }
  }

  @Test(arguments: [
    ("webdavs://m\u{FC}nchen.example/x", "xn--"), ("s3://bucket?endpoint=https://m\u{FC}nchen.example", "xn--"),
    ("file:///a%E9", "not UTF-8"), ("file:///a%zz", "begins no escape"), ("file://relative", "file URL is none"),
    ("s3://bucket?storageClass=a%20b", "storage class"),
  ])
  func `what is wrong with a target is said`(_ text: String, _ reason: String) {
    let refusal = #expect(throws: TargetURL.Refusal.self) { _ = try TargetURL.parse(text) }
    #expect(refusal?.message.contains(reason) == true, "\(refusal?.message ?? "")")
  }

  @Test(arguments: [
    ("http://localhost", true), ("http://127.0.0.1:80", true), ("http://[::1]", true), ("http://a.localhost", true),
    ("http://[0:0:0:0:0:0:0:1]", true), ("http://[::ffff:127.0.0.1]", true), ("http://[::ffff:128.0.0.1]", false),
    ("http://127.evil.example", false), ("http://localhost.example", false), ("http://128.0.0.1", false),
  ])
  func `this machine is told from others`(_ url: String, _ isLoopback: Bool) throws {
    #expect(try WebAddress(url).isLoopback == isLoopback)
  }

  /// libcurl writes some of them anew in the Host header, and a signature of another spelling fits no more.
  @Test(arguments: [
    ("[::1]", "[::1]"), ("[0:0:0:0:0:0:0:1]", "[::1]"), ("[0::0001]", "[::1]"), ("[2001:DB8::A]", "[2001:db8::a]"),
    ("[2001:db8:0:0:1:0:0:1]", "[2001:db8::1:0:0:1]"), ("[2001:db8:0:1::]", "[2001:db8:0:1::]"),
    ("[1:0:2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]"), ("[::ffff:7f00:1]", "[::ffff:127.0.0.1]"),
    ("[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]"), ("[64:ff9b::1.2.3.4]", "[64:ff9b::102:304]"), ("[::]", "[::]"),
    ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("255.10.200.9", "255.10.200.9"),
    // Names that begin as numbers do.
    ("1.example", "1.example"), ("127.0.0.1.Example", "127.0.0.1.example"), ("0xg", "0xg"), ("9-9", "9-9"),
  ])
  func `an address has one spelling`(_ host: String, _ spelling: String) throws {
    #expect(try WebAddress("http://\(host):9701/x").text == "http://\(spelling):9701/x")
    #expect(try WebAddress("http://\(spelling)").host == spelling)
  }

  @Test(arguments: [
    ("[::g]", "no IPv6 address"), ("[1:2:3]", "no IPv6 address"), ("[127.0.0.1]", "no IPv6 address"),
    ("[1::2::3]", "no IPv6 address"), ("[::ffff:1.2.3.256]", "no IPv6 address"), ("[]", "names no host"),
    ("[fe80::1%25eth0]", "names no host"), ("[fe80::1%eth0]", "names no host"), ("[::1]x", "names no host"),
    ("127.1", "four plain numbers"), ("127.0.0.01", "means octal"), ("192.168.010.001", "means octal"),
    ("0x7f.0.0.1", "0x hexadecimal"), ("0X7F000001", "four plain numbers"), ("2130706433", "four plain numbers"),
    ("256.1.1.1", "four plain numbers"), ("1.2.3.4.5", "four plain numbers"), ("1.2.3", "four plain numbers"),
    ("1.2.3.4.", "four plain numbers"), ("1..2.3", "four plain numbers"),
  ])
  func `an address that is none, or may be read as another, is refused`(_ host: String, _ reason: String) {
    let refusal = #expect(throws: WebAddress.Refusal.self) { _ = try WebAddress("http://\(host):80/x") }
    #expect(refusal?.reason.contains(reason) == true, "\(refusal?.reason ?? "")")
  }

  @Test func `a target makes its store`() throws {
    let scratch = try Scratch()
    var access = StoreAccess(now: { 0 })
    let missing = Target.folder(path: scratch.file("new"))
    #expect(throws: StoreError.self) { _ = try missing.store(access) }
    access.create = true
    #expect(try missing.store(access).traits.location == "file://\(scratch.file("new"))")
    let bucket = try TargetURL.parse("s3://bucket/p?endpoint=http://localhost:1")
    let error = #expect(throws: StoreError.self) { _ = try bucket.store(access) }
    #expect(error?.code == .unauthenticated)
    access.credentials = { () async throws(StoreError) in S3Credentials(accessKey: "a", secretKey: "b") }
    #expect(try bucket.store(access).traits.location == "s3://bucket/p")
    #expect(try TargetURL.parse("webdav://h/p").store(access).traits.location == "webdav://h/p")
  }

  @Test func `a folder that is missing is told by its first request, where that is asked for`() async throws {
    let scratch = try Scratch()
    var access = StoreAccess(now: { 0 })
    let missing = Target.folder(path: scratch.file("new/deep"))
    let absent = try missing.storeThereOrNot(access)
    let error = await #expect(throws: StoreError.self) { _ = try await absent.list(prefix: "") }
    #expect(error?.code == .noTarget && error?.hint?.contains("mounted") == true)
    try missing.demandMakeable()
    access.create = true
    let there = try missing.storeThereOrNot(access)
    #expect(there.traits.identity == absent.traits.identity)
    #expect(try await there.list(prefix: "").isEmpty)
  }

  @Test func `a folder that cannot be made is told without making any`() throws {
    let scratch = try Scratch()
    try writeFile(scratch.file("file"), [1])
    for path in ["file", "file/new", "file/new/deep"] {
      let error = #expect(throws: StoreError.self) { try Target.folder(path: scratch.file(path)).demandMakeable() }
      #expect(error?.code == .fileSystem && error?.message.contains("could not be made") == true)
    }
  }

  /// What is remembered of one says nothing of the other.
  @Test(arguments: [
    ("s3://bucket/p?endpoint=http://localhost:1", "s3://bucket/p?endpoint=http://localhost:2"),
    ("s3://bucket/p", "s3://bucket/p?endpoint=https://storage.example"), ("s3://bucket/p", "s3://bucket/q"),
    ("webdav://h/p", "webdavs://h/p"),
  ])
  func `two places have two identities`(_ first: String, _ second: String) throws {
    var access = StoreAccess(now: { 0 })
    access.credentials = { () async throws(StoreError) in S3Credentials(accessKey: "a", secretKey: "b") }
    let identities = try [first, second].map { try TargetURL.parse($0).store(access).traits.identity }
    #expect(identities[0] != identities[1])
    #expect(try TargetURL.parse(first).store(access).traits.identity == identities[0])
  }

  @Test func `two users of one address see two stores, and what is harmed at one place`() throws {
    let address = try WebAddress("https://h/p")
    let traits = ["ann", "bob"].map {
      WebDAVStore(WebDAVConfiguration(address: address, user: $0, password: "x"), now: { 0 }).traits
    }
    let identities = traits.map(\.identity)
    #expect(traits[0].place == traits[1].place)
    #expect(identities[0] != identities[1])
    #expect(!identities.contains { $0.contains("x") })
  }
}
