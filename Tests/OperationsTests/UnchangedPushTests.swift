import Backends
import FoundationEssentials
import Glibc
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// A database that did not change is not even copied.
@Suite struct UnchangedPushTests {
  @Test func `an unchanged database is pushed where no copy of it can be had`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    // A file touched less than two seconds ago proves nothing by its times.
    try await Task.sleep(for: .milliseconds(2200))
    let first = try await road.push(database).pushed[0]
    let hall = "\(road.world.stateFolder)/bases"
    let lock = "\(hall)/\(try #require(road.files(in: hall).first))/lock"
    let then = time_t(time(nil) - 91 * 86_400)
    var times = [timespec(tv_sec: then, tv_nsec: 0), timespec(tv_sec: then, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, lock, &times, 0) == 0)
    let asked = Locked(0)
    let push = push(road) {
      asked.withLock { $0 += 1 }
      throw SnapshotError(.unreadable, "no copy can be had")
    }
    func request(force: Bool = false) -> Push.Request {
      var request = Push.Request(database: database, targets: [road.target])
      request.force = force
      return request
    }
    for _ in 0..<2 {
      let again = try await push.run(request())
      #expect(again.failures.isEmpty && again.pushed.count == 1)
      #expect(again.pushed.first?.unchanged == true && again.pushed.first?.version.id == first.version.id)
    }
    #expect(asked.withLock { $0 } == 0)
    // Its bases are in use all the same.
    var status = stat()
    #expect(stat(lock, &status) == 0)
    #expect(time(nil) - status.st_mtim.tv_sec < 3600)
    // What did change, and what is wanted all the same, needs one.
    let refused = await #expect(throws: OperationError.self) { try await push.run(request(force: true)) }
    #expect(refused?.kind == .sourceUnreadable && asked.withLock { $0 } == 1)
    try await road.change(database.path)
    let failed = await #expect(throws: OperationError.self) { try await push.run(request()) }
    #expect(failed?.kind == .sourceUnreadable && asked.withLock { $0 } == 2)
  }

  /// A server that tidies up takes packs as well: the manifests alone restore nothing.
  @Test(arguments: [true, false]) func `an unchanged database whose packs are gone, or cut, is pushed anew`(
    isCut: Bool
  ) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    // A file touched less than two seconds ago proves nothing by its times.
    try await Task.sleep(for: .milliseconds(2200))
    let first = try await road.push(database).pushed[0].version
    var request = Push.Request(database: database, targets: [road.target])
    request.verifyRemoteEvery = 0
    #expect(try await Push(road.world).run(request).pushed.map(\.unchanged) == [true])
    let packs = road.store.content.keys.filter { $0.text.hasPrefix("packs/") }
    #expect(!packs.isEmpty)
    for pack in packs {
      if isCut { road.store.content[pack]?.removeLast() } else { road.store.content[pack] = nil }
    }
    let anew = try #require(try await Push(road.world).run(request).pushed.first)
    #expect(!anew.unchanged && anew.version.sequence == first.sequence + 1)
    let path = road.scratch.file("out.db")
    _ = try await Pull(road.world).run(.id(prefix: anew.version.id), from: road.target, to: .file(path))
    #expect(try await dump(path) == dump(database.path))
    #expect(try await Push(road.world).run(request).pushed.map(\.unchanged) == [true])
  }

  @Test func `packs that come and go beside those of an unchanged database ask for a key once`() async throws {
    let road = try await Road()
    let disk = road.scratch.file("disk")
    let target = TargetAccess(
      name: "disk", store: try FolderStore(path: disk, create: true), unlock: road.target.unlock)
    _ = try await Initialize(road.world).run(at: target, ifMissing: false)
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    try await Task.sleep(for: .milliseconds(2200))
    let asked = Locked(0)
    let counting = TargetAccess(
      name: "disk", store: target.store,
      unlock: {
        asked.withLock { $0 += 1 }
        return try await target.unlock()
      })
    _ = try await Push(road.world).run(Push.Request(database: database, targets: [target]))
    func isUnchanged() async throws -> Bool? {
      var request = Push.Request(database: database, targets: [counting])
      request.verifyRemoteEvery = 0
      return try await Push(road.world).run(request).pushed.first?.unchanged
    }
    #expect(try await isUnchanged() == true && asked.withLock { $0 } == 0)
    let chain = try #require(road.files(in: "\(disk)/packs").first)
    let stray = "\(disk)/packs/\(chain)/\(String(repeating: "ab", count: 32))"
    try writeFile(stray, [1, 2, 3])
    for _ in 0..<2 { #expect(try await isUnchanged() == true && asked.withLock { $0 } == 1) }
    try FileManager.default.removeItem(atPath: stray)
    for _ in 0..<2 { #expect(try await isUnchanged() == true && asked.withLock { $0 } == 2) }
  }

  /// A folder looks at each file that it lists, and a chain may have tens of thousands of packs.
  @Test func `of the packs of an unchanged database at a folder one is looked for, and all once in a while`()
    async throws
  {
    let disk = try await Disk()
    func lists() async throws -> Int {
      let before = disk.store.tally.lists
      #expect(try await disk.push().pushed.map(\.unchanged) == [true])
      return disk.store.tally.lists - before
    }
    func expectAsked(_ times: Int) { #expect(disk.asked.withLock { $0 } == times) }
    // Of the versions, and of the three that it opens with.
    for _ in 0..<2 { #expect(try await lists() == 4) }
    let packs = "\(disk.path)/packs"
    let folder = "\(packs)/\(try #require(disk.road.files(in: packs).first))"
    // The first one by its name is the one that is looked for.
    let stray = "\(folder)/\(String(repeating: "00", count: 32))"
    try writeFile(stray, [1, 2, 3])
    #expect(try await lists() == 4)
    expectAsked(0)
    #expect(try await disk.push(verifyingEvery: 0).pushed.map(\.unchanged) == [true])
    expectAsked(1)
    try removeFile(stray)
    #expect(try await disk.push().pushed.map(\.unchanged) == [true])
    expectAsked(2)
    #expect(try await lists() == 4)
    // As if an earlier build had pushed it.
    let path = SourceMemory.path(disk.road.world, disk.database, host: "host", store: disk.store.traits.identity)
    var memory = try #require(SourceMemory.read(path))
    memory.listed = nil
    memory.write(path)
    for _ in 0..<2 {
      #expect(try await disk.push().pushed.map(\.unchanged) == [true])
      expectAsked(3)
    }
    #expect(try await lists() == 4)
    for name in try names(in: folder) {
      try writeFile("\(folder)/\(name)", Array(try fileBytes("\(folder)/\(name)").dropLast()))
    }
    #expect(try await disk.push().pushed.map(\.unchanged) == [false])
    #expect(try await lists() == 4)
    try removeFile(folder)
    #expect(try await disk.push().pushed.map(\.unchanged) == [false])
  }

  /// Without one of them nothing can be restored, whatever versions and packs are there.
  @Test func `an unchanged database is no success at a folder that does not open any more`() async throws {
    let disk = try await Disk()
    for part in ["keyring", "keys", "config"] {
      let (there, away) = ("\(disk.path)/\(part)", "\(disk.path).\(part)")
      try FileManager.default.moveItem(atPath: there, toPath: away)
      for isCut in [false, true] {
        if isCut {
          try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: false)
          for name in try names(in: away) {
            try writeFile("\(there)/\(name)", Array(try fileBytes("\(away)/\(name)").dropLast()))
          }
        }
        let outcome = try await disk.push()
        #expect(outcome.pushed.isEmpty && outcome.failures.map(\.target) == ["disk"], "\(part), cut: \(isCut)")
      }
      try removeFile(there)
      try FileManager.default.moveItem(atPath: away, toPath: there)
      #expect(try await disk.push().pushed.map(\.unchanged) == [true])
    }
  }

  @Test func `a key that was added at a folder has an unchanged database ask for its own once`() async throws {
    let disk = try await Disk()
    #expect(try await disk.push().pushed.map(\.unchanged) == [true])
    #expect(disk.asked.withLock { $0 } == 0)
    _ = try await ManageKeys(disk.road.world).addRecoveryKey(at: disk.target)
    disk.asked.withLock { $0 = 0 }
    for _ in 0..<2 {
      #expect(try await disk.push().pushed.map(\.unchanged) == [true])
      #expect(disk.asked.withLock { $0 } == 1)
    }
  }

  /// A person may note what a push says, and ask for it one day.
  @Test func `what is remembered of another version, or has a wrong digit, costs a snapshot`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    try await Task.sleep(for: .milliseconds(2200))
    let first = try await road.push(database).pushed[0].version
    let path = SourceMemory.path(road.world, database, host: "host", store: road.store.traits.identity)
    let good = try fileBytes(path)
    #expect(SourceMemory.read(path)?.version.id == first.id)
    for place in good.indices {
      var spoilt = good
      spoilt[place] ^= 1
      try writeFile(path, spoilt)
      #expect(SourceMemory.read(path) == nil, "byte \(place)")
    }
    // Another database's, and an earlier build's.
    try writeFile("\(path).json", good)
    #expect(SourceMemory.read("\(path).json") == nil)
    try writeFile(path, Array(good.prefix { $0 != UInt8(ascii: "\n") }))
    #expect(SourceMemory.read(path) == nil)
    let text = String(decoding: good, as: UTF8.self)
    let digit: String = first.id.hasPrefix("0") ? "1" : "0"
    let other = digit + String(first.id.dropFirst())
    try writeFile(path, Array(text.replacing(first.id, with: other).utf8))
    let copied = Locked(0)
    var push = Push(road.world)
    push.take = { [take = push.take] in
      copied.withLock { $0 += 1 }
      return try await take($0, $1)
    }
    for _ in 0..<2 {
      let again = try await push.run(Push.Request(database: database, targets: [road.target]))
      #expect(again.pushed.map(\.version.id) == [first.id] && again.pushed.first?.unchanged == true)
      #expect(copied.withLock { $0 } == 1)
    }
  }

  @Test func `so it is where a table needs a collation of its application`() async throws {
    let road = try await Road()
    let path = road.scratch.file("strange.db")
    try SampleDatabase.applicationCollation.make(at: path)
    let database = DatabaseSource(name: "app", path: path)
    try await Task.sleep(for: .milliseconds(2200))
    let first = try await road.push(database).pushed[0].version
    #expect(first.notCheckable)
    let again = try await push(road) { throw SnapshotError(.unreadable, "no copy can be had") }
      .run(Push.Request(database: database, targets: [road.target]))
    #expect(again.failures.isEmpty && again.pushed.first?.unchanged == true)
    #expect(again.pushed.first?.version.id == first.id)
    // As if another SQLite had been at work then: this one looks for itself, once.
    func upgrade() throws {
      let path = SourceMemory.path(road.world, database, host: "host", store: road.store.traits.identity)
      var memory = try #require(SourceMemory.read(path))
      #expect(memory.release == CheckOutcome.release)
      memory.release = "3.0.0"
      memory.write(path)
    }
    let copied = Locked(0)
    var later = Push(road.world)
    later.take = { [take = later.take] in
      copied.withLock { $0 += 1 }
      return try await take($0, $1)
    }
    let request = Push.Request(database: database, targets: [road.target])
    try upgrade()
    for _ in 0..<2 {
      let outcome = try await later.run(request)
      #expect(outcome.damage == nil && outcome.pushed.first?.version.id == first.id)
      #expect(copied.withLock { $0 } == 1)
    }
    try upgrade()
    later.take = { [take = later.take] in
      var snapshot = try await take($0, $1)
      snapshot.check = .damaged(["of the tester's making"])
      return snapshot
    }
    #expect(try await later.run(request).damage?.code == "sourceDamaged")
  }

  @Test func `what a server asks for is read before a copy is made, where one is needed`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    let (asked, copied) = (Locked(0), Locked(0))
    var locked = road.target
    locked.name = "locked"
    locked.prepare = {
      asked.withLock { $0 += 1 }
      throw OperationError(.usage, code: "secretCommandFailed", "the vault is locked")
    }
    var push = Push(road.world)
    push.take = { [take = push.take] in
      copied.withLock { $0 += 1 }
      return try await take($0, $1)
    }
    let failed = try await push.run(Push.Request(database: database, targets: [locked]))
    #expect(failed.pushed.isEmpty && failed.failures.map(\.error.code) == ["secretCommandFailed"])
    #expect(failed.failures.first?.error.message.hasPrefix("pushing 'app' to locked: ") == true)
    #expect(asked.withLock { $0 } == 1 && copied.withLock { $0 } == 0)
    // The others go on.
    try await Task.sleep(for: .milliseconds(2200))
    let partly = try await push.run(Push.Request(database: database, targets: [locked, road.target]))
    #expect(partly.failures.map(\.target) == ["locked"] && partly.pushed.map(\.version.target) == ["memory"])
    #expect(asked.withLock { $0 } == 2 && copied.withLock { $0 } == 1)
    let again = try await push.run(Push.Request(database: database, targets: [locked]))
    #expect(again.failures.isEmpty && again.pushed.first?.unchanged == true)
    #expect(asked.withLock { $0 } == 2 && copied.withLock { $0 } == 1)
  }

  /// - Parameter fail: called in place of taking a copy.
  private func push(_ road: Road, fail: @escaping @Sendable () throws -> Never) -> Push {
    var push = Push(road.world)
    push.take = { _, _ in try fail() }
    return push
  }
}

/// A folder that a database was pushed to, and how often a key was asked for since.
private struct Disk {
  let road: Road
  let path: String
  let store: TallyingStore
  let target: TargetAccess
  let database: DatabaseSource
  let asked: Locked<Int>

  init() async throws {
    let road = try await Road()
    let asked = Locked(0)
    let unlock = road.target.unlock
    path = road.scratch.file("disk")
    store = TallyingStore(try FolderStore(path: path, create: true))
    target = TargetAccess(
      name: "disk", store: store,
      unlock: {
        asked.withLock { $0 += 1 }
        return try await unlock()
      })
    database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    (self.road, self.asked) = (road, asked)
    _ = try await Initialize(road.world).run(at: target, ifMissing: false)
    // A file touched less than two seconds ago proves nothing by its times.
    try await Task.sleep(for: .milliseconds(2200))
    #expect(try await push().pushed.map(\.unchanged) == [false])
    asked.withLock { $0 = 0 }
  }

  func push(verifyingEvery milliseconds: UInt64 = 24 * 3_600_000) async throws -> Push.Outcome {
    var request = Push.Request(database: database, targets: [target])
    request.verifyRemoteEvery = milliseconds
    return try await Push(road.world).run(request)
  }
}
