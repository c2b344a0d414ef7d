import Glibc
import Storage
import TestKit
import Testing

@testable import Snapshots

/// A vacuum leaves damage behind: the live database itself is asked where that is wanted.
@Suite struct CheckSourceTests {
  private func desk(wal: Bool = false, rows: Int = 500) throws -> Desk {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run(
      """
      PRAGMA journal_mode=\(wal ? "WAL" : "DELETE"); CREATE TABLE t(id INTEGER PRIMARY KEY, body BLOB);
      WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) INSERT INTO t(body) SELECT randomblob(300) FROM n;
      """)
    database.close()
    return desk
  }

  @Test(arguments: HiddenDamage.allCases)
  func `damage that a vacuum hides is found in the source`(_ damage: HiddenDamage) async throws {
    let desk = try desk()
    try damage.inflict(on: desk.source)
    let before = try SourceBytes(desk.source)
    let hidden = try await desk.take(.vacuum)
    #expect(hidden.method == .vacuum && hidden.check == .ok && hidden.sourceCheck == nil)

    var request = desk.request(.vacuum)
    request.checksSource = true
    for check in [true, false] {
      request.check = check
      let found = try await takeSnapshot(request)
      #expect(found.method == .pages && found.fallback?.contains("the live database itself") == true)
      guard case .damaged(let findings) = found.check else {
        Issue.record("\(String(describing: found.check))")
        return
      }
      #expect(findings.first?.contains("the live database itself") == true)
      #expect(found.sourceCheck?.isDamaged == true && found.freePagesZeroed == 0)
      #expect(try fileBytes(found.path) == before.files[""])
    }
    #expect(try SourceBytes(desk.source) == before)
  }

  @Test func `where the exact pages of a damaged database have no room its vacuumed copy stays`() async throws {
    let desk = try desk()
    try SQLite.run(
      "CREATE TABLE gone(x); INSERT INTO gone SELECT randomblob(4000) FROM t; DROP TABLE gone", on: desk.source)
    try HiddenDamage.lostChild.inflict(on: desk.source)
    await #expect(processExitsWith: .success) {
      [source = desk.source as String, spool = desk.spool as String] in
      // Of the file's pages most are free: what a vacuum writes of them is shorter than this, they are not.
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 1 << 20, rlim_max: 1 << 20)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      var request = SnapshotRequest(source: source, method: .vacuum, spoolFolder: spool)
      request.checksSource = true
      for check in [true, false] {
        request.check = check
        let snapshot = try await takeSnapshot(request)
        #expect(snapshot.method == .vacuum && snapshot.fallback == nil)
        guard case .damaged(let findings) = snapshot.check else {
          Issue.record("\(String(describing: snapshot.check))")
          return
        }
        #expect(findings.first?.contains("found in the live database itself") == true)
        #expect(findings.first?.contains("only what a vacuum reaches could be copied") == true)
        #expect(try names(in: spool) == [String(snapshot.path.dropFirst(spool.utf8.count + 1))])
        #expect(try quickCheck(snapshot.path, Watch(StopSignal(), busyTimeout: .seconds(1))) == .ok)
        unlink(snapshot.path)
      }
    }
  }

  @Test func `who has enough of the exact pages leaves no copy behind`() async throws {
    struct Enough: Error {}
    let desk = try desk()
    try HiddenDamage.lostChild.inflict(on: desk.source)
    var request = desk.request(.vacuum)
    request.checksSource = true
    let images = Locked<Set<String>>([])
    await #expect(throws: Enough.self) {
      try await takeSnapshot(request) { [spool = desk.spool] _ in
        let found = try names(in: spool).filter { $0.hasSuffix(".sqlite") }
        let seen = images.withLock {
          $0.formUnion(found)
          return $0.count
        }
        if seen > 1 { throw Enough() }
      }
    }
    #expect(images.withLock { $0.count } == 2)
    #expect(try names(in: desk.spool).isEmpty)
  }

  @Test(arguments: [SampleDatabase.rollback, .walClosed, .walWithContent, .checkConstraints, .freePages, .fts5])
  func `a sound source is vacuumed, and left as it was`(_ kind: SampleDatabase) async throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    let before = try SourceBytes(desk.source)
    var request = desk.request(.vacuum)
    request.checksSource = true
    let snapshot = try await takeSnapshot(request)
    #expect(snapshot.method == .vacuum && snapshot.check == .ok && snapshot.sourceCheck == .ok)
    #expect((snapshot.longestWriterStall == nil) == kind.isWAL)
    #expect(try SourceSignature.read(desk.source) == snapshot.source, "the next push sees that nothing changed")
    #expect(try SourceBytes(desk.source) == before)
  }

  @Test func `pages are not checked twice`() async throws {
    let desk = try desk()
    var request = desk.request(.pages)
    request.checksSource = true
    let snapshot = try await takeSnapshot(request)
    #expect(snapshot.check == .ok && snapshot.sourceCheck == nil)
  }

  @Test func `a source that stays locked is not damaged`() throws {
    let desk = try desk()
    let watch = Watch(StopSignal(), busyTimeout: .milliseconds(50))
    let source = try Source.open(desk.source, desk.request(.vacuum), watch)
    let writer = try TestDatabase(desk.source)
    try writer.run("BEGIN EXCLUSIVE")
    let locked = try source.checkItself(ReadTransaction(of: desk.source, maxWalGrowth: nil), watch) {}
    guard case .notCheckable(let why) = locked else {
      Issue.record("\(locked)")
      return
    }
    #expect(why.contains("stayed locked"))
    try writer.run("COMMIT")
    writer.close()
    let free = try source.checkItself(ReadTransaction(of: desk.source, maxWalGrowth: nil), watch) {}
    #expect(free == .ok)
  }

  @Test func `a -wal that grows too far ends the check and not the copy`() throws {
    let desk = try desk(wal: true, rows: 20_000)
    let watch = Watch(StopSignal(), busyTimeout: .seconds(1))
    let source = try Source.open(desk.source, desk.request(.vacuum), watch)
    let writer = try TestDatabase(desk.source)
    let outcome = try source.checkItself(ReadTransaction(of: desk.source, maxWalGrowth: 1 << 16), watch) {
      try writer.run("INSERT INTO t(body) VALUES (randomblob(100000))")
    }
    writer.close()
    guard case .notCheckable(let why) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(why.contains("grew by"))
    #expect(watch.refusal == nil && watch.goesOn())
  }

  @Test func `who is cancelled, or has enough, ends the check`() throws {
    struct Enough: Error {}
    let desk = try desk(rows: 20_000)
    let stop = StopSignal()
    let watch = Watch(stop, busyTimeout: .seconds(1))
    let source = try Source.open(desk.source, desk.request(.vacuum), watch)
    #expect(throws: Enough.self) {
      try source.checkItself(ReadTransaction(of: desk.source, maxWalGrowth: nil), watch) { throw Enough() }
    }
    let error = #expect(throws: SnapshotError.self) {
      try source.checkItself(ReadTransaction(of: desk.source, maxWalGrowth: nil), watch) { stop.raise() }
    }
    #expect(error?.code == .cancelled)
  }
}
