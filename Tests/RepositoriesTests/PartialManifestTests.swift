import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A push of many packs that is cut: partial manifests list each pack once, and what they list counts together.
@Suite struct PartialManifestTests {
  /// A push of small packs with a partial manifest after each, which dies before its own manifest. Version 1 is there.
  private struct CutPush {
    static let packs = 60
    private static let pages = 4
    let home: PruneHome
    let image: [UInt8]
    /// Those of its packs that were stored, in order.
    let sent: [Digest]

    init() async throws {
      let home = try await PruneHome(versions: 1)
      let inner = home.home
      let state = try inner.state
      let image = inner.noise(Self.packs * Self.pages * 4096, seed: 77)
      let presence = try await Presence(inner.repository, chain: inner.chain, state: state)
      let loader = try KnownPacksLoader(inner.repository, chain: inner.chain, state: state, presence: presence)
      let draft = VersionDraft(
        chain: inner.chain, sequence: 2, previous: .zero, time: 5, host: "host", database: "app", method: .pages,
        flags: [], members: [], tags: [], note: "", compressionLevel: 1)
      var writer = try VersionWriter(
        draft, level: .leaf, repository: inner.repository, state: state, known: loader.known, resumed: [],
        reusesLeftovers: true,
        nextPackNumber: 10, partials: PartialManifests(PartialManifestTests.policy(1), nextRevision: 0),
        dryRun: false, onPackStored: { _ in }, onManifest: { _ in })
      let hand = HandmadeVersion(inner)
      for pack in 0..<Self.packs {
        let pages = (0..<Self.pages).map { page in
          let first = (pack * Self.pages + page) * 4096
          return Array(image[first..<first + 4096])
        }
        try await writer.packs.append(MadeFrame(hand.raw(pages)))
        try await writer.packs.close()
        try await writer.packs.settle()
        try await writer.noteStored()
      }
      self.home = home
      self.image = image
      sent = writer.packs.stored.map(\.name)
    }

    /// In the order of their revisions.
    func partials() async throws -> [StoredManifest] {
      let objects = try await home.home.store.list(prefix: Layout.versions)
      let names = ChainListing(chain: home.home.chain, objects: objects).revisions(of: 2)
      return try await bounded(names, atOnce: 1) { [home] name in try await home.home.repository.readManifest(name) }
    }

    func packs(in manifest: StoredManifest) async throws -> [PackEntry] {
      try await PackTable(of: manifest, repository: home.home.repository, state: nil).all
    }

    var there: Set<Digest> { Set(home.home.packs()) }
  }

  private static func policy(_ packs: Int) -> PushSession.Policy {
    var policy = PushSession.Policy(now: { 0 })
    policy.packsPerPartial = packs
    return policy
  }

  @Test func `their bytes grow with the push, not with its square`() async throws {
    let cut = try await CutPush()
    let partials = try await cut.partials()
    #expect(partials.count == CutPush.packs)
    let first = try #require(partials.first).name.length
    #expect(partials.allSatisfy { !$0.isComplete && $0.name.length < first + 84 })
    var listed: [Digest] = []
    for partial in partials {
      let packs = try await cut.packs(in: partial)
      #expect(packs.count == 1 && packs.allSatisfy { $0.number < partial.body.nextPackNumber })
      listed += packs.map(\.name)
    }
    #expect(listed == cut.sent)
    #expect(partials.map(\.body.nextPackNumber) == (11...70).map { UInt32($0) })
  }

  @Test(arguments: [true, false]) func `a push goes on from all of them, and sends no pack twice`(
    keepsState: Bool
  ) async throws {
    let cut = try await CutPush()
    let before = cut.there
    if !keepsState { cut.home.home.forgetState() }
    let manifest = try await cut.home.push(cut.image)
    #expect(manifest.name.sequence == 2 && manifest.name.revision == 60)
    #expect(cut.there == before)
    let used = try await cut.packs(in: manifest).map(\.name)
    #expect(Set(used) == Set(cut.sent))
    try await cut.home.expectAllSafe()
  }

  @Test func `a prune keeps what any of them lists`() async throws {
    let cut = try await CutPush()
    let stray = Digest.sha256(of: [9])
    cut.home.home.store.content[Layout.pack(stray, of: cut.home.home.chain)] = [1]
    let before = cut.there
    #expect(try await cut.home.prune().freed.objects == 1)
    #expect(cut.there == before.subtracting([stray]))
    #expect(try await cut.partials().count == CutPush.packs)
    cut.home.home.forgetState()
    let manifest = try await cut.home.push(cut.image)
    #expect(cut.there == before.subtracting([stray]))
    // With a version that came to be they are of no use any more.
    #expect(try await cut.home.prune().freed.objects == CutPush.packs)
    #expect(try await cut.partials().map(\.name) == [manifest.name])
    try await cut.home.expectAllSafe()
  }

  /// What stood there is not known: the version takes the next place, with the packs that the others list.
  @Test(arguments: [0, 30, 59]) func `one that cannot be read costs what it listed`(number: Int) async throws {
    let cut = try await CutPush()
    let before = cut.there
    let name = try await cut.partials()[number].name.objectName
    cut.home.home.store.content[name]?[200] ^= 1
    cut.home.home.forgetState()
    let manifest = try await cut.home.home.push(cut.image).manifest
    #expect(manifest.name.sequence == 3)
    #expect(try await cut.home.home.read(manifest) == cut.image)
    let used = Set(try await cut.packs(in: manifest).map(\.name))
    #expect(used.isSuperset(of: Set(cut.sent).subtracting([cut.sent[number]])) && !used.contains(cut.sent[number]))
    // A few pages ride: no pack was sent a second time.
    #expect(cut.there == before)
    try await cut.home.expectRefusal([.damaged])
  }

  @Test(arguments: [0, 30, 59]) func `one that is lost costs what it listed`(number: Int) async throws {
    let cut = try await CutPush()
    let name = try await cut.partials()[number].name.objectName
    try await cut.home.home.store.delete(name)
    cut.home.home.forgetState()
    let before = cut.there
    try await cut.home.prune()
    #expect(cut.there == before.subtracting([cut.sent[number]]))
    let manifest = try await cut.home.push(cut.image)
    let used = Set(try await cut.packs(in: manifest).map(\.name))
    #expect(used == Set(cut.sent).subtracting([cut.sent[number]]))
    try await cut.home.expectAllSafe()
  }

  // MARK: what each lists

  private func entry(_ number: UInt32) -> PackEntry {
    PackEntry(
      number: number, name: .sha256(of: [UInt8(number)]), length: 5000, directoryLength: 100,
      version: UInt8(ObjectFormat.version), aead: 1, kem: 0, epoch: 1, salt: [UInt8](repeating: 5, count: 32))
  }

  @Test func `the first lists what was resumed, each later one what came since`() {
    let resumed = [entry(2), entry(1)]
    var stored = [entry(4), entry(3)]
    var partials = PartialManifests(Self.policy(2), nextRevision: 7)
    #expect(!partials.isDue(packs: 0) && !partials.isDue(packs: 1) && partials.isDue(packs: 2))
    let first = partials.begin(stored, after: resumed)
    #expect(first.revision == 7 && first.entries.map(\.number) == [1, 2, 3, 4])
    #expect(!partials.isDue(packs: 2) && !partials.isDue(packs: 3) && partials.isDue(packs: 4))
    stored += [entry(6), entry(5)]
    let second = partials.begin(stored, after: resumed)
    #expect(second.revision == 8 && second.entries.map(\.number) == [5, 6])
    // A further attempt counts its own packs; those of this one were resumed.
    var again = partials.again()
    #expect(again.nextRevision == 9 && !again.isDue(packs: 1) && again.isDue(packs: 2))
    let third = again.begin([entry(7), entry(8)], after: resumed + stored)
    #expect(third.revision == 9 && third.entries.map(\.number) == (1...8).map { UInt32($0) })
  }

  /// Else the bytes of a push that is cut often grow with the square of how often.
  @Test func `what earlier ones list is not listed again`() async throws {
    var partials = PartialManifests(Self.policy(2), nextRevision: 7, after: [entry(1).name, entry(2).name])
    let first = partials.begin([entry(4), entry(5)], after: [entry(1), entry(2), entry(3)])
    #expect(first.entries.map(\.number) == [3, 4, 5])

    let cut = try await CutPush()
    let image = cut.image + cut.home.home.noise(300 * 4096, seed: 78)
    let target = HookedStore(
      cut.home.home.store,
      beforePut: { [store = cut.home.home.store] name async throws(StoreError) in
        let revisions = store.content.keys.count { $0.text.hasPrefix("versions/") }
        if name.text.hasPrefix("versions/"), revisions > CutPush.packs + 1 {
          throw StoreError(.unavailable, "the line is cut")
        }
      })
    _ = try? await cut.home.home.push(image, at: target, packsPerPartial: 1)
    let later = try #require(try await cut.partials().last)
    #expect(!later.isComplete && later.name.revision >= UInt32(CutPush.packs))
    let listed = try await cut.packs(in: later).map(\.name)
    #expect(!listed.isEmpty && Set(listed).isDisjoint(with: cut.sent))
  }

  @Test func `time makes one due, but not without a pack`() {
    let now = Locked<UInt64>(0)
    var policy = PushSession.Policy(now: { now.withLock { $0 } })
    policy.millisecondsPerPartial = 10
    var partials = PartialManifests(policy, nextRevision: 0)
    now.withLock { $0 = 9 }
    #expect(!partials.isDue(packs: 1))
    now.withLock { $0 = 10 }
    #expect(partials.isDue(packs: 1) && !partials.isDue(packs: 0))
    _ = partials.begin([entry(1)], after: [])
    #expect(!partials.isDue(packs: 1) && !partials.isDue(packs: 2))
    now.withLock { $0 = 20 }
    #expect(partials.isDue(packs: 2) && !partials.isDue(packs: 1))
  }
}
