import FoundationEssentials
import Operations
import Snapshots
import Storage
import TestKit
import Testing

/// The check runs beside the sealing, and nothing is acknowledged before it has ended.
@Suite struct LateCheckTests {
  private func versions(_ road: Road) -> [String] {
    road.store.content.keys.map(\.text).filter { $0.hasPrefix("versions/") }
  }

  /// A table whose rows break its own rules: `VACUUM INTO` copies them without a word, `quick_check` does not.
  private func breakRules(of path: String) throws {
    try SQLite.run(
      """
      PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id integer primary key, body blob NOT NULL)' WHERE name = 't';
      """, on: path)
  }

  private func damagedDatabase(_ road: Road) throws -> String {
    let path = try road.database(rows: 300)
    try SQLite.run("UPDATE t SET body = NULL WHERE id = 7", on: path)
    try breakRules(of: path)
    return path
  }

  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `a push is not acknowledged, and has no manifest, before its check has ended`(
    _ method: DatabaseSource.Method
  ) async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 2000), method: method)
    let (began, mayEnd, isDone) = (Locked(false), Locked(false), Locked(false))
    var push = Push(road.world)
    push.check = { path in
      began.withLock { $0 = true }
      while !mayEnd.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
      return try await checkImage(at: path)
    }
    let running = Task { [push] in
      let outcome = try await push.run(Push.Request(database: source, targets: [road.target]))
      isDone.withLock { $0 = true }
      return outcome
    }
    // The pack of the content is stored while the check still runs: they overlap.
    #expect(try await eventually { road.store.content.keys.contains { $0.text.hasPrefix("packs/") } })
    #expect(try await eventually { began.withLock { $0 } })
    try await Task.sleep(for: .milliseconds(200))
    #expect(versions(road).isEmpty)
    #expect(!isDone.withLock { $0 })
    mayEnd.withLock { $0 = true }
    let outcome = try await running.value
    #expect(outcome.pushed.count == 1 && outcome.damage == nil)
    #expect(versions(road).count == 1)
  }

  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `damage that only the check finds is pushed as exact pages, and flagged`(
    _ method: DatabaseSource.Method
  ) async throws {
    let road = try await Road()
    let path = try damagedDatabase(road)
    let outcome = try await road.push(DatabaseSource(name: "app", path: path, method: method))
    #expect(outcome.damage?.kind == .verificationFailed)
    #expect(outcome.damage?.message.contains("NULL value in t.body") == true)
    let version = try #require(outcome.pushed.first?.version)
    #expect(version.damaged && version.method == "pages")
    #expect(versions(road).count == 1, "what was sealed before the damage was known is no version")
    let notices = road.notices.said.withLock { $0 }
    #expect(notices.contains { $0.contains("instead of vacuumed") } == (method == .vacuum))

    let copy = road.scratch.file("copy.db")
    _ = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(copy))
    #expect(try fileBytes(copy) == fileBytes(path))

    // Mended, it is vacuumed again: damage does not make a database stick to pages.
    try SQLite.run("UPDATE t SET body = x'00' WHERE id = 7", on: path)
    let mended = try await road.push(DatabaseSource(name: "app", path: path, method: method))
    #expect(mended.damage == nil)
    #expect(mended.pushed.first?.version.damaged == false)
    #expect(mended.pushed.first?.version.method == method.rawValue)
  }

  @Test func `a sound database of which SQLite complains is vacuumed, and not flagged`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    // Rows without numbers, a key in another order than the columns, a NULL: too much for the quick_check of SQLite 3.40.
    try SQLite.run(
      "CREATE TABLE w(k, v, s, PRIMARY KEY(s, k)) WITHOUT ROWID; INSERT INTO w VALUES ('b', NULL, 4)", on: path)
    let outcome = try await road.push(DatabaseSource(name: "app", path: path, method: .vacuum))
    let version = try #require(outcome.pushed.first?.version)
    #expect(outcome.damage == nil && !version.damaged && version.method == "vacuum")
    let copy = road.scratch.file("copy.db")
    _ = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(copy))
    #expect(try await checkImage(at: copy) == .ok)
  }

  @Test func `a page in use that the list of free pages names is not lost`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    try SQLite.run("CREATE TABLE gone(x); INSERT INTO gone SELECT body FROM t; DROP TABLE gone", on: path)
    var bytes = try fileBytes(path)
    let root = try TestDatabase(path, readOnly: true).number("SELECT rootpage FROM sqlite_schema WHERE name = 't'")
    let trunk = bytes[32..<36].reduce(0) { $0 << 8 | Int($1) }
    // The first leaf of the first trunk is now the root of a table.
    bytes.replaceSubrange(
      (trunk - 1) * 4096 + 8..<(trunk - 1) * 4096 + 12,
      with: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: root >> $0) })
    try writeFile(path, bytes)
    let outcome = try await road.push(DatabaseSource(name: "app", path: path, method: .pages))
    let version = try #require(outcome.pushed.first?.version)
    #expect(outcome.damage != nil && version.damaged)
    let copy = road.scratch.file("copy.db")
    _ = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(copy))
    #expect(try fileBytes(copy) == bytes)
  }

  @Test func `a damaged copy is pushed when no better one can be had`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    var push = Push(road.world)
    push.check = { _ in
      try FileManager.default.removeItem(atPath: path)
      return .damaged(["of the tester's making"])
    }
    let outcome = try await push.run(
      Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target]))
    #expect(outcome.damage?.message == "'app' is damaged: of the tester's making")
    #expect(outcome.pushed.first?.version.damaged == true)
    #expect(outcome.pushed.first?.version.method == "vacuum")
  }

  @Test func `a copy that was spoiled on its way is replaced by a sound one`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    var push = Push(road.world)
    push.check = { _ in .damaged(["a bit fell over"]) }
    let outcome = try await push.run(
      Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target]))
    #expect(outcome.damage == nil)
    #expect(outcome.pushed.first?.version.damaged == false)
    #expect(outcome.pushed.first?.version.method == "pages")
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("a second one did not") })
  }

  @Test func `a check that cannot be made fails the push`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    var push = Push(road.world)
    push.check = { path in throw SnapshotError(.unreadable, "the disk of \(path) failed") }
    let outcome = try await push.run(Push.Request(database: source, targets: [road.target]))
    #expect(outcome.pushed.isEmpty && outcome.failures.count == 1)
    #expect(versions(road).isEmpty)
  }

  @Test func `when no target takes the version nobody waits for the check, and it ends`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let (began, ended) = (Locked(false), Locked(false))
    // It has no repository; which it says once the check is under way.
    let bad = TargetAccess(
      name: "bad", store: MemoryStore(),
      unlock: {
        _ = try await eventually { began.withLock { $0 } }
        return .keyFile([UInt8](repeating: 3, count: 64))
      })
    var push = Push(road.world)
    push.check = { _ in
      began.withLock { $0 = true }
      defer { ended.withLock { $0 = true } }
      try await Task.sleep(for: .seconds(3600))
      return .ok
    }
    let outcome = try await push.run(Push.Request(database: source, targets: [bad]))
    #expect(outcome.failures.count == 1)
    #expect(ended.withLock { $0 }, "the spool is removed while something still reads in it")
  }

  @Test func `cancelling a push ends its check`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let (began, ended) = (Locked(false), Locked(false))
    var push = Push(road.world)
    push.check = { _ in
      began.withLock { $0 = true }
      defer { ended.withLock { $0 = true } }
      try await Task.sleep(for: .seconds(3600))
      return .ok
    }
    let running = Task { [push] in try await push.run(Push.Request(database: source, targets: [road.target])) }
    try #require(try await eventually { began.withLock { $0 } })
    running.cancel()
    await #expect(throws: (any Error).self) { try await running.value }
    #expect(ended.withLock { $0 })
    #expect(versions(road).isEmpty)
    #expect(road.files(in: "\(road.world.stateFolder)/spool") == ["lock"])
  }
}
