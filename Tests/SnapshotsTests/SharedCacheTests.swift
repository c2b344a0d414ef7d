import CSQLite
import Snapshots
import TestKit
import Testing

/// An application may have all connections of its process share one cache, and with it their locks and their open files.
@Suite struct SharedCacheTests {
  @Test(arguments: SnapshotMethod.allCases)
  func `our connections have a cache of their own`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let isPages = method == .pages
    await #expect(processExitsWith: .success) {
      [source = desk.source as String, spool = desk.spool as String, isPages = isPages as Bool] in
      sqlite3_enable_shared_cache(1)
      let application = try TestDatabase(source)
      try application.run("BEGIN; UPDATE people SET age = -1")
      let request = SnapshotRequest(
        source: source, method: isPages ? .pages : .vacuum, spoolFolder: spool, busyTimeout: .seconds(5))
      let snapshot = try await takeSnapshot(request)
      #expect(snapshot.check == .ok)
      let copy = try TestDatabase(snapshot.path, readOnly: true)
      #expect(try copy.number("SELECT count(*) FROM people WHERE age = -1") == 0)
      try application.run("ROLLBACK")
    }
  }
}
