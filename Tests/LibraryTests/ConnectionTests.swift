import CSQLite
import Glibc
import Sealift
import TestKit
import Testing

/// Copies of connections that an application has opened.
@Suite struct ConnectionTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  private func take(
    _ database: TestDatabase, schema: String = "main", pagesPerStep: Int = 1000,
    busy: Snapshot.BusyPolicy = .fail, progress: (Snapshot.Progress) throws -> Void = { _ in }
  ) throws -> Snapshot {
    try Snapshot.take(
      of: .connection(database.handle, schema: schema), pagesPerStep: pagesPerStep, busy: busy, in: bench.folder,
      progress: progress)
  }

  @Test(arguments: ["delete", "wal"])
  func `a connection's database is copied, and the connection is as it was`(journal: String) throws {
    try bench.makeDatabase(journal: journal)
    let database = try TestDatabase(bench.database)
    let copy = try take(database)
    #expect(try words(copy.path) == [["t:old", "i:60"]])
    #expect(copy.check == .ok)
    #expect(copy.lockDoubt == nil)
    #expect(copy.method == .pages)
    #expect(sqlite3_get_autocommit(database.handle) != 0)
    #expect(sqlite3_txn_state(database.handle, nil) == SQLITE_TXN_NONE)
    try database.run("INSERT INTO t(word) VALUES ('later')")
    #expect(try database.text("PRAGMA journal_mode") == journal)
    #expect(try TestDatabase(copy.path).text("PRAGMA integrity_check") == "ok")
  }

  @Test func `a database in memory is copied, and so is an attached one`() throws {
    let database = try TestDatabase(":memory:")
    try database.run("CREATE TABLE t(word TEXT); INSERT INTO t VALUES ('fleeting'), ('fleeting')")
    let fleeting = try take(database)
    #expect(try words(fleeting.path) == [["t:fleeting", "i:2"]])
    try bench.makeDatabase()
    try database.run("ATTACH '\(bench.database)' AS \"other one\"")
    let attached = try take(database, schema: "other one")
    #expect(try words(attached.path) == [["t:old", "i:60"]])
    let error = #expect(throws: SealiftError.self) { try take(database, schema: "nothing") }
    #expect(error?.kind == .usage)
    #expect(error?.message.contains("nothing") == true)
    #expect(try bench.copiesLeft().count == 2)
  }

  @Test func `an empty database in memory is a database too`() throws {
    let copy = try take(try TestDatabase(":memory:"))
    #expect(copy.pageCount == 1)
    #expect(try TestDatabase(copy.path).number("SELECT count(*) FROM sqlite_schema") == 0)
  }

  @Test func `what others commit meanwhile is not in the copy, and does not make it begin again`() throws {
    try bench.makeDatabase(rows: 200, journal: "wal")
    let database = try TestDatabase(bench.database)
    let other = try TestDatabase(bench.database)
    var steps: [Int] = []
    let copy = try take(database, pagesPerStep: 10) { progress in
      guard progress.stage == .copying else { return }
      steps.append(progress.pagesDone)
      // One that begins again does so for ever.
      if steps.count > 100 { throw Enough() }
      try other.run("UPDATE t SET word = 'new', body = randomblob(3500) WHERE id % 7 = 0")
    }
    #expect(try words(copy.path) == [["t:old", "i:200"]])
    #expect(steps == Array(stride(from: 0, to: copy.pageCount, by: 10)))
    #expect(try words(bench.database).count == 2)
  }

  @Test func `a transaction that reads is copied as it reads`() throws {
    try bench.makeDatabase(journal: "wal")
    let database = try TestDatabase(bench.database)
    try database.run("BEGIN; SELECT count(*) FROM t")
    try TestDatabase(bench.database).run("DELETE FROM t")
    let copy = try take(database)
    #expect(try words(copy.path) == [["t:old", "i:60"]])
    #expect(sqlite3_get_autocommit(database.handle) == 0)
    try database.run("COMMIT")
    #expect(try database.number("SELECT count(*) FROM t") == 0)
  }

  @Test func `what may still be rolled back is not copied`() throws {
    try bench.makeDatabase()
    let database = try TestDatabase(bench.database)
    try database.run("BEGIN; DELETE FROM t")
    let error = #expect(throws: SealiftError.self) { try take(database) }
    #expect(error?.kind == .usage)
    #expect(error?.code == "connection")
    #expect(try bench.copiesLeft().isEmpty)
    try database.run("ROLLBACK")
    #expect(try database.number("SELECT count(*) FROM t") == 60)
  }

  @Test func `deleted rows are not carried along on free pages`() throws {
    try bench.makeDatabase(rows: 10)
    let database = try TestDatabase(bench.database)
    try database.run(
      "PRAGMA secure_delete=OFF; CREATE TABLE gone(x); INSERT INTO gone VALUES (zeroblob(9000) || 'the secret word')")
    try database.run("DROP TABLE gone")
    let secret = Array("the secret word".utf8)
    #expect(try fileBytes(bench.database).contains(secret))
    let copy = try take(database)
    #expect(try !fileBytes(copy.path).contains(secret))
  }

  @Test func `throwing aborts, and is ignored once the copy is complete`() throws {
    try bench.makeDatabase()
    let database = try TestDatabase(bench.database)
    for stage in [Snapshot.Progress.Stage.copying, .checking] {
      #expect(throws: Enough()) {
        try take(database, pagesPerStep: 10) { progress in
          if progress.stage == stage, progress.pagesDone < progress.pagesTotal ?? 1 { throw Enough() }
        }
      }
      #expect(try bench.copiesLeft().isEmpty)
      #expect(sqlite3_txn_state(database.handle, nil) == SQLITE_TXN_NONE)
    }
    var told = 0
    let copy = try take(database) { progress in
      guard progress.stage == .checking, progress.pagesDone == progress.pagesTotal else { return }
      told += 1
      throw Enough()
    }
    #expect(told == 1)
    #expect(try words(copy.path) == [["t:old", "i:60"]])
  }

  @Test func `a cancelled task copies nothing more`() async throws {
    try bench.makeDatabase()
    await #expect(throws: CancellationError.self) {
      try await Fuse<Snapshot>().run { [bench] fuse in
        let database = try TestDatabase(bench.database)
        return try Snapshot.take(of: .connection(database.handle), pagesPerStep: 5, in: bench.folder) { _ in fuse.blow()
        }
      }
    }
    #expect(try bench.copiesLeft().isEmpty)
  }

  @Test func `a lock of somebody else is waited for, or not`() throws {
    try bench.makeDatabase()
    let other = try TestDatabase(bench.database)
    try other.run("BEGIN EXCLUSIVE")
    let database = try TestDatabase(bench.database)
    sqlite3_busy_timeout(database.handle, 0)
    let error = #expect(throws: SealiftError.self) { try take(database, busy: .fail) }
    #expect(error?.code == "busy")
    #expect(try bench.copiesLeft().isEmpty)
    let release = Thread {
      usleep(20_000); try? other.run("COMMIT")
    }
    #expect(try take(database, busy: .retry(upTo: .seconds(600))).check == .ok)
    release.join()
  }

  @Test func `a closed connection is refused`() {
    let error = #expect(throws: SealiftError.self) { try Snapshot.take(of: .connection(nil), in: bench.folder) }
    #expect(error?.code == "connection")
    #expect(error?.hint != nil)
  }

  /// Another copy of the library, with memory of its own, as a program has that brings an SQLite along.
  @Test func `a connection of another SQLite library is refused without being touched`() throws {
    let foreign = try ForeignSQLite(in: bench.scratch)
    let handle = try foreign.open()
    defer { foreign.close(handle) }
    let taken = #expect(throws: SealiftError.self) { try Snapshot.take(of: .connection(handle), in: bench.folder) }
    #expect(taken?.code == "connection")
    #expect(taken?.message.contains(String(cString: sqlite3_sourceid())) == true)
    try bench.makeDatabase()
    let restored = #expect(throws: SealiftError.self) {
      try Snapshot.restore(bench.database, into: .connection(handle))
    }
    #expect(restored?.code == "connection")
    #expect(try bench.copiesLeft().isEmpty)
  }
}

/// The system's library once more, loaded from a file of its own, apart from the one that the process is linked with.
private struct ForeignSQLite {
  private typealias Open =
    @convention(c) (UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>?) -> Int32
  private typealias Close = @convention(c) (OpaquePointer?) -> Int32
  private let library: UnsafeMutableRawPointer

  init(in scratch: Scratch) throws {
    let path = try #require(Self.mappedFiles().first { $0.contains("/libsqlite3.so") })
    try writeFile(scratch.file("libforeign.so"), fileBytes(path))
    let deepBind: Int32 = 8
    library = try #require(dlopen(scratch.file("libforeign.so"), RTLD_NOW | RTLD_LOCAL | deepBind))
  }

  /// Says of itself that it has no bytes, so that it is read to its end.
  private static func mappedFiles() -> [String] {
    let file = Glibc.open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
    defer { Glibc.close(file) }
    var text: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(file, &part, part.count), count > 0 { text += part[..<count] }
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    return lines.compactMap { $0.split(separator: " ").last.map(String.init) }
  }

  func open() throws -> OpaquePointer {
    var handle: OpaquePointer?
    let open = unsafeBitCast(try #require(dlsym(library, "sqlite3_open")), to: Open.self)
    #expect(open(":memory:", &handle) == SQLITE_OK)
    return try #require(handle)
  }

  func close(_ handle: OpaquePointer) {
    guard let address = dlsym(library, "sqlite3_close") else { return }
    _ = unsafeBitCast(address, to: Close.self)(handle)
  }
}

/// A thread that can be waited for.
final class Thread {
  private var thread = pthread_t()

  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  init(_ run: @escaping () -> Void) {
    pthread_create(
      &thread, nil,
      { context in
        Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(Body(run)).toOpaque())
  }

  func join() { pthread_join(thread, nil) }
}
