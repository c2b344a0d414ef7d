import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Snapshots

/// A restore into a database that another process has open all the time: it sees the old content or the new one, whole.
@Suite struct LiveRestoreTests {
  /// Every row holds the same word, and `total` says how many rows there are: no other state is a whole one. It says "both"
  /// whenever the content has changed; what it sees then is the first of the next two, for the change back may come before it
  /// looks again.
  private static let application = """
    seen, latest, writes = set(), '', 0
    while True:
        try:
            db.execute('begin')
            rows = db.execute('select v, count(*) from t group by v').fetchall()
            (expected,) = db.execute('select n from total').fetchone()
            db.execute('commit')
            if len(rows) != 1 or rows[0][1] != expected:
                say(f'TORN {rows} {expected}')
            for state, count in (('old', 300), ('now', 1200)):
                if rows[0][0].startswith(state) and rows[0][1] == count: seen.add(state); latest = state
            db.execute('begin immediate')
            word = db.execute('select v from t limit 1').fetchone()[0].split('-')[0]
            db.execute('update t set v = ?', (f'{word}-{writes}',))
            db.execute('commit')
            writes += 1
            if writes == 3: say('ready')
            if 'old' in seen and 'now' in seen:
                say('both'); seen = {latest}
            time.sleep(0.005)
        except sqlite3.OperationalError as error:
            if db.in_transaction: db.execute('rollback')
            if 'locked' not in str(error): say(f'FAILED {error}')
    """

  private struct Live {
    let road: Road
    let path: String

    /// Pushes 300 old rows; there are 1200 of now afterwards, and so more pages.
    init(journal: String, pageSize: Int = 4096) async throws {
      road = try await Road()
      path = road.scratch.file("app.db")
      let database = try TestDatabase(path)
      _ = try database.rows("PRAGMA page_size=\(pageSize)")
      _ = try database.rows("PRAGMA journal_mode=\(journal)")
      try database.run("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, pad BLOB); CREATE TABLE total(n)")
      try database.run(RestoreRoad.fill(300, "old") + "; INSERT INTO total VALUES(300)")
      let outcome = try await road.push(DatabaseSource(name: "app", path: path))
      #expect(outcome.failures.isEmpty)
      try database.run(
        "DELETE FROM t; \(RestoreRoad.fill(1200, "now")); UPDATE total SET n = 1200; CREATE TABLE later(a)")
      database.close()
    }

    func run(_ change: (inout Restore.Request) -> Void = { _ in }) async throws -> Restore.Outcome {
      var request = Restore.Request(place: .file(path), mode: .live)
      change(&request)
      return try await Restore(Pull(road.world)).run(.latest(database: "app"), from: road.target, request)
    }

    func number(_ sql: String) throws -> Int { try TestDatabase(path).number(sql) }
  }

  @Test(arguments: ["wal", "delete", "truncate", "persist"])
  func `a process that never closes sees old or new whole, and goes on writing`(journal: String) async throws {
    let live = try await Live(journal: journal == "wal" ? "wal" : "delete")
    let setting = journal == "wal" ? "" : "db.execute('pragma journal_mode=\(journal)')\n"
    let application = try await Keeper(live.path, setting + Self.application, in: live.road.scratch)
    var inode = stat()
    #expect(stat(live.path, &inode) == 0)
    let outcome = try await live.run { $0.busyTimeout = .seconds(600) }
    var after = stat()
    #expect(stat(live.path, &after) == 0 && after.st_ino == inode.st_ino)
    #expect(outcome.mode == .live && outcome.moved.isEmpty)
    #expect(
      try await eventually { try application.said.contains("both") },
      "\((try? application.said) ?? [])")
    // Back to what it was, beside the same process, by the line that was printed.
    let copy = try #require(outcome.undoCopy)
    #expect(try TestDatabase(copy, readOnly: true).number("SELECT count(*) FROM t") == 1200)
    _ = try await RestoreRoad.shell(try #require(outcome.undo))
    #expect(
      try await eventually { try application.said.filter { $0 == "both" }.count == 2 },
      "\((try? application.said) ?? [])")
    #expect(try application.said.allSatisfy { !$0.hasPrefix("TORN") && !$0.hasPrefix("FAILED") })
    application.child.signal(SIGKILL)
    await application.child.end()
    #expect(try live.number("SELECT count(*) FROM t") == 1200)
    #expect(try TestDatabase(live.path).text("PRAGMA journal_mode") == (journal == "wal" ? "wal" : "delete"))
    #expect(try TestDatabase(live.path).text("PRAGMA integrity_check") == "ok")
  }

  @Test(arguments: [("wal", "delete"), ("delete", "wal")])
  func `the database keeps its journal mode, and gets shorter`(pushed: String, now: String) async throws {
    let live = try await Live(journal: pushed)
    do {
      let database = try TestDatabase(live.path)
      #expect(try database.text("PRAGMA journal_mode=\(now)") == now)
    }
    let pages = try live.number("PRAGMA page_count")
    let outcome = try await live.run { $0.keepsUndo = false }
    #expect(outcome.undo == nil && outcome.undoCopy == nil && !outcome.pulled.identical)
    let database = try TestDatabase(live.path)
    #expect(try database.text("PRAGMA journal_mode") == now)
    #expect(try database.number("PRAGMA page_count") < pages / 2)
    #expect(try database.number("SELECT count(*) FROM t") == 300)
    #expect(try database.rows("SELECT 1 FROM sqlite_schema WHERE name = 'later'").isEmpty)
    if now == "delete" {
      database.close()
      #expect(try fileBytes(live.path).count < pages / 2 * 4096)
    }
    #expect(live.road.files(in: live.road.scratch.path).allSatisfy { !$0.contains("before") })
  }

  @Test func `other pages are explained in WAL mode, and taken in rollback mode`() async throws {
    let live = try await Live(journal: "delete", pageSize: 1024)
    do {
      let database = try TestDatabase(live.path)
      try database.run("PRAGMA page_size=4096; VACUUM")
      _ = try database.rows("PRAGMA journal_mode=wal")
    }
    let error = await #expect(throws: OperationError.self) { try await live.run() }
    #expect(error?.code == "pageSize" && error?.message.contains("4096") == true)
    #expect(error?.hint?.contains("--replace") == true)
    #expect(try live.number("SELECT count(*) FROM t") == 1200)
    #expect(live.road.files(in: live.road.scratch.path).allSatisfy { !$0.contains("before") })
    do {
      let database = try TestDatabase(live.path)
      _ = try database.rows("PRAGMA journal_mode=delete")
    }
    _ = try await live.run()
    #expect(try live.number("PRAGMA page_size") == 1024)
    #expect(try live.number("SELECT count(*) FROM t") == 300)
  }

  @Test(arguments: ["wal", "delete"])
  func `texts in another encoding are refused, which nobody who has the database open could read`(journal: String)
    async throws
  {
    let live = try await Live(journal: journal)
    let other = live.road.scratch.file("utf16.db")
    do {
      let database = try TestDatabase(other)
      try database.run("PRAGMA encoding='UTF-16le'; CREATE TABLE t(a); INSERT INTO t VALUES ('x')")
    }
    let reader = try TestDatabase(live.path)
    let rows = try reader.number("SELECT count(*) FROM t")
    let pushed = try await live.road.push(DatabaseSource(name: "utf16", path: other)).pushed.first
    let version = try #require(pushed?.version)
    var request = Restore.Request(place: .file(live.path), mode: .live)
    request.keepsUndo = true
    let error = await #expect(throws: OperationError.self) {
      try await Restore(Pull(live.road.world)).run(.id(prefix: version.id), from: live.road.target, request)
    }
    #expect(error?.code == "encoding" && error?.kind == .usage && error?.hint?.contains("--replace") == true)
    #expect(try reader.number("SELECT count(*) FROM t") == rows)
    #expect(live.road.files(in: live.road.scratch.path).allSatisfy { !$0.contains("before") })
  }

  @Test(arguments: ["wal", "delete"]) func `what is cut short leaves the old content`(journal: String) async throws {
    let live = try await Live(journal: journal)
    let image = live.road.scratch.file("image.db")
    _ = try await Pull(live.road.world).run(.latest(database: "app"), from: live.road.target, to: .file(image))
    struct Stop: Error {}
    let restore = LiveRestore(image: image, database: live.path, undo: nil, busyTimeout: .seconds(5))
    await #expect(throws: Stop.self) {
      try await restore.run(undoKept: {}) { stage, done, _ in if stage == .writing, done > 0 { throw Stop() } }
    }
    #expect(try live.number("SELECT count(*) FROM t") == 1200)
    #expect(try TestDatabase(live.path).text("PRAGMA integrity_check") == "ok")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try await restore.run(undoKept: {}) { _, _, _ in }
    }
    let error = await #expect(throws: SnapshotError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(try live.number("SELECT count(*) FROM t") == 1200)
  }

  /// Half of the pages are written then, and another process reads and waits to write.
  @Test(arguments: ["wal", "delete"])
  func `a task that is cancelled in the middle of the transaction leaves the old content`(journal: String) async throws
  {
    let live = try await Live(journal: journal)
    let application = try await Keeper(live.path, Self.application, in: live.road.scratch)
    let held = Locked<Task<Restore.Outcome, any Error>?>(nil)
    var restore = Restore(Pull(live.road.world))
    restore.onLive = { moment in
      if moment == .writing { held.withLock { $0?.cancel() } }
    }
    let task = held.withLock { held in
      let task = Task { [restore, live] in
        try await restore.run(
          .latest(database: "app"), from: live.road.target, Restore.Request(place: .file(live.path), mode: .live))
      }
      held = task
      return task
    }
    let error = await #expect(throws: OperationError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
    #expect(try live.number("SELECT count(*) FROM t") >= 1200)
    #expect(try TestDatabase(live.path).text("PRAGMA integrity_check") == "ok")
    #expect(live.road.files(in: live.road.scratch.path).allSatisfy { !$0.contains("before") })
    application.child.signal(SIGKILL)
    await application.child.end()
    #expect(try application.said.allSatisfy { !$0.hasPrefix("FAILED") })
  }

  @Test func `what is written after the old content was copied is in the copy, or nothing happens`() async throws {
    for journal in ["wal", "delete"] {
      let live = try await Live(journal: journal)
      let image = live.road.scratch.file("image.db")
      _ = try await Pull(live.road.world).run(.latest(database: "app"), from: live.road.target, to: .file(image))
      let undo = try Self.undoFile(live)
      defer { close(undo.descriptor) }
      let path = live.path
      var restore = LiveRestore(image: image, database: path, undo: undo, busyTimeout: .seconds(5))
      let (gaps, kept) = (Counter(), Counter())
      // Somebody writes just when the copy is complete, and our lock is not taken yet.
      restore.betweenCopyAndLock = {
        guard gaps.add(1) <= 2 else { return }
        try SQLite.run("INSERT INTO later VALUES(1)", on: path)
      }
      _ = try await restore.run(undoKept: { _ = kept.add(1) }) { _, _, _ in }
      #expect(gaps.add(0) == 3 && kept.add(0) == 1)
      #expect(try TestDatabase(undo.path, readOnly: true).number("SELECT count(*) FROM later") == 2)
      #expect(try live.number("SELECT count(*) FROM t") == 300)
    }
  }

  private static func undoFile(_ live: Live) throws -> OwnFile {
    let path = live.road.scratch.file("undo.db")
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    return OwnFile(path: path, descriptor: descriptor)
  }

  /// Who may write in the database's folder may exchange every name there, at any time. A second name is what a link is where
  /// the system lets people make one for any file.
  @Test(arguments: [("wal", "link"), ("delete", "link"), ("delete", "second name"), ("delete", "database")])
  func `what takes the name of the copy of the old content is not written to`(journal: String, kind: String)
    async throws
  {
    let live = try await Live(journal: journal)
    let image = live.road.scratch.file("image.db")
    _ = try await Pull(live.road.world).run(.latest(database: "app"), from: live.road.target, to: .file(image))
    let undo = try Self.undoFile(live)
    defer { close(undo.descriptor) }
    let (path, foreign) = (live.path, live.road.scratch.file("authorized_keys"))
    try writeFile(foreign, Array("ssh-ed25519 AAAA root@host".utf8))
    if kind == "database" {
      try removeFile(foreign)
      try SQLite.run("CREATE TABLE theirs(a)", on: foreign)
    }
    let before = try fileBytes(foreign)
    var restore = LiveRestore(image: image, database: path, undo: undo, busyTimeout: .seconds(5))
    let (gaps, kept) = (Counter(), Counter())
    // Somebody writes as well, so that the old content is copied once more.
    restore.betweenCopyAndLock = {
      guard gaps.add(1) == 1 else { return }
      try SQLite.run("INSERT INTO later VALUES(1)", on: path)
      try #require(unlink(undo.path) == 0)
      try #require((kind == "link" ? symlink(foreign, undo.path) : link(foreign, undo.path)) == 0)
    }
    let error = await #expect(throws: SnapshotError.self) {
      try await restore.run(undoKept: { _ = kept.add(1) }) { _, _, _ in }
    }
    #expect(error?.code == .spool && error?.message.contains(undo.path) == true)
    #expect(gaps.add(0) == 1 && kept.add(0) == 0)
    #expect(try fileBytes(foreign) == before)
    #expect(try live.number("SELECT count(*) FROM t") == 1200)
  }

  /// The name is as it should be when it is looked at, and another one when SQLite opens it.
  @Test func `what SQLite has opened is asked, not what the name leads to`() throws {
    let scratch = try Scratch()
    let (own, foreign) = (scratch.file("own.db"), scratch.file("foreign.db"))
    try SQLite.run("CREATE TABLE theirs(a)", on: foreign)
    let theirs = try fileBytes(foreign)
    let descriptor = open(own, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    try #require(descriptor >= 0)
    var file = OwnFile(path: own, descriptor: descriptor)
    let pages = try file.openForCopy().integer("PRAGMA page_count")
    #expect(pages == 0)
    file.opening = { try #require(rename(foreign, own) == 0) }
    let error = #expect(throws: SnapshotError.self) { _ = try file.openForCopy() }
    #expect(error?.code == .spool)
    #expect(try fileBytes(own) == theirs)
  }

  /// Before our lock is taken, and when it is held: whoever locks by a folder does not heed it.
  @Test(arguments: ["wal", "delete"])
  func `nothing is written over whoever comes to lock by a folder`(journal: String) async throws {
    let live = try await Live(journal: journal)
    let image = live.road.scratch.file("image.db")
    _ = try await Pull(live.road.world).run(.latest(database: "app"), from: live.road.target, to: .file(image))
    let undo = try Self.undoFile(live)
    defer { close(undo.descriptor) }
    let path = live.path
    let come: @Sendable () -> Void = { _ = mkdir(path + ".lock", 0o777) }
    for isEarly in [true, false] {
      var restore = LiveRestore(image: image, database: path, undo: undo, busyTimeout: .seconds(5))
      let (kept, reached) = (Counter(), Counter())
      restore.betweenCopyAndLock = { if isEarly { come() } }
      restore.beforeCommit = { _ = reached.add(1) }
      let error = await #expect(throws: SnapshotError.self) {
        try await restore.run(
          undoKept: {
            _ = kept.add(1)
            come()
          }, progress: { _, _, _ in })
      }
      #expect(error?.code == .untrustedLocks)
      #expect(kept.add(0) == (isEarly ? 0 : 1) && reached.add(0) == 0)
      try #require(rmdir(path + ".lock") == 0)
      #expect(try live.number("SELECT count(*) FROM t") == 1200)
      #expect(try TestDatabase(path).text("PRAGMA integrity_check") == "ok")
    }
  }

  @Test func `an application's own folder may come while its database is written`() async throws {
    let live = try await Live(journal: "wal")
    let image = live.road.scratch.file("image.db")
    _ = try await Pull(live.road.world).run(.latest(database: "app"), from: live.road.target, to: .file(image))
    let undo = try Self.undoFile(live)
    defer { close(undo.descriptor) }
    var restore = LiveRestore(image: image, database: live.path, undo: undo, busyTimeout: .seconds(5))
    restore.isForeignLockFolder = { _ in true }
    restore.betweenCopyAndLock = { [path = live.path] in _ = mkdir(path + ".lock", 0o777) }
    _ = try await restore.run(undoKept: {}) { _, _, _ in }
    try #require(rmdir(live.path + ".lock") == 0)
    #expect(try live.number("SELECT count(*) FROM t") == 300)
  }

  @Test func `where a lock by a folder ends a live restore, no copy of the old content is left`() async throws {
    let live = try await Live(journal: "delete")
    var restore = Restore(Pull(live.road.world))
    restore.onLive = { [path = live.path] moment in
      if moment == .writing { mkdir(path + ".lock", 0o777) }
    }
    let error = await #expect(throws: OperationError.self) {
      try await restore.run(
        .latest(database: "app"), from: live.road.target, Restore.Request(place: .file(live.path), mode: .live))
    }
    #expect(error?.kind == .failed && error?.code == "untrustedLocks")
    #expect(try live.number("SELECT count(*) FROM t") == 1200)
    #expect(live.road.files(in: live.road.scratch.path).allSatisfy { !$0.contains("before") && !$0.hasPrefix(".") })
  }

  @Test func `a database that is locked for good is left alone, and said to be`() async throws {
    let live = try await Live(journal: "delete")
    let keeper = try await Keeper(
      live.path, "db.execute('begin exclusive'); say('ready'); time.sleep(600)", in: live.road.scratch)
    let error = await #expect(throws: OperationError.self) {
      try await live.run { $0.busyTimeout = .milliseconds(300) }
    }
    #expect(error?.code == "busy" && error?.hint?.hasPrefix("Nothing was changed.") == true)
    #expect(error?.hint?.contains("--busy-timeout") == true)
    keeper.child.signal(SIGKILL)
    await keeper.child.end()
    #expect(try live.number("SELECT count(*) FROM t") == 1200)
    #expect(live.road.files(in: live.road.scratch.path).allSatisfy { !$0.contains("before") && !$0.hasPrefix(".") })
  }

  @Test func `locks are waited for as long as pushes of that database do, unless it is said`() throws {
    let scratch = try Scratch()
    let (file, other, folder) = (scratch.file("app.db"), scratch.file("link.db"), scratch.file("folder"))
    let link = folder + "/app.db"
    try writeFile(file, [1])
    try #require(mkdir(folder, 0o700) == 0 && symlink(file, link) == 0 && symlink(file, other) == 0)
    var request = Restore.Request(place: .file(file), mode: .live)
    request.busyTimeouts = [link: .seconds(120), scratch.file("gone.db"): .seconds(1)]
    for path in [file, try Restore.realPlace(of: file), link, other] {
      #expect(request.patience(at: path) == .seconds(120), "\(path)")
    }
    #expect(request.patience(at: scratch.file("other.db")) == .seconds(30))
    // By its own name, whatever that leads to.
    request.busyTimeouts = [other: .seconds(60)]
    #expect(request.patience(at: other) == .seconds(60) && request.waiting(at: other).busyTimeout == .seconds(60))
    request.busyTimeout = .seconds(5)
    #expect(request.patience(at: file) == .seconds(5))
  }

  @Test func `no other database is looked for, as its disk may not answer`() {
    let known: [String: Duration] = [
      "/dead/other.db": .seconds(1), "/dead/more.db": .seconds(2), "/srv/b/app.db": .seconds(3),
      "/srv/a/app.db": .seconds(4), "/srv/home/app.db": .seconds(5),
    ]
    var asked: [String] = []
    func patience(at path: String) -> Duration? {
      asked = []
      return Restore.busyTimeout(at: path, of: known) { place in
        asked.append(place)
        return place == "/srv/home/app.db" ? "/disk/app.db" : place
      }
    }
    #expect(patience(at: "/dead/more.db") == .seconds(2))
    #expect(asked.isEmpty)
    #expect(patience(at: "/disk/app.db") == .seconds(5))
    #expect(asked == ["/disk/app.db", "/srv/a/app.db", "/srv/b/app.db", "/srv/home/app.db"])
    #expect(patience(at: "/disk/new.db") == nil)
    #expect(asked == ["/disk/new.db"])
  }

  @Test func `an empty file is no database, and the way is told that replaces it`() async throws {
    let live = try await Live(journal: "delete")
    try writeFile(live.path, [])
    let error = await #expect(throws: OperationError.self) { try await live.run() }
    #expect(error?.message.contains("\(live.path) is empty") == true, "\(String(describing: error))")
    #expect(error?.hint?.hasPrefix("Restore it with --replace.") == true, "\(String(describing: error))")
    let done = try await live.run { $0.mode = .replace }
    #expect(done.mode == .replace)
    #expect(try live.number("SELECT n FROM total") == 300)
  }

  @Test func `without a database there is nothing to restore into`() async throws {
    let live = try await Live(journal: "delete")
    try removeFile(live.path)
    let error = await #expect(throws: OperationError.self) { try await live.run() }
    #expect(error?.code == "nothingLive" && error?.kind == .usage)
    #expect(!FileManager.default.fileExists(atPath: live.path))
  }
}
