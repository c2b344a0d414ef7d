import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// What comes with a database goes back to where its application looks for it.
@Suite struct RestoreBesideTests {
  private struct Home {
    let road: Road
    let path: String
    let restore: Restore

    /// A database with a folder of attachments is pushed; then both change.
    init() async throws {
      road = try await Road()
      path = try road.database(rows: 40)
      restore = Restore(Pull(road.world))
      try write("pushed")
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("att")]
      _ = try await road.push(source)
      try await road.change(path)
      try write("changed since")
    }

    func write(_ text: String) throws {
      try FileManager.default.createDirectory(atPath: road.scratch.file("att"), withIntermediateDirectories: true)
      try writeFile(road.scratch.file("att/a"), Array(text.utf8))
    }

    func attached(_ folder: String = "att") throws -> String {
      String(decoding: try fileBytes(road.scratch.file("\(folder)/a")), as: UTF8.self)
    }

    func run(_ mode: Restore.Mode, _ place: Restore.Place? = nil) async throws -> Restore.Outcome {
      let place = place ?? .origin(["app": path])
      return try await restore.run(.latest(database: "app"), from: road.target, request(mode, place))
    }

    func request(_ mode: Restore.Mode, _ place: Restore.Place) -> Restore.Request {
      var request = Restore.Request(place: place, mode: mode)
      request.configured = ["app": path]
      return request
    }
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `it takes the place of what is there, and the undo puts that back`(
    mode: Restore.Mode
  ) async throws {
    let home = try await Home()
    let before = try fileBytes(home.path)
    let outcome = try await home.run(mode)
    #expect(outcome.companions == [home.road.scratch.file("att")])
    #expect(try home.attached() == "pushed")
    let aside = try #require(outcome.moved.first { $0.from == home.road.scratch.file("att") }?.to)
    #expect(String(decoding: try fileBytes("\(aside)/a"), as: UTF8.self) == "changed since")
    // An application has written to it meanwhile; and whoever is not sure does the undo twice.
    try home.write("written after the restore")
    let undo = try #require(outcome.undo)
    for _ in 1...2 { _ = system(undo) }
    #expect(try home.attached() == "changed since")
    let undone = try #require(home.road.files(in: home.road.scratch.path).first { $0.hasPrefix("att.undone-") })
    #expect(try home.attached(undone) == "written after the restore")
    if mode == .replace { #expect(try fileBytes(home.path) == before) }
  }

  @Test func `a live restore that is given up leaves what comes with the old rows`() async throws {
    let home = try await Home()
    let writer = try TestDatabase(home.path)
    try writer.run("BEGIN IMMEDIATE")
    let error = await #expect(throws: OperationError.self) {
      var request = Restore.Request(place: .origin(["app": home.path]), mode: .live)
      request.busyTimeout = .milliseconds(300)
      return try await home.restore.run(.latest(database: "app"), from: home.road.target, request)
    }
    #expect(error != nil)
    #expect(try home.attached() == "changed since")
    #expect(
      home.road.files(in: home.road.scratch.path).allSatisfy { !$0.contains(".before-") && !$0.contains(".sealift") })
  }

  @Test func `a companion never takes the place of the database`() async throws {
    let home = try await Home()
    let other = home.road.scratch.file("att")
    try FileManager.default.removeItem(atPath: other)
    try FileManager.default.copyItem(atPath: home.path, toPath: other)
    let error = await #expect(throws: OperationError.self) { try await home.run(.live, .home(other)) }
    #expect(error?.code == "companionInTheWay")
    #expect(try fileBytes(other) == (try fileBytes(home.path)))
    // The copy of the old content had its name already, and is of no use any more.
    #expect(!home.road.files(in: home.road.scratch.path).contains { $0.contains(".before-") })
  }

  @Test func `a lost database comes back with it; where it stands already, nothing is done`() async throws {
    let home = try await Home()
    try removeFile(home.path)
    let error = await #expect(throws: OperationError.self) { try await home.run(.new) }
    #expect(error?.code == "destinationExists")
    #expect(try home.attached() == "changed since" && !FileManager.default.fileExists(atPath: home.path))
    try FileManager.default.removeItem(atPath: home.road.scratch.file("att"))
    let outcome = try await home.run(.new)
    #expect(outcome.companions == [home.road.scratch.file("att")] && outcome.pulled.companionsFolder == nil)
    #expect(try home.attached() == "pushed" && FileManager.default.fileExists(atPath: home.path))
  }

  /// A version tried beside the running application, twice: its own attachments are none of that.
  @Test(arguments: [Restore.Mode.replace, .live])
  func `beside another file, what comes with the configured database stays`(mode: Restore.Mode) async throws {
    let home = try await Home()
    let staging = home.road.scratch.file("staging.db")
    _ = try await home.run(.new, .file(staging))
    try writeFile(staging + ".companions/att/a", Array("tried".utf8))
    let outcome = try await home.run(mode, .file(staging))
    #expect(try home.attached() == "changed since")
    #expect(!home.road.files(in: home.road.scratch.path).contains { $0.hasPrefix("att.") })
    #expect(try home.attached("staging.db.companions/att") == "pushed")
    #expect(outcome.companions.isEmpty && outcome.pulled.companionsFolder == staging + ".companions")
    let aside = try #require(outcome.moved.first { $0.from == staging + ".companions" }?.to)
    #expect(String(decoding: try fileBytes("\(aside)/att/a"), as: UTF8.self) == "tried")
    let undo = try #require(outcome.undo)
    #expect(system(undo) == 0)
    #expect(try home.attached("staging.db.companions/att") == "tried")
    #expect(try home.attached() == "changed since")
  }

  @Test func `the configured file that is named is its own place, also behind a link`() async throws {
    let home = try await Home()
    let link = home.road.scratch.file("link.db")
    try #require(symlink("app.db", link) == 0)
    let request = home.request(.replace, .file(link))
    let preview = try await home.restore.preview(.latest(database: "app"), from: home.road.target, request)
    #expect(preview.moves.contains { $0.from.hasSuffix("/att") })
    let outcome = try await home.restore.run(.latest(database: "app"), from: home.road.target, request)
    #expect(try outcome.companions.count == 1 && home.attached() == "pushed")
  }

  /// Killed when the new companions had their name, and the new database had none.
  @Test func `a replace that was killed behind FILE.companions goes on`() async throws {
    let home = try await Home()
    let staging = home.road.scratch.file("staging.db")
    _ = try await home.run(.new, .file(staging))
    let aside = staging + ".before-20200101T000000Z"
    try ReplaceIntent(database: staging).note(aside)
    for ending in ["", ".companions"] { try #require(rename(staging + ending, aside + ending) == 0) }
    try #require(mkdir(staging + ".companions", 0o700) == 0)
    let outcome = try await home.run(.replace, .file(staging))
    #expect(try home.attached("staging.db.companions/att") == "pushed")
    #expect(outcome.moved.map(\.to) == [aside, aside + ".companions"])
    #expect(home.road.files(in: home.road.scratch.path).contains { $0.hasPrefix("staging.db.companions.undone-") })
  }

  @Test func `beside a new file that was named, it stands under that name`() async throws {
    let home = try await Home()
    let other = home.road.scratch.file("other.db")
    let outcome = try await home.run(.new, .file(other))
    #expect(outcome.pulled.companionsFolder == other + ".companions" && outcome.companions.isEmpty)
    #expect(try home.attached("other.db.companions/att") == "pushed")
    #expect(try home.attached() == "changed since")
  }
}
