import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Operations

/// A line that never holds for all of a push: whatever kind of version it is, each push goes on with what was sent.
@Suite struct CutPushTests {
  /// A database of which a version may have been pushed, and what is stored since.
  private struct Line {
    let road: Road
    let path: String
    var database: DatabaseSource
    private var earlier: Set<ObjectName> = []

    init(rows: Int = 1_500) async throws {
      road = try await Road()
      path = try road.database(rows: rows)
      database = DatabaseSource(name: "app", path: path)
    }

    /// Incompressible: what is new costs what it is long.
    func replaceRows(where condition: String) throws {
      try SQLite.run("update t set body = randomblob(900) where \(condition)", on: path)
    }

    mutating func pushAll() async throws {
      _ = try await road.push(database)
      passOver()
    }

    mutating func passOver() { earlier = Set(road.store.content.keys) }

    var newPacks: [ObjectName: [UInt8]] {
      road.store.content.filter { $0.key.text.hasPrefix("packs/") && !earlier.contains($0.key) }
    }

    var newBytes: Int { newPacks.values.reduce(0) { $0 + $1.count } }

    /// In packs of one frame each: a quarter of a megabyte.
    private func push(_ request: Push.Request) async throws -> Push.Outcome {
      var push = Push(road.world)
      push.packLength = 200 << 10
      return try await push.run(request)
    }

    func request(anew: Bool = false) -> Push.Request {
      var request = Push.Request(database: database, targets: [road.target])
      request.rebuildBase = anew
      return request
    }

    /// The line is cut behind so many packs.
    func pushCut(after sent: Int, anew: Bool = false) async throws {
      let count = Locked(0)
      var request = request(anew: anew)
      request.targets[0].store = HookedStore(
        road.store,
        beforePut: { name async throws(StoreError) in
          guard name.text.hasPrefix("packs/") else { return }
          if count.withLock({
            $0 += 1; return $0
          }) > sent {
            throw StoreError(.unavailable, "the line was cut")
          }
        })
      let before = newPacks.count
      #expect(try await push(request).failures.count == 1)
      #expect(newPacks.count == before + sent)
    }

    func push(anew: Bool = false, dryRun: Bool = false) async throws -> VersionSummary {
      var request = request(anew: anew)
      request.dryRun = dryRun
      return try #require(try await push(request).pushed.first?.version)
    }

    /// As after many leaves.
    func expectMiddleNext() throws {
      let folder = road.world.stateFolder
      let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix("/record.json") }
      let records = try names.compactMap { name in
        try BaseRecord(json: fileBytes("\(folder)/\(name)")).map { (path: "\(folder)/\(name)", record: $0) }
      }
      try #require(records.count == 1)
      var record = records[0].record
      (record.excessOfLeaves, record.excessOfSmallLeaves) = (1 << 40, 1 << 40)
      try writeFile(records[0].path, [UInt8](JSONEncoder().encode(record)))
    }

    func expectRestored(_ version: VersionSummary) async throws {
      let restored = road.scratch.file("restored-\(version.id.prefix(8)).db")
      _ = try await Pull(road.world).run(.id(prefix: version.id), from: road.target, to: .file(restored))
      #expect(try await dump(restored) == dump(path))
    }
  }

  @Test(arguments: ["a middle", "a leaf"]) func `deltas that were cut are not sent twice`(level: String) async throws {
    var line = try await Line()
    try await line.pushAll()
    if level == "a leaf" {
      try line.replaceRows(where: "id % 10 = 1")
      try await line.pushAll()
    }
    try line.replaceRows(where: "id % 2 = 0")
    try await line.pushCut(after: 1)
    let sent = line.newBytes
    let asked = try await line.push(dryRun: true)
    let pushed = try await line.push()
    #expect(line.newBytes > 650_000 && line.newBytes < 800_000, "\(line.newBytes) bytes for 750 rows")
    #expect(pushed.bytesNew > line.newBytes && asked.bytesNew < pushed.bytesNew - sent / 2)
    try await line.expectRestored(pushed)
    // What is kept to find deltas again is kept until then only, but for what others will rest on, or refer to.
    let kept = try FileManager.default.subpathsOfDirectory(atPath: line.road.world.stateFolder)
    #expect(kept.contains { $0.hasSuffix(".units") } && kept.contains { $0.hasSuffix("-units") } == (level == "a leaf"))
  }

  /// A leaf that was cut, and then a middle is due: what that takes over is found again by those that rest on it. Such
  /// deltas rest on pages that the middle before has left alone.
  @Test func `deltas that another kind of version takes over can be built on`() async throws {
    var line = try await Line()
    try await line.pushAll()
    try line.replaceRows(where: "id < 100")
    try await line.pushAll()
    try line.replaceRows(where: "id > 700 and id % 2 = 0")
    try await line.pushCut(after: 1)
    try line.expectMiddleNext()
    try await line.expectRestored(try await line.push())
    #expect(line.newBytes < 600_000, "\(line.newBytes) bytes for 500 rows")
    try line.replaceRows(where: "id = 7")
    let next = try await line.push()
    #expect(next.bytesNew < 64 << 10, "\(next.bytesNew) bytes for one row")
    try await line.expectRestored(next)
  }

  /// However little of it was sent: a long first push comes to an end. And so does one that sends everything once more, of
  /// which earlier versions have a part.
  @Test(arguments: [1, 2], [true, false])
  func `a push of everything that was cut sends nothing twice`(sent: Int, isFirst: Bool) async throws {
    var line = try await Line()
    if !isFirst {
      try await line.pushAll()
      try line.replaceRows(where: "id < 1300")
    }
    try await line.pushCut(after: sent, anew: !isFirst)
    let pushed = try await line.push(anew: !isFirst)
    let bytes = line.newBytes
    #expect(line.newPacks.count > sent && bytes < pushed.size + (1 << 17), "\(bytes) bytes for \(pushed.size)")
    // What it costs decides when there is another one.
    #expect(pushed.bytesNew > bytes && pushed.bytesNew < bytes + (1 << 16), "\(pushed.bytesNew) of \(bytes)")
    try await line.expectRestored(pushed)
  }

  /// Two thirds of the pages are others each time: a little of every pack that was left is of use, and all of them together
  /// would make the version too dear. That is not asked of versions below 4 MiB.
  @Test func `what several pushes have left does not stand in the way`() async throws {
    var line = try await Line(rows: 5_500)
    try await line.pushAll()
    for sent in [18, 11] {
      try line.replaceRows(where: "abs(random()) % 4 = 0")
      try await line.pushCut(after: sent, anew: true)
    }
    try line.replaceRows(where: "abs(random()) % 4 = 0")
    line.passOver()
    let pushed = try await line.push(anew: true)
    #expect(line.newBytes < pushed.size + (1 << 19), "\(line.newBytes) bytes for \(pushed.size)")
    try await line.expectRestored(pushed)
  }

  /// Of each frame that is there less than a half is needed: nothing may be referred to, and all is sent once more.
  @Test func `a version that refers to nothing is gone on with, too`() async throws {
    var line = try await Line(rows: 1)
    line.database.method = .pages
    try SQLite.run("create table log(id integer primary key, body blob)", on: line.path)
    try SQLite.run(
      "create trigger logged after insert on t begin insert into log(body) values (randomblob(3900)); insert into log(body) values (randomblob(3900)); end",
      on: line.path)
    try SQLite.run(
      "with n(i) as (select 1 union all select i + 1 from n where i < 1300) insert into t(body) select randomblob(3900) from n",
      on: line.path)
    try await line.pushAll()
    try SQLite.run("drop trigger logged; drop table log", on: line.path)
    try await line.pushCut(after: 10)
    let pushed = try await line.push()
    #expect(line.newBytes > 5_000_000 && line.newBytes < 5_700_000, "\(line.newBytes) bytes for 1,300 pages")
    try await line.expectRestored(pushed)
  }

  /// What nobody was told of counts from the next push on, which is told then: it stands in the list.
  @Test(arguments: [[], ["tag"]]) func `a version that a stopped push had stored is told by the next one`(
    tags: [String]
  ) async throws {
    let line = try await Line()
    var request = line.request()
    let notices = line.road.notices.said
    func told() -> Int { notices.withLock { $0 }.count { $0.contains("counts from now on") } }
    #expect(try await line.road.push(line.database).failures.isEmpty)
    try line.replaceRows(where: "id < 100")
    request.targets[0].store = HookedStore(
      line.road.store,
      afterPut: { name async throws(StoreError) in
        if name.text.hasPrefix("versions/") { throw StoreError(.unavailable, "the line was cut") }
      })
    #expect(try await Push(line.road.world).run(request).failures.count == 1)
    #expect(told() == 0)
    request = line.request()
    request.tags = tags
    let pushed = try #require(try await Push(line.road.world).run(request).pushed.first)
    #expect(told() == 1 && pushed.unchanged == tags.isEmpty && pushed.version.sequence == (tags.isEmpty ? 2 : 3))
    #expect(try await Push(line.road.world).run(line.request()).failures.isEmpty)
    #expect(told() == 1)
  }

  @Test func `one of which packs are gone since does not count, and that is told`() async throws {
    var line = try await Line()
    try await line.pushAll()
    try line.replaceRows(where: "id < 700")
    var request = line.request()
    request.targets[0].store = HookedStore(
      line.road.store,
      afterPut: { name async throws(StoreError) in
        if name.text.hasPrefix("versions/") { throw StoreError(.unavailable, "the line was cut") }
      })
    #expect(try await Push(line.road.world).run(request).failures.count == 1)
    #expect(!line.newPacks.isEmpty)
    for pack in line.newPacks.keys { line.road.store.content[pack] = nil }
    let pushed = try #require(try await Push(line.road.world).run(line.request()).pushed.first)
    #expect(!pushed.unchanged && pushed.version.sequence == 3)
    let said = line.road.notices.said.withLock { $0 }
    #expect(
      said.contains { $0.contains("is not whole any more") } && !said.contains { $0.contains("counts from now on") })
  }
}
