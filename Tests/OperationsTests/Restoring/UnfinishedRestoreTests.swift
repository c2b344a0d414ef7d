import FoundationEssentials
import Glibc
import Repositories
import Storage
import TestKit
import Testing

@testable import Operations

/// What a push, a status and a rule make of what a restore that was killed has left beside a database.
@Suite struct UnfinishedRestoreTests {
  private struct Killed: Error {}

  private struct Home {
    let road: Road
    let path: String
    let source: DatabaseSource
    /// With its files.
    let version: VersionSummary
    var att: String { road.scratch.file("att") }
    var moved: String { "\(att).before-20260101T000000Z" }
    var aside: String { "\(path).before-20260101T000000Z" }

    init() async throws {
      road = try await Road()
      path = try road.database(rows: 40)
      mkdir(road.scratch.file("att"), 0o755)
      try writeFile(road.scratch.file("att/a"), [1, 2])
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("att")]
      self.source = source
      version = try await road.push(source).pushed[0].version
      try await road.change(path)
    }

    func push() async throws -> Push.Outcome { try await road.push(source) }

    /// As a restore that replaces leaves it which is killed before the folder has its content, when somebody has put the
    /// database back by hand.
    func killReplacing() throws {
      try ReplaceIntent(database: path).note(aside, companions: [att])
      try #require(rename(att, moved) == 0)
      let folder = try #require(FolderHandle(path: road.scratch.path))
      #expect(StagedCompanions.hold(HeldPlace(folder, att)))
    }

    /// A newer version, with these files alone.
    func pushing(_ companions: String...) async throws -> VersionSummary {
      var other = source
      other.companions = companions.map { Companion($0) }
      let version = try await road.push(other).pushed[0].version
      try await road.change(path)
      return version
    }

    func run(
      _ mode: Restore.Mode, _ version: VersionSummary? = nil, _ change: (inout Restore) -> Void = { _ in }
    ) async throws -> Restore.Outcome {
      var restore = Restore(Pull(road.world))
      change(&restore)
      let selector = version.map { VersionSelector.id(prefix: $0.id) } ?? .latest(database: "app")
      return try await restore.run(selector, from: road.target, Restore.Request(place: .home(path), mode: mode))
    }

    var said: [String] { road.notices.said.withLock { $0 } }

    func staying(_ rules: RetentionRules) async throws -> [[String]] {
      var request = ForgetVersions.Request(.rulesForAll(rules))
      request.unsettled = Restore.unsettled(among: [source])
      let plan = try await ForgetVersions(road.world).plan(request, at: road.target)
      return plan.chains[0].plan.staying.map(\.reasons)
    }
  }

  /// Nobody has emptied it; and its files lie under another name.
  @Test func `an empty folder that a killed restore made is no companion without files`() async throws {
    let home = try await Home()
    try home.killReplacing()
    for _ in 1...2 {
      let outcome = try await home.push()
      #expect(outcome.pushed.count == 1)
      #expect(outcome.shortfalls.map(\.code) == ["companionEmpty", "unfinishedRestore"])
      #expect(outcome.shortfalls.last?.message.contains(home.moved) == true)
      try await home.road.change(home.path)
    }
    #expect(
      try await home.staying(RetentionRules(last: 1)).first == [
        "newest with its companions", "newest from before a restore that did not end",
      ])
    try removeFile(ReplaceIntent.path(of: home.path))
    #expect(try await home.staying(RetentionRules(last: 1)).first == ["newest with its companions"])
  }

  @Test func `a database that stands where an old one was moved away is told of, and where that is`() async throws {
    let home = try await Home()
    try ReplaceIntent(database: home.path).note(home.aside, companions: [home.att])
    try #require(rename(home.path, home.aside) == 0)
    let lacking = await #expect(throws: OperationError.self) { try await home.push() }
    #expect(lacking?.kind == .sourceUnreadable && lacking?.message.contains(home.aside) == true)
    #expect(lacking?.hint?.contains("mv ") == true)
    _ = try home.road.database(rows: 10)
    let outcome = try await home.push()
    #expect(outcome.shortfalls.map(\.code) == ["unfinishedRestore"])
    #expect(outcome.shortfalls.first?.message.contains("what was there is \(home.aside)") == true)
    let status = try await StatusOfDatabases(home.road.world).run([home.source], at: home.road.target)
    #expect(status.problems.map(\.code) == ["unfinishedRestore"])
    #expect(Restore.remarks(on: home.path).count == 1)
    try removeFile(ReplaceIntent.path(of: home.path))
    #expect(try await StatusOfDatabases(home.road.world).run([home.source], at: home.road.target).problems.isEmpty)
    #expect(try await home.push().shortfalls.isEmpty)
  }

  /// Its place was taken by a database that an application made.
  @Test func `what a killed restore has put beside a new file is told of`() async throws {
    let home = try await Home()
    try removeFile(home.path)
    try removeFile(home.att)
    let note = ReplaceIntent.path(of: home.path, "new")
    let names = [home.att, note]
    await #expect(throws: OperationError.self) {
      var pull = Pull(home.road.world)
      pull.onNew = {
        for name in names { rename(name, "\(name)-hidden") }
        throw Killed()
      }
      _ = try await Restore(pull).run(
        .latest(database: "app"), from: home.road.target, Restore.Request(place: .home(home.path)))
    }
    for name in names { try #require(rename("\(name)-hidden", name) == 0) }
    #expect(Restore.remarks(on: home.path).isEmpty && Restore.unsettled(among: [home.source]).isEmpty)
    _ = try home.road.database(rows: 10)
    let outcome = try await home.push()
    #expect(outcome.shortfalls.map(\.code) == ["unfinishedRestore"])
    #expect(outcome.shortfalls.first?.message.contains(home.att) == true)
    #expect(outcome.shortfalls.first?.hint?.contains(note) == true)
    let told = try #require(Restore.unsettled(among: [home.source])["app"])
    #expect(told >= home.version.time && told <= UInt64(time(nil) + 1) * 1000)
    #expect(try await home.staying(RetentionRules(last: 1)).count == 2)
    // What nobody can read is told as well.
    try #require((geteuid() == 0 ? truncate(note, 65 << 20) : chmod(note, 0)) == 0)
    #expect(Restore.remarks(on: home.path).first?.contains("\(note) cannot be read") == true)
  }

  @Test func `where nothing is left of one, nothing is said`() async throws {
    let home = try await Home()
    // Killed before it moved anything; then what had been moved is back; then none was noted.
    try ReplaceIntent(database: home.path).note(home.aside, companions: [home.att], free: [home.path + ".none"])
    #expect(try await home.push().shortfalls.isEmpty)
    #expect(Restore.remarks(on: home.path).isEmpty && Restore.unsettled(among: [home.source]).isEmpty)
    try ReplaceIntent(database: home.path).note(home.aside)
    #expect(Restore.remarks(on: home.path).isEmpty)
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `a restore that ends settles it, and tells before where the old files are`(mode: Restore.Mode) async throws {
    let home = try await Home()
    try home.killReplacing()
    _ = try await home.run(mode)
    #expect(home.said.contains { $0.contains("did not end") && $0.contains(home.moved) })
    #expect(Restore.remarks(on: home.path).isEmpty)
    #expect(try fileBytes(home.att + "/a") == [1, 2] && fileBytes(home.moved + "/a") == [1, 2])
    #expect(try await home.push().shortfalls.isEmpty)
  }

  @Test func `one that fails leaves it to be told`() async throws {
    let home = try await Home()
    try home.killReplacing()
    await #expect(throws: OperationError.self) { try await home.run(.replace) { $0.onReplace = { throw Killed() } } }
    #expect(Restore.remarks(on: home.path).first?.contains(home.moved) == true)
    #expect(try await home.push().shortfalls.map(\.code) == ["companionEmpty", "unfinishedRestore"])
  }

  /// Versions that were pushed between the two are not from before.
  @Test(arguments: [Restore.Mode.replace, .live])
  func `one that fails, or is killed, takes neither its place nor its time`(mode: Restore.Mode) async throws {
    let home = try await Home()
    try home.killReplacing()
    if mode == .live {
      try removeFile(ReplaceIntent.path(of: home.path))
      try LiveIntent(database: home.path).note([home.moved])
    }
    let ending = mode == .live ? "live" : "replace"
    let (note, copy) = (ReplaceIntent.path(of: home.path, ending), home.road.scratch.file("note"))
    let first = timespec(tv_sec: 1_700_000_000, tv_nsec: 0)
    try #require(utimensat(AT_FDCWD, note, [first, first], 0) == 0)
    let failing: @Sendable () throws -> Void = {
      try FileManager.default.copyItem(atPath: note, toPath: copy)
      throw Killed()
    }
    await #expect(throws: OperationError.self) {
      try await home.run(mode) { restore in
        restore.onReplace = failing
        restore.onLive = { if $0 == .moved { try failing() } }
      }
    }
    #expect(Restore.unsettled(among: [home.source]) == ["app": 1_700_000_000_000])
    // As it was when the second was at work.
    try #require(rename(copy, note) == 0)
    #expect(Restore.remarks(on: home.path).contains { $0.contains(home.moved) })
  }

  @Test func `what it leaves alone is not settled`() async throws {
    let home = try await Home()
    try home.killReplacing()
    var pull = Pull(home.road.world)
    pull.leavesCompanions = true
    let request = Restore.Request(place: .home(home.path), mode: .replace)
    _ = try await Restore(pull).run(.latest(database: "app"), from: home.road.target, request)
    #expect(Restore.remarks(on: home.path).first?.contains(home.moved) == true)
    #expect(try await home.push().shortfalls.map(\.code) == ["companionEmpty", "unfinishedRestore"])
    _ = try await home.run(.replace)
    #expect(Restore.remarks(on: home.path).isEmpty)
  }

  @Test func `where no database was in the place, files that go aside are noted all the same`() async throws {
    let home = try await Home()
    try removeFile(home.path)
    let told = Locked<[String]>([])
    _ = try await home.run(.replace) { restore in
      restore.onReplace = { [path = home.path] in told.withLock { $0 = Restore.remarks(on: path) } }
    }
    #expect(told.withLock { $0.count == 1 && $0[0].contains("\(home.att).before-") })
    #expect(Restore.remarks(on: home.path).isEmpty)
    // A push that finds none says so, too.
    try home.killReplacing()
    try removeFile(home.path)
    let lacking = await #expect(throws: OperationError.self) { try await home.push() }
    #expect(lacking?.message.contains(home.moved) == true)
  }

  /// A version from before the folder was configured.
  @Test(arguments: [Restore.Mode.replace, .live])
  func `a version without those files settles nothing of them`(mode: Restore.Mode) async throws {
    let home = try await Home()
    let plain = try await home.pushing()
    try home.killReplacing()
    if mode == .live {
      try removeFile(ReplaceIntent.path(of: home.path))
      try LiveIntent(database: home.path).note([home.moved])
    }
    _ = try await home.run(mode, plain)
    #expect(Restore.remarks(on: home.path).count == 1)
    #expect(Restore.remarks(on: home.path).first?.contains(home.moved) == true)
    #expect(try await home.push().shortfalls.contains { $0.code == "unfinishedRestore" })
    _ = try await home.run(mode, home.version)
    #expect(Restore.remarks(on: home.path).isEmpty)
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `a version with some of those files settles them alone`(mode: Restore.Mode) async throws {
    let home = try await Home()
    let keys = home.road.scratch.file("keys")
    mkdir(keys, 0o755)
    try writeFile("\(keys)/k", [3])
    let some = try await home.pushing("keys")
    let moved = "\(keys).before-20260101T000000Z"
    try home.killReplacing()
    try #require(rename(keys, moved) == 0)
    if mode == .live {
      try removeFile(ReplaceIntent.path(of: home.path))
      try LiveIntent(database: home.path).note([home.moved, moved])
    } else {
      try ReplaceIntent(database: home.path).note(home.aside, companions: [home.att, keys])
    }
    _ = try await home.run(mode, some)
    let remarks = Restore.remarks(on: home.path)
    #expect(remarks.count == 1 && remarks[0].contains(home.moved) && !remarks[0].contains(moved))
    #expect(try fileBytes("\(keys)/k") == [3])
  }

  @Test func `what nobody here can read is not settled, nor said to be removed`() async throws {
    let home = try await Home()
    let plain = try await home.pushing()
    try LiveIntent(database: home.path).note([home.att])
    let note = ReplaceIntent.path(of: home.path, "live")
    try #require((geteuid() == 0 ? truncate(note, 2 << 20) : chmod(note, 0)) == 0)
    _ = try await home.run(.replace, plain)
    #expect(access(note, F_OK) == 0)
    let told = try #require(try await home.push().shortfalls.first { $0.code == "unfinishedRestore" })
    #expect(told.message.contains("\(note) cannot be read"))
    #expect(told.hint?.contains("Restore as the user who did then") == true && told.hint?.contains("rm ") == false)
  }

  @Test func `one that goes on with another keeps what others have left before`() async throws {
    let home = try await Home()
    let plain = try await home.pushing()
    try ReplaceIntent(database: home.path).note(home.aside, earlier: [home.moved])
    try #require(rename(home.att, home.moved) == 0 && rename(home.path, home.aside) == 0)
    _ = try await home.run(.replace, plain)
    #expect(home.said.contains { $0.contains("going on with an earlier restore") })
    #expect(Restore.remarks(on: home.path).first?.contains(home.moved) == true)
    _ = try await home.run(.replace, home.version)
    #expect(Restore.remarks(on: home.path).isEmpty)
  }

  @Test func `what an application makes when the old database is back is of no restore`() async throws {
    let home = try await Home()
    let new = home.road.scratch.file("new")
    try ReplaceIntent(database: home.path).note(home.aside, free: [new])
    try #require(rename(home.path, home.aside) == 0)
    let lacking = await #expect(throws: OperationError.self) { try await home.push() }
    let line = try #require(lacking?.hint?.split(separator: "put it back with: ").last.map(String.init))
    _ = try await RestoreRoad.shell(line)
    #expect(access(home.path, F_OK) == 0)
    mkdir(new, 0o755)
    #expect(Restore.remarks(on: home.path).isEmpty)
    #expect(try await home.push().shortfalls.isEmpty)
  }
}
