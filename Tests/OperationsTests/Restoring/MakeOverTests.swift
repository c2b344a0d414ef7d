import Glibc
import Operations
import Snapshots
import Storage
import TestKit
import Testing

/// What is changed in a restored database before it gets its name.
@Suite struct MakeOverTests {
  private func pull(_ road: Road, _ makeOver: MakeOver, to name: String) async throws -> Pull.Outcome {
    var pull = Pull(road.world)
    pull.makeOver = makeOver
    return try await pull.run(.latest(database: nil), from: road.target, to: .file(road.scratch.file(name)))
  }

  @Test func `repacked, and in another journal mode`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 400)
    try SQLite.run("delete from t where id % 2", on: path)
    _ = try await road.push(DatabaseSource(name: "app", path: path, method: .pages))
    let expected = try await dump(path)
    let plain = try await pull(road, MakeOver(), to: "plain.db")
    #expect(plain.identical)
    for (index, (makeOver, journal)) in [
      (MakeOver(vacuum: true), "delete"), (MakeOver(vacuum: true, journal: .wal), "wal"),
      (MakeOver(journal: .wal), "wal"), (MakeOver(journal: .delete), "delete"),
    ].enumerated() {
      let name = "made-\(index).db"
      let outcome = try await pull(road, makeOver, to: name)
      #expect(!outcome.identical)
      #expect(outcome.checkedAt == (makeOver.vacuum ? .restore : .push) && outcome.check == "ok")
      let size = try fileBytes(road.scratch.file(name)).count
      #expect(makeOver.vacuum == (size < outcome.version.size * 3 / 4))
      #expect(mode(of: road.scratch.file(name)) == 0o600)
      #expect(road.files(in: road.scratch.path).filter { $0.contains(name) } == [name])
      #expect(try TestDatabase(road.scratch.file(name)).text("PRAGMA journal_mode") == journal)
      #expect(try await dump(road.scratch.file(name)) == expected)
    }
  }

  /// SQLite follows a link that somebody puts there, and what it then writes to is not what we have open.
  @Test(arguments: [0o700, 0o770, 0o777] as [mode_t])
  func `names that others may exchange are none to repack a database by`(rights: mode_t) async throws {
    let road = try await Road()
    let path = try road.database(rows: 400)
    try SQLite.run("delete from t where id % 2", on: path)
    _ = try await road.push(DatabaseSource(name: "app", path: path, method: .pages))
    let folder = try Scratch()
    try #require(chmod(folder.path, rights) == 0)
    let seen = Locked<[String]>([])
    var pull = Pull(road.world)
    pull.check = { path in
      seen.withLock { $0.append(path) }
      return try await checkImage(at: path)
    }
    for (number, makeOver) in [MakeOver(vacuum: true, journal: .wal), MakeOver(journal: .wal)].enumerated() {
      pull.makeOver = makeOver
      let file = folder.file("\(number).db")
      let outcome = try await pull.run(.latest(database: nil), from: road.target, to: .file(file))
      #expect(!outcome.identical && outcome.check == "ok")
      #expect(try await dump(file) == dump(path))
      let bytes = try fileBytes(file)
      #expect(bytes[18...19] == [2, 2])
      #expect(makeOver.vacuum == (bytes.count < outcome.version.size * 3 / 4))
    }
    #expect(seen.withLock { $0.map { $0.hasPrefix(folder.path) } } == [rights == 0o700])
    #expect(road.files(in: folder.path).allSatisfy { !$0.hasPrefix(".") })
    #expect(road.files(in: road.scratch.file("state/spool")).allSatisfy { $0 == "lock" })
  }

  /// The journal mode is two bytes of a file that is open: no name is gone by.
  @Test func `another journal mode needs no copy where others may write`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 20)))
    let folder = try Scratch()
    try #require(chmod(folder.path, 0o770) == 0)
    var pull = Pull(road.world)
    pull.world.stateFolder = road.scratch.file("another state")
    pull.makeOver.journal = .wal
    let out = folder.file("out.db")
    _ = try await pull.run(.latest(database: nil), from: road.target, to: .file(out))
    #expect(try fileBytes(out)[18...19] == [2, 2])
    #expect(access(road.scratch.file("another state/spool"), F_OK) != 0)
  }

  @Test func `what is fetched into a private place is repacked there`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 20)))
    let folder = try Scratch()
    try #require(chmod(folder.path, 0o770) == 0)
    let seen = Locked<[Int]>([])
    var pull = Pull(road.world)
    pull.world.stateFolder = folder.file("state")
    pull.makeOver.vacuum = true
    pull.check = { [spools = folder.file("state/spool")] path in
      let found = try names(in: spools).count { $0 != "lock" }
      seen.withLock { $0.append(found) }
      return try await checkImage(at: path)
    }
    let out = open(road.scratch.file("out.db"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(out) }
    _ = try await pull.run(.latest(database: nil), from: road.target, to: .descriptor(out))
    #expect(seen.withLock { $0 } == [1])
  }

  /// What the check looked at is not what gets its name.
  @Test func `a file whose name was exchanged while it was checked is not restored`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 20)))
    let other = try road.orders(rows: 20)
    var pull = Pull(road.world)
    pull.alwaysChecks = true
    pull.check = { path in
      try #require(rename(other, path) == 0)
      return try await checkImage(at: path)
    }
    let out = road.scratch.file("out.db")
    let error = await #expect(throws: OperationError.self) {
      try await pull.run(.latest(database: nil), from: road.target, to: .file(out))
    }
    #expect(error?.message.contains("another file has the name") == true)
    #expect(road.files(in: road.scratch.path).allSatisfy { $0 != "out.db" })
  }

  /// Pushed where SQLite could not look at it: repacked, it would look sound.
  @Test func `damage that only this restore finds is not vacuumed away`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 20)
    var push = Push(road.world)
    push.check = { _ in .notCheckable("no such function") }
    _ = try await push.run(Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target]))
    var pull = Pull(road.world)
    pull.makeOver.vacuum = true
    let looks = Locked(0)
    pull.check = { _ in
      looks.withLock {
        $0 += 1; return $0
      } == 1 ? .damaged(["a page is lost"]) : .ok
    }
    let error = await #expect(throws: OperationError.self) {
      try await pull.run(.latest(database: nil), from: road.target, to: .file(road.scratch.file("out.db")))
    }
    #expect(error?.code == "damagedImage" && error?.kind == .verificationFailed)
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.contains("out.db") })
    looks.withLock { $0 = 0 }
    pull.makeOver.vacuum = false
    let outcome = try await pull.run(
      .latest(database: nil), from: road.target, to: .file(road.scratch.file("out.db")))
    #expect(outcome.check == "damaged: a page is lost")
  }

  @Test func `sums at the end of pages are right when a version comes back, or it does not`() async throws {
    let road = try await Road()
    let path = road.scratch.file("app.db")
    try SummedDatabase.make(at: path, wal: true)
    _ = try await road.push(DatabaseSource(name: "app", path: path))
    for makeOver in [MakeOver(vacuum: true), MakeOver(journal: .delete)] {
      let error = await #expect(throws: OperationError.self) { try await pull(road, makeOver, to: "out.db") }
      #expect(error?.code == "reservedBytes" && error?.kind == .usage)
    }
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.contains("out.db") })
    for makeOver in [MakeOver(), MakeOver(journal: .wal)] {
      let name = makeOver.journal == nil ? "plain.db" : "same.db"
      _ = try await pull(road, makeOver, to: name)
      #expect(SummedDatabase.isRight(try fileBytes(road.scratch.file(name))))
    }

    let restore = Restore(Pull(road.world))
    var request = Restore.Request(place: .file(path), mode: .live)
    let preview = try await restore.preview(.latest(database: "app"), from: road.target, request)
    #expect(preview.refusal?.code == "reservedBytes")
    let error = await #expect(throws: OperationError.self) {
      try await restore.run(.latest(database: "app"), from: road.target, request)
    }
    #expect(error?.code == "reservedBytes" && error?.kind == .usage)
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.contains("before") })
    request.mode = .replace
    _ = try await restore.run(.latest(database: "app"), from: road.target, request)
    #expect(SummedDatabase.isRight(try fileBytes(path)))
  }

  @Test func `what needs its application's code is restored as it is, or not at all`() async throws {
    let road = try await Road()
    let path = road.scratch.file("app.db")
    let database = try TestDatabase(path)
    try database.run("CREATE TABLE s(a TEXT COLLATE shouting); CREATE INDEX i ON s(a); INSERT INTO s VALUES('x')")
    database.close()
    _ = try await road.push(DatabaseSource(name: "app", path: path))
    let error = await #expect(throws: OperationError.self) {
      try await pull(road, MakeOver(vacuum: true), to: "out.db")
    }
    #expect(error?.message.contains("code of its application") == true)
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.contains("out.db") })
    #expect(try await pull(road, MakeOver(journal: .wal), to: "out.db").identical == false)
  }
}
