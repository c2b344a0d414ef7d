import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Sealing

/// A companion that changes costs what changed of it.
@Suite struct CompanionDeltaTests {
  /// A database beside a file of settings: thousands of lines, of which a few change, come and go.
  private struct Desk {
    let road: Road
    let source: DatabaseSource
    var random = SeededRandom(11)
    var lines: [String] = []

    init() async throws {
      road = try await Road()
      var source = DatabaseSource(
        name: "app", path: try road.database(rows: 200), baseFolder: road.scratch.file("bases"))
      source.companions = [Companion("settings"), Companion("photos")]
      self.source = source
      for _ in 0..<5000 { lines.append(line()) }
      try write("photos/one", random.bytes(200_000))
      try write("photos/two", random.bytes(90_000))
      try save()
    }

    private mutating func line() -> String { "\"\(random.next())\": \"\(random.next())\"" }

    func write(_ name: String, _ bytes: [UInt8]) throws {
      let path = road.scratch.file(name)
      let folder = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      // As applications do: another file takes the place.
      try writeFile("\(path).next", bytes)
      rename("\(path).next", path)
    }

    var text: [UInt8] { Array(lines.joined(separator: "\n").utf8) }

    func save() throws { try write("settings/core.json", text) }

    mutating func change() throws {
      for _ in 0..<3 { lines[Int(random.next() % UInt64(lines.count))] = line() }
      lines.insert(line(), at: Int(random.next() % UInt64(lines.count)))
      try save()
    }

    /// - Returns: the version, and what it cost at the target: packs and manifest, in bytes.
    func push(_ targets: TargetAccess..., store: MemoryStore? = nil) async throws -> (id: String, cost: Int) {
      let store = store ?? road.store
      let before = store.content.values.reduce(0) { $0 + $1.count }
      let request = Push.Request(database: source, targets: targets.isEmpty ? [road.target] : targets)
      let outcome = try await Push(road.world).run(request)
      #expect(outcome.failures.isEmpty && outcome.shortfalls.isEmpty)
      let version = try #require(outcome.pushed.last).version
      return (version.id, store.content.values.reduce(0) { $0 + $1.count } - before)
    }

    /// What a machine that knows nothing reads.
    func settings(of version: String, at target: TargetAccess? = nil) async throws -> [UInt8] {
      let other = try Scratch()
      let out = other.file("out.db")
      _ = try await Pull(road.withoutState(other)).run(
        .id(prefix: version), from: target ?? road.target, to: .file(out))
      #expect(try fileBytes("\(out).companions/photos/one") == fileBytes(road.scratch.file("photos/one")))
      return try fileBytes("\(out).companions/settings/core.json")
    }

    /// Where bases of companions lie.
    var bases: String {
      get throws {
        let hall = road.scratch.file("bases")
        return "\(hall)/\(try #require(road.files(in: hall).first))/companions"
      }
    }

    var kept: [String] { get throws { road.files(in: try bases).filter { $0 != "record.json" } } }
  }

  @Test func `settings that change cost what changed, and every version of them comes back`() async throws {
    var desk = try await Desk()
    var versions: [(id: String, text: [UInt8])] = []
    var costs: [Int] = []
    for step in 0..<7 {
      if step > 0 { try desk.change() }
      let (id, cost) = try await desk.push()
      versions.append((id, desk.text))
      costs.append(cost)
    }
    // The second push sends the file whole, for it was seen to change; from the third on it is a base.
    let whole = costs[1]
    #expect(whole > 80_000, "\(costs)")
    for cost in costs[2...] { #expect(cost < 12_000, "\(costs)") }
    for version in versions { #expect(try await desk.settings(of: version.id) == version.text) }
    #expect(try await CheckRepository(desk.road.world).run(at: desk.road.target, databases: [], .all).isSound)
    // What never changed is not kept, and what is kept is nobody else's to read.
    #expect(try desk.kept.count == 1)
    var status = stat()
    #expect(try stat("\(desk.bases)/\(desk.kept[0])", &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test func `what comes with a database does not keep it from deltas of its own`() async throws {
    var desk = try await Desk()
    _ = try await desk.push()
    try desk.change()
    try await desk.road.change(desk.source.path)
    _ = try await desk.push()
    // Settings and photographs are longer than the database, twice.
    let folder = desk.road.scratch.file("bases")
    #expect(desk.road.files(in: "\(folder)/\(desk.road.files(in: folder)[0])").contains("middle.db"))
  }

  @Test(.enabled(if: Reference.python != nil))
  func `the decoder written from the text alone reads them too`() async throws {
    let reference = try Reference()
    var desk = try await Desk()
    var versions: [(id: String, text: [UInt8])] = []
    for step in 0..<4 {
      if step > 0 { try desk.change() }
      versions.append((try await desk.push().id, desk.text))
    }
    try reference.save(desk.road.store, as: "written")
    let key = reference.scratch.file("key")
    try writeFile(key, [UInt8](repeating: 3, count: 64))
    for version in versions {
      let out = reference.scratch.file("out-\(version.id.prefix(8))")
      try await reference.python(
        "\(SourceTree.root)/Scripts/unseal.py", reference.scratch.file("written"), "--key-file", key, "restore",
        version.id, "-o", out)
      #expect(try fileBytes("\(out).companions/settings/core.json") == version.text)
    }
  }

  @Test(arguments: ["gone", "cut", "flipped", "another's"])
  func `a base that is not what it was costs bytes and no more`(_ harm: String) async throws {
    var desk = try await Desk()
    for step in 0..<3 {
      if step > 0 { try desk.change() }
      _ = try await desk.push()
    }
    let base = "\(try desk.bases)/\(try desk.kept[0])"
    switch harm {
    case "gone": unlink(base)
    case "cut": truncate(base, 70_000)
    case "flipped":
      var bytes = try fileBytes(base)
      for index in stride(from: 0, to: bytes.count, by: 1000) { bytes[index] ^= 0x10 }
      try writeFile(base, bytes)
    default: try writeFile(base, desk.random.bytes(300_000))
    }
    try desk.change()
    let (harmed, cost) = try await desk.push()
    #expect(try await desk.settings(of: harmed) == desk.text)
    if harm != "cut" { #expect(cost > 80_000) }
    // It took its own base's place.
    try desk.change()
    let (next, afterwards) = try await desk.push()
    #expect(try await desk.settings(of: next) == desk.text)
    if harm != "cut" { #expect(afterwards < 12_000) }
  }

  @Test func `a target that missed the base gets the file whole, and has one of its own`() async throws {
    var desk = try await Desk()
    let store = MemoryStore()
    let other = TargetAccess(name: "other", store: store, unlock: desk.road.target.unlock)
    _ = try await Initialize(desk.road.world).run(at: other, ifMissing: false)
    for step in 0..<4 {
      if step > 0 { try desk.change() }
      _ = try await desk.push()
    }
    try desk.change()
    let missed = try await desk.push(desk.road.target, other, store: store)
    #expect(missed.cost > 80_000)
    #expect(try await desk.settings(of: missed.id, at: other) == desk.text)
    try desk.change()
    let next = try await desk.push(desk.road.target, other)
    #expect(next.cost < 12_000)
    #expect(try await desk.settings(of: next.id, at: other) == desk.text)
  }

  @Test func `a neighbour that changed once is not stored again with each change of the other`() async throws {
    var desk = try await Desk()
    try desk.write("settings/data.bin", desk.random.bytes(60_000))
    var costs: [Int] = []
    for turn in 0..<6 {
      if turn > 0 { try desk.change() }
      if turn == 4 { try desk.write("settings/data.bin", desk.random.bytes(60_000)) }
      costs.append(try await desk.push().cost)
    }
    #expect(costs[3] < 20_000 && costs[4] > 60_000, "\(costs)")
    #expect(costs[5] < 20_000, "\(costs)")
  }

  @Test func `settings that changed last time cost no more when only a row changes`() async throws {
    var desk = try await Desk()
    for step in 0..<3 {
      if step > 0 { try desk.change() }
      _ = try await desk.push()
    }
    // What changed of them rode in the manifest, where later versions cannot refer to it.
    for _ in 0..<2 {
      try await desk.road.change(desk.source.path)
      let (id, cost) = try await desk.push()
      #expect(cost < 24_000)
      #expect(try await desk.settings(of: id) == desk.text)
    }
  }

  @Test func `a file that shares a frame with one that has a base gets a base too`() async throws {
    var desk = try await Desk()
    var data = desk.random.bytes(20_000)
    try desk.write("settings/data.bin", data)
    var costs: [Int] = []
    for turn in 0..<12 {
      if turn > 0 { try desk.change() }
      // From now on both change each time.
      if turn > 2 {
        data[turn * 1000] ^= 1
        try desk.write("settings/data.bin", data)
      }
      costs.append(try await desk.push().cost)
    }
    #expect(costs[2] < 12_000 && costs[3] > 20_000, "\(costs)")
    for cost in costs[4...] { #expect(cost < 12_000, "\(costs)") }
    #expect(try desk.kept.count == 2)
  }

  @Test func `a file that becomes another one is a base anew, and one that goes takes its base along`() async throws {
    var desk = try await Desk()
    for step in 0..<3 {
      if step > 0 { try desk.change() }
      _ = try await desk.push()
    }
    desk.lines = (0..<5000).map { _ in "\"\(desk.random.next())\": \"\(desk.random.next())\"" }
    try desk.save()
    #expect(try await desk.push().cost > 80_000)
    try desk.change()
    let (id, cost) = try await desk.push()
    #expect(cost < 12_000)
    #expect(try await desk.settings(of: id) == desk.text)
    #expect(try desk.kept.count == 1)
    try removeFile(desk.road.scratch.file("settings/core.json"))
    _ = try await desk.push()
    #expect(try desk.kept.isEmpty)
  }

  @Test func `deltas that have cost as much as the file are not gone on with`() throws {
    let scratch = try Scratch()
    let name = CompanionBases.name(of: "settings")
    try writeFile(scratch.file(name), [UInt8](repeating: 1, count: 5000))
    let member = Core.Member(
      path: "settings", mode: 0o600, modified: 0,
      content: .file(
        Core.FileContent(
          unitType: .block, unitSize: 65_536, unitCount: 1, length: 5000, imageDigest: .zero, sha256: .zero)))
    var accounts = [name: CompanionBases.Account(length: 5000, whole: 1000)]
    for cost in [100, 400, 700, 200] {
      let bases = CompanionBases(in: scratch.path, accounts: accounts, room: 1 << 20)
      #expect(bases.base(name) == 5000)
      bases.note(name) { $0.inDeltas = cost }
      accounts = bases.keep([member])
    }
    // 300, 600 and 100 more than the first one.
    #expect(accounts[name]?.excess == 1000)
    let bases = CompanionBases(in: scratch.path, accounts: accounts, room: 1 << 20)
    #expect(bases.base(name) == nil)
    // Whole once more, it is a base again.
    try writeFile(bases.copyPath(name), [UInt8](repeating: 2, count: 6000))
    bases.note(name) { ($0.inWholeFrames, $0.copied) = (1200, 6000) }
    accounts = bases.keep([member])
    #expect(accounts[name] == CompanionBases.Account(length: 6000, whole: 1200))
    #expect(try fileBytes(scratch.file(name)) == [UInt8](repeating: 2, count: 6000))
    // Without room there is no base.
    #expect(CompanionBases(in: scratch.path, accounts: accounts, room: 0).keep([]).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: scratch.file(name)))
  }

  @Test(arguments: [0, -500]) func `a delta that is cheaper than the first takes nothing back`(before: Int) throws {
    let scratch = try Scratch()
    let name = CompanionBases.name(of: "settings")
    let member = Core.Member(
      path: "settings", mode: 0o600, modified: 0,
      content: .file(
        Core.FileContent(
          unitType: .block, unitSize: 65_536, unitCount: 1, length: 5000, imageDigest: .zero, sha256: .zero)))
    // As a program that gave it back may have left it.
    var accounts = [name: CompanionBases.Account(length: 5000, whole: 1000, excess: before)]
    var excess: [Int?] = []
    for cost in [100, 1, 1, 1, 400, 700] {
      let bases = CompanionBases(in: scratch.path, accounts: accounts, room: 1 << 20)
      bases.note(name) { $0.inDeltas = cost }
      accounts = bases.keep([member])
      excess.append(accounts[name]?.excess)
    }
    #expect(excess == [0, 0, 0, 0, 300, 900])
  }

  /// All files of a folder that was copied look changed, and none of them is.
  @Test func `copies of what looks changed take no more room than bases may, and go with the push`() throws {
    let scratch = try Scratch()
    do {
      let bases = CompanionBases(in: scratch.path, accounts: [:], room: 100_000)
      var copies: [CompanionCopy] = []
      for number in 0..<50 {
        guard let copy = CompanionCopy("\(number)", length: 10_000, of: bases) else { continue }
        copy.add([UInt8](repeating: 1, count: 10_000))
        copy.end()
        copies.append(copy)
      }
      #expect(copies.count == 10)
      #expect(try names(in: scratch.path).count == 10)
      // Read once more, in a further attempt, it takes its own room.
      #expect(CompanionCopy("3", length: 10_000, of: bases) != nil)
      #expect(CompanionCopy("77", length: 10_000, of: bases) == nil)
      bases.dropCopy("4")
      #expect(CompanionCopy("77", length: 10_000, of: bases) != nil)
    }
    #expect(try names(in: scratch.path).isEmpty)
  }

  /// Looks for copies whenever it hears of progress.
  private struct Spy: Reporter {
    let folder: String
    let seen = Locked(0)

    func progress(_ progress: Operations.Progress) {
      let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
      seen.withLock { $0 += names.count { $0.hasSuffix(".new") } }
    }
    func notice(_ text: String) {}
  }

  @Test(arguments: [true, false]) func `a dry run copies nothing`(isDry: Bool) async throws {
    var desk = try await Desk()
    _ = try await desk.push()
    try desk.change()
    let spy = Spy(folder: desk.road.scratch.file("bases"))
    var world = desk.road.world
    world.reporter = spy
    var request = Push.Request(database: desk.source, targets: [desk.road.target])
    request.dryRun = isDry
    _ = try await Push(world).run(request)
    #expect((spy.seen.withLock { $0 } == 0) == isDry)
  }
}
