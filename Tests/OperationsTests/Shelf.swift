import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// Versions with the hosts, names, times and flags that a test wants, each with a pack of its own.
struct Shelf {
  let road: Road
  let repository: Repository
  /// Of the machine that pushes.
  private var stateFolder: String
  static let day: UInt64 = 86_400_000
  /// 2026-11-16T12:00:00Z, a Monday.
  static let monday: UInt64 = 1_794_830_400_000

  init() async throws {
    road = try await Road()
    repository = try await Repository.open(at: road.store, with: .keyFile([UInt8](repeating: 3, count: 64)))
    stateFolder = road.world.stateFolder
  }

  /// Another repository, pushed to from the machine of a road: with the versions that are pushed, and no more.
  init(_ road: Road, at store: MemoryStore, key: UInt8) async throws {
    self.road = road
    repository = try await Repository.open(at: store, with: .keyFile([UInt8](repeating: key, count: 64)))
    stateFolder = road.world.stateFolder
  }

  /// Pushes come from a clone of this machine from now on.
  mutating func useOtherState() { stateFolder = road.scratch.file("other-state") }

  private var state: StateFolder { get throws { try StateFolder(stateFolder, repository: repository.id) } }

  func chain(_ database: String = "app", host: String = "host", fork: UInt32 = 0) -> ChainID {
    repository.keys.keyring.chainID(host: host, database: database, fork: fork)
  }

  @discardableResult
  func push(
    _ seed: UInt64, at time: UInt64, host: String = "host", database: String = "app", tags: [String] = [],
    flags: Core.Flags = [], fork: UInt32 = 0, packsPerPartial: Int = 64, size: Int = 80_000
  ) async throws -> VersionFacts {
    let chain = chain(database, host: host, fork: fork)
    var policy = PushSession.Policy(now: { time })
    policy.packsPerPartial = packsPerPartial
    var session = try await PushSession(repository, chain: chain, state: state, policy: policy)
    var random = SeededRandom(seed)
    let bytes = random.bytes(size)
    let draft = VersionDraft(
      chain: chain, sequence: session.next.sequence, previous: session.next.previous, time: time, host: host,
      database: database, method: .file, flags: flags,
      members: [
        MemberSource(
          content: .file, path: "app.db", mode: 0o600, modified: time, length: bytes.count, read: { Array(bytes[$0]) })
      ], tags: tags, note: "", compressionLevel: 1)
    return try await session.push(draft, skipEqual: true, dryRun: false, onProgress: { _ in }).manifest.facts
  }

  /// One version a day from that Monday on, at noon.
  func week(_ count: Int, database: String = "app", host: String = "host") async throws -> [VersionFacts] {
    var versions: [VersionFacts] = []
    for day in 0..<count {
      versions.append(
        try await push(
          UInt64(day) + 1, at: Self.monday + UInt64(day) * Self.day, host: host, database: database))
    }
    return versions
  }

  /// The packs that one of these versions needs, the others not.
  func ownPacks(of version: VersionFacts, among versions: [VersionFacts]) async throws -> [ObjectName] {
    func packs(_ facts: VersionFacts) async throws -> Set<Digest> {
      Set(try #require(try await repository.packs(of: facts, state: nil)).map(\.name))
    }
    var own = try await packs(version)
    for other in versions where other.id != version.id { own.subtract(try await packs(other)) }
    return own.map { Layout.pack($0, of: version.chain) }
  }

  /// What a prune says before it deletes.
  func condemn(_ names: [Digest]) async throws {
    let builder = ObjectBuilder(kind: .condemned, keys: repository.keys, random: systemRandom)
    let sealed = try builder.finish(meta: CondemnedRecord(chain: chain(), time: 1, packs: names).encode())
    let name = try #require(
      ObjectName("\(Layout.condemned(of: chain()))\(sealed.bytes.count)-\(sealed.name.hex)"))
    try await road.store.put(ObjectBody(sealed.bytes), at: name, ifAbsent: false)
  }

  func annotate(_ version: VersionFacts, _ items: Annotation.Item...) async throws {
    try await repository.annotate(version, items, now: 1)
  }

  // MARK: the operations

  var world: World {
    var world = road.world
    world.now = { Self.monday + 30 * Self.day }
    return world
  }

  func plan(
    _ rules: RetentionRules, allHosts: Bool = false, host: String? = nil, named: [String] = []
  ) async throws -> ForgetVersions.Plan {
    var request = ForgetVersions.Request(.rulesForAll(rules))
    (request.allHosts, request.host) = (allHosts, host)
    request.named = named
    return try await ForgetVersions(world).plan(request, at: road.target)
  }

  func plan(forgetting versions: VersionFacts...) async throws -> ForgetVersions.Plan {
    let selectors = versions.map { VersionSelector.id(prefix: $0.id.hex) }
    return try await ForgetVersions(world).plan(.init(.versions(selectors)), at: road.target)
  }

  /// - Throws: the first refusal.
  @discardableResult
  func carryOut(_ plan: ForgetVersions.Plan) async throws -> [UInt64] {
    for chain in plan.chains {
      if let problem = try await ForgetVersions(world).carryOut(chain, of: plan).problem { throw problem }
    }
    if let refusal = plan.refusals.first { throw refusal }
    return plan.chains.flatMap { $0.plan.going.map(\.version.sequence) }
  }

  func unforget(_ version: VersionFacts) async throws -> UnforgetVersions.Outcome {
    try await UnforgetVersions(world).run(.id(prefix: version.id.hex), at: road.target)
  }

  func say(_ word: AnnotateVersions.Word, of version: VersionFacts) async throws -> AnnotateVersions.Outcome {
    try await AnnotateVersions(world).run(word, of: .id(prefix: version.id.hex), at: road.target)
  }

  /// The numbers of the versions that `list` shows; nothing may be wrong.
  func listed(_ database: String = "app") async throws -> [UInt64] {
    let outcome = try await ListVersions(world).run(at: road.target, database: database)
    #expect(outcome.problems.isEmpty)
    return outcome.versions.map(\.sequence)
  }

  func status(_ databases: [DatabaseSource]? = nil) async throws -> StatusOfDatabases.Outcome {
    try await StatusOfDatabases(world).run(databases, at: road.target)
  }
}

extension RetentionRules {
  init(last: Int? = nil, daily: Int? = nil, tags: [String] = []) {
    self.init()
    self.last = last
    self.daily = daily
    self.tags = tags
  }
}
