import Glibc
import Snapshots
import TestKit
import Testing

@Suite struct HotJournalTests {
  @Test(arguments: SnapshotMethod.allCases)
  func `a database left in mid-transaction is explained, not touched`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try await leaveHotJournal(desk)
    let before = try SourceBytes(desk.source)
    let error = try await desk.refusal(desk.request(method))
    #expect(error?.code == .hotJournal)
    #expect(error?.hint?.contains("--allow-recovery") == true)
    #expect(try SourceBytes(desk.source) == before)
    #expect(before.files["-journal"] != nil)
    Fault.sideFiles.met("source with a hot journal")
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `with recovery allowed, the unfinished transaction is undone`(_ method: SnapshotMethod) async throws {
    let untouched = try Desk()
    try SampleDatabase.rollback.make(at: untouched.source)
    let desk = try Desk()
    try await leaveHotJournal(desk)
    var request = desk.request(method)
    request.allowRecovery = true
    let snapshot = try await takeSnapshot(request)
    #expect(snapshot.check == .ok)
    #expect(try contents(ofImage: snapshot.path) == untouched.contents())
    #expect(snapshot.source == (try SourceSignature.read(desk.source)), "the signature is that of the recovered file")
    #expect(access(desk.source + "-journal", F_OK) != 0)
    Fault.sideFiles.met("source with a hot journal")
  }

  /// As a writer that is alive has it, and as one that was killed leaves it.
  @Test(arguments: SnapshotMethod.allCases)
  func `where a writer locks by a folder, nothing is undone`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try await leaveHotJournal(desk)
    try #require(mkdir(desk.source + ".lock", 0o777) == 0)
    let before = try SourceBytes(desk.source)
    for allowed in [false, true] {
      var request = desk.request(method)
      request.allowRecovery = allowed
      let error = try await desk.refusal(request)
      #expect(error?.code == .hotJournal && error?.message.contains(desk.source + ".lock") == true)
      #expect(error?.message.contains("died") == false && error?.hint == LockFolder.wayOut)
      #expect(try SourceBytes(desk.source) == before)
    }
    try #require(rmdir(desk.source + ".lock") == 0)
    var request = desk.request(method)
    request.allowRecovery = true
    #expect(try await takeSnapshot(request).check == .ok)
  }

  @Test func `where a writer locks by a folder, nothing is undone in order to write into its database`() async throws {
    let desk = try Desk()
    try await leaveHotJournal(desk)
    let image = desk.scratch.file("image.db")
    try SQLite.run("CREATE TABLE mine(a)", on: image)
    try #require(mkdir(desk.source + ".lock", 0o777) == 0)
    let before = try SourceBytes(desk.source)
    #expect(before.files["-journal"] != nil)
    let live = LiveRestore(image: image, database: desk.source, undo: nil, busyTimeout: .seconds(5))
    let error = await #expect(throws: SnapshotError.self) { try await live.run(undoKept: {}) { _, _, _ in } }
    #expect(error?.code == .untrustedLocks && error?.message.contains(desk.source + ".lock") == true)
    for dryRun in [true, false] {
      var tables = TableCopy(image: image, database: desk.source, tables: ["mine"], busyTimeout: .seconds(5))
      tables.dryRun = dryRun
      let error = await #expect(throws: SnapshotError.self) { try await tables.run() }
      #expect(error?.code == .untrustedLocks && error?.hint?.hasPrefix("Nothing was changed.") == true)
    }
    #expect(try SourceBytes(desk.source) == before)
    // Its writer was dead.
    try #require(rmdir(desk.source + ".lock") == 0)
    let outcome = try await TableCopy(
      image: image, database: desk.source, tables: ["mine"], busyTimeout: .seconds(5)
    ).run()
    #expect(outcome.tables.map(\.rows) == [0] && access(desk.source + "-journal", F_OK) != 0)
  }

  @Test func `on a file system that is mounted read-only nobody can help where it is`() {
    let error = SnapshotError(.hotJournal, "/srv/app.db was left behind", hint: "Allow recovery.")
    let told = error.heedingReadOnlyMount(of: "/srv/app.db", isReadOnly: true)
    #expect(told.code == .hotJournal && told.message == "\(error.message); its file system is mounted read-only")
    #expect(told.hint?.hasPrefix("Where its applications write to it elsewhere (a container's volume") == true)
    #expect(told.hint?.contains("nobody writes to, copy it with its -wal or -journal into a folder") == true)
    let busy = error.heedingReadOnlyMount(of: "/srv/app.db", isAtRest: false, isReadOnly: true)
    #expect(busy.hint?.hasSuffix("mount it writable here, or let the application open it once.") == true)
    let other = error.heedingReadOnlyMount(of: "/srv/app.db", isReadOnly: false)
    #expect(other.message == error.message && other.hint == error.hint)
  }

  @Test(arguments: [SampleDatabase.walWithContent, .walWithoutShm, .walWithStaleShm])
  func `recovery is for journals: a -wal is neither checkpointed nor removed`(_ kind: SampleDatabase) async throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    let before = try SourceBytes(desk.source)
    var request = desk.request(.vacuum)
    request.allowRecovery = true
    _ = try await takeSnapshot(request)
    #expect(try SourceBytes(desk.source) == before)
    #expect(before.files["-wal"]?.isEmpty == false)
    Fault.sideFiles.met("source with a -wal")
  }

  /// A journal alone is not hot: its header may be zeroed (journal_mode=PERSIST), or empty (TRUNCATE).
  @Test(arguments: ["PERSIST", "TRUNCATE"], SnapshotMethod.allCases)
  func `a journal that is finished with is no obstacle`(_ mode: String, _ method: SnapshotMethod) async throws {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run("PRAGMA journal_mode=\(mode); CREATE TABLE t(x); INSERT INTO t VALUES(1)")
    database.close()
    let before = try SourceBytes(desk.source)
    #expect(before.files["-journal"] != nil)
    let snapshot = try await desk.take(method)
    #expect(snapshot.check == .ok)
    #expect(try SourceBytes(desk.source) == before)
    Fault.sideFiles.met("source with a journal that is finished with")
  }
}
