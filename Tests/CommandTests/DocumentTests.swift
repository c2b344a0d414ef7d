import TestKit
import Testing

/// What the documents of `--json` say beside the result: the remarks that else stand on standard error, and the targets
/// that failed, of which the error names one at most.
@Suite struct DocumentTests {
  private struct Document: Decodable {
    struct Failure: Decodable {
      var target: String
      var code: String
      var message: String
    }
    var notices: [String]
    var failures: [Failure]?

    var failedTargets: [String]? { failures?.map(\.target) }
  }

  private func run(_ words: [String], _ home: Home) async throws -> ProgramEnd {
    try await home.program.start(Program.path, ["--config", home.program.file("config.json")] + words)
  }

  /// The document of a run that ends well.
  private func document(_ words: [String], _ home: Home) async throws -> Document {
    let ending = try await run(["--json"] + words, home)
    #expect(ending.status == 0, "\(words): \(ending.error)")
    #expect(ending.error.isEmpty)
    return try decoded(Document.self, ending.output)
  }

  /// A target that was put back to its first version, which this machine remarks.
  private func putBack() async throws -> (Home, first: Version) {
    let home = try Home()
    try await home.must("init")
    let first = try await home.push()
    #expect(try await home.program.shell("cp -a target before").status == 0)
    try home.change()
    try await home.push()
    #expect(try await home.program.shell("rm -r target && mv before target").status == 0)
    return (home, first)
  }

  // MARK: remarks

  @Test func `a version asked for by its id at a target that was put back`() async throws {
    let (home, first) = try await putBack()
    let remark = "the version was asked for by its id"
    let notices = try await document(["show", first.id], home).notices
    #expect(notices.contains { $0.contains("this machine has seen version 2") && $0.hasSuffix(remark) }, "\(notices)")
    let spoken = try await home("show", first.id)
    #expect(spoken.status == 0 && spoken.error.contains(remark))
  }

  /// There is no other document then.
  @Test func `an error has the remarks that were made before it`() async throws {
    let (home, first) = try await putBack()
    func remarks(_ words: String..., code: String) async throws -> [String] {
      let ending = try await run(["--json"] + words, home)
      #expect(try ending.status == 2 && ending.errorDocument().code == code, "\(words): \(ending.error)")
      #expect(ending.output.isEmpty)
      return try decoded(Document.self, ending.error).notices
    }
    let (new, there) = (home.program.file("new.db"), home.program.file("app.db"))
    for notices in [
      try await remarks("pull", first.id, "-o", new, "--expect", "0", code: "usage"),
      try await remarks("restore", first.id, "--to", there, code: "destinationExists"),
    ] {
      let isTold = notices.count == 1 && notices[0].contains("this machine has seen version 2")
      #expect(isTold, "\(notices)")
    }
    // Where the database itself was to go out, what was remarked is said as well.
    let piped = try await run(["--json", "pull", first.id, "-o", "-", "--expect", "0"], home)
    let lines = piped.error.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].contains("this machine has seen version 2"), "\(piped.error)")
    #expect(try decoded(Document.self, String(lines.last ?? "")).notices.count == 1, "\(piped.error)")
    // Nothing was remarked before the line was read.
    #expect(try await remarks("pull", first.id, code: "usage").isEmpty)
  }

  @Test func `what doctor found cannot be remembered, and what it says of SQLite`() async throws {
    let home = try Home()
    try await home.must("init")
    try home.program.write("a file where a folder should be", to: "state/doctor")
    let ending = try await home("doctor", "--json")
    #expect(ending.status == 0, "\(ending.error)")
    let notices = try decoded(Document.self, ending.output).notices
    #expect(notices.contains { $0.hasPrefix("disk: what was found cannot be remembered: ") }, "\(notices)")
    let losesPages = ending.output.contains(#""losesPages":true"#)
    #expect(notices.contains { $0.contains("WAL-reset bug") } == losesPages, "\(notices)")
  }

  @Test(arguments: ["", "--json"])
  func `a recovery key that nobody could see leaves no slot`(json: String) async throws {
    let home = try Home()
    try await home.must("init")
    let before = try await home.must("key", "list")
    let ending = try await home.program.shell(
      #""$0" --config "\#(home.program.file("config.json"))" key recovery \#(json) >/dev/full"#)
    #expect(ending.status == 1)
    #expect(ending.error.contains("no recovery key was added"), "\(ending.error)")
    #expect(try await home.must("key", "list") == before)
  }

  @Test(arguments: ["", "--json"])
  func `what was changed is told where standard output takes nothing`(json: String) async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try home.program.write("another key of at least thirty-two bytes", to: "key2")
    try SQLite.run("CREATE TABLE mine(a)", on: home.program.file("into.db"))
    func unread(_ words: String) async throws -> String {
      let ending = try await home.program.shell(#""$0" --config config.json \#(json) \#(words) >/dev/full"#)
      #expect(ending.status == 1 && ending.error.contains("cannot write to standard output"), "\(ending.error)")
      return ending.error
    }
    func keys() async throws -> Set<Substring> { Set(try await home.must("key", "list").split(separator: "\n")) }
    let before = try await keys()
    let added = try await unread("key add --new-key-file key2")
    let line = try #require(try await keys().subtracting(before).first)
    let id = try #require(line.split(separator: " ").first)
    #expect(added.contains(" \(id) was added"), "\(added)")
    #expect(try await unread("key remove \(id)").contains(" \(id) was removed"))
    #expect(try await keys() == before)
    let into = try await unread("restore latest --table t --into into.db")
    #expect(into.contains(": t was copied to ") && into.contains("into.db"), "\(into)")
    let pulled = try await unread("pull latest -o out.db")
    #expect(pulled.contains("out.db is there") && home.program.exists("out.db"), "\(pulled)")
  }

  @Test func `of a database on standard output there is no document, and remarks are said`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    func said(_ options: String) async throws -> String {
      let ending = try await home.program.shell(
        #""$0" --config config.json \#(options) pull latest -o - --no-progress > piped.db"#)
      #expect(try ending.status == 0 && home.content("piped.db") == home.content("app.db"), "\(ending.error)")
      return ending.error
    }
    let remarks = try await said("")
    #expect(remarks.contains("sealift: 'app' of ") && remarks.contains(", check: ok"), "\(remarks)")
    #expect(try await said("--json") == remarks)
    for quiet in ["-q", "--json -q"] { #expect(try await said(quiet).isEmpty) }
  }

  @Test func `every command has room for them`() async throws {
    let home = try Home()
    let key = try home.program.write("another key of at least thirty-two bytes", to: "key2")
    let (pulled, restored) = (home.program.file("pulled.db"), home.program.file("restored.db"))
    let commands: [[String]] = [
      ["init"], ["push"], ["list"], ["show", "latest"], ["status"], ["check"], ["repair"], ["doctor"], ["drill"],
      ["key", "list"], ["key", "add", "--new-key-file", key], ["key", "recovery"], ["config", "check"],
      ["tag", "latest", "--add", "t"], ["note", "latest", "n"], ["pin", "latest"], ["unpin", "latest"],
      ["prune"], ["forget", "app", "--keep-last", "1"], ["forget", "--lost"], ["pull", "latest", "-o", pulled],
      ["restore", "latest", "--to", restored, "--dry-run"], ["restore", "latest", "--to", restored],
    ]
    for words in commands { _ = try await document(words, home) }
    let keys = try await home.must("key", "list").split(separator: "\n").dropFirst()
    let recovery = try #require(keys.first { $0.contains("recovery key") }?.split(separator: " ").first)
    _ = try await document(["key", "remove", String(recovery)], home)
  }

  // MARK: what was said of a version

  private struct Marked: Decodable {
    var tags: [String]
    var note: String
    var pinned: Bool?
    var forgotten: Bool?
    var drilledAt: String?
    var drillPassed: Bool?
  }
  private struct One: Decodable { var version: Marked }
  private struct Marks: Decodable {
    var versions: [Marked]?
    var restored: [One]?
    var drills: [One]?
    var copies: [One]?
    var version: Marked?

    var first: Marked? { version ?? (versions?.first ?? (restored ?? drills ?? copies)?.first?.version) }
  }

  private func marks(_ words: [String], _ home: Home) async throws -> Marked {
    let ending = try await run(["--json"] + words, home)
    #expect(ending.status == 0, "\(words): \(ending.error)")
    return try #require(try decoded(Marks.self, ending.output).first)
  }

  @Test func `what was said of a version stands wherever it appears, or it says that it is not known`() async throws {
    let home = try Home()
    try await home.must("init")
    let id = try await home.push("--tag", "pushed", "--note", "old").id
    for words in [["tag", id, "--add", "T1"], ["note", id, "NN"], ["pin", id]] { _ = try await marks(words, home) }
    func expectAll(_ words: [String], isDrilled: Bool = true) async throws {
      let said = try await marks(words, home)
      #expect(said.tags == ["pushed", "T1"] && said.note == "NN" && said.pinned == true, "\(words): \(said)")
      #expect(said.forgotten == false && (said.drilledAt != nil) == isDrilled, "\(words): \(said)")
      #expect(said.drillPassed == (isDrilled ? true : nil), "\(words): \(said)")
    }
    try await expectAll(["drill", "--no-record"], isDrilled: false)
    try await expectAll(["drill"])
    func file(_ name: String) -> String { home.program.file(name) }
    #expect(try await home.program.shell("mkdir all").status == 0)
    // No request is made for what a push leaves as it is.
    let unchanged = try await marks(["push"], home)
    #expect(unchanged.tags == ["pushed"] && unchanged.note == "old", "\(unchanged)")
    #expect(unchanged.pinned == nil && unchanged.forgotten == nil && unchanged.drilledAt == nil, "\(unchanged)")
    for words in [
      ["list"], ["show", id], ["drill", "--no-record"], ["drill", "--no-record", "--versions", id],
      ["pull", "app:latest", "-o", file("pulled.db"), "-n"], ["pull", id, "-o", file("pulled.db")],
      ["restore", "app:latest", "--to", file("new.db")], ["restore", "app:latest", "--replace"],
      ["pull", "--all", file("all"), "-n"], ["pull", "--all", file("all")],
    ] { try await expectAll(words) }
    try home.change()
    let new = try await marks(["push"], home)
    #expect(new.pinned == false && new.forgotten == false && new.drilledAt == nil)
    for words in [["unpin", id], ["forget", id]] { #expect(try await run(words, home).status == 0) }
    #expect(try await marks(["pull", id, "-o", file("forgotten.db")], home).forgotten == true)
    #expect(try await marks(["drill", "--no-record", "--versions", id], home).forgotten == true)
    #expect(try await marks(["note", id, "gone"], home).forgotten == true)
  }

  @Test func `of a copy that is there already it is told what was said of it there`() async throws {
    let home = try Home()
    let other = "file://\(home.program.file("copy"))"
    let key = ["--key-file", home.program.file("key")]
    try await home.must("init")
    try await home.push("--tag", "pushed")
    #expect(try await run(["--target", other, "init"] + key, home).status == 0)
    let copy = ["copy", "--from", "disk", "--to", other] + key
    #expect(try await marks(copy, home).pinned == false)
    for words in [["pin", "latest"], ["note", "latest", "NN"]] {
      #expect(try await run(["--target", other] + words + key, home).status == 0)
    }
    let there = try await marks(copy, home)
    #expect(there.tags == ["pushed"] && there.note == "NN" && there.pinned == true && there.forgotten == false)
  }

  // MARK: targets that failed

  @Test(arguments: [["check", "--read-data"], ["repair"]])
  func `13: damage at one target does not hide that another one failed`(_ words: [String]) async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(200000))", on: home.program.file("app.db"))
    try await home.must("init")
    try await home.push()
    let pack = try #require(home.program.files(below: "target").first { $0.hasPrefix("packs/") })
    var bytes = try fileBytes(home.program.file("target/\(pack)"))
    bytes[5000] ^= 1
    try writeFile(home.program.file("target/\(pack)"), bytes)
    // Nothing is left that it could be saved from.
    for gone in ["app.db", "state"] { try removeFile(home.program.file(gone)) }
    let place = "file:///nonexistent/place"
    let ending = try await run(["--json", "--target", "disk", "--target", place] + words, home)
    #expect(ending.status == 13, "\(ending.error)")
    let code = try ending.errorDocument().code
    #expect(code == "damageFound" || code == "notAllSaved")
    let failures = try #require(try decoded(Document.self, ending.output).failures)
    #expect(failures.map(\.target) == [place] && failures.map(\.code) == ["noTarget"])
    #expect(failures.allSatisfy { $0.message.contains("there is no folder /nonexistent/place") })
    let spoken = try await run(["--target", "disk", "--target", place] + words, home)
    #expect(spoken.error.contains("there is no folder /nonexistent/place"), "\(spoken.error)")
  }

  @Test(arguments: [
    ["list"], ["check"], ["repair"], ["prune"], ["doctor"], ["forget", "--lost"], ["forget", "--keep-last", "1"],
    ["init", "--if-missing"],
  ])
  func `3: all that failed are named, not the first alone`(_ words: [String]) async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    // No folder can be made in a file.
    let gone = ["one", "two"].map { "file://\(home.program.file("key"))/\($0)" }
    let first = ["--json", "--target", gone[0]]
    let last = ["--target", gone[1]] + words
    let partly = try await run(first + ["--target", "disk"] + last, home)
    #expect(partly.status == 3, "\(partly.error)")
    let error = try partly.errorDocument()
    #expect(error.code == "partlyDone" && error.message.hasPrefix("2 of 3 "), "\(error.message)")
    #expect(try decoded(Document.self, partly.output).failedTargets == gone)
    let none = try await run(first + last, home)
    #expect([1, 10].contains(none.status), "\(none.error)")
    #expect(try decoded(Document.self, none.output).failedTargets == gone)
    #expect(try await document(words, home).failedTargets?.isEmpty == true)
  }
}
