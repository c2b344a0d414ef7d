import Storage
import TestKit
import Testing

@testable import Operations

/// What is moved aside gets a longer name. Where there is no room for that, it is told before gigabytes are fetched.
@Suite struct LongNameTests {
  private static func name(_ start: String, _ length: Int) -> String {
    start + String(repeating: "n", count: length - start.utf8.count)
  }

  /// Counts what is fetched of packs.
  private static func watched(_ road: Road) -> (target: TargetAccess, reads: Locked<Int>) {
    let reads = Locked(0)
    var target = road.target
    target.store = HookedStore(
      road.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix("packs/") { reads.withLock { $0 += 1 } }
      })
    return (target, reads)
  }

  @Test(arguments: [221, 240]) func `a database that cannot get a longer name is not replaced, and nothing is fetched`(
    length: Int
  ) async throws {
    let home = try await RestoreRoad(wal: false, name: Self.name("app.db", length))
    let (target, reads) = Self.watched(home.road)
    let before = home.names
    let request = Restore.Request(place: .file(home.path), mode: .replace)
    let error = await #expect(throws: OperationError.self) {
      try await home.restore.run(.latest(database: "app"), from: target, request)
    }
    #expect(error?.code == "nameTooLong" && error?.message.contains(home.path) == true)
    #expect(error?.hint?.contains("--to FILE") == true)
    let preview = try await home.restore.preview(.latest(database: "app"), from: target, request)
    #expect(preview.refusal?.code == "nameTooLong")
    #expect(reads.withLock { $0 } == 0)
    #expect(home.names == before)
    #expect(try home.dump(home.path) == home.now)

    // The hint names a way out.
    let other = Restore.Request(place: .file(home.road.scratch.file("short.db")))
    _ = try await home.restore.run(.latest(database: "app"), from: target, other)
    #expect(try home.dump(home.road.scratch.file("short.db")) == home.pushed)
    #expect(reads.withLock { $0 } > 0)
  }

  @Test func `no room for the name of the old content's copy: told first, and --no-undo is a way out`() async throws {
    let home = try await RestoreRoad(wal: false, name: Self.name("app.db", 240))
    let (target, reads) = Self.watched(home.road)
    var request = Restore.Request(place: .file(home.path), mode: .live)
    let error = await #expect(throws: OperationError.self) {
      try await home.restore.run(.latest(database: "app"), from: target, request)
    }
    #expect(error?.code == "nameTooLong" && error?.hint?.contains("--no-undo") == true)
    let preview = try await home.restore.preview(.latest(database: "app"), from: target, request)
    #expect(preview.refusal?.code == "nameTooLong" && reads.withLock { $0 } == 0)
    request.keepsUndo = false
    _ = try await home.restore.run(.latest(database: "app"), from: target, request)
    #expect(try home.dump(home.path) == home.pushed)
  }

  @Test func `a name that no file can have is told before anything is fetched`() async throws {
    let home = try await RestoreRoad(wal: false)
    let (target, reads) = Self.watched(home.road)
    let error = await #expect(throws: OperationError.self) {
      try await Pull(home.road.world).run(
        .latest(database: "app"), from: target, to: .file(home.road.scratch.file(Self.name("n", 256))))
    }
    #expect(error?.code == "nameTooLong" && error?.kind == .usage && reads.withLock { $0 } == 0)
  }

  @Test func `tables for a database that is not there: told before anything is fetched`() async throws {
    let home = try await RestoreRoad(wal: false)
    let (target, reads) = Self.watched(home.road)
    let error = await #expect(throws: OperationError.self) {
      try await RestoreTables(Pull(home.road.world)).run(
        .latest(database: "app"), from: target, .init(tables: ["t"], into: home.road.scratch.file("none.db")))
    }
    #expect(error?.code == "nothingLive" && reads.withLock { $0 } == 0)
    #expect(error?.hint?.contains("--into") == true && error?.hint?.contains("--live") == false)
  }

  @Test func `a name with just enough room is given to the old database, and taken back by the undo`() async throws {
    let home = try await RestoreRoad(wal: true, name: Self.name("app.db", 220))
    let outcome = try await home.run(.replace)
    #expect(try home.dump(home.path) == home.pushed)
    _ = try await RestoreRoad.shell(try #require(outcome.undo))
    #expect(try home.dump(home.path) == home.now)
  }

  @Test func `where nothing stands, nothing needs a longer name`() async throws {
    let home = try await RestoreRoad(wal: false, name: Self.name("app.db", 240))
    try removeFile(home.path)
    let outcome = try await home.run(.replace)
    #expect(outcome.moved.isEmpty)
    #expect(try home.dump(home.path) == home.pushed)
  }

  @Test(arguments: [Restore.Mode.replace, .live], [231, 232])
  func `what comes with a database is looked at as well`(mode: Restore.Mode, length: Int) async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    let companion = Self.name("att", length)
    try writeFile(road.scratch.file(companion), [1])
    var source = DatabaseSource(name: "app", path: path)
    source.companions = [Companion(companion)]
    #expect(try await road.push(source).failures.isEmpty)
    try writeFile(road.scratch.file(companion), [2])
    let (target, reads) = Self.watched(road)
    let before = road.files(in: road.scratch.path)
    let database = try fileBytes(path)
    let restore = Restore(Pull(road.world))
    let request = Restore.Request(place: .home(path), mode: mode)
    guard length > 231 else {
      let outcome = try await restore.run(.latest(database: "app"), from: target, request)
      #expect(outcome.moved.contains { $0.from == road.scratch.file(companion) })
      #expect(try fileBytes(road.scratch.file(companion)) == [1])
      return
    }
    let error = await #expect(throws: OperationError.self) {
      try await restore.run(.latest(database: "app"), from: target, request)
    }
    #expect(error?.code == "nameTooLong" && error?.message.contains(companion) == true)
    #expect(error?.hint?.contains("--to FILE") == true)
    let preview = try await restore.preview(.latest(database: "app"), from: target, request)
    #expect(preview.refusal?.code == "nameTooLong")
    #expect(reads.withLock { $0 } == 0)
    #expect(road.files(in: road.scratch.path) == before)
    #expect(try fileBytes(path) == database)
    #expect(try fileBytes(road.scratch.file(companion)) == [2])
  }
}
