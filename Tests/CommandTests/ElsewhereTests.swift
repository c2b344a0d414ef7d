import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import SealiftTool

/// Databases that go to some targets only, and those that no configuration knows.
@Suite struct ElsewhereTests {
  /// `app` goes to `disk`, `logs` to `cloud`; both are pushed.
  private func home() async throws -> Home {
    let home = try Home()
    func file(_ name: String) -> String { home.program.file(name) }
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(file("state"))",
       "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(file("key"))"},
                   "cloud": {"url": "file://\(file("cloud"))", "keyFile": "\(file("key"))"}},
       "databases": {"app": {"path": "\(file("app.db"))", "targets": ["disk"]},
                     "logs": {"path": "\(file("logs.db"))", "targets": ["cloud"]}}}
      """, to: "config.json")
    try SQLite.run("CREATE TABLE l(a); INSERT INTO l VALUES (1)", on: file("logs.db"))
    try enlarge(home)
    for target in ["disk", "cloud"] { try await home.must("--target", target, "init") }
    try await home.must("push")
    return home
  }

  /// So that it needs a pack.
  private func enlarge(_ home: Home) throws {
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(300000))", on: home.program.file("app.db"))
  }

  @Test(arguments: [
    ["check", "app"], ["prune", "app"], ["repair", "app"], ["forget", "app", "--keep-last", "1", "--dry-run"],
    ["forget", "--lost", "app"], ["drill", "app"], ["status", "app"],
  ])
  func `a command asks a target for those databases only that go there`(_ words: [String]) async throws {
    let home = try await home()
    let ending = try await home.program.start(
      Program.path, ["--config", home.program.file("config.json")] + words)
    #expect(ending.status == 0, "\(ending.error)")
    // Who names the target asks there.
    let asked = try await home.program.start(
      Program.path, ["--config", home.program.file("config.json"), "--target", "cloud"] + words)
    #expect(asked.status != 0)
  }

  /// What is kept away from a target may have to be: others can open what is there.
  @Test func `a target that is named gets only what goes there, unless the database is named too`() async throws {
    let home = try await home()
    let pushed = try await home("--target", "cloud", "push")
    #expect(pushed.status == 0 && pushed.output.hasPrefix("logs -> cloud: "), "\(pushed.error)")
    #expect(pushed.output.split(separator: "\n").count == 1)
    #expect(pushed.error.contains("'app' is not pushed to cloud"))
    // What is not pushed there is not missed there either.
    let status = try await home("--target", "cloud", "status")
    #expect(status.status == 0 && !status.output.contains("app"), "\(status.error)")
    let nothing = try await home("--target", "file://\(home.program.file("other"))", "--json", "push")
    #expect(try nothing.status == 2 && nothing.errorDocument().code == "noDatabase")
    // The URL of a configured target is that one, and has its key.
    for command in ["push", "status"] {
      let same = try await home("--target", "file://\(home.program.file("cloud"))", command)
      #expect(same.status == 0 && same.output.contains("logs -> cloud: "), "\(same.error)")
      #expect(!same.output.contains("app -> "))
    }

    try await home.must("--target", "cloud", "push", "app")
    #expect(try await home.must("--target", "cloud", "list").contains(" app "))
  }

  @Test func `rules of a database hold at its own targets, and elsewhere where it is named`() async throws {
    let home = try await home()
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
      .replacing("\"targets\": [", with: "\"keep\": {\"last\": 1}, \"targets\": [")
    try home.program.write(config, to: "config.json")
    try await home.must("--target", "cloud", "push", "app")
    try enlarge(home)
    try await home.must("--target", "cloud", "push", "app")
    #expect(try await !home.must("--target", "cloud", "forget", "--dry-run").contains("app"))
    #expect(try await home.must("--target", "cloud", "forget", "--dry-run", "app").contains("app"))
  }

  /// As one that may only write, and an administrator's: what runs at night does not have the other's key.
  @Test func `of two targets of one place a database goes to the one that it names`() async throws {
    let home = try await home()
    let admin = "\"admin\": {\"url\": \"\(home.target)\", \"keyFile\": \"\(home.program.file("absent"))\"}"
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
      .replacing("\"targets\": [", with: "\"keep\": {\"last\": 1}, \"targets\": [")
      .replacing("\"targets\": {", with: "\"targets\": {\(admin), ")
    try home.program.write(config, to: "config.json")
    for words in [["status"], ["forget", "--dry-run"]] {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json")] + words)
      #expect(ending.status == 0, "\(words): \(ending.error)")
    }
    let url = try await home("--json", "--target", home.target, "status")
    let error = try url.errorDocument()
    #expect(url.status == 2 && error.code == "severalTargets" && error.hint?.contains("Name the one") == true)
  }

  /// Whoever reads the status alone would take it for done.
  @Test(arguments: ["status", "forget"])
  func `a command that no database goes to a target of does not end well`(_ command: String) async throws {
    let home = try await home()
    func run(_ target: String) async throws -> ProgramEnd {
      try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "--json", "--target", target, command])
    }
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
      .replacing("\"targets\": [", with: "\"keep\": {\"last\": 1}, \"targets\": [")
    try home.program.write(config, to: "config.json")
    let url = "file://\(home.program.file("other"))"
    let strange = try await run(url)
    let error = try strange.errorDocument()
    #expect(strange.status == 2 && error.code == "noDatabase" && error.message.contains(url), "\(strange.error)")
    #expect(error.hint?.contains("sealift --target TARGET \(command) NAME") == true)
    // Where one goes there, the others are passed over.
    let cloud = try await run("cloud")
    #expect(cloud.status == 0 && cloud.output.contains("logs"), "\(cloud.error)")
    #expect(cloud.output.contains("'app' is passed over at cloud") == (command == "forget"), "\(cloud.output)")
  }

  @Test(arguments: [["show", "app:latest"], ["pull", "app:latest", "-o", "-"], ["pin", "app@2099-01-01T00:00:00Z"]])
  func `a version of a database that goes to one target is that target's`(_ words: [String]) async throws {
    let home = try await home()
    let ending = try await home.program.start(
      Program.path, ["--config", home.program.file("config.json")] + words)
    #expect(ending.status == 0, "\(ending.error)")
  }

  /// `app` goes to both, `disk` and `my cloud`, and is pushed.
  private func twice() async throws -> Home {
    let home = try Home()
    func file(_ name: String) -> String { home.program.file(name) }
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(file("state"))",
       "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(file("key"))"},
                   "my cloud": {"url": "file://\(file("cloud"))", "keyFile": "\(file("key"))"}},
       "databases": {"app": {"path": "\(file("app.db"))"}}}
      """, to: "config.json")
    try enlarge(home)
    for target in ["disk", "my cloud"] { try await home.must("--target", target, "init") }
    try await home.must("push")
    return home
  }

  @Test(arguments: [
    ["pull", "app:latest", "-o", "folder/"], ["pull", "app:latest", "-o", "new.db", "--dry-run"],
    ["restore", "app:latest", "--to", "folder/"], ["restore", "app:latest", "--to", "new.db", "--dry-run"],
    ["restore", "app:latest", "--table", "t", "--into", "app.db"],
  ])
  func `where nothing can be looked up at one target, the other one is named`(_ words: [String]) async throws {
    let home = try await twice()
    for manifest in home.program.files(below: "target") where manifest.hasPrefix("versions/") {
      var bytes = try home.bytes("target/\(manifest)")
      bytes[200] ^= 1
      try writeFile(home.program.file("target/\(manifest)"), bytes)
    }
    // Where this machine's own were kept they would do.
    try removeFile(home.program.file("state"))
    #expect(mkdir(home.program.file("folder"), 0o700) == 0)
    let ending = try await home.program.start(
      Program.path, ["--config", home.program.file("config.json"), "--target", "disk"] + words)
    #expect(
      ending.status == 13 && ending.error.contains("The database also goes to my cloud: `--target 'my cloud'`."),
      "\(ending.error)")
  }

  @Test func `where a version is damaged at one target, the other one is named`() async throws {
    let home = try await twice()
    func file(_ name: String) -> String { home.program.file(name) }
    try FileManager.default.removeItem(atPath: file("target/packs"))
    let way = "The database also goes to my cloud: `--target 'my cloud'`."
    let restored = try await home("--target", "disk", "restore", "app:latest", "--to", file("new.db"))
    #expect(restored.status == 13 && restored.error.contains(way), "\(restored.error)")
    let pulled = try await home("--target", "disk", "pull", "app:latest", "-o", file("new.db"))
    #expect(pulled.status == 13 && pulled.error.contains(way), "\(pulled.error)")
    // Of a version that is named without its database nothing is known before it is read.
    let unnamed = try await home("--target", "disk", "pull", "latest", "-o", file("new.db"))
    #expect(unnamed.status == 13 && !unnamed.error.contains("also goes to"), "\(unnamed.error)")
  }

  @Test(arguments: [["show", "latest"], ["pull", "other:latest", "-o", "-"], ["pin", "app:latest", "logs:latest"]])
  func `where several targets come into question, one must be named`(_ words: [String]) async throws {
    let home = try await home()
    let ending = try await home.program.start(
      Program.path, ["--config", home.program.file("config.json"), "--json"] + words)
    #expect(ending.status == 2)
    #expect(try ending.errorDocument().code == "severalTargets")
  }

  @Test func `a status that cannot ask one target does not hide what is wrong at another`() async throws {
    let home = try await home()
    try FileManager.default.removeItem(atPath: home.program.file("cloud"))
    #expect(try await home("status").status == 3)
    for manifest in home.program.files(below: "target") where manifest.hasPrefix("versions/") {
      try removeFile(home.program.file("target/\(manifest)"))
    }
    let ending = try await home("status", "--json")
    #expect(ending.status == 13)
    #expect(try ending.errorDocument().code == "rolledBack")
    #expect(ending.output.contains("noTarget"))
  }

  @Test func `restoring all from one target misses nothing that goes to another`() async throws {
    let home = try await home()
    try FileManager.default.removeItem(atPath: home.program.file("app.db"))
    try await home.must("--target", "disk", "restore", "--all")
    #expect(try home.content("app.db").contains { $0.contains("t") })
  }

  /// Of a target that stands on the command line alone nothing says what is there.
  @Test func `restoring all misses what is to be there, and says when there is nothing`() async throws {
    let home = try await home()
    try FileManager.default.removeItem(atPath: home.program.file("app.db"))
    try FileManager.default.copyItem(atPath: home.program.file("target"), toPath: home.program.file("mirror"))
    let mirror = ["--target", "file://\(home.program.file("mirror"))", "--key-file", home.program.file("key")]
    func restore(_ words: [String]) async throws -> ProgramEnd {
      try await home.program.start(
        Program.path, ["--config", home.program.file("config.json")] + words + ["restore", "--all"])
    }
    let half = try await restore(mirror)
    #expect(half.status == 3 && half.error.contains("no version of 'logs'"), "\(half.error)")
    #expect(try home.content("app.db").contains { $0.contains("t") })

    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(home.program.file("state"))",
       "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(home.program.file("key"))"},
                   "cloud": {"url": "file://\(home.program.file("cloud"))", "keyFile": "\(home.program.file("key"))"}},
       "databases": {"logs": {"path": "\(home.program.file("logs.db"))", "targets": ["cloud"]}}}
      """, to: "config.json")
    let nothing = try await restore(["--target", "disk"])
    #expect(nothing.status == 14 && nothing.error.contains("no configured database of web-1"), "\(nothing.error)")
  }

  @Test func `a database that was never pushed is not safe`() async throws {
    let home = try Home()
    try await home.must("init")
    let ending = try await home("status")
    #expect(ending.status == 13)
    #expect(ending.error.contains("no version of 'app'") && ending.error.contains("sealift push app"))
  }

  @Test func `each of several databases that were never pushed is named, and none that went back`() async throws {
    let home = try await home()
    func file(_ name: String) -> String { home.program.file(name) }
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    let more = ["one", "two"].map { "\"\($0)\": {\"path\": \"\(file($0))\", \"targets\": [\"disk\"]}, " }
    try home.program.write(
      config.replacing("\"databases\": {", with: "\"databases\": {\(more.joined())"), to: "config.json")
    let ending = try await home("status")
    #expect(ending.status == 13)
    for name in ["one", "two"] {
      #expect(ending.error.contains("error: there is no version of '\(name)' at disk"), "\(ending.error)")
    }
    try FileManager.default.removeItem(atPath: file("target/versions"))
    let gone = try await home("status")
    #expect(gone.status == 13 && gone.error.contains("which this machine has seen there"), "\(gone.error)")
    #expect(!gone.error.contains("no version of 'app'"), "\(gone.error)")
    #expect(gone.error.contains("no version of 'one'") && gone.error.contains("no version of 'two'"))
  }

  @Test(arguments: [["check", "--read-data"], ["repair"]])
  func `a run ends with one document, however much went wrong`(_ words: [String]) async throws {
    let home = try await home()
    let packs = home.program.file("target/packs")
    for chain in try FileManager.default.contentsOfDirectory(atPath: packs) {
      for pack in try FileManager.default.contentsOfDirectory(atPath: "\(packs)/\(chain)") {
        try FileManager.default.removeItem(atPath: "\(packs)/\(chain)/\(pack)")
      }
    }
    // Nothing is left that it could be saved from, and the other target cannot be reached.
    for gone in ["cloud", "app.db", "state"] { try FileManager.default.removeItem(atPath: home.program.file(gone)) }
    let ending = try await home.program.start(
      Program.path, ["--config", home.program.file("config.json"), "--json"] + words)
    #expect(ending.status == 13)
    let lines = ending.error.split(separator: "\n")
    #expect(lines.count == 1, "\(ending.error)")
    _ = try ending.errorDocument()
  }

  @Test func `repair takes a database that is not configured by its path`() async throws {
    let home = try Home()
    try enlarge(home)
    try home.program.write("{\"stateFolder\": \"\(home.program.file("state"))\"}", to: "config.json")
    func run(_ words: String...) async throws -> ProgramEnd {
      try await home.program.start(
        Program.path,
        [
          "--config", home.program.file("config.json"), "--key-file", home.program.file("key"), "--target", home.target,
        ] + words)
    }
    #expect(try await run("init").status == 0)
    #expect(try await run("push", home.program.file("app.db")).status == 0)
    let packs = home.program.file("target/packs")
    let chain = try #require(try FileManager.default.contentsOfDirectory(atPath: packs).first)
    let pack = try #require(try FileManager.default.contentsOfDirectory(atPath: "\(packs)/\(chain)").max())
    try FileManager.default.removeItem(atPath: "\(packs)/\(chain)/\(pack)")
    let unnamed = try await run("repair")
    #expect(unnamed.status == 13 && unnamed.error.contains("by its path"), "\(unnamed.error)")
    let repaired = try await run("repair", home.program.file("app.db"))
    #expect(repaired.status == 0, "\(repaired.error)\(repaired.output)")
    #expect(try await run("check", "--read-data").status == 0)
  }

  @Test func `a status tells of names that no configuration has, and takes no path for one`() async throws {
    let home = try Home()
    try home.program.write(
      "{\"host\": \"web-1\", \"stateFolder\": \"\(home.program.file("state"))\"}", to: "config.json")
    try SQLite.run("CREATE TABLE l(a)", on: home.program.file("logs.db"))
    func run(_ words: String...) async throws -> ProgramEnd {
      try await home.program.start(
        Program.path,
        [
          "--config", home.program.file("config.json"), "--key-file", home.program.file("key"), "--target", home.target,
        ] + words)
    }
    #expect(try await run("init").status == 0)
    #expect(try await run("push", home.program.file("app.db"), home.program.file("logs.db")).status == 0)
    let all = try await run("status")
    #expect(all.output.contains("app -> ") && all.output.contains("logs -> "), "\(all.error)")
    let one = try await run("status", "app")
    #expect(one.status == 0 && one.output.contains("app -> ") && !one.output.contains("logs"), "\(one.error)")
    let none = try await run("--json", "status", "app", "nope")
    let error = try none.errorDocument()
    #expect(none.status == 14 && error.code == "noSuchDatabase" && error.message.contains("'nope'"), "\(none.error)")
    let path = try await run("--json", "status", home.program.file("app.db"))
    let told = try path.errorDocument()
    #expect(path.status == 2 && told.code == "unknownDatabase" && told.hint == "Did you mean 'app'?", "\(told)")
  }

  private struct Rows: Decodable {
    struct Row: Decodable {
      struct Newest: Decodable { var id: String }
      var database: String
      var target: String
      var newest: Newest?
    }
    var databases: [Row]
  }

  @Test func `a status of a name that one of several targets lacks says so`() async throws {
    let home = try await home()
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    let end = try #require(config.firstRange(of: ",\n \"databases\""))
    try home.program.write(config[..<end.lowerBound] + "}", to: "config.json")
    let ending = try await home("status", "app")
    #expect(ending.status == 3 && ending.output.contains("app -> disk: version "), "\(ending.error)")
    #expect(ending.output.contains("app -> cloud: no versions\n"), "\(ending.output)")
    #expect(ending.error.contains("error: cloud: there is no version of 'app' of host web-1"), "\(ending.error)")
    #expect(!ending.error.contains("disk"))
    let document = try await home("--json", "status", "app")
    #expect(try document.status == 3 && document.errorDocument().code == "noSuchDatabase", "\(document.error)")
    let rows = try decoded(Rows.self, document.output).databases
    #expect(rows.map { "\($0.target) \($0.newest != nil)" } == ["disk true", "cloud false"])
    // What is nowhere is no part of anything.
    let nowhere = try await home("--json", "status", "app", "nope")
    #expect(try nowhere.status == 14 && nowhere.errorDocument().message.contains("'nope'"), "\(nowhere.error)")
    #expect(try decoded(Rows.self, nowhere.output).databases.map(\.database) == ["app", "nope", "app", "nope"])
    #expect(try await home("--target", "disk", "status", "app").status == 0)
  }

  @Test func `what is only read needs no state folder, whatever is done with it`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.must("push")
    try await home.must("pull", "latest", "-o", home.program.file("live.db"))
    let config = try String(contentsOfFile: home.program.file("config.json"), encoding: .utf8)
    try home.program.write(
      config.replacing(home.program.file("state"), with: "/proc/nowhere/state"), to: "config.json")
    let streamed = try await home("pull", "latest", "-o", "-")
    #expect(streamed.status == 0, "\(streamed.error)")
    for words in [["--to", "live.db", "--live"], ["--table", "t", "--into", "tables.db"]] {
      try SQLite.run("CREATE TABLE IF NOT EXISTS other(a)", on: home.program.file("tables.db"))
      let paths = words.map { $0.hasSuffix(".db") ? home.program.file($0) : $0 }
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "restore", "latest"] + paths)
      #expect(ending.status == 0, "\(ending.error)")
    }
  }
}
