import Testing

@testable import Snapshots

@Suite struct ValueLengthTests {
  @Test func `a hollow file holds as much as SQLite takes, whatever its length`() {
    #expect(Connection.longestValue(database: .max, wal: .max) == .max)
    #expect(Connection.longestValue(database: 8192, wal: 1 << 62) == .max)
    #expect(Connection.longestValue(database: 1 << 20, wal: 1 << 20) == 1 << 22)
    #expect(Connection.longestValue(database: 8192, wal: 0) == 1 << 16)
  }
}
