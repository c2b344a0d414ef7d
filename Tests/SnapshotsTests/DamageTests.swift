import CSQLite
import Glibc
import Storage
import TestKit
import Testing

@testable import Snapshots

/// A damaged database is better kept than lost: its pages are copied as they are, and it is said.
@Suite struct DamageTests {
  private func rootPage(of table: String, in path: String) throws -> Int {
    let database = try TestDatabase(path, readOnly: true)
    return try database.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'")
  }

  private func damage(_ path: String, at offset: Int, _ bytes: [UInt8]) throws {
    var all = try fileBytes(path)
    all.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    try writeFile(path, all)
  }

  @Test(arguments: SnapshotMethod.allCases, [SampleDatabase.rollback, .walClosed, .freePages, .utf16le])
  func `a broken page is copied as it is`(_ method: SnapshotMethod, _ kind: SampleDatabase) async throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    let header = try fileBytes(desk.source)
    let pageSize = Int(header[16]) << 8 | Int(header[17])
    try damage(desk.source, at: (rootPage(of: "people", in: desk.source) - 1) * pageSize, [0xff, 0xff, 0xff, 0xff])
    let before = try SourceBytes(desk.source)

    let snapshot = try await desk.take(method)
    #expect(snapshot.method == .pages)
    #expect((snapshot.fallback?.contains("malformed") == true) == (method == .vacuum))
    #expect(snapshot.check?.isDamaged == true)
    #expect(snapshot.freePagesZeroed == 0, "what is called free may not be")
    #expect(try fileBytes(snapshot.path) == before.files[""])
    #expect(try SourceBytes(desk.source) == before)
  }

  /// SQLite 3.40 says it all in one row.
  @Test func `what is wrong is told line by line, and in short`() async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    // An empty leaf: what was below it belongs to nothing.
    let root = try rootPage(of: "people", in: desk.source)
    try damage(desk.source, at: (root - 1) * 4096, [13, 0, 0, 0, 0, 16, 0, 0])
    guard case .damaged(let findings) = try await checkImage(at: desk.source) else {
      Issue.record("no damage was found")
      return
    }
    #expect((2...100).contains(findings.count))
    #expect(findings.allSatisfy { !$0.contains("\n") && !$0.hasPrefix("***") && !$0.isEmpty }, "\(findings)")
    let brief = try #require(CheckOutcome.brief(findings))
    #expect(brief == "\(findings[0]), and \(findings.count - 1) more" && brief.utf8.count < 200)
    #expect(CheckOutcome.brief([]) == nil && CheckOutcome.brief(["one"]) == "one")
    let long = try #require(CheckOutcome.brief([String(repeating: "x\n", count: 9999)]))
    #expect(long.utf8.count == 500 && !long.contains("\n"))
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a header that counts more free pages than there are makes no copy of less than a page`(
    _ method: SnapshotMethod
  ) async throws {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run("PRAGMA journal_mode=WAL; CREATE TABLE t(b)")
    try database.run(
      "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) INSERT INTO t SELECT randomblob(2000) FROM n"
    )
    database.close()
    try damage(desk.source, at: 36, [0x7f, 0xff, 0xff, 0xff])
    let growing = Locked<[Int]>([])
    var request = desk.request(method)
    request.pagesPerStep = 100
    let snapshot = try await takeSnapshot(request) { progress in
      if let copy = progress.growing { growing.withLock { $0.append(copy.pageCount) } }
    }
    #expect(growing.withLock { $0 }.allSatisfy { $0 > 0 })
    #expect(method == .pages || !growing.withLock { $0 }.isEmpty)
    #expect(snapshot.pageCount > 4000)
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a file that was cut is copied as far as it goes`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    truncate(desk.source, off_t(4096 * 5))
    let snapshot = try await desk.take(method)
    #expect(snapshot.check?.isDamaged == true)
    #expect(snapshot.pageCount == 5)
    #expect(try fileBytes(snapshot.path) == fileBytes(desk.source))
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a schema that cannot be read is no reason to have no copy`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let database = try TestDatabase(desk.source)
    try database.run(
      "PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = 'CREATE TABEL oops' WHERE name = 'people'")
    database.close()
    let snapshot = try await desk.take(method)
    #expect(snapshot.method == .pages)
    #expect(snapshot.check?.isDamaged == true)
    #expect(try fileBytes(snapshot.path) == fileBytes(desk.source))
  }

  /// In words and forms that no SQLite knows yet.
  private static let laterEntries: [String] = [
    "CREATE VIEW later AS SELECT name FROM people FROBNICATE BY name",
    "CREATE TRIGGER later AFTER INSERT ON people UNLESS 1 BEGIN SELECT 1; END",
    "CREATE TABLE later(a) FROBNICATED",
    "CREATE TABLE later(\((1...2001).map { "c\($0)" }.joined(separator: ", ")))",
    "CREATE INDEX later ON people(length(name, 1))",
    "CREATE TABLE later(a FUTURE) STRICT",
    "CREATE TABLE later(a, b AS (json_array(\(Array(repeating: "a", count: 2000).joined(separator: ", ")))))",
    "CREATE VIEW later AS SELECT \(Array(repeating: "1", count: 1200).joined(separator: " + "))",
    "CREATE VIEW later AS \(Array(repeating: "SELECT 1", count: 600).joined(separator: " UNION ALL "))",
  ]

  @Test(arguments: SnapshotMethod.allCases, laterEntries)
  func `a schema of a later SQLite is no damage, and hides none`(_ method: SnapshotMethod, _ entry: String) async throws
  {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let people = try rootPage(of: "people", in: desk.source)
    let kind = entry.split(separator: " ")[1]
    let database = try TestDatabase(desk.source)
    let beginning = [
      "VIEW": "AS SELECT 1", "TRIGGER": "AFTER INSERT ON people BEGIN SELECT 1; END", "TABLE": "(a)",
      "INDEX": "ON people(name)",
    ]
    try database.run("CREATE \(kind) later \(beginning[String(kind)] ?? "")")
    try database.run("PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = '\(entry)' WHERE name = 'later'")
    database.close()
    let snapshot = try await desk.take(method)
    #expect(snapshot.method == .pages)
    guard case .notCheckable(let why) = snapshot.check else {
      Issue.record("\(String(describing: snapshot.check))")
      return
    }
    #expect(why.contains("later SQLite"))
    #expect(try fileBytes(snapshot.path) == fileBytes(desk.source))
    #expect(try await countRows(at: snapshot.path).contains { $0.table == "people" })
    let proof = try await proveImage(at: snapshot.path, ImageTrial())
    #expect(proof.findings.isEmpty && proof.unchecked.contains { $0.contains("later SQLite") })

    try damage(desk.source, at: (people - 1) * 4096, [0xff, 0xff, 0xff, 0xff])
    #expect(try await desk.take(method).check?.isDamaged == true)
  }

  @Test func `what SQLite says of the pages and names of a schema is damage`() {
    func isUnparsed(_ reason: String) -> Bool {
      SQLiteFailure(code: SQLITE_CORRUPT, message: "malformed database schema (t) - \(reason)").isOfUnparsedSchema
    }
    for reason in ["wrong number of arguments to function iif()", "parser stack overflow"] {
      #expect(isUnparsed(reason))
    }
    for reason in [
      "invalid rootpage", "orphan index", "corrupt database", "no such table: main.t", "index i already exists",
      "there is already another table or index with this name: t",
    ] {
      #expect(!isUnparsed(reason))
    }
  }

  /// As an application writes them whose SQLite knows forms of JSON that ours does not.
  @Test(arguments: SnapshotMethod.allCases)
  func `values that only a later SQLite can compute with are no damage, and hide none`(_ method: SnapshotMethod)
    async throws
  {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let people = try rootPage(of: "people", in: desk.source)
    let database = try TestDatabase(desk.source)
    try database.run("CREATE TABLE later(a TEXT); INSERT INTO later VALUES('{')")
    let entry = "CREATE TABLE later(a TEXT, b TEXT AS (json_extract(a, '$.b')) NOT NULL)"
    try database.run(
      "PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = '\(entry.replacing("'", with: "''"))' WHERE name = 'later'"
    )
    database.close()
    let snapshot = try await desk.take(method)
    guard case .notCheckable(let why) = snapshot.check else {
      Issue.record("\(String(describing: snapshot.check))")
      return
    }
    #expect(snapshot.method == method && why.contains("cannot compute with: later (malformed JSON)"))
    let proof = try await proveImage(at: snapshot.path, ImageTrial())
    #expect(proof.findings.isEmpty && proof.unchecked.contains { $0.contains("later (malformed JSON)") })

    try damage(desk.source, at: (people - 1) * 4096, [0xff, 0xff, 0xff, 0xff])
    #expect(try await desk.take(method).check?.isDamaged == true)
  }

  /// Of one small row SQLite would make what it then searches for seconds, or for days, and nothing interrupts that.
  @Test func `long values that are made of short ones are not computed, and hide no damage`() async throws {
    let desk = try Desk()
    try SQLite.run(
      """
      CREATE TABLE wide(n INTEGER, place INTEGER NOT NULL AS (instr(zeroblob(n), zeroblob(n / 2) || x'01')));
      INSERT INTO wide(n) VALUES (400000);
      """, on: desk.source)
    var request = desk.request(.vacuum)
    request.checksSource = true
    let snapshot = try await takeSnapshot(request)
    for outcome in [snapshot.check, snapshot.sourceCheck] {
      guard case .notCheckable(let why) = outcome else {
        Issue.record("\(String(describing: outcome))")
        return
      }
      #expect(why.contains("cannot compute with: wide (string or blob too big)"))
    }
    let proof = try await proveImage(at: snapshot.path, ImageTrial())
    #expect(proof.findings.isEmpty && proof.unchecked.first?.hasPrefix("integrity_check: ") == true)

    // A page more than is in use, which only a look at the whole tells.
    var bytes = try fileBytes(snapshot.path)
    bytes.replaceSubrange(28..<32, with: [0, 0, 0, UInt8(bytes.count / 4096 + 1)])
    try writeFile(snapshot.path, bytes + [UInt8](repeating: 0, count: 4096))
    guard case .damaged(let findings) = try await checkImage(at: snapshot.path) else {
      Issue.record("the page is not found")
      return
    }
    #expect(findings.first?.contains("never used") == true)
  }

  @Test(arguments: ["UTF-8", "UTF-16le"])
  func `a value that is nearly all of its database is looked at`(encoding: String) async throws {
    let scratch = try Scratch()
    let path = scratch.file("a.db")
    try SQLite.run(
      """
      PRAGMA encoding = '\(encoding)'; CREATE TABLE t(a TEXT NOT NULL, copy TEXT NOT NULL AS (a || ''), b BLOB);
      INSERT INTO t(a) VALUES (replace(hex(zeroblob(400000)), '00', 'ü數'));
      """, on: path)
    for statement in ["", "CREATE VIRTUAL TABLE words USING fts5(a); INSERT INTO words SELECT a FROM t;"] {
      try SQLite.run(statement, on: path)
      #expect(try await checkImage(at: path) == .ok)
      let proof = try await proveImage(at: path, ImageTrial())
      #expect(proof.findings.isEmpty && proof.passed.first == "integrity_check ok")
    }
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a header that makes no sense is an explained error`(_ method: SnapshotMethod) async throws {
    for (offset, bytes) in [(21, [UInt8](arrayLiteral: 1, 2, 3)), (16, [3, 7]), (18, [9, 9])] {
      let desk = try Desk()
      try SampleDatabase.rollback.make(at: desk.source)
      try damage(desk.source, at: offset, bytes)
      let error = try await desk.refusal(desk.request(method))
      #expect(error?.code == .damaged, "bytes \(offset): \(error.map { "\($0)" } ?? "")")
    }
  }

  @Test func `damage is found even when the check was not asked for, if SQLite stumbles over it`() async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    try damage(desk.source, at: (rootPage(of: "people", in: desk.source) - 1) * 4096, [0xff])
    var request = desk.request(.vacuum)
    request.check = false
    #expect(try await takeSnapshot(request).check?.isDamaged == true)
  }

  @Test func `a table that cannot be checked does not hide damage in another`() async throws {
    let desk = try Desk()
    try SampleDatabase.applicationCollation.make(at: desk.source)
    #expect(
      try await checkImage(at: desk.source)
        == .notCheckable("1 of 4 tables need collations or functions of their application: loud"))
    try damage(desk.source, at: (rootPage(of: "people", in: desk.source) - 1) * 4096, [0xff])
    #expect(try await desk.take(.vacuum).check?.isDamaged == true)
  }

  /// Table by table, SQLite's check does not compare the list of free pages with the pages in use: its rows would be lost,
  /// and nobody told.
  @Test(arguments: ["people", "loud"])
  func `a free page that is in use is found where not everything can be checked`(_ table: String) async throws {
    let desk = try Desk()
    try SampleDatabase.applicationCollation.make(at: desk.source)
    let database = try TestDatabase(desk.source)
    try database.run("CREATE TABLE gone(b)")
    try database.run(
      "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) INSERT INTO gone SELECT randomblob(3000) FROM n"
    )
    try database.run("DELETE FROM gone")
    database.close()
    let sound = try await desk.take(.pages)
    #expect(sound.freePagesZeroed > 50)
    #expect(sound.check != .ok && sound.check?.isDamaged == false)

    let trunk = (number(try fileBytes(desk.source), 32) - 1) * 4096
    let live = try rootPage(of: table, in: desk.source)
    try damage(desk.source, at: trunk + 8, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: live >> $0) })
    let snapshot = try await desk.take(.pages)
    #expect(snapshot.check == .damaged(["page \(live) is in the list of free pages, and in use"]))
    #expect(try fileBytes(snapshot.path) == fileBytes(desk.source))
    // A push has the check look when the pages are zeros already, and takes another copy then.
    var request = desk.request(.pages)
    request.check = false
    #expect(try await checkImage(at: takeSnapshot(request).path).isDamaged)
  }

  /// First trunk page, number of free pages; a trunk that names itself; a leaf that is in use.
  @Test func `a free list that contradicts itself zeroes nothing`() async throws {
    let desk = try Desk()
    try SampleDatabase.freePages.make(at: desk.source)
    let sound = try fileBytes(desk.source)
    let trunk = number(sound, 32)
    let live = try rootPage(of: "people", in: desk.source)
    let lies: [(Int, Int)] = [
      (36, number(sound, 36) - 1), (32, sound.count), ((trunk - 1) * 1024, trunk), ((trunk - 1) * 1024 + 4, 5000),
      ((trunk - 1) * 1024 + 8, number(sound, (trunk - 1) * 1024 + 12)), ((trunk - 1) * 1024 + 8, live),
    ]
    for (offset, value) in lies {
      try writeFile(desk.source, sound)
      try damage(desk.source, at: offset, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
      for check in [true, false] where check || value != live {
        var request = desk.request(.pages)
        request.check = check
        let snapshot = try await takeSnapshot(request)
        #expect(snapshot.check?.isDamaged == (check ? true : nil))
        #expect(snapshot.freePagesZeroed == 0)
        #expect(try fileBytes(snapshot.path) == fileBytes(desk.source))
      }
    }
  }

  private func number(_ bytes: [UInt8], _ offset: Int) -> Int {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  @Test func `a read that the disk failed, or memory, is no damage`() {
    for line in [
      "*** in database main ***\nPage 70: unable to get the page. error code=8458",
      "*** in database main ***\nTree 5 page 3: btreeInitPage() returns error code 266",
    ] {
      #expect(SQLiteFailure(failedReadIn: ["row 3 missing from index i", line])?.primary == SQLITE_IOERR)
    }
    let starved = "Page 27: unable to get the page. error code=7"
    #expect(SQLiteFailure(failedReadIn: [starved])?.primary == SQLITE_NOMEM)
    #expect(SQLiteFailure(failedReadIn: ["Tree 5 page 3: btreeInitPage() returns error code 11", "ok"]) == nil)
    #expect(SQLiteFailure(failedReadIn: ["NULL value in t.code", "wrong # of entries in index code 10"]) == nil)
  }
}
