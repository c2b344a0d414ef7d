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

  // MARK: remarks

  @Test func `a version asked for by its id at a target that was put back`() async throws {
    let home = try Home()
    try await home.must("init")
    let first = try await home.push()
    #expect(try await home.program.shell("cp -a target before").status == 0)
    try home.change()
    try await home.push()
    #expect(try await home.program.shell("rm -r target && mv before target").status == 0)
    let remark = "the version was asked for by its id"
    let notices = try await document(["show", first.id], home).notices
    #expect(notices.contains { $0.contains("this machine has seen version 2") && $0.hasSuffix(remark) }, "\(notices)")
    let spoken = try await home("show", first.id)
    #expect(spoken.status == 0 && spoken.error.contains(remark))
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
