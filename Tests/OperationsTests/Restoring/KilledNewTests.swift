import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// A restore of a new file that was killed when what comes with it had its places, and the file no name yet.
@Suite struct KilledNewTests {
  enum Way: String, CaseIterable, Sendable {
    case plain, ifMissing, all, pull
  }

  private struct Killed: Error {}

  private struct Home {
    let road: Road
    let path: String

    init() async throws {
      road = try await Road()
      path = try road.database(rows: 40)
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("att"), Companion("keys")]
      mkdir(road.scratch.file("att"), 0o755)
      for name in ["att/a", "keys"] { try writeFile(road.scratch.file(name), [1, 2]) }
      #expect(try await road.push(source).failures.isEmpty)
      for name in ["app.db", "att", "keys"] { try removeFile(road.scratch.file(name)) }
    }

    func destination(_ way: Way) -> String { way == .pull ? road.scratch.file("out.db") : path }
    func note(_ way: Way = .plain) -> String { ReplaceIntent.path(of: destination(way), "new") }

    /// What comes with it.
    func places(_ way: Way) -> [String] {
      way == .pull ? ["out.db.companions"] : ["att", "keys"]
    }

    func run(_ way: Way = .plain, _ change: (inout Pull) -> Void = { _ in }) async throws {
      var pull = Pull(road.world)
      change(&pull)
      var request = Restore.Request(place: .home(path))
      request.onlyIfMissing = way == .ifMissing
      switch way {
      case .plain, .ifMissing:
        _ = try await Restore(pull).run(.latest(database: "app"), from: road.target, request)
      case .all:
        let outcome = try await RestoreAll(pull).run(
          .restore(request, paths: ["app": path]), from: road.target, host: nil)
        if let failure = outcome.failures.first { throw failure.error }
      case .pull:
        _ = try await pull.run(.latest(database: "app"), from: road.target, to: .file(destination(way)))
      }
    }

    /// Leaves what one that is killed there leaves: these are out of sight while it takes back what it did.
    func kill(_ way: Way = .plain) async throws {
      let (scratch, note) = (road.scratch.path, note(way))
      let names = places(way)
      await #expect(throws: (any Error).self) {
        try await run(way) { pull in
          pull.onNew = {
            for name in names { rename("\(scratch)/\(name)", "\(scratch)/kept-\(name)") }
            rename(note, "\(scratch)/kept-note")
            throw Killed()
          }
        }
      }
      for name in names { try #require(rename("\(scratch)/kept-\(name)", "\(scratch)/\(name)") == 0) }
      try #require(rename("\(scratch)/kept-note", note) == 0)
      #expect(FileIdentity(at: destination(way)) == nil)
    }

    var undone: [String] { road.files(in: road.scratch.path).filter { $0.contains(".undone-") } }

    /// Why the next one does not go on.
    func refusal() async -> OperationError? {
      await #expect(throws: OperationError.self) { try await run() }
    }
  }

  @Test(arguments: Way.allCases) func `the next one goes on`(way: Way) async throws {
    let home = try await Home()
    try await home.kill(way)
    try await home.run(way)
    let folder = way == .pull ? "out.db.companions/" : ""
    for name in ["att/a", "keys"] {
      #expect(try fileBytes(home.road.scratch.file(folder + name)) == [1, 2], "\(name)")
    }
    #expect(FileIdentity(at: home.destination(way)) != nil && FileIdentity(at: home.note(way)) == nil)
    // Nothing is removed that somebody may have written into.
    #expect(home.undone.count == home.places(way).count)
    #expect(home.road.notices.said.withLock { $0.count { $0.contains("moved away what") } } == home.places(way).count)
  }

  /// It is restored by itself, behind the other one.
  @Test func `the next restore of all goes on where another database lies in what comes with one`() async throws {
    let road = try await Road()
    let (path, att) = (try road.database(rows: 40), road.scratch.file("att"))
    let inner = "\(att)/inner.db"
    mkdir(att, 0o755)
    try writeFile("\(att)/a", [1, 2])
    try SQLite.run("create table i(v); insert into i values('newest')", on: inner)
    var source = DatabaseSource(name: "app", path: path)
    source.companions = [Companion("att")]
    #expect(try await road.push(source).failures.isEmpty)
    #expect(try await road.push(DatabaseSource(name: "inner", path: inner)).failures.isEmpty)
    for place in [path, att] { try removeFile(place) }

    func run(_ change: (inout Pull) -> Void = { _ in }) async throws -> RestoreAll.Outcome {
      var pull = Pull(road.world)
      change(&pull)
      let work = RestoreAll.Work.restore(Restore.Request(place: .home(path)), paths: ["app": path, "inner": inner])
      return try await RestoreAll(pull).run(work, from: road.target, host: nil)
    }
    let note = ReplaceIntent.path(of: path, "new")
    let killed = try await run { pull in
      pull.onNew = {
        for place in [att, note] { rename(place, "\(place)-hidden") }
        throw Killed()
      }
    }
    #expect(killed.failures.contains { $0.database == "app" })
    for place in [att, note] {
      try? removeFile(place)
      try #require(rename("\(place)-hidden", place) == 0, "\(place)")
    }
    let outcome = try await run()
    #expect(outcome.failures.isEmpty && outcome.done.map(\.database) == ["app", "inner"])
    #expect(try fileBytes("\(att)/a") == [1, 2])
    #expect(try TestDatabase(inner).text("select v from i") == "newest")
  }

  @Test func `so it does where the place of a folder was made, and not filled`() async throws {
    let home = try await Home()
    try await home.kill()
    for name in ["att", "keys"] { try removeFile(home.road.scratch.file(name)) }
    mkdir(home.road.scratch.file("att"), 0o700)
    let preview = try await Restore(Pull(home.road.world)).preview(
      .latest(database: "app"), from: home.road.target, Restore.Request(place: .home(home.path)))
    #expect(preview.refusal == nil)
    try await home.run()
    #expect(try fileBytes(home.road.scratch.file("att/a")) == [1, 2])
    #expect(home.undone.isEmpty)
  }

  @Test func `what somebody else has put there since is in the way, and the hint names what there is`() async throws {
    let home = try await Home()
    try await home.kill()
    // The file system may give the new folder the number of the old one.
    try removeFile(home.road.scratch.file("att"))
    mkdir(home.road.scratch.file("att"), 0o755)
    try writeFile(home.road.scratch.file("att/mine"), [7])
    let error = await home.refusal()
    #expect(error?.code == "destinationExists" && error?.message.contains("/att exists already") == true)
    #expect(error?.hint?.contains("--live") == false && error?.hint?.contains("--replace") == true)
    #expect(try fileBytes(home.road.scratch.file("att/mine")) == [7] && home.undone.isEmpty)
  }

  /// Somebody else may write in the database's folder.
  @Test func `a note that leads out of the folder, or is another user's, moves nothing`() async throws {
    let home = try await Home()
    try await home.kill()
    let outside = home.road.scratch.path + ".outside"
    try writeFile(outside, [1])
    defer { unlink(outside) }
    let (folder, name) = (FolderHandle(path: PathSteps.folder(of: outside)), RestoredFile.name(of: outside))
    let stamp = try #require(folder.flatMap { PlaceStamp(of: name, in: $0) })
    let mine = try fileBytes(home.note())
    let planted = "../\(name)\0\(stamp.text)\0"
    try writeFile(home.note(), Array(planted.utf8) + mine)
    #expect(NewIntent(database: home.path).left == ["att", "keys"].map(home.road.scratch.file))
    guard chown(home.note(), 54_321, 54_321) == 0 else { return }
    #expect(await home.refusal()?.code == "destinationExists")
    #expect(FileIdentity(at: outside) != nil && home.undone.isEmpty)
  }

  @Test func `where the file has its name, only the note goes, and not before what it names`() async throws {
    let home = try await Home()
    try await home.kill()
    try writeFile(home.path, [1])
    #expect(await home.refusal()?.code == "destinationExists")
    #expect(FileIdentity(at: home.note()) != nil && home.undone.isEmpty)
    #expect(try fileBytes(home.road.scratch.file("att/a")) == [1, 2])
    for name in ["att", "keys"] { try removeFile(home.road.scratch.file(name)) }
    #expect(await home.refusal()?.code == "destinationExists")
    #expect(FileIdentity(at: home.note()) == nil)
  }

  @Test(arguments: [Way.plain, .pull]) func `one that fails there leaves nothing`(way: Way) async throws {
    let home = try await Home()
    await #expect(throws: (any Error).self) {
      try await home.run(way) { $0.onNew = { throw Killed() } }
    }
    #expect(FileIdentity(at: home.note(way)) == nil && home.undone.isEmpty)
    for name in home.places(way) { #expect(FileIdentity(at: home.road.scratch.file(name)) == nil, "\(name)") }
  }

  /// Else it would be taken for one that was killed.
  @Test(arguments: [Way.plain, .pull]) func `another one waits as long as one is there`(way: Way) async throws {
    let home = try await Home()
    let isLocked = Locked(false)
    try await home.run(way) { pull in
      pull.onNew = { [folder = home.road.scratch.path] in
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        isLocked.withLock { $0 = flock(descriptor, LOCK_EX | LOCK_NB) != 0 }
      }
    }
    #expect(isLocked.withLock { $0 })
  }
}
