import Sealing
import Storage
import TestKit

@testable import Repositories

/// A repository in memory, a state folder, and the few verbs that the tests here speak in.
final class Home: @unchecked Sendable {
  let store: MemoryStore
  let repository: Repository
  let chain: ChainID
  private var scratch: Scratch
  private var clock: UInt64 = 1_700_000_000_000
  /// How pushes wait for listings.
  let waits = ManualClock()
  static let secret = SlotSecret.keyFile([UInt8](repeating: 7, count: 32))

  init(at store: MemoryStore = MemoryStore(), secret: SlotSecret = Home.secret) async throws {
    self.store = store
    repository = try await RepositoryFiles.create(at: store, with: secret, cost: .least, now: clock)
    chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    scratch = try Scratch()
  }

  /// A clone: same keys, same chain, the given content, its own state.
  init(sharing other: Home, content: [ObjectName: [UInt8]]) async throws {
    store = MemoryStore()
    store.content = content
    repository = try await Repository.open(at: store, with: Self.secret)
    chain = other.chain
    scratch = try Scratch()
  }

  func forgetState() {
    if let fresh = try? Scratch() { scratch = fresh }
  }

  /// Where the state of all repositories lies.
  var stateFolder: String { scratch.path }
  var state: StateFolder { get throws { try StateFolder(scratch.path, repository: repository.id) } }

  func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed)
    return random.bytes(count)
  }

  /// Pages of noise, text and zeros.
  func image(pages: Int, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed)
    return (0..<pages).flatMap { page -> [UInt8] in
      switch page % 5 {
      case 0: return [UInt8](repeating: 0, count: 4096)
      case 1: return Array(String(repeating: "row \(page) \(seed);", count: 512).utf8.prefix(4096))
      default: return random.bytes(4096)
      }
    }
  }

  func push(
    _ image: [UInt8], at other: (any ObjectStore)? = nil, packsPerPartial: Int = 64,
    deltas: DeltaPlan = .withoutBases
  ) async throws -> PushSession.Result {
    try await push(
      length: image.count, at: other, packsPerPartial: packsPerPartial, deltas: deltas, read: { Array(image[$0]) })
  }

  /// - Parameter growth: of a member that is still being written.
  func push(
    length: Int, at other: (any ObjectStore)? = nil, packsPerPartial: Int = 64, deltas: DeltaPlan = .withoutBases,
    companions: [CompanionSource] = [], read: @escaping @Sendable (Range<Int>) -> [UInt8],
    growth: MemberSource.Growth? = nil
  ) async throws -> PushSession.Result {
    clock += 60_000
    let time = clock
    var policy = PushSession.Policy(now: { time })
    policy.packsPerPartial = packsPerPartial
    policy.clock = waits.storeClock
    let used = other.map {
      Repository(store: $0, keys: repository.keys, random: repository.random, slot: repository.slot)
    }
    var session = try await PushSession(used ?? repository, chain: chain, state: state, policy: policy)
    let place = session.next
    var member = MemberSource(
      content: .image(pageSize: 4096), path: "app.db", mode: 0o600, modified: clock, length: length, read: read)
    member.growth = growth
    var draft = VersionDraft(
      chain: chain, sequence: place.sequence, previous: place.previous, time: clock, host: "host", database: "app",
      method: .pages, flags: [], members: [member], tags: ["t"], note: "n", compressionLevel: 1)
    draft.deltas = deltas
    draft.companions = { companions }
    return try await session.push(draft, skipEqual: true, dryRun: false, onProgress: { _ in })
  }

  func read(
    _ manifest: StoredManifest, from other: (any ObjectStore)? = nil, limits: RestoreWave.Limits = .init()
  ) async throws -> [UInt8] {
    let repository = Repository(
      store: other ?? store, keys: repository.keys, random: repository.random, slot: repository.slot)
    let again = try await repository.readManifest(manifest.name)
    let reader = try await VersionReader(again, repository: repository, state: nil)
    let destination = MemoryDestination(of: reader)
    try await reader.read(member: 0, limits: limits, into: destination, onProgress: { _ in })
    return destination.content
  }

  func packs() -> [Digest] {
    store.content.keys.filter { $0.text.hasPrefix("packs/") }.compactMap(Layout.packDigest)
  }

  func condemn(_ packs: [Digest]) async throws {
    let builder = ObjectBuilder(kind: .condemned, keys: repository.keys, random: systemRandom)
    let sealed = try builder.finish(meta: CondemnedRecord(chain: chain, time: clock, packs: packs).encode())
    let name = Layout.known("\(Layout.condemned(of: chain))\(sealed.bytes.count)-\(sealed.name.hex)")
    try await store.put(ObjectBody(sealed.bytes), at: name, ifAbsent: false)
  }
}

/// A store that dies after so many puts.
final class CutStore: ObjectStore {
  private let base: MemoryStore
  private let left: Locked<Int>
  let traits: StoreTraits

  init(_ base: MemoryStore, puts: Int) {
    self.base = base
    left = Locked(puts)
    traits = base.traits
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    let dead = left.withLock { left in
      left -= 1
      return left < 0
    }
    if dead { throw StoreError(.unavailable, "the store died") }
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
