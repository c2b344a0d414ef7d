import FoundationEssentials
import Glibc
import Operations
import Storage
import TestKit
import Testing

/// Restore is the product: what it refuses, and what it leaves behind when it does.
@Suite struct RestoreTests {
  private func pushed() async throws -> (Road, String) {
    let road = try await Road()
    let source = try road.database(rows: 300)
    let outcome = try await road.push(DatabaseSource(name: "app", path: source))
    #expect(outcome.failures.isEmpty)
    return (road, source)
  }

  private func refusal(_ road: Road, to path: String) async -> OperationError? {
    await #expect(throws: OperationError.self) {
      try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(path))
    }
  }

  /// An application that runs as another user finds its database there, and may not open it.
  @Test(.enabled(if: geteuid() == 0)) func `root is told how to hand a new file over`() async throws {
    let (road, _) = try await pushed()
    for path in [road.scratch.file("mine/app.db"), road.scratch.file("theirs/app.db")] {
      let folder = String(path.dropLast("/app.db".count))
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let isTheirs = folder.hasSuffix("/theirs")
      if isTheirs { try #require(chown(folder, 1000, 1001) == 0) }
      let restore = Restore(Pull(road.world))
      _ = try await restore.run(.latest(database: "app"), from: road.target, Restore.Request(place: .file(path)))
      _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file("\(path)-2"))
      let told = road.notices.said.withLock { $0.filter { $0.contains("belongs to root") } }
      #expect(told.count == (isTheirs ? 2 : 0))
      if isTheirs {
        #expect(told.first?.contains("of user 1000: `chown -h 1000:1001 '\(path)'`") == true)
        #expect(told.last?.contains("'\(path)-2'") == true)
      }
    }
  }

  @Test(.enabled(if: geteuid() == 0))
  func `root is told how to hand over what comes with a new file, too`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("app.db"), external: 1)
    try FileManager.default.createDirectory(atPath: road.scratch.file("att"), withIntermediateDirectories: false)
    try writeFile(road.scratch.file("att/a"), [1])
    var source = DatabaseSource(name: "app", path: store.path)
    source.companions = [Companion("att")]
    #expect(try await road.push(source).failures.isEmpty)
    let folder = road.scratch.file("theirs")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try #require(chown(folder, 1000, 1001) == 0)
    let place = Restore.Place.origin(["app": "\(folder)/app.db"])
    _ = try await Restore(Pull(road.world)).run(
      .latest(database: "app"), from: road.target, Restore.Request(place: place))
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file("\(folder)/out.db"))
    let told = road.notices.said.withLock { $0.filter { $0.contains("belongs to root") } }
    try #require(told.count == 2)
    let made = [("app.db", ["att", ".app_SUPPORT"]), ("out.db", ["out.db.companions", ".out_SUPPORT"])]
    for (text, (file, names)) in zip(told, made) {
      #expect(text.contains("`chown -h 1000:1001 '\(folder)/\(file)' && chown -hR 1000:1001 '"), "\(text)")
      for name in names { #expect(text.contains(" '\(folder)/\(name)'"), "\(text)") }
    }
  }

  @Test(arguments: ["", "-wal", "-shm", "-journal"]) func `a destination or side file that exists is refused`(
    suffix: String
  ) async throws {
    let (road, _) = try await pushed()
    let path = road.scratch.file("out.db")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path + suffix))
    let error = await refusal(road, to: path)
    #expect(error?.kind == .usage)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + suffix)) == Data("mine".utf8))
    #expect(
      road.files(in: road.scratch.path).filter { $0.hasPrefix("out.db") || $0.hasPrefix(".out") } == ["out.db" + suffix]
    )
    Fault.sideFiles.met("destination with \(suffix.isEmpty ? "a file" : suffix)")
  }

  @Test func `every object flipped or missing is noticed, and nothing is left behind`() async throws {
    let (road, source) = try await pushed()
    let whole = road.store.content
    let expected = try await dump(source)
    var random = SeededRandom(5)
    var refused = 0
    for (name, bytes) in whole.sorted(by: { $0.key.text < $1.key.text }) {
      // Of a pack the frames are read, by what the version's table says; its header and the length at its end are not.
      let read = name.text.hasPrefix("packs/") ? 128..<bytes.count - 4 : 0..<bytes.count
      for attempt in 0..<3 {
        var broken = whole
        if attempt == 0 {
          broken[name] = nil
        } else {
          var flipped = bytes
          flipped[Int.random(in: read, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
          broken[name] = flipped
        }
        road.store.content = broken
        let folder = try Scratch()
        let fresh = road.withoutState(folder)
        let path = folder.file("out.db")
        do {
          _ = try await Pull(fresh).run(.latest(database: "app"), from: road.target, to: .file(path))
          #expect(try await dump(path) == expected)
        } catch let error as OperationError {
          refused += 1
          #expect(error.kind != .failed || error.code == "notFound", "\(name): \(error)")
          #expect(road.files(in: folder.path).allSatisfy { $0 == "state" })
        }
      }
    }
    // Slot, keyring and configuration are there twice, and the repository's id stands in a name too: damage to one of
    // those is survived. Everything else is needed.
    let needed = whole.keys.filter { $0.text.hasPrefix("versions/") || $0.text.hasPrefix("packs/") }
    #expect(refused >= needed.count * 3)
  }

  @Test(arguments: ["keys/", "keyring/", "config/"]) func `one lost or rotten key object locks nobody out`(
    prefix: String
  ) async throws {
    let (road, source) = try await pushed()
    let whole = road.store.content
    let copies = whole.keys.filter { $0.text.hasPrefix(prefix) }
    #expect(copies.count == 2)
    for (step, name) in copies.enumerated() {
      for rotten in [nil, [UInt8](repeating: 9, count: whole[name]?.count ?? 0)] {
        road.store.content = whole
        road.store.content[name] = rotten
        let path = road.scratch.file("out-\(step)-\(rotten == nil)")
        _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(path))
        #expect(try await dump(path) == dump(source))
      }
    }
  }

  @Test func `a head code that the chain does not contain is refused`() async throws {
    let (road, _) = try await pushed()
    let list = try await ListVersions(road.world).run(at: road.target)
    let head = try #require(list.versions.first?.head)
    let pull = Pull(road.world)
    _ = try await pull.run(.latest(database: nil), from: road.target, to: .file(road.scratch.file("a")), expect: [head])
    for wrong in ["2-0123456789abcdef", "1-0123456789abcdef"] {
      let error = await #expect(throws: OperationError.self) {
        try await pull.run(
          .latest(database: nil), from: road.target, to: .file(road.scratch.file("b")), expect: [wrong])
      }
      #expect(error?.kind == .verificationFailed)
    }
    Fault.wentBack.met(2, "head code of another chain")
  }

  /// It is read on a machine that has seen nothing, whose way to the newest version leads past no other.
  @Test func `a head code that was noted long ago is found behind newer versions`() async throws {
    let (road, source) = try await pushed()
    let head = try #require(try await ListVersions(road.world).run(at: road.target).versions.first?.head)
    for _ in 1...3 {
      try await road.change(source)
      _ = try await road.push(DatabaseSource(name: "app", path: source))
    }
    let fresh = try Scratch()
    _ = try await Pull(road.withoutState(fresh)).run(
      .latest(database: "app"), from: road.target, to: .file(fresh.file("a")), expect: [head])
    #expect(try await dump(fresh.file("a")) == dump(source))
  }

  @Test func `versions are found by id, name and time`() async throws {
    let (road, source) = try await pushed()
    try await road.change(source)
    let second = try await road.push(DatabaseSource(name: "app", path: source)).pushed[0].version
    let list = try await ListVersions(road.world).run(at: road.target)
    #expect(list.versions.map(\.sequence) == [1, 2])
    #expect(list.problems.isEmpty)
    let lister = ListVersions(road.world)
    #expect(try await lister.show(.latest(database: "app"), at: road.target).summary.id == second.id)
    #expect(
      try await lister.show(.id(prefix: String(second.id.prefix(8))), at: road.target).previous == list.versions[0].id)
    let first = list.versions[0]
    #expect(try await lister.show(.notLater(database: "app", time: first.time), at: road.target).summary.id == first.id)
    for missing in [
      VersionSelector.latest(database: "other"), .id(prefix: "0000000000"), .notLater(database: "app", time: 5),
    ] {
      let error = await #expect(throws: OperationError.self) { try await lister.show(missing, at: road.target) }
      #expect(error?.kind == .noSuchVersion)
    }
  }
}
