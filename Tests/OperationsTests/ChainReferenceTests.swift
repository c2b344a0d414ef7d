import FoundationEssentials
import Operations
import TestKit
import Testing

@testable import Snapshots

/// Databases of every kind, random changes, both methods, lost state, lost bases: every version of the chain is what it
/// was, read by the program and by the decoder that was written from the text alone.
@Suite(.enabled(if: Reference.python != nil)) struct ChainReferenceTests {
  static let seeds = 0..<(Environment.value("SEALIFT_CAMPAIGNS") != nil ? 24 : 6)
  /// Those that both methods can copy.
  private static let kinds = (0..<208).map(GeneratedDatabase.init).filter { !$0.needsApplicationCode }

  @Test(arguments: seeds) func `every version of a chain comes back, with both decoders`(seed: Int) async throws {
    var random = SeededRandom(UInt64(seed))
    let reference = try Reference()
    let road = try await Road()
    let kind = Self.kinds[seed * 37 % Self.kinds.count]
    let path = road.scratch.file("app.db")
    try kind.make(at: path)
    try SQLite.run(Self.filled(rows: 300 + Int(random.next() % 1500)), on: path)
    var expected: [(id: String, dump: [Substring], image: [UInt8]?)] = []
    for step in 0..<8 {
      if step > 0 { try SQLite.run(Self.change(&random), on: path) }
      // A machine that lost what it knew, or what it kept, or both.
      if random.next() % 6 == 0 { try? FileManager.default.removeItem(atPath: road.world.stateFolder) }
      if random.next() % 6 == 0 { try? FileManager.default.removeItem(atPath: road.scratch.file("bases")) }
      let method: DatabaseSource.Method = random.next() % 4 == 0 ? .pages : .vacuum
      var push = Push(road.world)
      if random.next() % 2 == 0 {
        (push.overlap.least, push.overlap.margin) = (0, 0)
        push.take = Self.rewriting(random.next())
      }
      let source = DatabaseSource(name: "app", path: path, method: method, baseFolder: road.scratch.file("bases"))
      let outcome = try await push.run(Push.Request(database: source, targets: [road.target]))
      expected.append(
        (
          try #require(outcome.pushed.first).version.id, try await lines(path),
          method == .pages ? try MergedDatabase(path).normalised() : nil
        ))
    }
    try reference.save(road.store, as: "written")
    let key = reference.scratch.file("key")
    try Data([UInt8](repeating: 3, count: 64)).write(to: URL(fileURLWithPath: key))
    let root = reference.scratch.file("written")
    for (number, version) in expected.enumerated() {
      let (own, other) = (reference.scratch.file("own-\(number)"), reference.scratch.file("other-\(number)"))
      _ = try await Pull(reference.world).run(.id(prefix: version.id), from: road.target, to: .file(own))
      try await reference.python(
        "\(SourceTree.root)/Scripts/unseal.py", root, "--key-file", key, "restore", version.id, "-o", other)
      let image = try fileBytes(own)
      #expect(try await lines(own) == version.dump, "version \(number) of \(kind)")
      #expect(try image == fileBytes(other), "version \(number) of \(kind)")
      if let expected = version.image { #expect(image == expected, "version \(number) of \(kind)") }
      Fault.chains.met(version.image == nil ? "vacuumed" : "page by page")
    }
    let codecs = try await reference.python("\(SourceTree.root)/Tests/ReferenceTests/codecs_used.py", root, key)
    // With a prefix: plain, or in the form of cells.
    #expect(codecs.contains("3") || codecs.contains("4"), "no delta was written: codecs \(codecs)")
    print("campaign: chain \(seed), \(kind): \(expected.count) versions came back twice, codecs \(codecs)")
  }

  /// A vacuum writes the schema in another order.
  private func lines(_ path: String) async throws -> [Substring] {
    try await dump(path).split(separator: "\n", omittingEmptySubsequences: false).sorted()
  }

  /// Enough beside what a kind has, that frames have something to rest on.
  private static func filled(rows: Int) -> String {
    """
    create table t(id integer primary key, body blob);
    with n(i) as (select 1 union all select i + 1 from n where i < \(rows))
    insert into t(body) select randomblob(900) from n
    """
  }

  /// Takes copies that show other pages, and perhaps more of them, before they are what they will be.
  private static func rewriting(_ seed: UInt64) -> Push.Take {
    { request, progress in
      let snapshot = try await takeSnapshot(request)
      var random = SeededRandom(seed)
      let last = try fileBytes(snapshot.path)
      var early = last + random.bytes(Int(random.next() % 4) * snapshot.pageSize)
      for _ in 0..<random.next() % 60 {
        let start = Int(random.next() % UInt64(early.count / snapshot.pageSize)) * snapshot.pageSize
        early.replaceSubrange(start..<start + snapshot.pageSize, with: random.bytes(snapshot.pageSize))
      }
      try writeFile(snapshot.path, early)
      for part in 1...4 {
        let done = SnapshotProgress(
          stage: .copying, pagesDone: 0, pagesTotal: nil, bytesDone: early.count * part / 4, growing: snapshot)
        try progress(done)
        try await Task.sleep(for: .milliseconds(5))
      }
      try writeFile(snapshot.path, last)
      return snapshot
    }
  }

  private static func change(_ random: inout SeededRandom) -> String {
    let number = random.next() % 100
    return switch random.next() % 9 {
    case 0: "update t set body = randomblob(900) where id % 100 = \(number)"
    case 1: "update t set body = randomblob(\(number * 20)) where id % 50 = \(number % 50)"
    case 2: "delete from t where id % 3 = \(number % 3) and id > 200"
    case 3:
      "with n(i) as (select 1 union all select i + 1 from n where i < \(number + 5)) insert into t(body) select randomblob(i * 9) from n"
    case 4: "alter table t add column c\(random.next() % 1_000_000) default \(number)"
    case 5: "create index i\(random.next() % 1_000_000) on t(substr(body, \(number), 8))"
    case 6:
      "insert into t(body) values(zeroblob(70000)), (randomblob(\(number * 1000))); delete from things where id % 5 = 2"
    case 7: "update t set body = randomblob(30) where id = \(number + 1); vacuum"
    default: "update t set body = randomblob(900) where id between \(number) and \(number + 20)"
    }
  }
}
