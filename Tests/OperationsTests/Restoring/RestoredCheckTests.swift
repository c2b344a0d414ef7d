import Repositories
import Sealing
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// When a restored database is looked at with SQLite's own check: where that can say something new.
@Suite struct RestoredCheckTests {
  /// Pulls the newest version and counts the checks.
  private func pull(
    _ road: Road, always: Bool, to name: String, saying outcome: CheckOutcome? = nil
  ) async throws -> (outcome: Pull.Outcome, checks: Int) {
    let checks = Locked(0)
    var pull = Pull(road.world)
    pull.alwaysChecks = always
    pull.check = { path in
      checks.withLock { $0 += 1 }
      return if let outcome { outcome } else { try await checkImage(at: path) }
    }
    let done = try await pull.run(.latest(database: nil), from: road.target, to: .file(road.scratch.file(name)))
    return (done, checks.withLock { $0 })
  }

  @Test func `what was sound at push is checked on request only`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    _ = try await road.push(DatabaseSource(name: "app", path: path))
    let trusting = try await pull(road, always: false, to: "a")
    #expect(trusting.checks == 0)
    #expect(trusting.outcome.check == "ok" && trusting.outcome.checkedAt == .push)
    let looking = try await pull(road, always: true, to: "b")
    #expect(looking.checks == 1)
    #expect(looking.outcome.check == "ok" && looking.outcome.checkedAt == .restore)
    #expect(try await dump(road.scratch.file("a")) == dump(path))
  }

  @Test func `a check on request that fails leaves no file`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 300)))
    let error = await #expect(throws: OperationError.self) {
      try await pull(road, always: true, to: "a", saying: .damaged(["of the tester's making"]))
    }
    #expect(error?.code == "imageDamaged")
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.contains("a.sealift") && $0 != "a" })
  }

  @Test(arguments: [false, true]) func `what was damaged at push is checked again, asked or not`(
    always: Bool
  ) async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    try SQLite.run("UPDATE t SET body = NULL WHERE id = 7", on: path)
    try SQLite.run(
      """
      PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id integer primary key, body blob NOT NULL)' WHERE name = 't';
      """, on: path)
    _ = try await road.push(DatabaseSource(name: "app", path: path))
    let (outcome, checks) = try await pull(road, always: always, to: "a")
    #expect(checks == 1)
    #expect(outcome.check.hasPrefix("damaged: ") && outcome.checkedAt == .restore)
  }

  @Test func `what is damaged is told in short, with the version that can stand in for it`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 300), method: .pages)
    let sound = try #require(try await road.push(database).pushed.first?.version)
    // The root of its table is an empty leaf: its other pages belong to nothing.
    var bytes = try fileBytes(database.path)
    bytes.replaceSubrange(4096..<4104, with: [13, 0, 0, 0, 0, 16, 0, 0])
    try writeFile(database.path, bytes)
    let pushed = try await road.push(database)
    #expect(pushed.damage?.message.contains(" more") == true && pushed.pushed.first?.version.damaged == true)
    let damage = try #require(try await pull(road, always: false, to: "a").outcome.damage)
    #expect(!damage.message.contains("\n") && damage.message.utf8.count < 300, "\(damage.message)")
    #expect(damage.message.hasSuffix(" more"))
    #expect(damage.hint?.contains("Version \(sound.id.prefix(12)) of ") == true)
  }

  @Test func `what was found damaged since is looked at again, and comes back whatever that says`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 300)))
    let lookup = try await VersionLookup(at: road.target, road.world, isReading: false)
    let found = try await lookup.find(.latest(database: nil))
    try await lookup.repository.annotate(
      found.facts, [Annotation.Item(.foundDamaged, "of the tester's making")], now: road.world.now(),
      state: lookup.state)
    let sound = try await pull(road, always: false, to: "a")
    #expect(sound.checks == 1)
    #expect(sound.outcome.check == "ok" && sound.outcome.checkedAt == .restore)
    #expect(sound.outcome.version.foundDamaged == "of the tester's making")
    let damaged = try await pull(road, always: false, to: "b", saying: .damaged(["a page"]))
    #expect(damaged.outcome.check == "damaged: a page" && damaged.outcome.damage?.code == "restoredDamaged")
  }

  @Test func `what could not be checked at push is looked at again`() async throws {
    let road = try await Road()
    var push = Push(road.world)
    push.check = { _ in .notCheckable("of the tester's making") }
    _ = try await push.run(
      Push.Request(
        database: DatabaseSource(name: "app", path: try road.database(rows: 300)), targets: [road.target]))
    let (outcome, checks) = try await pull(road, always: false, to: "a")
    #expect(checks == 1)
    #expect(outcome.check == "ok" && outcome.checkedAt == .restore)
  }

  /// The program proves by fingerprints; people and other programs by this.
  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `a restored file has the SHA-256 that the version states`(
    method: DatabaseSource.Method
  ) async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    _ = try await road.push(DatabaseSource(name: "app", path: path, method: method))
    try await road.change(path)
    _ = try await road.push(DatabaseSource(name: "app", path: path, method: method))
    let (outcome, _) = try await pull(road, always: false, to: "a")
    #expect(outcome.version.sequence == 2)
    #expect(Digest.sha256(of: try fileBytes(road.scratch.file("a"))).hex == outcome.version.sha256)
  }
}
