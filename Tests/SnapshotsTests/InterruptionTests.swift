import FoundationEssentials
import Glibc
import Snapshots
import Storage
import TestKit
import Testing

/// Cancelled, aborted, killed, locked out: the source is untouched and nothing stays in the spool.
@Suite struct InterruptionTests {
  struct Enough: Error, Equatable {}

  /// Some 25 MB, so that a copy takes a while.
  private func largeDesk(wal: Bool = false) throws -> Desk {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run(
      """
      PRAGMA synchronous=OFF; PRAGMA journal_mode=\(wal ? "WAL" : "DELETE");
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB); CREATE INDEX by_a ON t(a);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO t(a, b) SELECT hex(randomblob(20)), randomblob(900) FROM n;
      """)
    if wal { database.closeKeepingWal() } else { database.close() }
    return desk
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `cancelling ends the work within moments`(_ method: SnapshotMethod) async throws {
    let desk = try largeDesk()
    let before = try SourceBytes(desk.source)
    let (callsBefore, isCancelled, callsAfter) = (Locked(0), Locked(false), Locked(0))
    let task = Task {
      try await takeSnapshot(desk.request(method)) { _ in
        if isCancelled.withLock({ $0 }) { callsAfter.withLock { $0 += 1 } }
        callsBefore.withLock { $0 += 1 }
        while !isCancelled.withLock({ $0 }) { usleep(1000) }
      }
    }
    try #require(try await eventually { callsBefore.withLock { $0 } > 0 })
    task.cancel()
    isCancelled.withLock { $0 = true }
    let error = await #expect(throws: SnapshotError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(callsAfter.withLock { $0 } == 0, "the work went on after it was cancelled")
    #expect(try names(in: desk.spool).isEmpty)
    #expect(try SourceBytes(desk.source) == before)
  }

  @Test func `a task that was cancelled before does nothing`() async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await takeSnapshot(desk.request(.pages))
    }
    await #expect(throws: SnapshotError.self) { try await task.value }
    #expect(try names(in: desk.spool).isEmpty)
  }

  @Test(arguments: SnapshotMethod.allCases, [SnapshotProgress.Stage.copying, .checking])
  func `throwing from progress ends the work with that error`(
    _ method: SnapshotMethod, _ stage: SnapshotProgress.Stage
  ) async throws {
    let desk = try largeDesk()
    await #expect(throws: Enough()) {
      try await takeSnapshot(desk.request(method)) { progress in
        if progress.stage == stage { throw Enough() }
      }
    }
    #expect(try names(in: desk.spool).isEmpty)
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `once the copy is complete nobody can stop it`(_ method: SnapshotMethod) async throws {
    let desk = try largeDesk()
    let task = Task {
      try await takeSnapshot(desk.request(method)) { progress in
        guard progress.stage == .checking, progress.pagesDone == progress.pagesTotal else { return }
        withUnsafeCurrentTask { $0?.cancel() }
        throw Enough()
      }
    }
    #expect(try await task.value.check == .ok)
  }

  @Test func `progress counts pages up to their number`() async throws {
    let desk = try largeDesk()
    let seen = Locked<[SnapshotProgress]>([])
    let snapshot = try await takeSnapshot(desk.request(.pages)) { progress in seen.withLock { $0.append(progress) } }
    let copying = seen.withLock { $0 }.filter { $0.stage == .copying }
    #expect(
      copying.allSatisfy { $0.pagesTotal == snapshot.pageCount && $0.bytesDone == $0.pagesDone * snapshot.pageSize })
    #expect(copying.map(\.pagesDone) == copying.map(\.pagesDone).sorted())
    #expect(seen.withLock { $0.last?.pagesDone } == snapshot.pageCount)
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a lock is waited for, no longer than allowed`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let record = desk.scratch.file("record")
    let holder = try Child.python(
      """
      import os, sqlite3, sys, time
      c = sqlite3.connect(sys.argv[1], isolation_level=None)
      c.execute("BEGIN EXCLUSIVE")
      print("locked", flush=True)
      while not os.path.exists(sys.argv[2]): time.sleep(0.01)
      c.execute("UPDATE people SET age = 1000")
      c.execute("COMMIT")
      """, desk.source, desk.scratch.file("release"), output: record)
    try #require(try await eventually { size(record) > 0 })

    var impatient = desk.request(method)
    impatient.busyTimeout = .milliseconds(200)
    let began = ContinuousClock.now
    let error = try await desk.refusal(impatient)
    #expect(error?.code == .busy && error?.hint?.contains("busyTimeout") == true)
    #expect(error?.hint?.contains("locking_mode=EXCLUSIVE") == true)
    #expect(ContinuousClock.now - began > .milliseconds(200))

    var patient = desk.request(method)
    patient.busyTimeout = .seconds(300)
    let cancelled = Task { [patient] in try await takeSnapshot(patient) }
    try await Task.sleep(for: .milliseconds(100))
    cancelled.cancel()
    let cancellation = await #expect(throws: SnapshotError.self) { try await cancelled.value }
    #expect(cancellation?.code == .cancelled)

    let waiting = Task { [patient] in try await takeSnapshot(patient) }
    try await Task.sleep(for: .milliseconds(400))
    let released = milliseconds()
    let freed = ContinuousClock.now
    try writeFile(desk.scratch.file("release"), [])
    let snapshot = try await waiting.value
    let sinceFreed = ContinuousClock.now - freed
    await holder.end()
    #expect(try TestDatabase(snapshot.path).number("SELECT min(age) FROM people") == 1000)
    #expect(snapshot.takenAt >= released, "the time is when the lock was had, not when it was asked for")
    #expect(snapshot.longestWriterStall! < sinceFreed, "waiting for a lock keeps nobody waiting")
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `our own process keeps its locks on a database it has open`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let ours = try TestDatabase(desk.source)
    try ours.run("BEGIN IMMEDIATE; UPDATE people SET age = 0")
    _ = try identify(desk.source)
    _ = try SourceSignature.read(desk.source)
    _ = try await desk.take(method)
    let other = try Child.python(
      """
      import sqlite3, sys
      try:
        sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0).execute("BEGIN IMMEDIATE")
      except sqlite3.OperationalError as e:
        sys.exit(5 if "locked" in str(e) else 1)
      """, desk.source)
    #expect(await other.end() == 5, "another process took the lock that this one holds")
    try ours.run("COMMIT")
  }

  @Test func `killed at any moment, the source is as it was, and the next start sweeps the spool`() async throws {
    for wal in [false, true] {
      let desk = try largeDesk(wal: wal)
      let before = try SourceBytes(desk.source)
      for method in SnapshotMethod.allCases {
        for microseconds in [500, 20_000, 50_000, 90_000] {
          await #expect(processExitsWith: .signal(SIGKILL)) {
            [
              source = desk.source as String, state = desk.spool as String, method = method.rawValue as String,
              microseconds = microseconds as Int
            ] in
            let spool = try Spool.open(in: state)
            let request = SnapshotRequest(
              source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool.path)
            // Killed by a timer, wherever the work is then.
            let started = Locked(false)
            Thread.start {
              while !started.withLock({ $0 }) { usleep(100) }
              usleep(UInt32(microseconds))
              kill(getpid(), SIGKILL)
            }
            started.withLock { $0 = true }
            while true { _ = try await takeSnapshot(request) }
          }
          #expect(try SourceBytes(desk.source) == before)
        }
      }
      #expect(try names(in: desk.spool + "/spool").count == 9, "eight spools of dead runs and the lock")
      #expect(Spool.sweep(in: desk.spool) == 8)
      #expect(try names(in: desk.spool + "/spool") == ["lock"])
      #expect(try await checkImage(at: desk.source) == .ok)
    }
  }

  @Test func `the copy is private from its first byte, whatever the umask`() async throws {
    let desk = try largeDesk()
    for method in SnapshotMethod.allCases {
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, state = desk.spool as String, method = method.rawValue as String] in
        umask(0)
        let spool = try Spool.open(in: state)
        #expect(mode(of: spool.path) == 0o700)
        let request = SnapshotRequest(
          source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool.path)
        let seen = Locked<Set<String>>([])
        _ = try await takeSnapshot(request) { _ in
          for name in try names(in: spool.path) {
            #expect(mode(of: "\(spool.path)/\(name)") == 0o600, "\(name)")
            seen.withLock { _ = $0.insert(String(name.suffix(8))) }
          }
        }
        #expect(seen.withLock { $0.contains { $0.hasSuffix(".sqlite") } })
        if request.method == .vacuum { #expect(seen.withLock { $0.contains("-journal") }) }
      }
    }
  }

  @Test func `a disk that refuses to write leaves nothing behind`() async throws {
    let desk = try largeDesk()
    for method in SnapshotMethod.allCases {
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String] in
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: 1 << 20, rlim_max: 1 << 20)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let error = await #expect(throws: SnapshotError.self) {
          try await takeSnapshot(
            SnapshotRequest(source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool))
        }
        #expect([.spool, .noSpace].contains(error?.code), "\(method): \(error?.message ?? "")")
        let left = try names(in: spool)
        #expect(left.isEmpty)
      }
    }
  }

  private func milliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// A bare thread, which no task's end can stop.
private enum Thread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  static func start(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { body in
        Unmanaged<Body>.fromOpaque(body!).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(Body(run)).toOpaque())
  }
}
