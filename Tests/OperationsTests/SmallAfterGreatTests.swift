import Repositories
import TestKit
import Testing

@testable import Operations

/// What a small change costs does not depend on how much changed before it.
@Suite struct SmallAfterGreatTests {
  private func orders(_ road: Road, method: DatabaseSource.Method) throws -> DatabaseSource {
    DatabaseSource(name: "orders", path: try road.orders(rows: 40_000, index: "tag"), method: method)
  }

  /// Puts other text in the place of some, as long as that was.
  private func change(_ database: DatabaseSource, _ rows: String) throws {
    try SQLite.run("update t set body = hex(randomblob(20)) where \(rows)", on: database.path)
  }

  /// What a push stores, its manifest aside.
  private func push(_ database: DatabaseSource, _ road: Road) async throws -> Int {
    let pushed = try await Push(road.world).run(Push.Request(database: database, targets: [road.target])).pushed
    return try #require(pushed.first).version.bytesNew
  }

  private func record(of database: DatabaseSource, _ road: Road) throws -> BaseRecord? {
    let folder = BaseFolder.path(of: database, host: "host", road.world)
    return BaseRecord(json: try fileBytes("\(folder)/record.json"))
  }

  /// A leaf stores the great change; the next one refers to that, by the list of its units that was kept.
  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `one row after a great change`(method: DatabaseSource.Method) async throws {
    let road = try await Road()
    let database = try orders(road, method: method)
    _ = try await push(database, road)
    try change(database, "id < 2000")
    let middle = try await push(database, road)
    try change(database, "id between 10000 and 25000")
    let great = try await push(database, road)
    try #require(great > 200_000, "no great change")
    for id in 2...4 {
      try change(database, "id = \(id)")
      #expect(try await push(database, road) < 64 << 10)
    }
    let kept = try record(of: database, road)?.middle?.cost ?? 0
    #expect(kept >= middle && kept < great, "another one became the middle")
    let restored = road.scratch.file("restored")
    _ = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(restored))
    let dump = try await Child.run(["sqlite3", restored, ".dump"])
    let expected = try await Child.run(["sqlite3", database.path, ".dump"])
    #expect(dump.isSuccess && dump.output == expected.output)
  }

  /// By itself the change has cost several times what the middle version did, which a leaf before it makes an excess. What is
  /// due then would store all of it once more, for one row.
  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `one row after a great change that makes another middle version due`(
    method: DatabaseSource.Method
  ) async throws {
    let road = try await Road()
    let database = try orders(road, method: method)
    _ = try await push(database, road)
    try change(database, "id < 2000")
    _ = try await push(database, road)
    try change(database, "id = 1")
    _ = try await push(database, road)
    try change(database, "id between 10000 and 25000")
    _ = try await push(database, road)
    let last = try #require(try record(of: database, road))
    let middle = try #require(last.middle)
    try #require(last.excessOfLeaves >= 2 * middle.cost && last.level(for: middle.length) == .middle)
    for id in 2...4 {
      try change(database, "id = \(id)")
      #expect(try await push(database, road) < 64 << 10)
    }
    #expect(try record(of: database, road)?.middle == middle, "another one became the middle")
  }

  /// A leaf that rests on all of the middle version, and that on all of the anchor, decodes three times the image: the row
  /// after it would decode more. So it becomes a middle.
  @Test func `one row after what decodes nearly too much`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 4000)
    let database = DatabaseSource(name: "app", path: path)
    func change(_ rows: String) async throws -> Int {
      try SQLite.run("update t set body = randomblob(900) where \(rows)", on: path)
      var push = Push(road.world)
      push.packLength = 200 << 10
      let pushed = try await push.run(Push.Request(database: database, targets: [road.target])).pushed
      return try #require(pushed.first).version.bytesNew
    }
    _ = try await change("id = 1")
    _ = try await change("id % 10 = 1")
    let middle = try record(of: database, road)?.middle
    #expect(try await change("id % 2 = 0") > 600_000)
    let last = try record(of: database, road)
    #expect(middle != nil && last?.middle != middle, "a leaf of \(last?.latestDecoded ?? 0) bytes")
    #expect(try await change("id = 7") < 64 << 10)
  }

  /// Nearly none of its pages has a base in what the database was before: it is one itself.
  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `one row in a hundred after an import`(method: DatabaseSource.Method) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "orders", path: try road.orders(rows: 3000, index: "tag"), method: method)
    _ = try await push(database, road)
    try change(database, "id % 2 = 0")
    _ = try await push(database, road)
    try #require(try record(of: database, road)?.middle != nil)
    try SQLite.run(
      "with n(i) as (select 1 union all select i + 1 from n where i < 57000) insert into t(body, tag) select hex(randomblob(20)), abs(random()) % 100000 from n",
      on: database.path)
    let imported = try await push(database, road)
    for turn in 1...2 {
      try change(database, "id % 100 = \(turn)")
      #expect(try await push(database, road) < imported / 10)
    }
  }

  /// Sooner or later a new middle is due, and after that a new anchor: that is for the next great change to pay.
  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `one row after each of many changes`(method: DatabaseSource.Method) async throws {
    let road = try await Road()
    let database = try orders(road, method: method)
    let first = try await push(database, road)
    var greatest = 0
    var middles: Set<Int> = []
    for turn in 0..<12 {
      try change(database, "id / 5000 = \(turn % 4)")
      greatest = max(greatest, try await push(database, road))
      if let middle = try record(of: database, road)?.middle { middles.insert(middle.cost) }
      try change(database, "id = \(turn + 1)")
      #expect(try await push(database, road) < 64 << 10, "change \(turn)")
    }
    #expect(middles.count > 1 && greatest > 64 << 10 && greatest <= first * 3 / 2)
  }
}
