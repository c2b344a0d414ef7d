import CSQLite
import Storage
import TestKit
import Testing

@testable import Snapshots

/// Writers that go by no lock: in rollback mode they can change a database while it is copied.
@Suite struct PassedLockTests {
  private func desk(rows: Int = 12_000) throws -> Desk {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run(
      """
      CREATE TABLE added(b); CREATE TABLE t(b);
      WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO t SELECT randomblob(400) FROM n
      """)
    database.close()
    return desk
  }

  /// The file grows, so that it shows within the clock's grain as well.
  private static let commit = "INSERT INTO added VALUES(randomblob(20000))"

  private static func writeWithoutLocks(_ path: String) -> Int32 {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, "unix-none")
    return code == SQLITE_OK ? sqlite3_exec(handle, commit, nil, nil, nil) : code
  }

  /// - Parameter commits: how often it commits, once a copy at most.
  @Test(arguments: SnapshotMethod.allCases, [1, 2])
  func `a commit in spite of the lock has the copy made once more, and told when that is in vain`(
    _ method: SnapshotMethod, _ commits: Int
  ) async throws {
    let desk = try desk()
    var request = desk.request(method)
    request.pagesPerStep = 100
    let (done, isCopying) = (Locked(0), Locked(false))
    let snapshot = try await takeSnapshot(request) { [source = desk.source] progress in
      guard progress.stage == .copying, progress.pagesDone > 0 else { return isCopying.withLock { $0 = false } }
      let isFirst = isCopying.withLock { isCopying in
        defer { isCopying = true }
        return !isCopying
      }
      guard isFirst, done.withLock({ $0 }) < commits else { return }
      #expect(Self.writeWithoutLocks(source) == SQLITE_OK)
      done.withLock { $0 += 1 }
    }
    #expect(done.withLock { $0 } == commits && snapshot.lockWasPassed == (commits == 2))
    #expect(try names(in: desk.spool).count == 1)
    guard commits == 1 else { return }
    #expect(snapshot.check == .ok && snapshot.method == method)
    #expect(try TestDatabase(snapshot.path).number("SELECT count(*) FROM added") == 1)
  }

  /// Of so few rows SQLite tells nothing while it vacuums.
  @Test(arguments: ["", ", CHECK(b <> 1)"])
  func `a commit beside the vacuum of a few rows is seen`(_ constraint: String) throws {
    let desk = try desk(rows: 3)
    try SQLite.run("CREATE TABLE c(b\(constraint))", on: desk.source)
    let (watch, request) = (Watch(StopSignal(), busyTimeout: .seconds(1)), desk.request(.vacuum))
    let source = try Source.open(desk.source, request, watch)
    for isCommitting in [false, true] {
      let transaction = ReadTransaction(of: desk.source, maxWalGrowth: nil, looksForWriters: true)
      let image = "\(desk.spool)/\(isCommitting).sqlite"
      try makeImageFile(image)
      try copyByVacuum(source, into: image, request, transaction, watch) { _ in
        if isCommitting { #expect(Self.writeWithoutLocks(desk.source) == SQLITE_OK) }
      }
      #expect(transaction.lockWasPassed == isCommitting)
    }
  }

  @Test func `a check of the source beside such a commit does not count, and is told`() async throws {
    let desk = try desk()
    var request = desk.request(.vacuum)
    request.checksSource = true
    // So that the first report of that check is not held back.
    request.pagesPerStep = 100
    let commits = Locked(0)
    let snapshot = try await takeSnapshot(request) { [source = desk.source] progress in
      // The check of the copy knows how many pages there are.
      guard progress.stage == .checking, progress.pagesTotal == nil else { return }
      #expect(Self.writeWithoutLocks(source) == SQLITE_OK)
      commits.withLock { $0 += 1 }
    }
    #expect(commits.withLock { $0 } >= 2 && snapshot.lockWasPassed && snapshot.method == .vacuum)
    #expect(
      snapshot.sourceCheck == .notCheckable("it was written to in spite of SQLite's lock while it was checked"))
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a writer that heeds the lock waits, and nothing is told`(_ method: SnapshotMethod) async throws {
    let desk = try desk()
    var request = desk.request(method)
    request.pagesPerStep = 100
    let refused = Locked(0)
    let snapshot = try await takeSnapshot(request) { [source = desk.source] progress in
      guard progress.stage == .copying, progress.pagesDone > 0 else { return }
      let writer = try TestDatabase(source)
      sqlite3_busy_timeout(writer.handle, 0)
      if (try? writer.run(Self.commit)) == nil { refused.withLock { $0 += 1 } }
    }
    #expect(refused.withLock { $0 } > 0 && !snapshot.lockWasPassed && snapshot.check == .ok)
    try TestDatabase(desk.source).run(Self.commit)
    #expect(try await !desk.take(method).lockWasPassed)
  }
}
