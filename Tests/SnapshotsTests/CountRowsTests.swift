import TestKit
import Testing

@testable import Snapshots

/// Rows are counted as the application would count them, or not at all.
@Suite struct CountRowsTests {
  @Test(arguments: SampleDatabase.allCases.filter { !$0.isWAL })
  func `every kind of database is counted`(kind: SampleDatabase) async throws {
    let scratch = try Scratch()
    let path = scratch.file("a.db")
    try kind.make(at: path)
    let rows = try await countRows(at: path)
    let database = try TestDatabase(path, readOnly: true)
    for one in rows {
      let name = one.table.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      #expect(try database.number("SELECT count(*) FROM \"\(name)\"") == Int(one.rows), "\(one.table)")
    }
    let tables = try database.number(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite%'")
    if !kind.needsApplicationCode { #expect(rows.count == tables) }
    #expect(try names(in: scratch.path) == ["a.db"])
  }

  @Test func `what is noted of the tables is bounded`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("a.db")
    let long = String(repeating: "n", count: 300)
    let tables = (0..<20).map { "CREATE TABLE table\($0)(a);" }.joined() + "CREATE TABLE \(long)(a);"
    try SQLite.run(tables + "INSERT INTO table0 VALUES (1), (2)", on: path)
    var limits = CountLimits()
    #expect(try await countRows(at: path).count == 20)
    limits.tables = 3
    #expect(try await countRows(at: path, limits: limits).map(\.table) == ["table0", "table1", "table2"])
    limits.tables = 500
    limits.bytesOfNames = 13
    #expect(
      try await countRows(at: path, limits: limits) == [
        .init(table: "table0", rows: 2), .init(table: "table1", rows: 0),
      ])
  }

  @Test func `counting ends when it is cancelled`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("a.db")
    try SQLite.run("CREATE TABLE t(a)", on: path)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await countRows(at: path)
    }
    task.cancel()
    // A table this small may be counted before anybody looks.
    _ = await task.result
    await #expect(throws: SnapshotError.self) { try await countRows(at: scratch.file("none.db")) }
  }
}
