import FoundationEssentials
import TestKit
import Testing

@testable import Operations

/// `--all` is run again after a cut: what it had finished counts as done, and only that.
@Suite struct StandingVersionTests {
  private struct Home {
    let road: Road
    let folder: Scratch
    let path: String

    /// A database with attachments, and one without.
    init() async throws {
      road = try await Road()
      folder = try Scratch()
      path = try road.database(rows: 20)
      var app = DatabaseSource(name: "app", path: path)
      app.companions = [Companion("att")]
      try FileManager.default.createDirectory(atPath: road.scratch.file("att/in"), withIntermediateDirectories: true)
      try writeFile(road.scratch.file("att/in/a"), [1, 2, 3])
      try FileManager.default.createSymbolicLink(
        atPath: road.scratch.file("att/link"), withDestinationPath: "in/a")
      let mail = road.scratch.file("mail.db")
      try SQLite.run("CREATE TABLE t(a); INSERT INTO t VALUES(1)", on: mail)
      for source in [app, DatabaseSource(name: "mail", path: mail)] {
        #expect(try await road.push(source).failures.isEmpty)
      }
    }

    func all(_ change: (inout RestoreAll) -> Void = { _ in }) async throws -> RestoreAll.Outcome {
      var all = RestoreAll(Pull(road.world))
      change(&all)
      return try await all.run(.pull(into: folder.path), from: road.target, host: nil)
    }
  }

  @Test func `what was finished is done, whatever comes with it`() async throws {
    let home = try await Home()
    let first = try await home.all()
    #expect(first.failures.isEmpty && first.done.allSatisfy { !$0.alreadyThere })
    let before = try fileBytes(home.folder.file("app.sqlite"))
    for isDry in [true, false] {
      let again = try await home.all { $0.dryRun = isDry }
      #expect(again.failures.isEmpty && again.done.count == 2 && again.done.allSatisfy(\.alreadyThere))
    }
    let app = try #require(try await home.all().done.first { $0.database == "app" }?.outcome?.pulled)
    #expect(app.check == "ok" && app.checkedAt == .push)
    #expect(app.companionsFolder == home.folder.file("app.sqlite.companions"))
    #expect(try fileBytes(home.folder.file("app.sqlite")) == before)
    // What is to be made over is not what stands there.
    let repacked = try await home.all { $0.pull.makeOver.vacuum = true }
    #expect(repacked.failures.count == 2 && repacked.failures.allSatisfy { $0.error.code == "destinationExists" })
  }

  @Test(arguments: ["in/a", "link", "in"]) func `a companion that is not as it was is no finished one`(
    name: String
  ) async throws {
    let home = try await Home()
    _ = try await home.all()
    let companion = home.folder.file("app.sqlite.companions/att/\(name)")
    try FileManager.default.removeItem(atPath: companion)
    if name == "in/a" { try writeFile(companion, [1, 2, 4]) }
    let again = try await home.all()
    #expect(again.done.map(\.database) == ["mail"])
    let error = try #require(again.failures.first?.error)
    #expect(error.code == "destinationExists" && error.message.contains(companion), "\(error)")
    #expect(error.hint?.contains("--no-companions") == true)
    let alone = try await home.all { $0.pull.leavesCompanions = true }
    #expect(alone.failures.isEmpty && alone.done.allSatisfy(\.alreadyThere))
  }

  @Test func `a database that is not the version's, or has a journal beside it, is none either`() async throws {
    let home = try await Home()
    _ = try await home.all()
    try writeFile(home.folder.file("app.sqlite-wal"), [1])
    var other = try fileBytes(home.folder.file("mail.sqlite"))
    other[other.count - 1] ^= 1
    try writeFile(home.folder.file("mail.sqlite"), other)
    let again = try await home.all()
    #expect(again.done.isEmpty && again.failures.count == 2)
    #expect(try fileBytes(home.folder.file("mail.sqlite")) == other)
  }

  @Test func `to their places the same, where nothing would be replaced`() async throws {
    let home = try await Home()
    let paths = ["app": home.folder.file("app.db"), "mail": home.folder.file("mail.db")]
    func run(_ mode: Restore.Mode) async throws -> RestoreAll.Outcome {
      try await RestoreAll(Pull(home.road.world)).run(
        .restore(Restore.Request(place: .origin([:]), mode: mode), paths: paths), from: home.road.target, host: nil)
    }
    #expect(try await run(.new).failures.isEmpty)
    let again = try await run(.new)
    #expect(again.failures.isEmpty && again.done.map(\.alreadyThere) == [true, true])
    #expect(again.done.first?.outcome?.companions == [home.folder.file("att")])
    let replaced = try await run(.replace)
    #expect(replaced.done.allSatisfy { !$0.alreadyThere && $0.outcome?.moved.isEmpty == false })
  }
}
