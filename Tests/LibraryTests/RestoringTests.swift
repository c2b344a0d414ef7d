import CSQLite
import Glibc
import Sealift
import TestKit
import Testing

/// Copies that replace the content of connections that an application has opened.
@Suite struct RestoringTests {
  let bench: Bench
  /// 90 rows of the word new.
  let copy: String

  init() throws {
    bench = try Bench()
    copy = bench.scratch.file("copy.db")
    try Bench.makeDatabase(at: copy, rows: 90, word: "new")
  }

  private func restore(
    _ path: String? = nil, into database: TestDatabase, pagesPerStep: Int = 1000, busy: Snapshot.BusyPolicy = .fail,
    progress: (Snapshot.Progress) throws -> Void = { _ in }
  ) throws {
    try Snapshot.restore(
      path ?? copy, into: .connection(database.handle), pagesPerStep: pagesPerStep, busy: busy, progress: progress)
  }

  /// Also from a copy whose source had another journal than the destination.
  @Test(arguments: ["delete", "wal"], ["delete", "wal"])
  func `an open database has the new content, and the journal that it had`(own: String, copied: String) async throws {
    try bench.makeDatabase(rows: 200, journal: own)
    let source = bench.scratch.file("source.db")
    try Bench.makeDatabase(at: source, rows: 90, journal: copied, word: "new")
    let copy = try await Snapshot.take(of: .file(source), in: bench.folder)
    let bytes = try fileBytes(copy.path)
    let database = try TestDatabase(bench.database)
    let reader = try TestDatabase(bench.database)
    #expect(try words(reader) == [["t:old", "i:200"]])

    try copy.restore(into: .connection(database.handle))
    #expect(try words(database) == [["t:new", "i:90"]])
    #expect(try words(reader) == [["t:new", "i:90"]])
    #expect(try database.text("PRAGMA journal_mode") == own)
    #expect(try TestDatabase(bench.database).text("PRAGMA journal_mode") == own)
    #expect(try database.text("PRAGMA integrity_check") == "ok")
    try database.run("INSERT INTO t(word) VALUES ('later')")
    #expect(try reader.number("SELECT count(*) FROM t") == 91)
    #expect(try fileBytes(copy.path) == bytes)
    #expect(try bench.copiesLeft().count == 1)
  }

  @Test func `a database in memory is restored from a file, and a file from memory`() throws {
    let memory = try TestDatabase(":memory:")
    try memory.run("CREATE TABLE gone(x); INSERT INTO gone VALUES (1)")
    try restore(into: memory)
    #expect(try words(memory) == [["t:new", "i:90"]])
    #expect(try memory.number("SELECT count(*) FROM sqlite_schema WHERE name = 'gone'") == 0)
    try memory.run("UPDATE t SET word = 'newer'")

    let again = try Snapshot.take(of: .connection(memory.handle), in: bench.folder)
    try bench.makeDatabase()
    let database = try TestDatabase(bench.database)
    try again.restore(into: .connection(database.handle))
    #expect(try words(bench.database) == [["t:newer", "i:90"]])
  }

  @Test(arguments: ["delete", "wal"])
  func `readers see the old content until all is there, and the old stays when it is aborted`(journal: String) throws {
    try bench.makeDatabase(rows: 120, journal: journal)
    let database = try TestDatabase(bench.database)
    let reader = try TestDatabase(bench.database)
    sqlite3_busy_timeout(reader.handle, 0)
    var steps: [Int] = []
    #expect(throws: Enough()) {
      try restore(into: database, pagesPerStep: 10) { progress in
        guard progress.stage == .copying else { return }
        steps.append(progress.pagesDone)
        // In rollback mode a large transaction may keep readers waiting, but shows them nothing.
        if let seen = try? words(reader) { #expect(seen == [["t:old", "i:120"]]) }
        if progress.pagesDone > 60 { throw Enough() }
      }
    }
    #expect(steps == [0, 10, 20, 30, 40, 50, 60, 70])
    #expect(try words(reader) == [["t:old", "i:120"]])
    #expect(try words(database) == [["t:old", "i:120"]])
    #expect(try database.text("PRAGMA integrity_check") == "ok")
    #expect(try database.text("PRAGMA journal_mode") == journal)
    try database.run("INSERT INTO t(word) VALUES ('still writable')")
  }

  @Test func `without a journal nothing could be taken back`() throws {
    try bench.makeDatabase(rows: 20)
    let database = try TestDatabase(bench.database)
    try database.run("PRAGMA journal_mode=OFF")
    let error = #expect(throws: SealiftError.self) { try restore(into: database) }
    #expect(error?.kind == .usage && error?.code == "connection" && error?.message.contains("journal_mode=OFF") == true)
    #expect(try words(database) == [["t:old", "i:20"]])
    try database.run("PRAGMA journal_mode=DELETE")
    try restore(into: database)
    #expect(try words(database) == [["t:new", "i:90"]])
  }

  @Test func `a statement that is not finished is told`() throws {
    try bench.makeDatabase(rows: 20)
    let database = try TestDatabase(bench.database)
    var statement: OpaquePointer?
    try #require(sqlite3_prepare_v2(database.handle, "SELECT * FROM t", -1, &statement, nil) == SQLITE_OK)
    try #require(sqlite3_step(statement) == SQLITE_ROW)
    let error = #expect(throws: SealiftError.self) { try restore(into: database) }
    #expect(error?.kind == .usage && error?.code == "connection" && error?.message.contains("statement") == true)
    sqlite3_finalize(statement)
    try restore(into: database)
  }

  /// It is not the open database that is damaged.
  @Test func `a copy that is cut is told as the copy`() throws {
    try bench.makeDatabase(rows: 20)
    let database = try TestDatabase(bench.database)
    try #require(truncate(copy, off_t(fileBytes(copy).count / 2 / 4096 * 4096)) == 0)
    let error = #expect(throws: SealiftError.self) {
      try Snapshot.restore(copy, into: .connection(database.handle), busy: .fail, check: false)
    }
    #expect(error?.kind == .verificationFailed && error?.message.contains(copy) == true)
    #expect(error?.message.contains(bench.database) == false)
    #expect(try words(database) == [["t:old", "i:20"]])
  }

  @Test func `throwing is ignored once the new content is there`() throws {
    try bench.makeDatabase()
    let database = try TestDatabase(bench.database)
    var told = 0
    try restore(into: database) { progress in
      guard progress.stage == .copying, progress.pagesDone == progress.pagesTotal else { return }
      told += 1
      throw Enough()
    }
    #expect(told == 1)
    #expect(try words(database) == [["t:new", "i:90"]])
  }

  @Test func `a cancelled task leaves the old content`() async throws {
    try bench.makeDatabase()
    await #expect(throws: CancellationError.self) {
      try await Fuse<Void>().run { [bench, copy] fuse in
        let database = try TestDatabase(bench.database)
        try Snapshot.restore(copy, into: .connection(database.handle), pagesPerStep: 10) { _ in fuse.blow() }
      }
    }
    #expect(try words(bench.database) == [["t:old", "i:60"]])
  }

  @Test func `a writer of another process is waited for, or not`() throws {
    try bench.makeDatabase()
    let other = try TestDatabase(bench.database)
    try other.run("BEGIN IMMEDIATE")
    let database = try TestDatabase(bench.database)
    sqlite3_busy_timeout(database.handle, 0)
    let error = #expect(throws: SealiftError.self) { try restore(into: database, busy: .fail) }
    #expect(error?.code == "busy")
    #expect(try words(database) == [["t:old", "i:60"]])
    let release = Thread {
      usleep(20_000)
      try? other.run("COMMIT")
    }
    try restore(into: database, busy: .retry(upTo: .seconds(600)))
    release.join()
    #expect(try words(database) == [["t:new", "i:90"]])
  }

  @Test func `connections that cannot be restored into are refused, and stay as they are`() throws {
    try bench.makeDatabase()
    let reading = try TestDatabase(bench.database, readOnly: true)
    #expect(try refusal { try restore(into: reading) } == "connection")
    let busy = try TestDatabase(bench.database)
    try busy.run("BEGIN; INSERT INTO t(word) VALUES ('half')")
    #expect(try refusal { try restore(into: busy) } == "connection")
    try busy.run("ROLLBACK")
    #expect(try refusal { try restore(bench.database, into: busy) } == "connection")
    #expect(try words(busy) == [["t:old", "i:60"]])
  }

  @Test func `what is no finished copy is refused`() throws {
    try bench.makeDatabase()
    let database = try TestDatabase(bench.database)
    #expect(try refusal { try restore("/nowhere/copy.db", into: database) } == "missing")
    let text = bench.scratch.file("text.db")
    try writeFile(text, Array(String(repeating: "no database at all\n", count: 50).utf8))
    #expect(try refusal { try restore(text, into: database) } == "notADatabase")

    let live = bench.scratch.file("live.db")
    try Bench.makeDatabase(at: live, rows: 5, journal: "wal")
    let writer = try TestDatabase(live)
    try writer.run("INSERT INTO t(word) VALUES ('in the wal')")
    #expect(try refusal { try restore(live, into: database) } == "connection")

    var bytes = try fileBytes(copy)
    for index in 4096 * 5..<4096 * 5 + 64 { bytes[index] = 0x5A }
    try writeFile(copy, bytes)
    let error = #expect(throws: SealiftError.self) { try restore(into: database) }
    #expect(error?.kind == .verificationFailed)
    #expect(try words(database) == [["t:old", "i:60"]])
  }

  @Test func `texts in another encoding are refused, which nobody who has the database open could read`() throws {
    try bench.makeDatabase(journal: "wal")
    let other = bench.scratch.file("other.db")
    do {
      let database = try TestDatabase(other)
      try database.run("PRAGMA encoding='UTF-16be'; CREATE TABLE t(word); INSERT INTO t VALUES ('new')")
    }
    let database = try TestDatabase(bench.database)
    let error = #expect(throws: SealiftError.self) { try restore(other, into: database) }
    #expect(error?.code == "encoding" && error?.kind == .usage)
    #expect(error?.message.contains("UTF-16be") == true)
    #expect(try words(database) == [["t:old", "i:60"]])
    // Where nothing was ever created any encoding will do.
    let fresh = try TestDatabase(bench.scratch.file("fresh.db"))
    try restore(other, into: fresh)
    #expect(try words(fresh) == [["t:new", "i:1"]])
  }

  @Test func `pages of another size are explained where SQLite cannot take them`() throws {
    try bench.makeDatabase(journal: "wal")
    let other = bench.scratch.file("other.db")
    try Bench.makeDatabase(at: other, rows: 20, word: "new", pageSize: 8192)
    let database = try TestDatabase(bench.database)
    let error = #expect(throws: SealiftError.self) { try restore(other, into: database) }
    #expect(error?.code == "pageSize")
    #expect(error?.message.contains("8192") == true)
    #expect(error?.message.contains("4096") == true)
    #expect(try words(database) == [["t:old", "i:60"]])

    let rollback = bench.scratch.file("rollback.db")
    try Bench.makeDatabase(at: rollback, rows: 20)
    let open = try TestDatabase(rollback)
    try restore(other, into: open)
    #expect(try words(open) == [["t:new", "i:20"]])
  }

  private func refusal(_ work: () throws -> Void) throws -> String? {
    (#expect(throws: SealiftError.self) { try work() })?.code
  }
}
