import FoundationEssentials
import Glibc
import TestKit
import Testing

/// What is no plain SQLite database, from the outside.
@Suite struct SourceCommandTests {
  /// What a person sees beside the members that all versions have.
  private struct Facts: Decodable {
    struct Version: Decodable {
      var method: String
      var pages: Int
      var pageSize: Int
    }
    var versions: [Version]
    var notices: [String]
  }

  @Test func `an encrypted file is refused, pushed as a file, and comes back`() async throws {
    let home = try Home()
    try await home.must("init")
    var random = SeededRandom(8)
    let path = home.program.file("export.db")
    let content = random.bytes(4096 * 40)
    try writeFile(path, content)
    chmod(path, 0o640)

    let refused = try await home("--json", "push", path)
    #expect(refused.status == 15)
    let error = try refused.errorDocument()
    #expect(error.code == "encrypted" && error.hint?.contains("--method file") == true)

    let pushed = try await home("--json", "push", "--method", "file", path)
    #expect(pushed.status == 0, "\(pushed.error)")
    let facts = try #require(try decoded(Facts.self, pushed.output).versions.first)
    #expect(facts.method == "file" && facts.pages == 3 && facts.pageSize == 65_536)
    #expect(try await home.must("list").contains("(file)"))
    let shown = try await home.must("show", "export:latest")
    #expect(shown.contains("(3 blocks of 65536 bytes)") && shown.contains("none: not a database"))
    #expect(!shown.contains("members"))

    let restored = home.program.file("restored.db")
    let pulled = try await home("pull", "export:latest", "-o", restored)
    #expect(pulled.status == 0 && pulled.error.contains("check: not a database"))
    #expect(try fileBytes(restored) == content && mode(of: restored) == 0o640)
    let drilled = try await home.must("drill", "export")
    #expect(drilled.contains("passed: restored from the target alone, SHA-256 as at push"))
    let folder = home.program.file("here")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try await home.must("pull", "export:latest", "-o", folder)
    #expect(home.program.files(below: "here").allSatisfy { $0.hasPrefix("export-") && $0.hasSuffix("Z") })

    let plain = try await home("--json", "push", "--method", "file", "app")
    #expect(plain.status == 2)
    #expect(try plain.errorDocument().code == "plainDatabase")
  }

  /// `flock FILE sealift push` leaves its descriptor to the program, which has no locks of its own to lose.
  @Test func `a file that whoever began the program has open is pushed`() async throws {
    let home = try Home()
    try await home.must("init")
    try home.program.write("no database at all", to: "export.enc")
    let file = home.program.file("export.enc")
    let pushed = try await home.program.shell(
      #"exec 9< '\#(file)'; "$0" --config '\#(home.program.file("config.json"))' push --method file '\#(file)'"#)
    #expect(pushed.status == 0, "\(pushed.error)")
  }

  @Test func `two paths are not pushed together whose names only look alike`() async throws {
    let home = try Home()
    let paths = ["caf\u{E9}'s.db", "cafe\u{301}'s.db"].map { home.program.file($0) }
    let refused = try await home("push", paths[0], paths[1])
    #expect(refused.status == 2 && refused.error.contains("would be the name of both"), "\(refused.error)")
    #expect(refused.error.contains("add `--name NAME`"), "\(refused.error)")
  }

  @Test func `that a database is not vacuumed any more is said with -v, and tried again when asked for`() async throws {
    let home = try Home()
    try await home.must("init")
    let path = home.program.file("strange.db")
    try SampleDatabase.applicationCollation.make(at: path)
    let first = try await home("push", path)
    #expect(first.status == 0 && first.error.contains("instead of vacuumed"))
    // The tag has a copy taken, though nothing changed.
    let second = try await home("push", "-v", "--tag", "second", path)
    #expect(second.status == 0 && !second.error.contains("instead of vacuumed"))
    #expect(second.error.contains("is copied page by page, as it could not be vacuumed"))
    let third = try await home("push", "-v", "--tag", "third", "--method", "vacuum", path)
    #expect(third.status == 0 && third.error.contains("instead of vacuumed"))
    #expect(!third.error.contains("as it could not be vacuumed"))
  }

  @Test func `a Core Data store in XML is one file, and the push says so`() async throws {
    let home = try Home()
    try await home.must("init")
    let path = try home.program.write(
      "<?xml version=\"1.0\"?>\n<!DOCTYPE database SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\">\n<database/>\n",
      to: "notes.xml")
    let pushed = try await home("--json", "push", path)
    let facts = try decoded(Facts.self, pushed.output)
    #expect(pushed.status == 0 && facts.versions.first?.method == "atomic")
    #expect(facts.notices.contains { $0.contains("a Core Data store in XML") })
    try await home.must("pull", "notes:latest", "-o", home.program.file("again.xml"))
    #expect(try home.bytes("again.xml") == home.bytes("notes.xml"))
  }
}
