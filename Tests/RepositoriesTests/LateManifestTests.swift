import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A manifest whose `PUT` failed, and which arrives all the same, after the next push: one machine alone never looks like two.
@Suite struct LateManifestTests {
  /// A push that was told that its manifest did not arrive. It still may.
  private func failedPush(
    _ home: PruneHome, _ image: [UInt8], holding prefixes: String = Layout.versions
  ) async throws -> LateStore {
    let late = LateStore(home.home.store, holding: prefixes)
    await #expect(throws: StoreError.self) { try await home.home.push(image, at: late) }
    #expect(late.names.count == 1)
    return late
  }

  private func packs(of name: ObjectName, _ late: LateStore, _ home: PruneHome) async throws -> [Digest] {
    let attempt = try #require(try ManifestAttempt(of: home.home.chain, in: home.home.state))
    #expect(attempt.name.objectName == name)
    let manifest = try home.home.repository.openManifest(attempt.bytes, name: attempt.name)
    return try #require(try await home.home.repository.packs(of: manifest, state: nil)).map(\.name)
  }

  @Test func `the next push stores it again and goes on from it`() async throws {
    let home = try await PruneHome(versions: 2)
    let image = home.image(50)
    let late = try await failedPush(home, image)
    let next = try await home.push(home.image(51))
    #expect(next.name.sequence == 4)
    #expect(home.home.store.content[late.names[0]] != nil)
    let before = home.home.store.content
    late.deliver()
    let isSame = home.home.store.content == before
    #expect(isSame)
    try await home.expectAllSafe()
    let history = try await history(of: home)
    #expect(history.versions.map(\.sequence) == [1, 2, 3, 4])
    #expect(try await home.home.read(try await home.home.repository.readManifest(history.versions[2].name)) == image)
    try await home.prune()
    try await home.expectAllSafe()
    #expect(try ManifestAttempt(of: home.home.chain, in: home.home.state) == nil)
  }

  @Test func `the same content again is that version, and costs its manifest only`() async throws {
    let home = try await PruneHome(versions: 1)
    let image = home.image(50)
    let late = try await failedPush(home, image)
    let packs = home.count(below: "packs/")
    let result = try await home.home.push(image)
    #expect(result.unchanged)
    #expect(result.manifest.name.objectName == late.names[0])
    #expect(home.count(below: "packs/") == packs)
    late.deliver()
    #expect(try await home.home.read(result.manifest) == image)
    _ = try await home.push()
    #expect(try await history(of: home).problems.isEmpty)
  }

  @Test func `it arrived meanwhile: the push goes on from it`() async throws {
    let home = try await PruneHome(versions: 1)
    let late = try await failedPush(home, home.image(50))
    late.deliver()
    #expect(try await home.push(home.image(51)).name.sequence == 3)
    try await home.expectAllSafe()
  }

  /// A listing that is late. Nobody was told of a version yet, so there is no mark either.
  @Test func `a chain that is not shown up to it is not begun anew`() async throws {
    let home = try await PruneHome(versions: 0)
    try await failedPush(home, home.image(50)).deliver()
    let second = try await failedPush(home, home.image(51))
    #expect(VersionName(second.names[0])?.sequence == 2)
    let stored = home.home.store.content
    home.home.store.content = stored.filter { !$0.key.text.hasPrefix(Layout.versions) }
    let failure = await #expect(throws: RepositoryError.self) { try await home.push(home.image(52)) }
    #expect(failure?.code == .rolledBack)
    home.home.store.content.merge(stored) { now, _ in now }
    second.deliver()
    try await home.push(home.image(53))
    #expect(try await history(of: home).problems.isEmpty)
    try await home.expectAllSafe()
  }

  /// A server with a limit for one body: what is excluded from the next version would be in vain.
  @Test func `one that is too large for the target is in nobody's way`() async throws {
    let home = try await PruneHome(versions: 2)
    let late = try await failedPush(home, home.image(50))
    let limited = HookedStore(
      home.home.store,
      beforePut: { [large = late.names] name async throws(StoreError) in
        if large.contains(name) { throw StoreError(.full, "the server takes no body of this size") }
      })
    #expect(try await home.home.push(home.image(51), at: limited).manifest.name.sequence == 4)
    late.deliver()
    let found = try await history(of: home)
    #expect(found.problems.isEmpty)
    #expect(found.versions.filter { !found.isForgotten($0) }.map(\.sequence) == [1, 2, 4])
  }

  /// A manifest that cannot be read one time and can be another: the place behind it is the same one.
  @Test(arguments: [false, true])
  func `it was to continue what could not be read`(thenOnly: Bool) async throws {
    let home = try await PruneHome(versions: 2)
    let newest = try #require(try await history(of: home).newest).name.objectName
    home.home.forgetState()
    if thenOnly { home.home.store.content[newest]?[300] ^= 1 }
    let late = try await failedPush(home, home.image(50))
    home.home.store.content[newest]?[300] ^= 1
    #expect(try await home.push(home.image(51)).name.sequence == 4)
    late.deliver()
    if !thenOnly { home.home.store.content[newest]?[300] ^= 1 }
    let found = try await history(of: home)
    #expect(found.problems.isEmpty && found.versions.map(\.sequence) == [1, 2, 3, 4])
  }

  @Test func `it fails again and again, and arrives then`() async throws {
    let home = try await PruneHome(versions: 1)
    let late = try await failedPush(home, home.image(50))
    for seed in 51..<54 { _ = try await failedPush(home, home.image(UInt64(seed))) }
    // Nothing but the first one was ever sent: its place must be settled before there is another.
    #expect(try await failedPush(home, home.image(54)).names == late.names)
    #expect(try await home.push(home.image(55)).name.sequence == 3)
    late.deliver()
    try await home.expectAllSafe()
  }

  /// What a prune made of the packs of a manifest that was not there.
  @Test(arguments: ["condemned", "deleted"])
  func `where its packs are gone a tombstone takes its place`(what: String) async throws {
    let home = try await PruneHome(versions: 2)
    let late = try await failedPush(home, home.image(50))
    let lost = try await packs(of: late.names[0], late, home)
    #expect(!lost.isEmpty)
    if what == "condemned" { try await home.home.condemn(lost) } else { try await home.prune() }
    let next = try await home.push(home.image(51))
    #expect(next.name.sequence == 4)
    #expect(home.home.store.content[late.names[0]] == nil)
    #expect(home.count(below: "tomb/") == 1)
    try await home.expectAllSafe()

    late.deliver()
    try await home.expectAllSafe()
    let found = try await history(of: home)
    #expect(found.versions.filter { found.isForgotten($0) }.map(\.sequence) == [3])
    try await home.prune()
    #expect(home.home.store.content[late.names[0]] == nil)
    try await home.expectAllSafe()
    // A machine that knows nothing of it reads the same chain.
    home.home.forgetState()
    try await home.push()
    try await home.expectAllSafe()
  }

  @Test func `once given up it never counts, although its tombstone did not arrive and it did`() async throws {
    let home = try await PruneHome(versions: 2)
    let image = home.image(50)
    let late = try await failedPush(home, image)
    let lost = try await packs(of: late.names[0], late, home)
    let kept = home.home.store.content
    for pack in lost { home.home.store.content[Layout.pack(pack, of: home.home.chain)] = nil }
    let tombstone = try await failedPush(home, home.image(51), holding: Layout.allTombstones)
    // The packs were only not listed for a while, and the manifest is there now.
    home.home.store.content.merge(kept) { _, old in old }
    late.deliver()
    let result = try await home.home.push(image)
    #expect(!result.unchanged && result.manifest.name.sequence == 4)
    tombstone.deliver()
    let found = try await history(of: home)
    #expect(found.problems.isEmpty)
    #expect(found.versions.filter { found.isForgotten($0) }.map(\.sequence) == [3])
    #expect(!found.isForgotten(result.manifest.facts))
    #expect(try await home.home.read(result.manifest) == image)
  }

  @Test func `a push that only looks stores nothing`() async throws {
    let home = try await PruneHome(versions: 1)
    _ = try await failedPush(home, home.image(50))
    let before = home.home.store.content
    var policy = PushSession.Policy(now: { PruneHome.now })
    policy.settles = false
    let next = try await PushSession(
      home.home.repository, chain: home.home.chain, state: home.home.state, policy: policy
    ).next
    #expect(next.sequence == 2)
    let isSame = home.home.store.content == before
    #expect(isSame)
  }

  @Test(arguments: ["cut", "another object", "no manifest", "empty"])
  func `a note that is broken is as good as none`(how: String) async throws {
    let home = try await PruneHome(versions: 1)
    let late = try await failedPush(home, home.image(50))
    let path = "\(try home.home.state.path)/\(home.home.chain.hex)/attempt"
    let note = try #require(try StateFiles.read(path))
    let broken: [UInt8] =
      switch how {
      case "cut": Array(note.dropLast(9))
      case "another object": Array("open \(late.names[0])\n".utf8) + [1, 2, 3]
      case "no manifest": Array("open packs/\(late.names[0].lastComponent)\n".utf8)
      default: []
      }
    try StateFiles.write(broken, to: path)
    #expect(try await home.push(home.image(51)).name.sequence == 2)
    // As without the state folder: two manifests claim one place, and that is told.
    late.deliver()
    #expect(try await history(of: home).problems.map(\.code) == [.forked])
  }

  @Test func `another machine took its place: that one stays`() async throws {
    let home = try await PruneHome(versions: 1)
    let shared = home.home.store.content
    let late = try await failedPush(home, home.image(50))
    let clone = try await Home(sharing: home.home, content: shared)
    let other = try await clone.push(clone.image(pages: 60, seed: 60)).manifest
    home.home.store.content.merge(clone.store.content) { old, _ in old }
    #expect(try await home.push(home.image(51)).name.sequence == 3)
    #expect(try await history(of: home).versions[1].id == other.id)
    late.deliver()
    #expect(try await history(of: home).problems.allSatisfy { $0.code == .forked })
    #expect(try await !history(of: home).problems.isEmpty)
  }

  /// The manifest of a push that was cut arrives between a prune's second look and the next push's listing of versions;
  /// its packs go. The next push has the same content, and has listed records and packs before.
  @Test func `a version is not acknowledged by listings from before it was seen`() async throws {
    let home = try await PruneHome(versions: 1)
    let image = home.image(50)
    let late = try await failedPush(home, image)
    let lost = try await packs(of: late.names[0], late, home)
    let seen = Locked(false)
    let once = Once()
    let store = StagedStore(home.home.store) {
      $0.listed = { prefix, listed async throws(StoreError) in
        if prefix.hasPrefix("packs/") { seen.withLock { $0 = true } }
        guard prefix.hasPrefix("versions/"), once() else { return listed }
        while !seen.withLock({ $0 }) { await Task.yield() }
        try? await home.home.condemn(lost)
        for pack in lost { home.home.store.content[Layout.pack(pack, of: home.home.chain)] = nil }
        late.deliver()
        return try await home.home.store.list(prefix: prefix)
      }
    }
    let result = try await home.home.push(image, at: store)
    #expect(!result.unchanged)
    #expect(try await home.home.read(result.manifest) == image)
  }

  private func history(of home: PruneHome) async throws -> ChainHistory {
    let objects = try await home.home.store.list(prefix: Layout.versions(of: home.home.chain))
    return try await home.home.repository.history(of: ChainListing(chain: home.home.chain, objects: objects))
  }
}
