import CSQLite
import TestKit
import Testing

@testable import Snapshots

/// Databases of more pages than SQLite gives a new file by itself: 4 TiB at the usual page size.
@Suite struct ManyPagesTests {
  @Test func `what cannot be vacuumed into a new file is copied by pages`() throws {
    try demandVacuumable(1 << 20)
    let failure = #expect(throws: SQLiteFailure.self) { try demandVacuumable(Int(UInt32.max)) }
    #expect(failure?.primary == SQLITE_ERROR)
  }

  @Test func `a copy may have as many pages as any database`() throws {
    let scratch = try Scratch()
    let path = scratch.file("copy.db")
    try writeFile(path, [])
    #expect(try Connection(writingCopy: path).integer("PRAGMA max_page_count") == 4_294_967_294)
  }
}
