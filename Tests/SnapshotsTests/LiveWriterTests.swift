import FoundationEssentials
import Glibc
import Snapshots
import Storage
import TestKit
import Testing

/// Another process commits all the time. Every copy must be one state that it committed, by its own record.
@Suite(.serialized) struct LiveWriterTests {
  /// Each transaction number i sets all 1000 rows of `state` to i, adds row i to `history`, and removes an old row each
  /// third time; it says so before and after, in a file. It rests three times as long as it works: other tests want the
  /// cores, too.
  private static let writer = """
    import os, sqlite3, sys, time
    path, mode, record = sys.argv[1:4]
    c = sqlite3.connect(path, isolation_level=None, timeout=600)
    c.execute("PRAGMA journal_mode=" + mode)
    c.execute("PRAGMA synchronous=OFF")
    c.execute("CREATE TABLE state(k INTEGER PRIMARY KEY, n INT, pad BLOB)")
    c.execute("CREATE INDEX by_n ON state(n)")
    c.execute("CREATE TABLE history(n INTEGER PRIMARY KEY, pad BLOB)")
    c.execute("BEGIN")
    c.executemany("INSERT INTO state(n, pad) VALUES(0, ?)", ((os.urandom(4000),) for _ in range(1000)))
    c.execute("COMMIT")
    f = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    i = 0
    while True:
      i += 1
      began = time.monotonic()
      os.write(f, b"begins %d\\n" % i)
      c.execute("BEGIN IMMEDIATE")
      c.execute("UPDATE state SET n = ?", (i,))
      c.execute("INSERT INTO history VALUES(?, ?)", (i, os.urandom(700)))
      if i % 3 == 0: c.execute("DELETE FROM history WHERE n = ?", (i - 2,))
      c.execute("COMMIT")
      os.write(f, b"commits %d\\n" % i)
      time.sleep(min(0.2, 3 * (time.monotonic() - began)))
    """

  @Test(arguments: ["WAL", "DELETE", "PERSIST"], SnapshotMethod.allCases)
  func `a copy under a busy writer is one state that it committed`(_ mode: String, _ method: SnapshotMethod)
    async throws
  {
    let desk = try Desk()
    let record = desk.scratch.file("record")
    let writer = try Child.python(Self.writer, desk.source, mode, record)
    try #require(try await eventually { last("commits", record) >= 5 })

    for _ in 0..<2 {
      let committed = last("commits", record)
      let calls = Locked(0)
      let snapshot = try await takeSnapshot(desk.request(method)) { progress in
        guard progress.stage == .copying else { return }
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        // Long enough for the writer to come in between; not for long, as a -wal that is read grows without end.
        if call <= 20 { usleep(20_000) }
        // However slow the machine: the copy goes on only when the writer has, twice. Held up, it never would.
        guard mode == "WAL", call == (method == .pages ? 1 : 2) else { return }
        let before = last("begins", record)
        for _ in 0..<12_000 where last("begins", record) < before + 2 { usleep(5000) }
      }
      let begun = last("begins", record)
      let image = try TestDatabase(snapshot.path)
      let states = try image.rows("SELECT DISTINCT n FROM state")
      try #require(states.count == 1, "rows of several transactions: \(states)")
      let state = try image.number("SELECT n FROM state LIMIT 1")
      #expect(committed <= state && state <= begun)
      #expect(try image.number("SELECT max(n) FROM history") == state)
      #expect(try image.number("SELECT count(*) FROM history") == state - state / 3)
      #expect(snapshot.check == .ok && !snapshot.lockWasPassed)
      #expect(snapshot.method == method)
      if mode == "WAL" {
        #expect(begun >= committed + 2, "the writer must not be held up")
        #expect(snapshot.longestWriterStall == nil)
      } else {
        #expect(snapshot.longestWriterStall! > .milliseconds(20))
      }
    }
    writer.signal(SIGKILL)
    await writer.end()
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a -wal that grows too far ends the copy`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    let record = desk.scratch.file("record")
    let writer = try Child.python(Self.writer, desk.source, "WAL", record)
    try #require(try await eventually { last("commits", record) >= 5 })
    var request = desk.request(method)
    request.maxWalGrowth = 1 << 20
    let wal = desk.source + "-wal"
    // A held reader keeps the -wal from being used anew: it grows as long as this waits. (The first call of `vacuum` comes
    // before its transaction.)
    let calls = Locked(0)
    let letGrow: @Sendable (SnapshotProgress) -> Void = { progress in
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      let before = size(wal)
      guard progress.stage == .copying, method == .pages ? call == 1 : (2...3).contains(call) else { return }
      for _ in 0..<12_000 where size(wal) < before + 2 << 20 { usleep(5000) }
    }
    let error = await #expect(throws: SnapshotError.self) { try await takeSnapshot(request, progress: letGrow) }
    #expect(error?.code == .walGrowth)
    #expect(try names(in: desk.spool).isEmpty)

    // Without a limit the growth is told.
    calls.withLock { $0 = 0 }
    let snapshot = try await takeSnapshot(desk.request(method), progress: letGrow)
    #expect(snapshot.walGrowth > 1 << 20)
    writer.signal(SIGKILL)
    await writer.end()
  }

  /// The number in the last line that begins with a word: one of the last two.
  private func last(_ word: String, _ record: String) -> Int {
    guard let end = try? fileBytes(record, last: 100) else { return 0 }
    let line = String(decoding: end, as: UTF8.self).split(separator: "\n").last { $0.hasPrefix(word + " ") }
    return line.flatMap { Int($0.dropFirst(word.count + 1)) } ?? 0
  }
}

func size(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : 0
}
