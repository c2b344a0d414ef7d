import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// A database comes back without what comes with it: where that is damaged or has no room, and nothing else is wrong.
@Suite struct LeftCompanionsTests {
  private struct Home {
    let road: Road
    let path: String
    private let packs: Set<ObjectName>

    /// A database is pushed alone, and then with a folder of attachments, all of which is in packs of its own.
    init() async throws {
      road = try await Road()
      path = try road.database(rows: 40)
      _ = try await road.push(DatabaseSource(name: "app", path: path))
      packs = Set(road.store.content.keys)
      try write("att", try Self.attachment())
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("att")]
      #expect(try await road.push(source).failures.isEmpty)
      try write("att", Array("mine".utf8))
    }

    private static func attachment() throws -> [UInt8] {
      var random = SeededRandom(3)
      return random.bytes(1 << 20)
    }

    func write(_ folder: String, _ bytes: [UInt8]) throws {
      try FileManager.default.createDirectory(atPath: road.scratch.file(folder), withIntermediateDirectories: true)
      try writeFile(road.scratch.file("\(folder)/a"), bytes)
    }

    func text(_ folder: String) throws -> String {
      String(decoding: try fileBytes(road.scratch.file("\(folder)/a")), as: UTF8.self)
    }

    /// Flips a byte of an attachment.
    func damage() throws {
      let added = road.store.content.filter { $0.key.text.hasPrefix("packs/") && !packs.contains($0.key) }
      try #require(!added.isEmpty)
      for (name, bytes) in added {
        var bytes = bytes
        bytes[bytes.count / 2] ^= 1
        road.store.content[name] = bytes
      }
    }

    func pull(leaving: Bool) -> Pull {
      var pull = Pull(road.world)
      pull.leavesCompanions = leaving
      return pull
    }

    func pull(leaving: Bool, to destination: Pull.Destination) async throws -> Pull.Outcome {
      try await pull(leaving: leaving).run(.latest(database: "app"), from: road.target, to: destination)
    }

    func restore(leaving: Bool, _ mode: Restore.Mode, _ place: Restore.Place) async throws -> Restore.Outcome {
      try await Restore(pull(leaving: leaving)).run(
        .latest(database: "app"), from: road.target, Restore.Request(place: place, mode: mode))
    }

    /// Names in the folder of the database that begin so.
    func names(_ beginning: String) -> [String] {
      road.files(in: road.scratch.path).filter { $0.hasPrefix(beginning) }
    }

    func said(_ words: String) -> Bool { road.notices.said.withLock { $0.contains { $0.contains(words) } } }
  }

  @Test func `what is damaged names the way on, and the database comes back without it`() async throws {
    let home = try await Home()
    try home.damage()
    let out = home.road.scratch.file("out.db")
    let error = await #expect(throws: OperationError.self) { try await home.pull(leaving: false, to: .file(out)) }
    #expect(error?.kind == .verificationFailed && error?.hint?.contains("--no-companions") == true, "\(error as Any)")
    #expect(home.names("out.db").isEmpty && home.names(".out.db").isEmpty)
    try writeFile(out + ".companions", [1])
    let outcome = try await home.pull(leaving: true, to: .file(out))
    #expect(outcome.leftOut == LeftOut(files: 1, bytes: 1 << 20) && outcome.companionsFolder == nil)
    #expect(try await dump(out) == dump(home.path))
    #expect(try fileBytes(out + ".companions") == [1])
    #expect(home.said("1 companion file (1 MiB) of the version left out as asked"))
  }

  @Test func `a database whose companions are left out can be streamed`() async throws {
    let home = try await Home()
    let file = home.road.scratch.file("stream")
    let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let refused = await #expect(throws: OperationError.self) {
      try await home.pull(leaving: false, to: .descriptor(descriptor))
    }
    #expect(refused?.kind == .usage && refused?.hint?.contains("--no-companions") == true)
    _ = try await home.pull(leaving: true, to: .descriptor(descriptor))
    #expect(try await dump(file) == dump(home.path))
    #expect(home.said("left out as asked"))
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `in place of a database that is there, its companions are not touched`(mode: Restore.Mode) async throws {
    let home = try await Home()
    try home.damage()
    try await home.road.change(home.path)
    await #expect(throws: OperationError.self) { try await home.restore(leaving: false, mode, .home(home.path)) }
    #expect(try home.text("att") == "mine")
    let outcome = try await home.restore(leaving: true, mode, .home(home.path))
    #expect(outcome.companions.isEmpty && outcome.pulled.leftOut?.files == 1)
    #expect(outcome.moved.map(\.from) == (mode == .replace ? [home.path] : []))
    #expect(try home.text("att") == "mine" && home.names("att") == ["att"])
    let undo = try #require(outcome.undo)
    _ = system(undo)
    #expect(try home.text("att") == "mine" && home.names("att") == ["att"])
  }

  @Test func `a replaced file leaves FILE.companions where it is, and so does the undo`() async throws {
    let home = try await Home()
    let staging = home.road.scratch.file("staging.db")
    try FileManager.default.copyItem(atPath: home.path, toPath: staging)
    try home.write("staging.db.companions", Array("mine".utf8))
    let request = Restore.Request(place: .file(staging), mode: .replace)
    let preview = try await Restore(home.pull(leaving: true)).preview(
      .latest(database: "app"), from: home.road.target, request)
    #expect(preview.moves.map(\.from) == [staging] && preview.companions.isEmpty && preview.leftOut?.files == 1)
    let outcome = try await home.restore(leaving: true, .replace, .file(staging))
    #expect(outcome.moved.map(\.from) == [staging])
    #expect(try home.text("staging.db.companions") == "mine")
    let undo = try #require(outcome.undo)
    for _ in 1...2 { _ = system(undo) }
    #expect(try home.text("staging.db.companions") == "mine")
    #expect(!home.names("staging.db").contains { $0.contains(".before-") })
  }

  /// It had moved the old ones along, and put its own in their place.
  @Test func `behind a restore that was killed with companions, the old ones come back`() async throws {
    let home = try await Home()
    let staging = home.road.scratch.file("staging.db")
    try FileManager.default.copyItem(atPath: home.path, toPath: staging)
    try home.write("staging.db.companions", Array("old".utf8))
    let aside = staging + ".before-20200101T000000Z"
    try ReplaceIntent(database: staging).note(aside, companions: [staging + ".companions"])
    for ending in ["", ".companions"] { try #require(rename(staging + ending, aside + ending) == 0) }
    try home.write("staging.db.companions", Array("new".utf8))
    let outcome = try await home.restore(leaving: true, .replace, .file(staging))
    #expect(outcome.moved.map(\.to) == [aside])
    #expect(try home.text("staging.db.companions") == "old")
    #expect(!FileManager.default.fileExists(atPath: aside + ".companions"))
    let away = try #require(home.names("staging.db.companions.undone-").first)
    #expect(try home.text(away) == "new")
  }

  @Test func `what a killed live restore has left stays named until companions come back too`() async throws {
    let home = try await Home()
    try home.write("att.before-T", Array("old".utf8))
    let left = home.road.scratch.file("att.before-T")
    try LiveIntent(database: home.path).note([left])
    _ = try await home.restore(leaving: true, .live, .home(home.path))
    #expect(home.said("did not end") && LiveIntent(database: home.path).left == [left])
    _ = try await home.restore(leaving: false, .live, .home(home.path))
    #expect(LiveIntent(database: home.path).left.isEmpty)
  }

  @Test func `what a killed restore has fetched of companions goes`() async throws {
    let home = try await Home()
    try home.write(".out.db.sealift-members-1-1", [1])
    _ = try await home.pull(leaving: true, to: .file(home.road.scratch.file("out.db")))
    #expect(home.names(".out.db").isEmpty)
  }

  @Test func `what a killed restore has fetched of companions goes with a version that has none`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 5)))
    let left = road.scratch.file(".out.db.sealift-members-1-1")
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
    try writeFile("\(left)/secret", [1])
    _ = try await Pull(road.world).run(
      .latest(database: "app"), from: road.target, to: .file(road.scratch.file("out.db")))
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.hasPrefix(".out.db") })
  }

  @Test func `external files that are left out may leave references that lead nowhere, which is said`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    _ = try await road.push(DatabaseSource(name: "app", path: store.path))
    let folder = try Scratch()
    var pull = Pull(road.world)
    pull.leavesCompanions = true
    let outcome = try await pull.run(
      .latest(database: nil), from: road.target, to: .file(folder.file("Other.sqlite")))
    #expect(outcome.supportFolder == nil && outcome.leftOut?.files == 2)
    #expect(try names(in: folder.path) == ["Other.sqlite"])
    let said = road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("2 references to external files") && $0.contains("leads nowhere") }, "\(said)")
  }

  @Test func `the option is named for what is theirs, and not for a line that was cut`() {
    let full = FoundVersion.hinting(OperationError.fileSystem("cannot write 'att/a'", ENOSPC)) as? OperationError
    #expect(full?.code == "noSpace")
    #expect(full?.hint?.hasPrefix("Free some space") == true && full?.hint?.contains("--no-companions") == true)
    #expect(FoundVersion.hinting(StoreError(.unavailable, "the line was cut")) is StoreError)
    #expect(FoundVersion.hinting(CancellationError()) is CancellationError)
  }
}
