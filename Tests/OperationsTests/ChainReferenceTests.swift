import FoundationEssentials
import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Snapshots

/// Databases of every kind, random changes, both methods, lost state, lost bases: every version of the chain is what it
/// was, read by the program and by the decoder that was written from the text alone.
@Suite(.enabled(if: Reference.python != nil)) struct ChainReferenceTests {
  private static let isCampaign = Environment.value("SEALIFT_CAMPAIGNS") != nil
  static let seeds = 0..<(isCampaign ? 24 : 6)
  /// A third as many: the other decoder takes seconds for each version.
  private static let largeSeeds = 0..<(isCampaign ? 8 : 1)
  /// Those that both methods can copy.
  private static let kinds = (0..<208).map(GeneratedDatabase.init).filter { !$0.needsApplicationCode }
  /// Those that a vacuum can copy, and whose pages are not too many for a test.
  private static let largeKinds = kinds.filter {
    $0.pageSize >= 2048 && !$0.needsPages && !$0.features.contains(.unknownModule)
  }

  @Test(arguments: seeds) func `every version of a chain comes back, with both decoders`(seed: Int) async throws {
    var random = SeededRandom(UInt64(seed))
    let kind = Self.kinds[seed * 37 % Self.kinds.count]
    var life = try await ChainLife(of: kind, filled: Self.filled(rows: 300 + Int(random.next() % 1500)))
    for step in 0..<8 {
      if step > 0 { try SQLite.run(Self.change(&random), on: life.path) }
      // A machine that lost what it knew, or what it kept, or both.
      if random.next() % 6 == 0 { life.loseState() }
      if random.next() % 6 == 0 { life.loseBases() }
      let method: DatabaseSource.Method = random.next() % 4 == 0 ? .pages : .vacuum
      let isRewritten = random.next() % 2 == 0
      try await life.push(method, rewriting: isRewritten ? (seed: random.next(), most: 60) : nil)
    }
    let codecs = try await life.prove()
    print("campaign: chain \(seed), \(kind): \(life.expected.count) versions came back twice, codecs \(codecs)")
  }

  /// Below 4 MiB versions may need anything: only above it are there bounds, and levels for their sake. Which one is
  /// due is decided here, not by what versions have cost, so that a few of them see all.
  @Test func `of large databases each level is written, and every version comes back`() async throws {
    let course: [DeltaLevel] = [.anchor, .middle, .leaf, .leaf, .shoot, .anchor, .middle, .fresh]
    var written: Set<DeltaLevel> = []
    for seed in Self.largeSeeds {
      var random = SeededRandom(UInt64(seed))
      let kind = Self.largeKinds[seed * 37 % Self.largeKinds.count]
      let rows = kind.encoding == "UTF-8" ? 64_000 : 32_000
      var life = try await ChainLife(of: kind, filled: Self.orders(rows, salt: random.next() >> 32), isLarge: true)
      for (step, due) in course.enumerated() {
        if step > 0 { try SQLite.run(Self.largeChange(&random, of: rows, shifting: due < .shoot), on: life.path) }
        // The first one lives without accidents: it alone sees every level.
        if seed > 0, random.next() % 12 == 0 { life.loseState() }
        if seed > 0, random.next() % 12 == 0 { life.loseBases() }
        let isRewritten = random.next() % 2 == 0
        let most = max(1, 24_000 / kind.pageSize)
        let level = try await life.push(
          seed % 2 == 0 ? .vacuum : .pages, rewriting: isRewritten ? (seed: random.next(), most: most) : nil, due: due)
        written.insert(level)
      }
      let codecs = try await life.prove()
      print("campaign: large chain \(seed), \(kind): \(life.expected.count) versions twice, codecs \(codecs)")
    }
    #expect(written == [.fresh, .anchor, .middle, .shoot, .leaf], "\(written)")
  }

  /// Enough beside what a kind has, that frames have something to rest on.
  private static func filled(rows: Int) -> String {
    """
    create table t(id integer primary key, body blob);
    with n(i) as (select 1 union all select i + 1 from n where i < \(rows))
    insert into t(body) select randomblob(900) from n
    """
  }

  /// About 6 MB of text about orders.
  private static func orders(_ rows: Int, salt: UInt64) -> String {
    """
    create table t(id integer primary key, body blob);
    with n(i) as (select 1 union all select i + 1 from n where i < \(rows))
    insert into t(body) select \(order("i", salt)) from n
    """
  }

  /// What one row holds, in SQL: always as long, and with another salt other digits.
  private static func order(_ id: String, _ salt: UInt64) -> String {
    let digits = [2_654_435_761, 2_246_822_519, 3_266_489_917].map { "(\(id) * \($0) + \(salt)) % 4294967296" }
    let format = "order %08d of customer %03d: paid %08x, shipped %08x, returned %08x, no remarks"
    return "cast(printf('\(format)', \(id), \(id) % 977, \(digits.joined(separator: ", "))) as blob)"
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

  /// A part of the rows gets other text. Where pages may move, as they do in a vacuum, some rows go and others come.
  private static func largeChange(_ random: inout SeededRandom, of rows: Int, shifting: Bool) -> String {
    let salt = random.next() >> 32
    let first = Int(random.next() % UInt64(rows / 2))
    let text = "update t set body = \(order("id", salt)) where id between \(first) and \(first + rows / 16)"
    guard shifting else { return text }
    let gap = rows * 2 / 3 + Int(random.next() % UInt64(rows / 4))
    return """
      \(text); delete from t where id between \(gap) and \(gap + 40);
      insert into t(body) select \(order("id", salt ^ 1)) from t where id <= 400
      """
  }
}

/// A database, its chain of versions, and what each of them must be.
private struct ChainLife {
  struct Expected {
    let version: VersionSummary
    let method: DatabaseSource.Method
    /// Of the copy that was sealed; of a page copy what the source's pages say it must be.
    let sum: Digest?
    /// What SQLite's shell says of the source.
    let dump: [Substring]?
  }

  let kind: GeneratedDatabase
  let isLarge: Bool
  let road: Road
  let path: String
  private(set) var expected: [Expected] = []

  init(of kind: GeneratedDatabase, filled: String, isLarge: Bool = false) async throws {
    self.kind = kind
    self.isLarge = isLarge
    road = try await Road()
    path = road.scratch.file("app.db")
    try kind.make(at: path)
    try SQLite.run(filled, on: path)
  }

  func loseState() { try? FileManager.default.removeItem(atPath: road.world.stateFolder) }
  func loseBases() { try? FileManager.default.removeItem(atPath: road.scratch.file("bases")) }

  private func source(_ method: DatabaseSource.Method) -> DatabaseSource {
    DatabaseSource(name: "app", path: path, method: method, baseFolder: road.scratch.file("bases"))
  }

  /// - Parameters:
  ///   - rewriting: the copy shows other pages first, up to so many.
  ///   - due: what the version is to be; by default what pays.
  /// - Returns: what it has become.
  @discardableResult
  mutating func push(
    _ method: DatabaseSource.Method, rewriting: (seed: UInt64, most: Int)?, due: DeltaLevel? = nil
  ) async throws -> DeltaLevel {
    if let due { try makeDue(due) }
    let before = record
    var push = Push(road.world)
    if let rewriting {
      (push.overlap.least, push.overlap.margin) = (0, 0)
      push.take = Self.rewriting(rewriting.seed, most: rewriting.most)
    }
    let copied = Locked<(method: SnapshotMethod, sum: Digest)?>(nil)
    push.take = Self.noting(copied, push.take)
    var request = Push.Request(database: source(method), targets: [road.target])
    request.rebuildBase = due == .fresh
    let outcome = try await push.run(request)
    let version = try #require(outcome.pushed.first).version
    let copy = copied.withLock { $0 }
    var sum = copy?.method == .vacuum ? copy?.sum : nil
    if method == .pages { sum = Digest.sha256(of: try MergedDatabase(path).normalised()) }
    // Of a large one the sum is enough: what a copy must hold others prove.
    let dump: [Substring]? = try await isLarge && sum != nil ? nil : lines(path)
    expected.append(Expected(version: version, method: method, sum: sum, dump: dump))
    return due == .fresh ? .fresh : Self.level(before, record, length: version.size)
  }

  /// Restores every version without state, by the program and by the other decoder.
  /// - Returns: the codecs that were used.
  func prove() async throws -> String {
    let reference = try Reference()
    try reference.save(road.store, as: "written")
    let key = reference.scratch.file("key")
    try Data([UInt8](repeating: 3, count: 64)).write(to: URL(fileURLWithPath: key))
    let root = reference.scratch.file("written")
    for (number, one) in expected.enumerated() {
      let (own, other) = (reference.scratch.file("own-\(number)"), reference.scratch.file("other-\(number)"))
      _ = try await Pull(reference.world).run(.id(prefix: one.version.id), from: road.target, to: .file(own))
      try await reference.python(
        "\(SourceTree.root)/Scripts/unseal.py", root, "--key-file", key, "restore", one.version.id, "-o", other)
      let sum = Digest.sha256(of: try fileBytes(own))
      let sumOfOther = Digest.sha256(of: try fileBytes(other))
      #expect(sum == sumOfOther, "version \(number) of \(kind)")
      #expect(sum.hex == one.version.sha256, "version \(number) of \(kind)")
      if let expected = one.sum { #expect(sum == expected, "version \(number) of \(kind)") }
      if let dump = one.dump { #expect(try await lines(own) == dump, "version \(number) of \(kind)") }
      try FileManager.default.removeItem(atPath: other)
      Fault.chains.met((one.method == .vacuum ? "vacuumed" : "page by page") + (isLarge ? ", above 4 MiB" : ""))
    }
    let codecs = try await reference.python("\(SourceTree.root)/Tests/ReferenceTests/codecs_used.py", root, key)
    // With a prefix: plain, or in the form of cells.
    #expect(codecs.contains("3") || codecs.contains("4"), "no delta was written: codecs \(codecs)")
    return codecs
  }

  /// A vacuum writes the schema in another order.
  private func lines(_ path: String) async throws -> [Substring] {
    try await dump(path).split(separator: "\n", omittingEmptySubsequences: false).sorted()
  }

  // MARK: - Levels

  private var recordPath: String {
    "\(BaseFolder.path(of: source(.vacuum), host: "host", road.world))/record.json"
  }

  /// What the machine noted of the bases; `nil` when it has none.
  private var record: BaseRecord? { (try? fileBytes(recordPath)).flatMap(BaseRecord.init(json:)) }

  /// Notes that changes have cost what makes a version of this level pay, or decode too much for a leaf.
  private func makeDue(_ level: DeltaLevel) throws {
    guard var record else { return }
    (record.excessOfMiddles, record.excessOfLeaves, record.dearestLeafCost) = (0, 0, nil)
    record.expectedGrowth = 0
    switch level {
    case .anchor: (record.excessOfMiddles, record.excessOfLeaves) = (record.anchor.cost, 2 * record.anchor.cost)
    case .middle: record.excessOfLeaves = 2 * (record.middle?.cost ?? 0)
    case .shoot: record.latestDecoded = 4 * record.anchor.length
    default: break
    }
    record.excessOfSmallLeaves = record.excessOfLeaves
    try writeFile(recordPath, [UInt8](JSONEncoder().encode(record)))
  }

  /// What a version has become, as what was noted of it says.
  private static func level(_ before: BaseRecord?, _ after: BaseRecord?, length: Int) -> DeltaLevel {
    guard let before, before.anchor == after?.anchor else { return .anchor }
    guard before.middle == after?.middle else { return .middle }
    return before.level(for: length) == .shoot ? .shoot : .leaf
  }

  // MARK: - Copies

  /// Takes copies as `take` does, and notes what was handed over.
  private static func noting(
    _ copied: Locked<(method: SnapshotMethod, sum: Digest)?>, _ take: @escaping Push.Take
  ) -> Push.Take {
    { request, progress in
      let snapshot = try await take(request, progress)
      let sum = Digest.sha256(of: try fileBytes(snapshot.path))
      copied.withLock { $0 = (snapshot.method, sum) }
      return snapshot
    }
  }

  /// Takes copies that show other pages, and perhaps more of them, before they are what they will be.
  private static func rewriting(_ seed: UInt64, most: Int) -> Push.Take {
    { request, progress in
      let snapshot = try await takeSnapshot(request)
      var random = SeededRandom(seed)
      let last = try fileBytes(snapshot.path)
      var early = last + random.bytes(Int(random.next() % 4) * snapshot.pageSize)
      for _ in 0..<Int(random.next() % UInt64(most)) {
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
}
