import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// What a restore that failed leaves beside its destination, and what it does not.
@Suite struct ResumedTemporaryTests {
  /// Nothing is wrong but a frame near the end: nobody would ever get that.
  @Test func `what is damaged is not kept, however much of it there is`() async throws {
    let home = try await ResumedRoad()
    let line = CutLine(home.road.store, after: .max)
    try await home.run(line)
    let last = try #require(line.packs.last)
    try #require(unlink(home.path) == 0)
    let length = try #require(home.road.store.content[last]?.count)
    home.road.store.content[last]?[length * 3 / 4] ^= 1
    let error = await #expect(throws: OperationError.self) {
      try await home.run(CutLine(home.road.store, after: .max))
    }
    #expect(error?.kind == .verificationFailed && home.left.isEmpty)
  }

  @Test func `of two that were left the larger one is gone on with`() async throws {
    for isFirst in [true, false] {
      let home = try await ResumedRoad()
      let (_, large) = try await home.cut()
      let aside = home.machine.file("aside")
      try #require(rename(large, aside) == 0)
      await #expect(throws: OperationError.self) {
        try await home.run(CutLine(home.road.store, after: home.whole / 4))
      }
      let small = home.machine.file(try #require(home.left.first { $0.hasPrefix(".") }))
      let names = [".out.db.sealift-1-1", ".out.db.sealift-2-2"].map(home.machine.file)
      try #require(rename(aside, names[isFirst ? 0 : 1]) == 0 && rename(small, names[isFirst ? 1 : 0]) == 0)
      #expect(try await home.goOn() < home.whole * 6 / 10)
      #expect(home.left == ["out.db"])
    }
  }

  @Test func `what the next one would not take is not said to be kept`() async throws {
    let home = try await ResumedRoad()
    let line = CutLine(home.road.store, after: home.whole * 6 / 10, waits: true)
    let running = Task { try await home.run(line) }
    #expect(try await eventually { line.isCut })
    let temporary = home.machine.file(try #require(home.left.first))
    try #require(link(temporary, home.machine.file("another name")) == 0)
    running.cancel()
    _ = await running.result
    #expect(home.road.notices.said.withLock { !$0.contains { $0.hasPrefix("what was fetched is kept in") } })
    #expect(home.left == ["another name"])
  }

  /// Killed right after the file got its name. The application that restores into it once more may have it open, and locked.
  @Test func `a second name of the database is removed, and never opened`() throws {
    let scratch = try Scratch()
    let path = scratch.file("app.db")
    try writeFile(path, [UInt8](repeating: 7, count: 10_000))
    try #require(link(path, scratch.file(".app.db.sealift-1-1")) == 0)
    let lock = try HeldLock(on: path)
    #expect(RestoredFile.leftoverBytes(besides: path) == 0 && lock.stands)
    try RestoredFile.sweep(besides: path)
    #expect(lock.stands)
    #expect(try names(in: scratch.path) == ["app.db"])
  }

  /// Killed while the companions come, it has the whole database; as it stood in that instant it is gone on with.
  @Test func `a whole database waits for what comes with it`() async throws {
    let home = try await ResumedRoad(companion: 1 << 20)
    let line = CutLine(home.road.store, after: home.whole - (1 << 19), waits: true)
    let running = Task { try await home.run(line) }
    #expect(try await eventually { line.isCut })
    let temporary = home.machine.file(try #require(home.left.first { $0.hasPrefix(".out.db.sealift-") }))
    let bytes = try fileBytes(temporary)
    running.cancel()
    _ = await running.result
    for name in home.left { try FileManager.default.removeItem(atPath: home.machine.file(name)) }
    try writeFile(temporary, bytes)
    try #require(chmod(temporary, 0o600) == 0)
    #expect(try await home.goOn() < home.whole * 3 / 10)
  }

  /// A timer, or a service that is started anew: hours of fetching are not in vain for that.
  @Test func `somebody who opens the database meanwhile costs nothing that was fetched`() async throws {
    let home = try await ResumedRoad()
    let before = try TestDatabase(home.path)
    try before.run("CREATE TABLE old(a)")
    before.close()
    func replace(_ line: CutLine) async throws {
      _ = try await Restore(home.pull).run(
        .id(prefix: home.version), from: ResumedRoad.target(home.road, line),
        Restore.Request(place: .file(home.path), mode: .replace))
    }
    let line = CutLine(home.road.store, after: home.whole * 6 / 10, waits: true)
    let running = Task { try await replace(line) }
    #expect(try await eventually { line.isCut })
    let user = try TestDatabase(home.path)
    try user.run("BEGIN IMMEDIATE")
    line.goOn()
    let error = await #expect(throws: OperationError.self) { try await running.value }
    #expect(error?.code == "databaseInUse" && error?.hint?.contains("kept in") == true)
    user.close()
    let rest = CutLine(home.road.store, after: .max)
    try await replace(rest)
    #expect(rest.fetched < home.whole / 10)
    #expect(try await dump(home.path) == dump(home.source))
  }

  @Test func `somebody who takes the name meanwhile costs nothing that was fetched`() async throws {
    let home = try await ResumedRoad()
    let line = CutLine(home.road.store, after: home.whole * 6 / 10, waits: true)
    let running = Task { try await home.run(line) }
    #expect(try await eventually { line.isCut })
    try writeFile(home.path, [1])
    line.goOn()
    let error = await #expect(throws: OperationError.self) { try await running.value }
    #expect(error?.code == "destinationExists" && error?.hint?.contains("kept in") == true)
    try #require(unlink(home.path) == 0)
    #expect(try await home.goOn() < home.whole / 10)
  }
}
