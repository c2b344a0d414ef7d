import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Operations

/// The lines that a restore which replaces prints: cut anywhere and run again, they end where they would have ended.
@Suite struct WayBackTests {
  /// A version was restored to a file that was named, with what comes along in `FILE.companions`; that has changed since.
  private struct Staging {
    let road: Road
    let path: String

    init() async throws {
      road = try await Road()
      path = road.scratch.file("staging.db")
      var source = DatabaseSource(name: "app", path: try road.database(rows: 20))
      source.companions = [Companion("att")]
      try Self.write("new", in: road.scratch.path)
      _ = try await road.push(source)
      _ = try await run(.new)
      try Self.write("old", in: path + ".companions")
      try await road.change(path)
    }

    static func write(_ text: String, in folder: String) throws {
      try FileManager.default.createDirectory(atPath: "\(folder)/att", withIntermediateDirectories: true)
      try writeFile("\(folder)/att/a", Array(text.utf8))
    }

    func run(
      _ mode: Restore.Mode, in folder: Scratch? = nil, _ change: (inout Restore) -> Void = { _ in }
    ) async throws -> Restore.Outcome {
      var restore = Restore(Pull(road.world))
      change(&restore)
      let place = Restore.Place.file((folder ?? road.scratch).file("staging.db"))
      return try await restore.run(
        .latest(database: "app"), from: road.target, Restore.Request(place: place, mode: mode))
    }

    /// What is found where a restore was killed right before the database got its name.
    func killed() async throws -> Scratch {
      let frozen = try Scratch()
      _ = try await run(.replace) { restore in
        restore.onReplace = { [from = road.scratch.path, to = frozen.path] in
          for name in try names(in: from) where name != "state" {
            try FileManager.default.copyItem(atPath: "\(from)/\(name)", toPath: "\(to)/\(name)")
          }
        }
      }
      return frozen
    }

    func refusal(in folder: Scratch? = nil) async -> OperationError? {
      await #expect(throws: OperationError.self) { try await run(.new, in: folder) }
    }
  }

  /// What was kept of a folder of companions in which nothing else lies.
  private func kept(_ folder: String) throws -> String {
    #expect(try names(in: folder) == ["att"])
    return String(decoding: try fileBytes("\(folder)/att/a"), as: UTF8.self)
  }

  private func line(_ error: OperationError?) throws -> String {
    #expect(error?.code == "unfinishedReplace")
    return try #require(error?.hint?.split(separator: "put it back with: ").last.map(String.init))
  }

  /// In one copy of the folder after the other: the line is cut before one of its moves, and then run as a whole, twice.
  private func runCutAnywhere(
    _ line: String, in folder: Scratch, _ look: (Scratch, Comment) throws -> Void
  ) async throws {
    for moves in 0...line.ranges(of: "mv -nT -- ").count {
      let copy = try Scratch()
      _ = try await RestoreRoad.shell("cp -a '\(folder.path)/.' '\(copy.path)'")
      let own = line.replacing(folder.path, with: copy.path)
      let cut = "left=\(moves); mv() { [ $left -gt 0 ] || exit 0; left=$((left - 1)); command mv \"$@\"; }; \(own)"
      for command in [cut, own, own] { _ = try await RestoreRoad.shell(command) }
      try look(copy, "cut after \(moves) moves")
      #expect(try names(in: copy.path).allSatisfy { !$0.contains(".before-") }, "cut after \(moves) moves")
    }
  }

  @Test func `killed behind FILE.companions: the hint brings both old ones back, none inside the other`() async throws {
    let staging = try await Staging()
    let old = try fileBytes(staging.path)
    let frozen = try await staging.killed()
    let refused = await staging.refusal(in: frozen)
    let aside = try #require(try names(in: frozen.path).first { $0.hasPrefix("staging.db.before-") })
    #expect(refused?.message.contains(frozen.file(aside + ".companions")) == true)
    try await runCutAnywhere(try line(refused), in: frozen) { copy, moment in
      #expect(try fileBytes(copy.file("staging.db")) == old, moment)
      #expect(try kept(copy.file("staging.db.companions")) == "old", moment)
      let undone = try names(in: copy.path).filter { $0.contains(".undone-") }
      #expect(undone == [aside.replacing(".before-", with: ".undone-") + ".companions"], moment)
      #expect(try kept(copy.file(undone.first ?? "")) == "new", moment)
    }
  }

  /// The first one had put nothing there yet, and the next one noted that nothing stood there.
  @Test func `killed twice: what stands for FILE.companions is not said to stand where nothing was`() async throws {
    let staging = try await Staging()
    let (companions, aside) = (staging.path + ".companions", staging.path + ".before-20200101T000000Z")
    try ReplaceIntent(database: staging.path).note(aside, free: [companions])
    for ending in ["", ".companions"] { try #require(rename(staging.path + ending, aside + ending) == 0) }
    try Staging.write("new", in: companions)
    let refused = await staging.refusal()
    #expect(refused?.message.contains("where nothing was") == false)
    try await runCutAnywhere(try line(refused), in: staging.road.scratch) { copy, moment in
      let (here, undone) = ("staging.db.companions", "staging.db.undone-20200101T000000Z.companions")
      let found = try [here, undone].map { try kept(copy.file($0)) }
      #expect(found == ["old", "new"], moment)
    }
  }

  /// Killed between the -wal's second name and the end of its first one; or somebody else's -wal stands there.
  @Test(arguments: [true, false]) func `the hint brings the -wal back, whatever stands in its place`(
    hasBothNames: Bool
  ) async throws {
    let home = try await RestoreRoad(wal: true)
    let aside = home.path + ".before-20200101T000000Z"
    try ReplaceIntent(database: home.path).note(aside)
    try #require(link(home.path + "-wal", aside + "-wal") == 0)
    if !hasBothNames {
      try removeFile(home.path + "-wal")
      try writeFile(home.path + "-wal", [1, 2, 3])
    }
    try #require(rename(home.path, aside) == 0)
    let command = try line(await home.refusal(.new))
    _ = try await RestoreRoad.shell(command)
    #expect(try home.dump(home.path) == home.now)
    let undone = home.path + ".undone-20200101T000000Z-wal"
    if hasBothNames {
      #expect(!FileManager.default.fileExists(atPath: undone))
    } else {
      #expect(try fileBytes(undone) == [1, 2, 3])
    }
  }

  @Test(arguments: [true, false]) func `an undo that was cut ends with the old database beside its own -wal`(
    isUsed: Bool
  ) async throws {
    let home = try await RestoreRoad(wal: true)
    let undo = try #require(try await home.run(.replace).undo)
    if isUsed {
      let used = try TestDatabase(home.path)
      try used.run("PRAGMA wal_autocheckpoint=0; INSERT INTO t(v) VALUES ('later')")
      used.closeKeepingWal()
    }
    try await runCutAnywhere(undo, in: home.road.scratch) { copy, moment in
      #expect(try home.dump(copy.file("app.db")) == home.now, moment)
      let undone = try #require(try names(in: copy.path).first { $0.hasPrefix("app.db.undone-") })
      let content = try home.dump(copy.file(undone))
      #expect(isUsed ? content.contains { $0.contains("later") } : content == home.pushed, moment)
    }
  }

  @Test func `an undo takes FILE.companions there and back, cut or not`() async throws {
    let staging = try await Staging()
    let old = try fileBytes(staging.path)
    let undo = try #require(try await staging.run(.replace).undo)
    try await runCutAnywhere(undo, in: staging.road.scratch) { copy, moment in
      #expect(try fileBytes(copy.file("staging.db")) == old, moment)
      #expect(try kept(copy.file("staging.db.companions")) == "old", moment)
      let undone = try names(in: copy.path).filter { $0.hasPrefix("staging.db.undone-") }
      #expect(undone.count == 2, moment)
      #expect(try kept(copy.file(undone.last ?? "")) == "new", moment)
    }
  }

  /// Everything was on its way back when an application took the database's name.
  @Test func `an undo leaves in its place what has come back already`() async throws {
    let home = try await RestoreRoad(wal: true)
    var aside = SetAside(home.path, time: "20200101T000000Z")
    try aside.move()
    try #require(rename(aside.aside + "-wal", home.path + "-wal") == 0)
    try writeFile(home.path, [1, 2, 3])
    let undo = try #require(aside.undo)
    for _ in 1...2 { _ = try await RestoreRoad.shell(undo) }
    #expect(try home.dump(home.path) == home.now)
    #expect(try fileBytes(home.path + ".undone-20200101T000000Z") == [1, 2, 3])
    #expect(aside.undo == nil)
  }
}
