import FoundationEssentials
import Glibc
import TestKit
import Testing

/// `drill` from the outside: what it prints, what it ends with, and what it leaves.
@Suite struct DrillTests {
  private struct Document: Decodable {
    struct Drill: Decodable {
      var passed: Bool
      var findings: [String]
      var checks: [String]
      var unchecked: [String]
      var recorded: Bool
    }
    var drills: [Drill]
    var failures: [Versions.Failure]
  }

  private func pushed() async throws -> Home {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    return home
  }

  private func expectNothingLeft(_ home: Home) {
    #expect(home.program.files(below: "state/spool") == ["lock"])
  }

  @Test func `a drill that passes ends with 0, one that fails with 13 and the reason`() async throws {
    let home = try await pushed()
    let passed = try await home.must("drill", "app", "--query", "SELECT * FROM t WHERE b = 'a'")
    #expect(passed.hasPrefix("app, version ") && passed.contains(" at disk: passed\n"))
    #expect(passed.contains("  passed: 3 rows in 1 table as at push\n"))
    #expect(passed.split(separator: "\n").allSatisfy { $0.count <= 80 })
    expectNothingLeft(home)
    let failed = try await home("drill", "--query", "SELECT * FROM t WHERE b = 'c'")
    #expect(failed.status == 13)
    #expect(failed.output.contains(": FAILED\n  failed: the query returned no row\n"))
    #expect(failed.error.contains("the drill failed: the query returned no row"))
    expectNothingLeft(home)
    let document = try await home("drill", "--json", "--no-record", "--query", "SELECT 1 WHERE 0")
    #expect(document.status == 13)
    #expect(try document.errorDocument().code == "drillFailed")
    let drill = try #require(try decoded(Document.self, document.output).drills.first)
    #expect(!drill.passed && drill.findings == ["the query returned no row"] && !drill.recorded)
    #expect(try await home("drill", "other").status == 14)
    #expect(try await home("drill", "app", "other").status == 3)
    #expect(try await home("drill", "--query", "DELETE FROM t").status == 2)
    #expect(try await home("drill", "app", "--versions", "latest").status == 2)
    expectNothingLeft(home)
  }

  @Test func `the configuration asks for each database`() async throws {
    let home = try await pushed()
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    try home.program.write(
      config.replacing("app.db\"}", with: "app.db\", \"drill\": {\"query\": \"SELECT 1 FROM t WHERE b = 'z'\"}}"),
      to: "config.json")
    #expect(try await home("drill").status == 13)
    try SQLite.run("INSERT INTO t(b) VALUES ('z')", on: home.program.file("app.db"))
    try await home.push()
    try await home.must("drill")
    mkdir(home.program.file("elsewhere"), 0o700)
    try await home.must("drill", "--random", "--scratch", home.program.file("elsewhere"), "--query", "SELECT 1")
    #expect(home.program.files(below: "elsewhere") == ["spool/lock"])
  }

  @Test func `rows that refer to nothing are minded, unless they are not to be`() async throws {
    let home = try Home()
    try SQLite.run(
      """
      CREATE TABLE parent(id INTEGER PRIMARY KEY); CREATE TABLE child(p INTEGER REFERENCES parent(id));
      INSERT INTO child VALUES (7)
      """, on: home.program.file("app.db"))
    try await home.must("init")
    try await home.push()
    let minded = try await home("drill")
    #expect(minded.status == 13 && minded.output.contains("  failed: foreign_key_check: 1 rows"), "\(minded.error)")
    let asked = try await home.must("drill", "--no-foreign-keys")
    #expect(asked.contains(": passed\n") && !asked.contains("foreign_key_check"))
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    try home.program.write(
      config.replacing("app.db\"}", with: "app.db\", \"drill\": {\"foreignKeys\": false}}"), to: "config.json")
    let configured = try await home.must("drill")
    #expect(configured.contains(": passed\n") && !configured.contains("foreign_key_check"))
    try SQLite.run("INSERT INTO parent VALUES (7)", on: home.program.file("app.db"))
    try await home.push()
    try home.program.write(config, to: "config.json")
    #expect(try await home.must("drill").contains("  passed: foreign_key_check ok\n"))
  }

  /// A disk that is not mounted: what would be restored there lies open on the disk below.
  @Test(arguments: [["drill", "app"], ["copy", "--from", "disk", "--to", "/tmp"]])
  func `a scratch folder that is not there is not made`(_ words: [String]) async throws {
    let home = try await pushed()
    for folder in [home.program.file("gone/deep"), ""] {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "--json"] + words + ["--scratch", folder])
      #expect(try ending.status == 2 && ending.errorDocument().code == "noFolder", "\(ending.error)")
    }
    #expect(!home.program.exists("gone") && !home.program.exists("spool"))
  }

  /// One that was made first, before the databases move to it.
  @Test func `a target that no database goes to yet is passed over`() async throws {
    let home = try await pushed()
    let other = "file://\(home.program.file("other"))"
    let target = #""new": {"url": "\#(other)", "keyFile": "\#(home.program.file("key"))"}, "#
    let config = String(decoding: try home.bytes("config.json"), as: UTF8.self)
      .replacing("\"targets\": {", with: "\"targets\": {\(target)")
    try home.program.write(
      config.replacing("app.db\"}", with: "app.db\", \"targets\": [\"disk\"]}"), to: "config.json")
    try await home.must("--target", "new", "init")
    #expect(try await home.must("drill").contains(" at disk: passed\n"))
    #expect(try await home("--target", "new", "drill").status == 14)
    // Where it is to be, and is not, is another matter.
    try home.program.write(config, to: "config.json")
    #expect(try await home("drill").status == 3)
  }

  @Test func `what a killed drill left is removed by the next one`() async throws {
    let home = try await pushed()
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    let child = try Child([
      Program.path, "--config", home.program.file("config.json"), "drill", "--query", endless, "--query-timeout", "1h",
    ])
    let isRestored = try await eventually {
      home.program.files(below: "state/spool").contains { $0.contains("/.image.sealift-") }
    }
    #expect(isRestored)
    for path in home.program.files(below: "state/spool") {
      #expect(mode(of: home.program.file("state/spool/\(path)")) & 0o077 == 0)
    }
    child.signal(SIGKILL)
    #expect(await child.end() == -SIGKILL)
    #expect(home.program.files(below: "state/spool").contains { $0.contains("/.image.sealift-") })
    try await home.must("drill")
    expectNothingLeft(home)
  }

  @Test func `an interrupted drill leaves nothing`() async throws {
    let home = try await pushed()
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    let child = try Child([
      Program.path, "--config", home.program.file("config.json"), "drill", "--query", endless, "--query-timeout", "1h",
    ])
    #expect(
      try await eventually {
        home.program.files(below: "state/spool").contains { $0.contains("/.image.sealift-") }
      })
    child.signal(SIGINT)
    #expect(await child.end() == 130)
    expectNothingLeft(home)
  }

  @Test func `versions are copied to a repository with another key`() async throws {
    let home = try await pushed()
    try home.change()
    let second = try await home.push("--tag", "two")
    try home.program.write("another key of at least thirty-two bytes, for the copy", to: "key2")
    let other = "file://\(home.program.file("copy"))"
    let key = ["--key-file", home.program.file("key2")]
    func run(_ arguments: [String]) async throws -> ProgramEnd {
      try await home.program.start(Program.path, ["--config", home.program.file("config.json")] + arguments)
    }
    #expect(try await run(["--target", other, "init"] + key).status == 0)
    let from = ["--from", "disk", "--from-key-file", home.program.file("key")]
    let copied = try await run(["copy", "--to", other] + from + key)
    #expect(copied.status == 0, "\(copied.error)")
    #expect(copied.output.split(separator: "\n").count == 2)
    let list = try await run(["--target", other, "list", "--json"] + key)
    let versions = try decoded(Versions.self, list.output).versions
    #expect(versions.count == 2 && versions[1].sha256 == second.sha256 && versions[1].tags == ["two"])
    let again = try await run(["copy", "--to", other, "--json"] + from + key)
    struct Copies: Decodable {
      struct Copy: Decodable {
        var copiedFrom: Version
        var version: Version
        var wasThere: Bool
      }
      var copies: [Copy]
    }
    let copies = try decoded(Copies.self, again.output).copies
    #expect(copies.count == 2 && copies.allSatisfy(\.wasThere) && copies[1].copiedFrom.id == second.id)
    try home.program.write(try await home.must("key", "recovery"), to: "recovery")
    let printed = ["--from", "disk", "--from-recovery-key-file", home.program.file("recovery")]
    #expect(try await run(["copy", "--to", other] + printed + key).output.contains("there already"))
    #expect(try await run(["copy", "--to", other] + printed + from.dropFirst(2) + key).status == 2)
    #expect(try await run(["copy", "--from", "disk", "--to", "disk"]).status == 2)
    #expect(try await run(["copy", "--from", "disk", "--to", other, "--target", "disk"]).status == 2)
    // The key of one does not open the other.
    #expect(try await run(["copy", "--from", "disk", "--to", other] + key).status == 12)
    expectNothingLeft(home)
  }
}
