import FoundationEssentials
import Glibc
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// What a restore of a new file that was killed has left in the places of what comes with it may be in use since: it may hold
/// what exists nowhere else.
@Suite struct KilledNewInUseTests {
  private struct Killed: Error {}

  /// `app.db` was pushed with `att`, in which there are files and a database. A restore to `app.db`, or a pull to `out.db`,
  /// was killed when that had its place.
  private struct Home {
    let road: Road
    let isPull: Bool
    /// The file that is about to be made.
    let destination: String
    /// What stands there without it.
    let tops: [String]
    /// The folder that was `att`.
    let att: String

    init(pulling isPull: Bool = false, store: Bool = false) async throws {
      road = try await Road()
      self.isPull = isPull
      let (path, home) = (road.scratch.file("app.db"), road.scratch.file("att"))
      destination = isPull ? road.scratch.file("out.db") : path
      tops = isPull ? ["\(destination).companions"] + (store ? [road.scratch.file(".out_SUPPORT")] : []) : [home]
      att = isPull ? "\(destination).companions/att" : home
      if store { _ = try CoreDataSample(path, external: 1) } else { _ = try road.database(rows: 40) }
      try FileManager.default.createDirectory(atPath: "\(home)/deep", withIntermediateDirectories: true)
      for name in ["a", "deep/b"] { try writeFile("\(home)/\(name)", [1, 2]) }
      try SQLite.run("create table i(v); insert into i values('pushed')", on: "\(home)/inner.db")
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("att")]
      #expect(try await road.push(source).failures.isEmpty)
      for place in [path, home] { try removeFile(place) }
      try await kill()
    }

    /// Leaves what one that is killed there leaves: it is out of sight while that one takes back what it did.
    private func kill() async throws {
      let moves = (tops + [ReplaceIntent.path(of: destination, "new")]).map { (from: $0, to: "\($0)-hidden") }
      var pull = Pull(road.world)
      pull.onNew = {
        for move in moves { rename(move.from, move.to) }
        throw Killed()
      }
      let killed = pull
      await #expect(throws: (any Error).self) { try await run(with: killed) }
      for move in moves { try #require(rename(move.to, move.from) == 0, "\(move.from)") }
      #expect(FileIdentity(at: destination) == nil)
    }

    func request(_ configured: [String: String] = [:]) -> Restore.Request {
      var request = Restore.Request(place: .home(destination))
      request.configured = configured
      return request
    }

    func run(_ configured: [String: String] = [:], with other: Pull? = nil) async throws {
      let pull = other ?? Pull(road.world)
      if isPull {
        _ = try await pull.run(.latest(database: "app"), from: road.target, to: .file(destination))
      } else {
        _ = try await Restore(pull).run(.latest(database: "app"), from: road.target, request(configured))
      }
    }

    /// Why the next one does not go on.
    func refusal(_ configured: [String: String] = [:], with pull: Pull? = nil) async -> OperationError? {
      await #expect(throws: OperationError.self) { try await run(configured, with: pull) }
    }

    /// A pull in which something happens between the fetch and the names.
    func pull(_ happening: @escaping @Sendable () async throws -> Void) -> Pull {
      var pull = Pull(road.world)
      pull.alwaysChecks = true
      pull.check = { _ in
        try await happening()
        return .ok
      }
      return pull
    }

    var undone: [String] { road.files(in: road.scratch.path).filter { $0.contains(".undone-") } }

    /// Reads a database of `att` and keeps it open: in rollback mode that leaves no trace.
    static func reader(of database: String, _ scratch: Scratch) async throws -> Keeper {
      try await Keeper(
        database, "db.execute('select * from i').fetchall(); say('ready'); time.sleep(600)", in: scratch)
    }
  }

  enum Change: String, CaseIterable, Sendable {
    case added, written, deeper, removed, inserted
  }

  @Test(arguments: Change.allCases)
  func `what was changed in it since is in the way, and the hint says how to keep it`(change: Change) async throws {
    let home = try await Home()
    switch change {
    case .added: try writeFile("\(home.att)/mine", [7])
    case .written: try writeFile("\(home.att)/a", [7, 7])
    case .deeper: try writeFile("\(home.att)/deep/b", [7, 7])
    case .removed: try removeFile("\(home.att)/a")
    case .inserted: try SQLite.run("insert into i values('never pushed')", on: "\(home.att)/inner.db")
    }
    let error = await home.refusal()
    #expect(error?.code == "destinationExists" && home.undone.isEmpty)
    #expect(error?.message.contains("\(home.att) exists already: an earlier restore of") == true)
    let hint = error?.hint ?? ""
    #expect(hint.contains("add --replace"))
    let start = try #require(hint.firstRange(of: "mv -nT -- ")?.lowerBound)
    #expect(system(String(hint[start...])) == 0)
    try await home.run()
    #expect(try fileBytes("\(home.att)/a") == [1, 2] && home.undone.isEmpty)
    #expect(FileIdentity(at: "\(home.att).kept/inner.db") != nil)
  }

  @Test func `a database that somebody has open is not moved away under them`() async throws {
    let home = try await Home()
    let keeper = try await Home.reader(of: "\(home.att)/inner.db", home.road.scratch)
    let preview = try await Restore(Pull(home.road.world)).preview(
      .latest(database: "app"), from: home.road.target, home.request())
    #expect(preview.refusal?.code == "databaseInUse")
    let error = await home.refusal()
    #expect(error?.code == "databaseInUse" && error?.message.contains("process \(keeper.child.pid)") == true)
    #expect(home.undone.isEmpty)
    keeper.child.signal(SIGKILL)
    await keeper.child.end()
    try await home.run()
    #expect(home.undone.count == 1)
  }

  /// An application that has not written yet, and that this user does not see.
  @Test func `a configured database that lies in it is not moved away`() async throws {
    let home = try await Home()
    let error = await home.refusal(["app": home.destination, "inner": "\(home.att)/inner.db"])
    #expect(error?.code == "destinationExists" && error?.message.contains("'inner' lies in it") == true)
    #expect(error?.hint?.contains("mv -nT -- ") == true && home.undone.isEmpty)
    try await home.run(["app": home.destination, "inner": home.road.scratch.file("none/inner.db")])
    #expect(home.undone.count == 1)
  }

  @Test func `what was changed while all was fetched is in the way`() async throws {
    let home = try await Home(pulling: true)
    let mine = "\(home.att)/mine"
    let error = await home.refusal(with: home.pull { try writeFile(mine, [7]) })
    #expect(error?.code == "destinationExists" && home.undone.isEmpty)
    #expect(try fileBytes(mine) == [7])
  }

  @Test func `nor is one moved away that was opened while all was fetched`() async throws {
    let home = try await Home(pulling: true)
    let (database, scratch) = ("\(home.att)/inner.db", home.road.scratch)
    let keeper = Locked<Keeper?>(nil)
    let pull = home.pull {
      let started = try await Home.reader(of: database, scratch)
      keeper.withLock { $0 = started }
    }
    let error = await home.refusal(with: pull)
    let child = try #require(keeper.withLock { $0?.child })
    child.signal(SIGKILL)
    await child.end()
    #expect(error?.code == "databaseInUse" && home.undone.isEmpty)
    try await home.run()
    #expect(home.undone.count == 1)
  }

  /// The folder of a Core Data store's external files goes out of what gets its place behind it.
  @Test func `one that was killed when a store's external files had their place is gone on with`() async throws {
    let home = try await Home(pulling: true, store: true)
    try await home.run()
    #expect(try fileBytes("\(home.att)/a") == [1, 2])
    #expect(home.undone.count == 2)
  }

  /// What an application that ended in the middle has committed to one may stand in its -wal alone.
  @Test func `a file with a -wal beside it is in the way, and the hint keeps them together`() async throws {
    let road = try await Road()
    let (path, side) = (try road.database(rows: 40), road.scratch.file("side.db"))
    try SQLite.run("create table i(v); insert into i values('pushed')", on: side)
    var source = DatabaseSource(name: "app", path: path)
    source.companions = [Companion("side.db")]
    #expect(try await road.push(source).failures.isEmpty)
    for place in [path, side] { try removeFile(place) }
    let note = ReplaceIntent.path(of: path, "new")
    var pull = Pull(road.world)
    pull.onNew = {
      for place in [side, note] { rename(place, "\(place)-hidden") }
      throw Killed()
    }
    let request = Restore.Request(place: .home(path))
    let killed = pull
    await #expect(throws: (any Error).self) {
      try await Restore(killed).run(.latest(database: "app"), from: road.target, request)
    }
    for place in [side, note] { try #require(rename("\(place)-hidden", place) == 0, "\(place)") }
    try writeFile("\(side)-wal", [1])
    let error = await #expect(throws: OperationError.self) {
      try await Restore(Pull(road.world)).run(.latest(database: "app"), from: road.target, request)
    }
    #expect(error?.code == "destinationExists" && FileIdentity(at: side) != nil)
    #expect(!road.files(in: road.scratch.path).contains { $0.contains(".undone-") })
    let hint = error?.hint ?? ""
    let start = try #require(hint.firstRange(of: "mv -nT -- ")?.lowerBound)
    #expect(system(String(hint[start...])) == 0)
    #expect(try fileBytes("\(side).kept-wal") == [1] && FileIdentity(at: "\(side).kept") != nil)
    _ = try await Restore(Pull(road.world)).run(.latest(database: "app"), from: road.target, request)
    #expect(FileIdentity(at: side) != nil && FileIdentity(at: "\(side)-wal") == nil)
  }

  /// As one that is restored does where it was not among the companions yet.
  @Test func `a -wal stays where its database does`() async throws {
    let road = try await Road()
    let (path, side, keys) = (try road.database(rows: 40), road.scratch.file("side.db"), road.scratch.file("keys"))
    try writeFile(keys, [1, 2])
    var source = DatabaseSource(name: "app", path: path)
    source.companions = [Companion("keys")]
    let first = try #require(try await road.push(source).pushed.first?.version)
    let held = try TestDatabase(side)
    try held.run("pragma journal_mode = wal; create table i(v); insert into i values('pushed')")
    source.companions += [Companion("side.db"), Companion("side.db-wal")]
    #expect(try await road.push(source).failures.isEmpty)
    held.close()
    for place in [path, side, keys] { try removeFile(place) }
    let note = ReplaceIntent.path(of: path, "new")
    let places = [side, "\(side)-wal", keys, note]
    var pull = Pull(road.world)
    pull.onNew = {
      for place in places { rename(place, "\(place)-hidden") }
      throw Killed()
    }
    let request = Restore.Request(place: .home(path))
    let killed = pull
    await #expect(throws: (any Error).self) {
      try await Restore(killed).run(.latest(database: "app"), from: road.target, request)
    }
    for place in places { try #require(rename("\(place)-hidden", place) == 0, "\(place)") }
    // Who only reads makes one.
    try writeFile("\(side)-shm", [1])
    _ = try await Restore(Pull(road.world)).run(.id(prefix: first.id), from: road.target, request)
    #expect(FileIdentity(at: "\(side)-wal") != nil && FileIdentity(at: side) != nil)
    let undone = road.files(in: road.scratch.path).filter { $0.contains(".undone-") }
    #expect(undone.count == 1 && undone.allSatisfy { $0.hasPrefix("keys.") })
  }

  @Test func `who has what was changed open is named before the way to keep it`() async throws {
    let home = try await Home()
    try writeFile("\(home.att)/mine", [7])
    let keeper = try await Home.reader(of: "\(home.att)/inner.db", home.road.scratch)
    #expect(await home.refusal()?.code == "databaseInUse")
    keeper.child.signal(SIGKILL)
    await keeper.child.end()
    #expect(await home.refusal()?.code == "destinationExists")
  }

  @Test func `who wants no companions is asked for none of those that stand there`() async throws {
    let home = try await Home()
    let keeper = try await Home.reader(of: "\(home.att)/inner.db", home.road.scratch)
    var pull = Pull(home.road.world)
    pull.leavesCompanions = true
    let request = home.request(["app": home.destination, "inner": "\(home.att)/inner.db"])
    _ = try await Restore(pull).run(.latest(database: "app"), from: home.road.target, request)
    keeper.child.signal(SIGKILL)
    await keeper.child.end()
    #expect(try fileBytes("\(home.att)/a") == [1, 2] && home.undone.isEmpty)
  }
}
