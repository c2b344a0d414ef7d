import Backends
import Operations
import TestKit
import Testing

@testable import SealiftTool

@Suite struct ConfigurationTests {
  private func read(_ text: String) throws -> Configuration {
    try Configuration(json: Array(text.utf8), file: "c.json")
  }

  @Test func `the example decodes, and shows every key there is`() throws {
    let bytes = try fileBytes("\(SourceTree.root)/config.example.json")
    let example = try Configuration(json: bytes, file: "config.example.json")
    #expect(example.targets.map(\.name).contains("bucket"))
    #expect(example.targets.filter(\.allowPlainPassword).map(\.name) == ["neighbour"])
    #expect(example.limitUpload == 5 << 20)
    #expect(example.verifyRemote == 86_400_000)
    #expect(example.patience == .seconds(900))
    #expect(try read("{}").patience == .seconds(900) && read(#"{"patience": "0s"}"#).patience == .zero)
    let app = try #require(example.databases.first)
    #expect(app.source.name == "app" && app.source.method == .vacuum && app.source.busyTimeoutMilliseconds == 30_000)
    #expect(app.source.maxWalGrowth == 1 << 30)
    #expect(app.targets == ["disk", "bucket"])
    var keep = RetentionRules()
    (keep.last, keep.hourly, keep.daily, keep.weekly, keep.monthly, keep.yearly) = (7, 24, 14, 8, 12, 5)
    keep.within = 172_800_000
    keep.tags = ["before-upgrade"]
    #expect(app.keep == keep)
    #expect(
      app.source.companions == [
        Companion("attachments"), Companion("/srv/app/keys", exclude: ["*.tmp", "cache/**"]),
      ] && app.source.externalData)
    #expect(example.databases.last?.keep == nil)
    let locked = try #require(example.targets.first { $0.name == "bucket-by-profile" })
    let locks = [locked, locked.withoutLock].map { target -> S3Configuration.ObjectLock? in
      if case .s3(let location) = target.place { location.objectLock } else { nil }
    }
    #expect(locks == [S3Configuration.ObjectLock(days: 30, mode: .governance), nil])
    // A key that is read but not shown would be known to nobody: asking for an unknown one lists what is known.
    let text = String(decoding: bytes, as: UTF8.self)
    let told = String(decoding: try fileBytes("\(SourceTree.root)/Docs/Configuration.md"), as: UTF8.self)
    for known in try knownKeys() {
      #expect(text.contains("\"\(known)\""), "the example does not show \(known)")
      #expect(told.contains("`\(known)`"), "Docs/Configuration.md does not tell what \(known) is")
    }
  }

  /// Else a push by the URL would store what its bucket is to keep without a lock.
  @Test func `the URL of a configured target is that one, with all that is set for it`() throws {
    let configuration = try read(
      #"""
      {"targets": {
        "locked": {"url": "s3://bucket/db", "caFile": "/ca", "storageClass": "STANDARD_IA", "keyFile": "/k",
                   "objectLock": {"mode": "compliance", "days": 30}},
        "dav": {"url": "webdavs://me@nas/db", "passwordFile": "/p"},
        "writer": {"url": "file:///srv/one"}, "admin": {"url": "/srv/one/", "keyFile": "/k"}}}
      """#)
    let locked = try configuration.target("s3://bucket/db?region=eu-central-1")
    #expect(locked.name == "locked" && locked.unlock == .keyFile("/k") && locked.caFile == "/ca")
    guard case .s3(let location) = locked.place else {
      Issue.record("it is no bucket")
      return
    }
    #expect(location.objectLock == S3Configuration.ObjectLock(days: 30, mode: .compliance))
    #expect(location.storageClass == "STANDARD_IA" && location.region == "eu-central-1")
    for url in ["webdavs://nas/db", "webdavs://me@nas/db"] {
      #expect(try configuration.target(url).name == "dav")
    }
    // Another place, or somebody else there.
    for url in ["webdavs://other@nas/db", "s3://bucket/db?profile=other", "s3://bucket/other", "file:///srv/two"] {
      #expect(try configuration.target(url).name == url)
    }
    let several = try #require(throws: OperationError.self) { try configuration.target("file:///srv/one") }
    #expect(several.code == "severalTargets" && several.message.contains("writer, admin"))
    #expect(try configuration.target("writer").unlock == nil)
  }

  @Test(
    arguments: [
      (#""url": "s3://bucket", "sessionTokenFile": "/t""#, "sessionTokenFile"),
      (#""url": "s3://bucket", "accessKeyId": "A", "secretKeyFile": "/s", "profile": "p""#, "profile"),
      (#""url": "s3://bucket", "accessKeyId": "A", "secretKeyFile": "/s", "credentialsFile": "/c""#, "credentialsFile"),
      (#""url": "webdavs://h/p", "passwordFile": "/p""#, "passwordFile"),
    ])
  func `a key that would be without effect is an error`(target: String, key: String) throws {
    let error = try #require(throws: OperationError.self) { try read("{\"targets\": {\"t\": {\(target)}}}") }
    #expect(error.kind == .usage && error.message.contains(key))
    if key == "passwordFile" {
      let fitting = target.replacing("webdavs://h", with: "webdavs://alice@h")
      _ = try read("{\"targets\": {\"t\": {\(fitting)}}}")
    }
  }

  @Test(arguments: [
    #"{"targets": {"t": {"url": "s3://b", "endpoint": "https://AKID:hunter2@minio:9000"}}}"#,
    #"{"targets": {"t": {"url": "file:///b", "passphrase": hunter2}}}"#,
  ])
  func `what may be a secret is not quoted`(text: String) throws {
    let error = try #require(throws: OperationError.self) { try read(text) }
    #expect(!"\(error) \(error.hint ?? "")".contains("hunter2"))
    #expect(error.kind == .usage)
  }

  /// The hint for a key like no other lists all keys of its section.
  private func knownKeys() throws -> [String] {
    let odd = "zzzzzzzzzzzzzzzzzzzz"
    return try [
      #"{"\#(odd)": 1}"#, #"{"limits": {"\#(odd)": 1}}"#, #"{"targets": {"t": {"url": "file:///a", "\#(odd)": 1}}}"#,
      #"{"databases": {"d": {"path": "/a", "\#(odd)": 1}}}"#,
      #"{"databases": {"d": {"path": "/a", "keep": {"\#(odd)": 1}}}}"#,
      #"{"databases": {"d": {"path": "/a", "drill": {"\#(odd)": 1}}}}"#,
      #"{"databases": {"d": {"path": "/a", "companions": [{"path": "b", "\#(odd)": 1}]}}}"#,
    ].flatMap { text in
      let error = try #require(throws: OperationError.self) { try read(text) }
      let hint = try #require(error.hint)
      #expect(hint.hasPrefix("Known here: "))
      return hint.dropFirst("Known here: ".count).dropLast().split(separator: ", ").map(String.init)
    }
  }

  @Test(arguments: [
    (#"{"target": {}}"#, "line 1: unknown key 'target'", "'targets'"),
    (
      "{\n\"databases\": {\"app\": {\"path\": \"/a\",\n\"busyTimout\": \"3s\"}}}",
      "line 3: unknown key 'busyTimout' in 'databases.app'", "'busyTimeout'"
    ),
    (#"{"limits": {"uplaod": "1MiB"}}"#, "unknown key 'uplaod' in 'limits'", "'upload'"),
    (#"{"targets": {"nas": {"URL": "file:///a"}}}"#, "unknown key 'URL' in 'targets.nas'", "'url'"),
    (#"{"databases": {"app": {"pahts": "/a"}}}"#, "unknown key 'pahts' in 'databases.app'", "'path'"),
    (
      #"{"targets": {"nas": {"url": "file:///a", "passphrasefile": "/p"}}}"#,
      "unknown key 'passphrasefile' in 'targets.nas'", "'passphraseFile'"
    ),
    (
      #"{"databases": {"app": {"path": "/a", "targets": ["nsa"]}}, "targets": {"nas": {"url": "file:///a"}}}"#,
      "'databases.app.targets' names 'nsa'", "'nas'"
    ),
    (
      #"{"databases": {"app": {"path": "/a", "targets": ["nas", "nas"]}}, "targets": {"nas": {"url": "file:///a"}}}"#,
      "'databases.app.targets' names 'nas' twice", "once"
    ),
  ])
  func `an unknown key is told with its place and the nearest known one`(text: String, message: String, nearest: String)
    throws
  {
    let error = try #require(throws: OperationError.self) { try read(text) }
    #expect(error.kind == .usage)
    #expect(error.message.hasPrefix("c.json, line "))
    #expect(error.message.contains(message), "\(error.message)")
    #expect(error.hint?.contains(nearest) == true)
  }

  @Test(arguments: [
    (#"{"host": 3}"#, "'host' must be a text, not a number"),
    (#"{"host": ""}"#, "'host' must not be empty"),
    (#"{"host": null}"#, "'host' must be a text, not null"),
    (#"{"host": "a\u0007b"}"#, "'host' cannot be the name of a machine"),
    (#"{"host": "  "}"#, "'host' cannot be the name of a machine"),
    (#"{"host": "\#(String(repeating: "h", count: 201))"}"#, "'host' cannot be the name of a machine"),
    (
      #"{"targets": {"s": {"url": "s3://bucket", "storageClass": "COLD\r\nx-evil: 1"}}}"#,
      "'targets.s.storageClass' must be a storage class"
    ),
    (#"{"targets": {"s": {"url": "s3://bucket", "region": "a/b"}}}"#, "'targets.s.region' must be a region"),
    (#"{"targets": []}"#, "'targets' must be an object, not a list"),
    (#"{"databases": {"app": "x"}}"#, "'databases.app' must be an object, not a text"),
    (
      #"{"databases": {"app": {"path": "/a", "keepFreePages": "yes"}}}"#,
      "'databases.app.keepFreePages' must be true or false, not a text"
    ),
    (#"{"databases": {"app": {"path": "/a", "compression": 20}}}"#, "must lie between 0 and 19"),
    (#"{"databases": {"app": {"path": "/a", "compression": 1.5}}}"#, "must be a whole number"),
    (
      #"{"databases": {"app": {"path": "/a", "tags": [1]}}}"#,
      "'databases.app.tags' must be a list of texts, not a number"
    ),
    (#"{"databases": {"app": {"path": "/a", "busyTimeout": "30"}}}"#, "must be a time such as 30s, not '30'"),
    (#"{"databases": {"app": {"path": "/a", "method": "copy"}}}"#, "must be vacuum, pages or file, not 'copy'"),
    (#"{"databases": {"app": {}}}"#, "'databases.app.path' is missing"),
    (
      #"{"targets": {"t": {"url": "s3://bucket", "objectLock": {"mode": "governance"}}}}"#,
      "'targets.t.objectLock.days' is missing"
    ),
    (
      #"{"targets": {"t": {"url": "s3://bucket", "objectLock": {"days": 3}}}}"#,
      "'targets.t.objectLock.mode' is missing"
    ),
    (
      #"{"targets": {"t": {"url": "s3://bucket", "objectLock": {"days": 0, "mode": "compliance"}}}}"#,
      "must lie between 1 and 36500"
    ),
    (
      #"{"targets": {"t": {"url": "s3://bucket", "objectLock": {"days": 1, "mode": "soft"}}}}"#,
      "must be governance or compliance, not 'soft'"
    ),
    (
      #"{"targets": {"t": {"url": "s3://bucket", "objectLock": {"days": 1, "mode": "compliance", "legal": true}}}}"#,
      "unknown key 'legal' in 'targets.t.objectLock'"
    ),
    (#"{"targets": {"nas": {"user": "a"}}}"#, "'targets.nas.url' is missing"),
    (#"{"databases": {"a/b": {"path": "/a"}}}"#, "'a/b' cannot be a name in 'databases'"),
    (#"{"limits": {"upload": "0"}}"#, "must be bytes a second"),
    (
      #"{"databases": {"a": {"path": "/a", "drill": {"timeout": "0s"}}}}"#,
      "must be a time above 0, such as 60s, not '0s'"
    ),
    (
      #"{"databases": {"a": {"path": "/a", "keep": {"within": "0s"}}}}"#,
      "must be a time above 0, such as 48h, not '0s'"
    ),
    (
      #"{"databases": {"a": {"path": "/a", "keep": {"within": "6m"}}}}"#,
      "'databases.a.keep.within' must be in days or hours, such as 180d, as m may mean minutes or months, not '6m'"
    ),
    (
      #"{"targets": {"t": {"url": "s3://bucket", "objectLock": {"days": 30.5, "mode": "governance"}}}}"#,
      "'targets.t.objectLock.days' must be a whole number, not 30.5"
    ),
    (#"{"databases": {"app": {"path": "/a", "tags": ["x", ""]}}}"#, "'databases.app.tags' has an empty text"),
    (#"{"databases": {"app": {"path": "/a", "companions": [""]}}}"#, "'databases.app.companions' has an empty text"),
    (#"{"patience": 900}"#, "'patience' must be a text, not a number"),
    (#"{"patience": "long"}"#, "must be a time such as 15m, not 'long'"),
    (#"{"host": "a", "host": "b"}"#, "'host' stands twice"),
    (#"{"host": "a",}"#, "expected a name in double quotes"),
    ("[1]", "the configuration must be an object, not a list"),
    ("{} {}", "something follows"),
    ("", "the file ends too early"),
    (#"{"host": "a" // name"#, "expected a comma or a closing brace"),
    (#"{"host": yes}"#, "a word that is not a value"),
  ])
  func `a wrong value says where it is and what was expected`(text: String, message: String) throws {
    let error = try #require(throws: OperationError.self) { try read(text) }
    #expect(error.kind == .usage)
    #expect(error.message.contains(message), "\(error.message)")
  }

  @Test(arguments: [
    (#"{"host": "a", "host": "b"}"#, "Leave one of them out."), (#"{"host": "a",}"#, "There is no comma before `}`."),
    (#"{"databases": {"a": {"path": "/a", "tags": ["x",]}}}"#, "There is no comma before `]`."),
    (#"{"host": "a" // name"#, "The file must be one JSON object, without comments."),
  ])
  func `what is no JSON is told with its own way out`(text: String, hint: String) throws {
    #expect(try #require(throws: OperationError.self) { try read(text) }.hint == hint)
  }

  @Test func `a name that is too long is told how long names are`() throws {
    func text(_ length: Int) -> String {
      #"{"databases": {"\#(String(repeating: "n", count: length))": {"path": "/a"}}}"#
    }
    let error = try #require(throws: OperationError.self) { try read(text(201)) }
    #expect(error.code == "badName" && error.hint?.contains("200 bytes") == true)
    #expect(try read(text(200)).databases.count == 1)
  }

  @Test func `the time to wait for locks is known by the place of the database`() throws {
    let configuration = try read(
      #"{"databases": {"a": {"path": "/srv/a.db", "busyTimeout": "2m"}, "b": {"path": "/srv/b.db"}}}"#)
    #expect(configuration.busyTimeouts == ["/srv/a.db": .seconds(120), "/srv/b.db": .seconds(30)])
    #expect(configuration.busyTimeout(at: "/srv/a.db") == .seconds(120))
    #expect(configuration.busyTimeout(at: "/srv/c.db") == nil)
  }

  @Test(arguments: [
    (#""passphrase": "hunter2""#, "passphraseFile"), (#""password": "hunter2""#, "passwordFile"),
    (#""secretKey": "hunter2""#, "secretKeyFile"), (#""secretAccessKey": "hunter2""#, "secretKeyFile"),
    (#""sessionToken": "hunter2""#, "sessionTokenFile"), (#""token": "hunter2""#, "sessionTokenFile"),
  ])
  func `a secret in the file is refused, with the way to do it`(member: String, advice: String) throws {
    let error = try #require(throws: OperationError.self) {
      try read(#"{"targets": {"nas": {"url": "file:///a", \#(member)}}}"#)
    }
    #expect(error.code == "inlineSecret")
    #expect(error.hint?.contains(advice) == true)
    #expect(!"\(error)".contains("hunter2"))
  }

  @Test func `a password in a URL is refused and not repeated`() throws {
    let error = try #require(throws: OperationError.self) {
      try read(#"{"targets": {"nas": {"url": "webdavs://alice:hunter2@host/a"}}}"#)
    }
    #expect(error.message.contains("password"))
    #expect(!"\(error)".contains("hunter2"))
  }

  @Test(arguments: [
    ("file:///a", #""region": "x""#), ("file:///a", #""user": "x""#), ("s3://bucket", #""user": "x""#),
    ("webdavs://host/a", #""profile": "x""#), ("file:///a", #""objectLock": {"days": 1, "mode": "governance"}"#),
  ])
  func `a key that means nothing for the kind of target is refused`(url: String, member: String) throws {
    let error = try #require(throws: OperationError.self) {
      try read(#"{"targets": {"t": {"url": "\#(url)", \#(member)}}}"#)
    }
    #expect(error.message.contains("has no meaning for this kind of target"))
  }

  @Test(arguments: [
    #""keepFreePages": true"#, #""allowRecovery": true"#, #""maxWalGrowth": "1GiB""#,
    #""drill": {"query": "SELECT 1"}"#,
  ])
  func `a key that means nothing for a file is refused`(member: String) throws {
    let error = try #require(throws: OperationError.self) {
      try read(#"{"databases": {"d": {"path": "/a", "method": "file", \#(member)}}}"#)
    }
    #expect(error.kind == .usage && error.message.contains("is for databases"))
    #expect(try read(#"{"databases": {"d": {"path": "/a", \#(member)}}}"#).databases.count == 1)
  }

  @Test func `what the configuration says goes before the URL's options`() throws {
    let text = """
      {"targets": {"t": {"url": "s3://bucket/p?region=a&style=path&endpoint=https://one.example", "region": "b",
                         "endpoint": "https://two.example:8443"}}}
      """
    guard case .s3(let location) = try #require(try read(text).targets.first).place else {
      Issue.record("no S3")
      return
    }
    #expect(location.region == "b" && location.style == .path && location.endpoint?.authority == "two.example:8443")
  }

  @Test(arguments: [
    (#""passphraseFile": "/a", "passphraseCommand": "b""#), (#""passphraseFile": "/a", "keyFile": "/b""#),
    (#""passwordFile": "/a", "passwordCommand": "b""#),
  ])
  func `two sources of one secret exclude each other`(members: String) throws {
    let error = try #require(throws: OperationError.self) {
      try read(#"{"targets": {"nas": {"url": "webdavs://host/a", \#(members)}}}"#)
    }
    #expect(error.message.contains("exclude each other"))
  }
}

@Suite struct JSONReaderTests {
  private func text(_ json: String) throws -> String? {
    guard case .string(let text) = try JSONReader.read(Array(json.utf8)).value else { return nil }
    return text
  }

  @Test func `texts and their escapes`() throws {
    #expect(try text(#""a\"\\\/\b\f\n\r\tü\u00fc\ud83d\ude00""#) == "a\"\\/\u{08}\u{0C}\n\r\tüü😀")
  }

  @Test(arguments: [
    #""/srv/app.db\u0000.bak""#, #""\ud83d""#, #""\ud83d\u0041""#, #""\udc00""#, #""\x""#, #""\u12""#, "\"a\nb\"",
    #""a"#, "nul", "-", "1e999", "+1", "0x10", "0x1p4", "01", "-01", "1.", ".5", "1.e5", "1e", "1.2.3", "1_000",
    "tru e", "{\"a\" 1}", "{1: 2}", "[1 2]", "[1,]", "{\"a\":1",
  ])
  func `what is not JSON is refused`(json: String) {
    #expect(throws: JSONReader.Failure.self) { try JSONReader.read(Array(json.utf8)) }
  }

  @Test func `a byte order mark of UTF-8 is passed over, and UTF-16 is told as that`() throws {
    #expect(try text("\u{FEFF}\"a\"") == "a")
    #expect(throws: JSONReader.Failure.self) { try JSONReader.read(Array("\u{FEFF}\u{FEFF}{}".utf8)) }
    let wide: [[UInt8]] = [
      [0xFF, 0xFE, 0x7B, 0, 0x7D, 0], [0xFE, 0xFF, 0, 0x7B, 0, 0x7D], [0x7B, 0, 0x7D, 0], [0, 0x7B, 0, 0x7D],
    ]
    for bytes in wide {
      let failure = #expect(throws: JSONReader.Failure.self) { try JSONReader.read(bytes) }
      #expect(failure?.message == "the file is UTF-16; save it as UTF-8")
    }
  }

  @Test(arguments: [("0", 0.0), ("-0.5", -0.5), ("10", 10), ("1e3", 1000), ("2.50E-1", 0.25)])
  func `a number is what RFC 8259 calls one`(json: String, value: Double) throws {
    guard case .number(let number) = try JSONReader.read(Array(json.utf8)).value else {
      Issue.record("it is none")
      return
    }
    #expect(number == value)
  }

  @Test func `deep nesting and bytes that are no text are refused, not fallen over`() {
    #expect(throws: JSONReader.Failure.self) {
      try JSONReader.read([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))
    }
    #expect(throws: JSONReader.Failure.self) { try JSONReader.read([0x22, 0xFF, 0xFE, 0x22]) }
  }

  @Test func `a value knows its line`() throws {
    let node = try JSONReader.read(Array("\n{\n\"a\":\n[\n1]}".utf8))
    guard case .object(let members) = node.value, case .array(let values) = members[0].node.value else {
      Issue.record("no object")
      return
    }
    #expect([node.line, members[0].line, members[0].node.line, values[0].line] == [2, 3, 4, 5])
  }
}
