import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// Images of databases that nobody pushes any more, and of databases too large for them.
@Suite struct AbandonedBasesTests {
  /// Pushes a database that has no room for bases beside one without deltas, four times.
  private func expectAsDearAsWithoutDeltas(_ world: World, _ road: Road) async throws {
    let path = try road.orders(rows: 20_000)
    var plain = DatabaseSource(name: "plain", path: path)
    plain.delta = false
    let roomless = DatabaseSource(name: "roomless", path: path)
    for turn in 0..<4 {
      if turn > 0 { try SQLite.run("update t set tag = tag + 1 where (id * 7919 + \(turn)) % 100 = 0", on: path) }
      func stored(_ database: DatabaseSource) async throws -> Int {
        let pushed = try await Push(world).run(Push.Request(database: database, targets: [road.target])).pushed
        return try #require(pushed.first).version.bytesNew
      }
      let (with, without) = (try await stored(roomless), try await stored(plain))
      #expect(with <= without + without / 20 + 20_000, "push \(turn)")
    }
    let folder = BaseFolder.path(of: roomless, host: "host", world)
    #expect(!road.files(in: folder).contains { $0.hasSuffix(".db") })
  }

  @Test(arguments: [0, 1 << 20])
  func `without room for them a push sends no more than without deltas`(room: Int) async throws {
    let road = try await Road()
    var world = road.world
    world.baseLimit = room
    try await expectAsDearAsWithoutDeltas(world, road)
    let told = road.notices.said.withLock { $0 }.contains { $0.contains("no room within baseLimit") }
    #expect(told == (room > 0))
  }

  @Test func `on a disk without room for them a push sends no more than without deltas, and says so`() async throws {
    let road = try await Road()
    var world = road.world
    world.roomAcross = { _, _ in 0 }
    try await expectAsDearAsWithoutDeltas(world, road)
    let told = road.notices.said.withLock { $0 }.filter { $0.contains("has no room for another base") }
    #expect(told.count == 4)
  }

  @Test func `a disk has room for as many images as fit`() {
    let rooms: [BaseRoom] = [.none, .none, .anchor, .anchor, .both, .both]
    #expect([0, 99, 100, 199, 200, Int.max].map { BaseRoom(for: 100, free: $0) } == rooms)
  }

  /// On a file system that takes every time.
  @Test(.enabled(if: access("/dev/shm", W_OK | X_OK) == 0), arguments: [Int.min, .max])
  func `times that cannot be end nobody`(seconds: Int) throws {
    let scratch = try Scratch(in: "/dev/shm")
    func makeFile(_ name: String) throws {
      try writeFile(scratch.file(name), [UInt8](repeating: 1, count: 8192))
      let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      try #require(utimensat(AT_FDCWD, scratch.file(name), times, 0) == 0)
    }
    let (own, other) = (String(repeating: "0", count: 32), String(repeating: "1", count: 32))
    for folder in [own, other] { try #require(mkdir(scratch.file(folder), 0o700) == 0) }
    for name in ["\(own)/lock", "\(own)/failure", "\(other)/lock", "\(other)/anchor.db"] { try makeFile(name) }
    #expect(!BaseName.hasFailedLately(in: scratch.file(own)))
    BaseRoom.noteUse(of: scratch.file(own))
    var status = stat()
    try #require(stat(scratch.file("\(own)/lock"), &status) == 0)
    #expect(abs(secondsSince(status.st_mtim)) < 3600)
    // What was left at the beginning of all times goes; of what is still to come, the time runs from now on.
    let room = BaseRoom.besides(scratch.file(own), limit: 8192, length: 4096, dryRun: false)
    #expect(room == (seconds < 0 ? .both : .none))
    #expect((access(scratch.file("\(other)/anchor.db"), F_OK) == 0) == (seconds > 0))
  }

  @Test func `where a new one fits only in the place of the old ones, those go first`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 400))
    var world = road.world
    #expect(try await road.push(database).failures.isEmpty)
    let anchor = "\(BaseFolder.path(of: database, host: "host", world))/anchor.db"
    let before = try fileBytes(anchor)
    world.roomAcross = { _, _ in 4096 }
    try await road.change(database.path)
    var request = Push.Request(database: database, targets: [road.target])
    request.rebuildBase = true
    #expect(try await Push(world).run(request).failures.isEmpty)
    #expect(try fileBytes(anchor) != before)
    #expect(!road.notices.said.withLock { $0 }.contains { $0.contains("room") })
  }

  @Test(arguments: [false, true])
  func `a base that cannot be kept costs none that is there`(isWeekOver: Bool) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "orders", path: try road.orders(rows: 20_000))
    func push(rebuilding: Bool) async throws -> Int {
      var request = Push.Request(database: database, targets: [road.target])
      request.rebuildBase = rebuilding
      return try #require(try await Push(road.world).run(request).pushed.first).version.bytesNew
    }
    let whole = try await push(rebuilding: false)
    let folder = BaseFolder.path(of: database, host: "host", road.world)
    let before = try fileBytes("\(folder)/anchor.db")
    // In the way of what would be written there.
    mkdir("\(folder)/anchor.db.new", 0o700)
    _ = try await push(rebuilding: true)
    #expect(try fileBytes("\(folder)/anchor.db") == before)
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("could not be kept") })
    rmdir("\(folder)/anchor.db.new")
    if isWeekOver {
      let then = time_t(time(nil) - 8 * 86_400)
      var times = [timespec(tv_sec: then, tv_nsec: 0), timespec(tv_sec: then, tv_nsec: 0)]
      #expect(utimensat(AT_FDCWD, "\(folder)/failure", &times, 0) == 0)
    }
    // What is there serves the next one, which becomes a base itself when the disk may be asked again.
    try SQLite.run("update t set body = hex(randomblob(20)) where id % 10 = 0", on: database.path)
    #expect(try await push(rebuilding: false) < whole / 2)
    let images = road.files(in: folder).filter { $0.hasSuffix(".db") }
    #expect(images == (isWeekOver ? ["anchor.db", "middle.db"] : ["anchor.db"]))
    #expect(road.files(in: folder).contains("failure") == !isWeekOver)
    // Either way leaves refer to what it has stored.
    #expect(BaseRecord(json: try fileBytes("\(folder)/record.json"))?.middle != nil)
  }

  /// Sixteen pushes: long enough for leaves, and for middle versions after the first.
  @Test func `where one image alone has room the anchor is kept and deltas rest on it`() async throws {
    let road = try await Road()
    let path = try road.orders(rows: 20_000)
    let pair = [2, 1].map { room in
      var database = DatabaseSource(name: "room-for-\(room)", path: path)
      database.baseFolder = road.scratch.file("bases-\(room)")
      return database
    }
    let folders = pair.map { BaseFolder.path(of: $0, host: "host", road.world) }
    func images(_ folder: String) -> [String] { road.files(in: folder).filter { $0.hasSuffix(".db") } }
    func stored(_ database: DatabaseSource, _ world: World) async throws -> Int {
      let pushed = try await Push(world).run(Push.Request(database: database, targets: [road.target])).pushed
      return try #require(pushed.first).version.bytesNew
    }
    let whole = try await stored(pair[0], road.world)
    _ = try await stored(pair[1], road.world)
    var narrow = road.world
    narrow.baseLimit = try fileBytes("\(folders[1])/anchor.db").count * 3 / 2
    var sums = [0, 0]
    for turn in 1..<16 {
      try SQLite.run("update t set tag = tag + 1 where (id * 7919 + \(turn)) % 100 = 0", on: path)
      sums[0] += try await stored(pair[0], road.world)
      sums[1] += try await stored(pair[1], narrow)
      #expect(images(folders[1]) == ["anchor.db"], "push \(turn)")
    }
    #expect(images(folders[0]) == ["anchor.db", "middle.db"])
    // Leaves refer to what the middle version has stored.
    #expect(BaseRecord(json: try fileBytes("\(folders[1])/record.json"))?.middle != nil)
    #expect(sums[1] < sums[0] * 3 / 2, "\(sums), one push of all: \(whole)")
    #expect(sums[1] < whole / 2, "\(sums), one push of all: \(whole)")
    // What had room and has none any more goes.
    try SQLite.run("update t set tag = tag + 1 where id % 100 = 0", on: path)
    #expect(try await stored(pair[0], narrow) < whole / 10)
    #expect(images(folders[0]) == ["anchor.db"])
    #expect(!road.notices.said.withLock { $0 }.contains { $0.contains("no room within baseLimit") })
  }

  @Test(arguments: ["delta", "compression", "limit"])
  func `what was kept goes when nothing is to be kept any more`(setting: String) async throws {
    let road = try await Road()
    var database = DatabaseSource(name: "app", path: try road.database(rows: 400))
    #expect(try await road.push(database).failures.isEmpty)
    let hall = "\(road.world.stateFolder)/bases"
    let folder = "\(hall)/\(try #require(road.files(in: hall).first))"
    #expect(road.files(in: folder).contains("anchor.db"))
    try writeFile("\(folder)/companions/old", [1])
    var world = road.world
    switch setting {
    case "delta": database.delta = false
    case "compression": database.compressionLevel = 0
    default: world.baseLimit = 0
    }
    var request = Push.Request(database: database, targets: [road.target])
    request.dryRun = true
    #expect(try await Push(world).run(request).failures.isEmpty)
    #expect(road.files(in: folder).contains("anchor.db"))
    // Also where there is nothing to push.
    request.dryRun = false
    #expect(try await Push(world).run(request).pushed.map(\.unchanged) == [true])
    #expect(road.files(in: folder) == ["companions", "lock"])
    #expect(road.files(in: "\(folder)/companions").isEmpty)
  }

  @Test func `what has no room any more goes, whatever the next version rests on`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 2000))
    for _ in 0..<3 {
      #expect(try await road.push(database).failures.isEmpty)
      try await road.change(database.path)
    }
    let hall = "\(road.world.stateFolder)/bases"
    let folder = "\(hall)/\(try #require(road.files(in: hall).first))"
    #expect(road.files(in: folder).contains { $0.hasSuffix(".db") })
    var world = road.world
    world.baseLimit = 4096
    let outcome = try await Push(world).run(Push.Request(database: database, targets: [road.target]))
    #expect(outcome.failures.isEmpty)
    #expect(!road.files(in: folder).contains { $0.hasSuffix(".db") })
  }

  @Test func `of those that were used by a clock that is far ahead, the three months begin now`() async throws {
    let road = try await Road()
    let hall = "\(road.world.stateFolder)/bases"
    let old = "\(hall)/\(String(repeating: "0", count: 32))"
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
    for name in ["lock", "anchor.db"] { try writeFile("\(old)/\(name)", [UInt8](repeating: 1, count: 5000)) }
    let then = time_t(time(nil) + 400 * 86_400)
    var times = [timespec(tv_sec: then, tv_nsec: 0), timespec(tv_sec: then, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, "\(old)/lock", &times, 0) == 0)
    #expect(BaseRoom.besides("\(hall)/other", limit: 100, length: 50, dryRun: false) == .none)
    #expect(road.files(in: old) == ["anchor.db", "lock"])
    var status = stat()
    #expect(stat("\(old)/lock", &status) == 0)
    #expect(status.st_mtim.tv_sec < time(nil) + 3600)
  }

  @Test(arguments: [(89, false), (89, true), (91, false), (91, true)])
  func `they go when no push has used them for three months, whether there is room or not`(
    days: Int, isRoomy: Bool
  ) async throws {
    let road = try await Road()
    let old = DatabaseSource(name: "old", path: try road.database(rows: 400))
    #expect(try await road.push(old).failures.isEmpty)
    let hall = "\(road.world.stateFolder)/bases"
    let folder = try #require(road.files(in: hall).first)
    #expect(road.files(in: "\(hall)/\(folder)").contains("anchor.db"))
    try writeFile("\(hall)/\(folder)/companions/old", [1])
    let then = time_t(time(nil) - days * 86_400)
    var times = [timespec(tv_sec: then, tv_nsec: 0), timespec(tv_sec: then, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, "\(hall)/\(folder)/lock", &times, 0) == 0)
    // What is not ours stays, however it looks.
    let foreign = "\(hall)/foreign"
    mkdir(foreign, 0o700)
    for name in ["lock", "anchor.db"] { try writeFile("\(foreign)/\(name)", [1]) }
    #expect(utimensat(AT_FDCWD, "\(foreign)/lock", &times, 0) == 0)
    // Under another name: what the old one left is of no use to it.
    var world = road.world
    world.baseLimit = isRoomy ? 1 << 30 : try fileBytes("\(hall)/\(folder)/anchor.db").count * 3 / 2
    let new = DatabaseSource(name: "new", path: old.path)
    #expect(try await Push(world).run(Push.Request(database: new, targets: [road.target])).failures.isEmpty)
    let isLeft = road.files(in: "\(hall)/\(folder)").contains("anchor.db")
    #expect(isLeft == (days < 90))
    #expect(road.files(in: "\(hall)/\(folder)/companions").isEmpty == !isLeft)
    let others = road.files(in: hall).filter { $0 != folder && $0 != "foreign" }
    let isKept = others.contains { road.files(in: "\(hall)/\($0)").contains("anchor.db") }
    #expect(isKept == (days > 90 || isRoomy))
    #expect(road.files(in: foreign) == ["anchor.db", "lock"])
  }

  @Test func `what another process holds is never abandoned`() async throws {
    let road = try await Road()
    let hall = "\(road.world.stateFolder)/bases"
    let old = "\(hall)/\(String(repeating: "0", count: 32))"
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
    for name in ["lock", "anchor.db"] { try writeFile("\(old)/\(name)", [1]) }
    let then = time_t(time(nil) - 91 * 86_400)
    var times = [timespec(tv_sec: then, tv_nsec: 0), timespec(tv_sec: then, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, "\(old)/lock", &times, 0) == 0)
    let lock = open("\(old)/lock", O_RDWR | O_CLOEXEC)
    #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
    #expect(BaseRoom.besides("\(hall)/other", limit: 1 << 30, length: 50, dryRun: false) == .both)
    #expect(road.files(in: old) == ["anchor.db", "lock"])
    flock(lock, LOCK_UN)
    close(lock)
    // A dry run removes nothing either.
    #expect(BaseRoom.besides("\(hall)/other", limit: 1 << 30, length: 50, dryRun: true) == .both)
    #expect(road.files(in: old) == ["anchor.db", "lock"])
    #expect(BaseRoom.besides("\(hall)/other", limit: 1 << 30, length: 50, dryRun: false) == .both)
    #expect(road.files(in: old) == ["lock"])
  }
}
