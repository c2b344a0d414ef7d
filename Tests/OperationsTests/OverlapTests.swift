import FoundationEssentials
import Glibc
import Operations
import Snapshots
import Storage
import TestKit
import Testing

/// The copy is sealed while it is still being written, and nothing of that shows.
@Suite(.serialized) struct OverlapTests {
  @Test func `a large vacuum that is sealed while it runs is the copy, byte for byte`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 72_000, pageSize: 4096)
    let (pushed, image) = try await overlapped(road, path, DatabaseSource.Method.vacuum, heldAt: 11 << 20)
    #expect(image.count > 64 << 20)
    #expect(try await restored(road) == image)
    #expect(pushed.version.method == "vacuum")
    // The digests are those of a plain push: there is nothing to do.
    let again = try await road.push(source(path))
    #expect(again.pushed.first?.unchanged == true && again.pushed.first?.version.id == pushed.version.id)
  }

  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `a cache of ten pages, that has to write everything twice`(_ method: DatabaseSource.Method) async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 16_000, pageSize: 1024, cachePages: 10, for: method)
    let (_, image) = try await overlapped(road, path, method, heldAt: 11 << 20)
    #expect(try await restored(road) == image)
    if method == .pages { #expect(try fileBytes(path) == image) }
  }

  @Test func `the key is asked for while the copy is taken, and a dry run stores nothing`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 12_000, pageSize: 4096)
    let before = road.store.content
    let (asked, isCopied, askedEarly) = (Locked(false), Locked(false), Locked(false))
    var push = road.overlapping
    push.take = { request, progress in
      let snapshot = try await takeSlowly(request, progress) { done in
        if done.bytesDone > 6 << 20 { try wait { asked.withLock { $0 } } }
      }
      isCopied.withLock { $0 = true }
      return snapshot
    }
    let target = TargetAccess(name: "memory", store: road.store) {
      askedEarly.withLock { $0 = !isCopied.withLock { $0 } }
      asked.withLock { $0 = true }
      return try await road.target.unlock()
    }
    var request = Push.Request(database: source(path), targets: [target])
    request.dryRun = true
    let outcome = try await push.run(request)
    #expect(askedEarly.withLock { $0 })
    #expect(outcome.pushed.first?.dryRun == true && (outcome.pushed.first?.version.bytesNew ?? 0) > 8 << 20)
    #expect(road.store.content == before)
  }

  @Test func `a copy that fails in the middle is the database's failure, and the next push succeeds`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 16_000, pageSize: 4096)
    var push = road.overlapping
    push.take = { request, progress in
      try await takeSlowly(request, progress) { done in
        guard done.bytesDone > 11 << 20 else { return }
        try wait { road.packs > 0 }
        throw SnapshotError(.walGrowth, "the -wal grew")
      }
    }
    let wrong = TargetAccess(name: "wrong", store: road.store, unlock: { .keyFile([UInt8](repeating: 4, count: 64)) })
    for targets in [[road.target], [wrong, road.target]] {
      let error = await #expect(throws: OperationError.self) {
        push.take = targets.count == 1 ? push.take : failing
        _ = try await push.run(Push.Request(database: source(path), targets: targets))
      }
      #expect(error?.kind == .sourceUnreadable && error?.code == "walGrowth")
      #expect(road.versions == 0 && road.packs > 0)
      #expect(road.files(in: "\(road.world.stateFolder)/spool") == ["lock"])
    }
    _ = try await road.push(source(path))
    let copy = road.scratch.file("copy.db")
    _ = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(copy))
    #expect(try await dump(copy) == dump(path))
  }

  /// Fails in the middle without waiting for anything.
  private var failing: Push.Take {
    { request, progress in
      try await takeSlowly(request, progress) { done in
        if done.bytesDone > 4 << 20 { throw SnapshotError(.walGrowth, "the -wal grew") }
      }
    }
  }

  @Test func `cancelling in the middle ends copy and sealing`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 16_000, pageSize: 4096)
    let isCancelled = Locked(false)
    var push = road.overlapping
    push.take = { request, progress in
      try await takeSlowly(request, progress) { done in
        if done.bytesDone > 11 << 20 { try wait { isCancelled.withLock { $0 } } }
      }
    }
    let running = Task { [push] in
      try await push.run(Push.Request(database: source(path), targets: [road.target]))
    }
    try #require(try await eventually { road.packs > 0 })
    running.cancel()
    isCancelled.withLock { $0 = true }
    let error = await #expect(throws: OperationError.self) { try await running.value }
    #expect(error?.kind == .cancelled)
    #expect(road.versions == 0)
    #expect(road.files(in: "\(road.world.stateFolder)/spool") == ["lock"])
  }

  @Test func `a copy that takes another road in the middle is pushed as what it became`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 16_000, pageSize: 4096)
    var push = road.overlapping
    push.take = { request, progress in
      struct Enough: Error {}
      do {
        return try await takeSlowly(request, progress) { done in
          guard done.bytesDone > 11 << 20 else { return }
          try wait { road.packs > 0 }
          throw Enough()
        }
      } catch is Enough {
        var pages = request
        pages.method = .pages
        var snapshot = try await takeSnapshot(pages, progress: progress)
        snapshot.fallback = "of the tester's making"
        return snapshot
      }
    }
    let outcome = try await push.run(Push.Request(database: source(path), targets: [road.target]))
    #expect(outcome.pushed.first?.version.method == "pages" && outcome.failures.isEmpty)
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("instead of vacuumed") })
    #expect(try await restored(road) == fileBytes(path))
  }

  @Test(arguments: [false, true])
  func `a reason of the moment to copy page by page does not decide how the next copy is made`(
    _ isPassing: Bool
  ) async throws {
    let road = try await Road()
    let database = source(try road.database(rows: 20))
    let asked = Locked<[SnapshotMethod]>([])
    var push = Push(road.world)
    push.take = { request, progress in
      asked.withLock { $0.append(request.method) }
      var pages = request
      pages.method = .pages
      var snapshot = try await takeSnapshot(pages, progress: progress)
      snapshot.fallback = "of the tester's making"
      snapshot.fallbackIsPassing = isPassing
      return snapshot
    }
    for _ in 0..<2 {
      _ = try await push.run(Push.Request(database: database, targets: [road.target]))
      try await road.change(database.path)
    }
    #expect(asked.withLock { $0 } == [.vacuum, isPassing ? .vacuum : .pages])
  }

  @Test func `a first target that fails does not stop the second`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 12_000, pageSize: 4096)
    let wrong = TargetAccess(name: "wrong", store: road.store, unlock: { .keyFile([UInt8](repeating: 4, count: 64)) })
    let outcome = try await road.overlapping.run(
      Push.Request(database: source(path), targets: [wrong, road.target]))
    #expect(outcome.failures.map(\.error.kind) == [.wrongKey])
    #expect(outcome.pushed.map(\.version.target) == ["memory"])
  }

  @Test func `damage that the check finds is pushed as exact pages`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 12_000, pageSize: 4096)
    var push = road.overlapping
    push.check = { _ in .damaged(["of the tester's making"]) }
    let outcome = try await push.run(Push.Request(database: source(path), targets: [road.target]))
    #expect(outcome.pushed.first?.version.method == "pages" && road.versions == 1)
    #expect(try await restored(road) == fileBytes(path))
  }

  @Test func `a copy is checked, counted and sealed while its source is still being checked`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 16_000, pageSize: 4096)
    let image = Locked<[UInt8]>([])
    let isCounted = Locked(false)
    var push = road.overlapping
    push.take = { request, progress in
      try await takeSlowly(
        request, progress,
        beforeTheSourceIsChecked: {
          try wait { isCounted.withLock { $0 } && image.withLock { !$0.isEmpty } && road.packs > 1 }
        })
    }
    push.check = { path in
      image.withLock { $0 = (try? fileBytes(path)) ?? [] }
      return try await checkImage(at: path)
    }
    push.count = { path in
      isCounted.withLock { $0 = true }
      return try await countRows(at: path)
    }
    let outcome = try await push.run(Push.Request(database: source(path), targets: [road.target]))
    #expect(outcome.failures.isEmpty && outcome.damage == nil)
    #expect(outcome.pushed.first?.version.method == "vacuum")
    #expect(try await restored(road) == image.withLock { $0 })
  }

  @Test func `damage found in a source whose copy was sealed meanwhile is pushed as exact pages`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 16_000, pageSize: 4096)
    try HiddenDamage.lostChild.inflict(on: path)
    let checked = Locked<[String]>([])
    // All of the copy is sealed when it turns out to be worth nothing.
    let sealed = Sealed()
    let length = Locked(Int.max)
    var push = road.overlapping(telling: sealed)
    push.take = { request, progress in
      try await takeSlowly(
        request, progress,
        beforeTheSourceIsChecked: {
          try wait { checked.withLock { !$0.isEmpty } && sealed.bytes >= length.withLock { $0 } }
        })
    }
    push.check = { path in
      let size = try fileBytes(path).count
      length.withLock { $0 = min($0, size) }
      let outcome = try await checkImage(at: path)
      checked.withLock { $0.append("\(outcome)") }
      return outcome
    }
    let outcome = try await push.run(Push.Request(database: source(path), targets: [road.target]))
    #expect(outcome.damage?.message.contains("found in the live database itself") == true)
    let version = try #require(outcome.pushed.first?.version)
    #expect(version.damaged && version.method == "pages" && road.versions == 1)
    // The vacuumed copy was sound.
    #expect(checked.withLock { $0.first } == "ok")
    #expect(try await restored(road) == fileBytes(path))
  }

  @Test func `a copy found sound beside a source whose pages cannot be had is flagged with its damage`() async throws {
    let road = try await Road()
    let path = try walDatabase(road, rows: 16_000, pageSize: 4096)
    let isChecked = Locked(false)
    var push = road.overlapping
    push.take = { request, progress in
      var snapshot = try await takeSlowly(
        request, progress,
        beforeTheSourceIsChecked: {
          try wait { isChecked.withLock { $0 } }
        })
      snapshot.sourceCheck = .damaged(["of the tester's making"])
      snapshot.check = snapshot.sourceCheck
      return snapshot
    }
    push.check = { path in
      defer { isChecked.withLock { $0 = true } }
      return try await checkImage(at: path)
    }
    let outcome = try await push.run(Push.Request(database: source(path), targets: [road.target]))
    #expect(outcome.damage?.code == "sourceDamaged")
    #expect(outcome.pushed.first?.version.damaged == true && outcome.pushed.first?.version.method == "vacuum")
  }

  // MARK: -

  private func source(_ path: String, _ method: DatabaseSource.Method = .vacuum) -> DatabaseSource {
    DatabaseSource(name: "app", path: path, method: method, compressionLevel: 0, delta: false)
  }

  /// Pushes with a copy that is held up until a pack of it is stored.
  /// - Returns: also the finished copy.
  private func overlapped(
    _ road: Road, _ path: String, _ method: DatabaseSource.Method, heldAt bytes: Int
  ) async throws -> (Push.Pushed, [UInt8]) {
    let image = Locked<[UInt8]>([])
    var push = road.overlapping
    push.take = { request, progress in
      try await takeSlowly(request, progress) { done in
        if done.bytesDone > bytes { try wait { road.packs > 0 } }
      }
    }
    push.check = { path in
      image.withLock { $0 = (try? fileBytes(path)) ?? [] }
      return try await checkImage(at: path)
    }
    let outcome = try await push.run(Push.Request(database: source(path, method), targets: [road.target]))
    #expect(outcome.failures.isEmpty && outcome.damage == nil)
    return (try #require(outcome.pushed.first), image.withLock { $0 })
  }

  private func restored(_ road: Road) async throws -> [UInt8] {
    let copy = road.scratch.file("restored.db")
    _ = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(copy))
    return try fileBytes(copy)
  }

  /// A database in WAL mode, with an index, rows on several pages and, where it will be vacuumed, holes.
  private func walDatabase(
    _ road: Road, rows: Int, pageSize: Int, cachePages: Int = 100, for method: DatabaseSource.Method = .vacuum
  ) throws -> String {
    let path = road.scratch.file("app.db")
    let database = try TestDatabase(path)
    try database.run(
      """
      PRAGMA page_size=\(pageSize); PRAGMA journal_mode=WAL; PRAGMA default_cache_size=\(cachePages);
      CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, b BLOB); CREATE INDEX k ON t(k);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO t(k, b) SELECT hex(randomblob(12)), randomblob(CASE WHEN i % 100 = 0 THEN 9000 ELSE 800 END) FROM n;
      UPDATE t SET b = randomblob(850) WHERE id % 7 = 0;
      \(method == .pages ? "VACUUM" : "");
      PRAGMA wal_checkpoint(TRUNCATE);
      """)
    database.close()
    return path
  }
}

extension Road {
  /// Pushes that begin to seal as early as can be.
  fileprivate var overlapping: Push { overlapping(telling: notices) }

  fileprivate func overlapping(telling reporter: any Reporter) -> Push {
    var world = world
    world.reporter = reporter
    var push = Push(world)
    push.overlap.least = 1 << 20
    push.overlap.margin = 1 << 20
    return push
  }

  fileprivate var packs: Int { store.content.keys.count { $0.text.hasPrefix("packs/") } }
  fileprivate var versions: Int { store.content.keys.count { $0.text.hasPrefix("versions/") } }
}

/// Remembers how much a push has sealed.
private final class Sealed: Reporter {
  private let done = Locked(0)
  var bytes: Int { done.withLock { $0 } }
  func progress(_ progress: Operations.Progress) {
    if progress.stage == .sealing { done.withLock { $0 = max($0, progress.bytesDone) } }
  }
  func notice(_ text: String) {}
  func detail(_ text: String) {}
}

/// Takes a snapshot that tells how far it is about every millisecond of its own work, for the first 12 MiB.
private func takeSlowly(
  _ request: SnapshotRequest, _ progress: @escaping @Sendable (SnapshotProgress) throws -> Void,
  _ each: @escaping @Sendable (SnapshotProgress) throws -> Void
) async throws -> Snapshot {
  try await takeSnapshot(request) { done in
    try progress(done)
    guard done.stage == .copying else { return }
    try each(done)
    // Progress is told every 20 ms, and this time counts.
    if done.bytesDone < 12 << 20 { usleep(21_000) }
  }
}

/// Takes a snapshot as slowly, and holds it up when the copy is complete and its source about to be checked.
private func takeSlowly(
  _ request: SnapshotRequest, _ progress: @escaping @Sendable (SnapshotProgress) throws -> Void,
  beforeTheSourceIsChecked hold: @escaping @Sendable () throws -> Void
) async throws -> Snapshot {
  let isHeld = Locked(false)
  let watched: @Sendable (SnapshotProgress) throws -> Void = { done in
    try progress(done)
    guard done.complete != nil else { return }
    isHeld.withLock { $0 = true }
    try hold()
  }
  let snapshot = try await takeSlowly(request, watched) { _ in }
  guard isHeld.withLock({ $0 }) else { throw TooLate() }
  return snapshot
}

/// Holds a thread of its own up until something is so.
/// - Throws: when it is not so after ten minutes: others may have the machine.
private func wait(_ isSo: () -> Bool) throws {
  for _ in 0..<120_000 {
    if isSo() { return }
    usleep(5000)
  }
  throw TooLate()
}

private struct TooLate: Error {}
