import FoundationEssentials
import TestKit
import Testing

/// The whole road with the program itself, over real servers: what a person with a bucket or a cloud folder does.
///
/// Scripts/test starts the servers and names them in SEALIFT_TEST_TARGETS; one that is missing there fails.
@Suite(.enabled(if: Environment.value("SEALIFT_TEST_TARGETS") != nil)) struct LiveRoadTests {
  static let names = [
    "ceph", "ceph-virtual", "swift", "apache-basic", "apache-digest", "apache-tls", "lighttpd", "nginx",
  ]

  @Test(arguments: names) func `a real database goes there and comes back`(name: String) async throws {
    let place = try LivePlace(name)
    let database = place.program.file("proj.db")
    try FileManager.default.copyItem(atPath: "/usr/share/proj/proj.db", toPath: database)
    try await place.must("init")
    let first = try await place.push()
    try await place.must("pull", first.id, "-o", place.program.file("first.db"))
    try SQLite.run("CREATE TABLE visit(place TEXT); INSERT INTO visit VALUES ('Greenwich')", on: database)
    let second = try await place.push()
    #expect(second.id != first.id)
    #expect(second.bytesNew < first.bytesNew)

    let list = try decoded(Versions.self, try await place.must("--json", "list")).versions
    #expect(list.map(\.id) == [first.id, second.id])
    try await place.must("pull", "latest", "-o", place.program.file("latest.db"))
    #expect(try await place.dump("latest.db") == place.dump("proj.db"))
    try await place.must("restore", first.id, "--to", place.program.file("restored.db"), "--expect", second.head)
    #expect(try fileBytes(place.program.file("restored.db")) == fileBytes(place.program.file("first.db")))
    #expect(try await place.dump("restored.db") == place.dump("/usr/share/proj/proj.db"))

    // A machine that has nothing but the target and the key.
    try FileManager.default.removeItem(atPath: place.program.file("state"))
    try await place.must("pull", "proj:latest", "-o", place.program.file("elsewhere.db"))
    #expect(try fileBytes(place.program.file("elsewhere.db")) == fileBytes(place.program.file("latest.db")))
  }

  @Test(arguments: names) func `doctor finds nothing wrong with it`(name: String) async throws {
    let place = try LivePlace(name)
    try await place.must("init")
    let ending = try await place.program.start(Program.path, place.options + ["doctor"])
    #expect(ending.status == 0, "\(ending.output)\(ending.error)")
  }

  /// Debian's libcurl has a folder of authorities beside the file, by default: nobody in it may vouch either.
  @Test func `an authority of one's own takes the place of all others`() async throws {
    let place = try LivePlace("apache-tls", authority: "other.pem")
    let made = try await place.program.shell(
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -subj /CN=other -days 2")
    #expect(made.status == 0, "\(made.error)")
    let ending = try await place.program.shell(
      #"strace -f -qq -e trace=file -o trace "$0" --config config.json list"#)
    #expect(ending.status == 1 && ending.error.contains("certificate of localhost"), "\(ending.error)")
    let trace = try String(contentsOfFile: place.program.file("trace"), encoding: .utf8)
    #expect(trace.contains("other.pem") && !trace.contains("/etc/ssl/certs"))
  }

  @Test(arguments: ["ceph", "swift", "apache-basic", "apache-digest", "lighttpd", "nginx"])
  func `wrong credentials are told as such`(name: String) async throws {
    let place = try LivePlace(name, secret: "not-the-secret")
    let ending = try await place.program.start(Program.path, place.options + ["--json", "list"])
    #expect(ending.status == 1)
    let error = try ending.errorDocument()
    #expect(error.code == "unauthenticated" || error.code == "forbidden", "\(error)")
    #expect(error.hint != nil)
    #expect(!ending.error.contains("not-the-secret"))
  }
}

/// A program with a configuration that names one live target as `there`.
private struct LivePlace {
  let program: Program

  /// - Parameter authority: in place of the target's own.
  init(_ name: String, secret: String? = nil, authority: String? = nil) throws {
    program = try Program()
    let target = try #require(
      LiveTarget.all.first { $0.name == name }, "\(name) is not among the servers that were started")
    try program.write(String(repeating: "k", count: 40), to: "key")
    try program.write((secret ?? target.secretKey ?? target.password ?? "") + "\n", to: "secret")
    let folder = "road-\(UInt64.random(in: 0...UInt64.max))"
    var settings = ["\"keyFile\": \"\(program.file("key"))\""]
    if target.kind == "s3" {
      settings += [
        "\"url\": \"s3://\(target.bucket ?? "")/\(folder)\"", "\"endpoint\": \"\(target.endpoint ?? "")\"",
        "\"region\": \"\(target.region ?? "")\"", "\"style\": \"\(target.style ?? "path")\"",
        "\"accessKeyId\": \"\(target.accessKey ?? "")\"", "\"secretKeyFile\": \"\(program.file("secret"))\"",
      ]
    } else {
      let url = (target.url ?? "").replacing("https://", with: "webdavs://").replacing("http://", with: "webdav://")
      settings += [
        "\"url\": \"\(url)/\(folder)\"", "\"user\": \"\(target.user ?? "")\"",
        "\"passwordFile\": \"\(program.file("secret"))\"",
      ]
    }
    if let authority = authority.map(program.file) ?? target.caFile { settings.append("\"caFile\": \"\(authority)\"") }
    try program.write(
      """
      {"host": "web-1", "stateFolder": "\(program.file("state"))",
       "targets": {"there": {\(settings.joined(separator: ", "))}},
       "databases": {"proj": {"path": "\(program.file("proj.db"))"}}}
      """, to: "config.json")
  }

  var options: [String] { ["--config", program.file("config.json")] }

  @discardableResult
  func must(_ arguments: String...) async throws -> String {
    let ending = try await program.start(Program.path, options + arguments)
    #expect(ending.status == 0, "\(arguments): \(ending.error)")
    return ending.output
  }

  func push() async throws -> Version {
    let output = try await must("--json", "push", "proj")
    return try #require(try decoded(Versions.self, output).versions.first)
  }

  /// What the rows hold, as one digest: the whole text of a dump is too much to carry around.
  func dump(_ name: String) async throws -> String {
    try await program.shell("sqlite3 -readonly '\(name)' .dump | sha256sum").output
  }
}
