import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a prune takes and what it leaves, when nobody is in its way.
@Suite struct PruneTests {
  @Test func `what only forgotten versions need goes, and nothing else`() async throws {
    let home = try await PruneHome(versions: 4)
    let before = home.names
    try await home.forget(1...2)
    let pruned = try await home.prune()
    #expect(pruned.condemned.objects == 4 && pruned.freed == pruned.condemned)
    #expect(pruned.freed.bytes > 200_000)
    #expect(pruned.waiting.objects == 0 && pruned.retained.objects == 0 && pruned.failures.isEmpty)
    #expect(pruned.database == "app" && pruned.host == "host")
    #expect(home.count(below: "versions/") == 2 && home.count(below: "packs/") == 2)
    #expect(home.count(below: "gone/") == 1 && home.count(below: "tomb/") == 1)
    for prefix in ["repo/", "keys/", "keyring/", "config/"] {
      #expect(home.names.filter { $0.hasPrefix(prefix) } == before.filter { $0.hasPrefix(prefix) })
    }
    try await home.expectAllSafe()
    // Nothing is left to do: no record is made for it.
    let again = try await home.prune()
    #expect(again.condemned.objects == 0 && again.freed.objects == 0 && home.count(below: "gone/") == 1)
  }

  @Test func `what a later version shares with a forgotten one stays`() async throws {
    let home = try await PruneHome()
    let image = home.image(1)
    try await home.push(image)
    try await home.push(image + home.home.noise(80 * 4096, seed: 2))
    let packs = home.count(below: "packs/")
    #expect(packs >= 2)
    try await home.forget(1...1)
    #expect(try await home.prune().freed.objects == 1)
    #expect(home.count(below: "packs/") == packs)
    try await home.expectAllSafe()
  }

  @Test func `a dry run says what a run does, and does nothing`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(2...2)
    let before = home.home.store.content
    let said = try await home.prune(dryRun: true)
    #expect(home.home.store.content == before)
    #expect(said.freed.objects == 2 && said.waiting.objects == 0)
    let done = try await home.prune()
    #expect(said.freed == done.freed && said.condemned == done.condemned)
  }

  @Test func `the newest version stays, whatever a tombstone says`() async throws {
    let home = try await PruneHome(versions: 2)
    let newest = try #require(home.safe.withLock { $0[2] })
    try await home.forget(1...2)
    // Who has seen the version asks what became of the newer one that it was forgotten for.
    let error = await #expect(throws: RepositoryError.self) { try await home.prune() }
    #expect(error?.code == .rolledBack)
    #expect(home.count(below: "versions/") == 2)
    let other = try StateFolder("\(home.home.stateFolder)/other", repository: home.home.repository.id)
    try await home.prune(state: other)
    #expect(home.count(below: "versions/") == 1 && home.count(below: "packs/") == 1)
    #expect(try await home.home.read(home.home.repository.readManifest(newest.name)) == newest.image)
  }

  @Test func `a version that was taken back stays`() async throws {
    let home = try await PruneHome(versions: 3)
    let version = try #require(home.safe.withLock { $0[1] })
    let tombstone = try await home.forget(1...2)
    #expect(try await home.unforget(version, from: tombstone))
    #expect(try await home.prune().freed.objects == 2)
    #expect(home.count(below: "versions/") == 2)
    try await home.expectAllSafe()
  }

  @Test func `a chain without a version is left alone`() async throws {
    let home = try await PruneHome()
    let stray = Layout.pack(.sha256(of: [1]), of: home.home.chain)
    home.home.store.content[stray] = [1, 2, 3]
    let policy = PrunePolicy(twoRuns: false, now: { PruneHome.now })
    #expect(try await home.home.repository.prune(home.home.chain, policy, state: home.home.state) == nil)
    #expect(home.home.store.content[stray] != nil)
  }

  @Test func `other chains and names that are not ours are left alone`() async throws {
    let home = try await PruneHome(versions: 2)
    try await home.forget(1...1)
    let other = home.home.repository.keys.keyring.chainID(host: "host", database: "other", fork: 0)
    let digest = Digest.sha256(of: [1]).hex
    let strange = [
      "packs/\(other.hex)/\(digest)", "packs/\(home.home.chain.hex)/deep/\(digest)", "packs/\(home.home.chain.hex)/x",
      "versions/\(home.home.chain.hex)/note", "tmp/1",
    ]
    for name in strange { home.home.store.content[ObjectName(name)!] = [1] }
    try await home.prune()
    for name in strange { #expect(home.names.contains(name), "\(name)") }
    try await home.expectAllSafe()
  }

  /// A pack that nobody claims any more would stay as long as the cut manifest does.
  @Test func `beside a cut manifest what was forgotten waits until its packs are old enough`() async throws {
    let home = try await PruneHome(versions: 4)
    let cut = VersionName(
      chain: home.home.chain, sequence: 4, revision: 0, length: 5000, digest: .sha256(of: [7]))
    home.home.store.content[cut.objectName] = [1, 2, 3]
    try await home.forget(2...3)
    let stored = Int(PruneHome.now / 1000) - 60
    let store = StagedStore(home.home.store) {
      $0.listed = { _, listed async throws(StoreError) in
        listed.map { ObjectInfo(name: $0.name, size: $0.size, stored: stored) }
      }
    }
    let young = try await home.prune(at: store, minAge: PrunePolicy.day)
    #expect(young.freed.objects == 0 && young.condemned.objects == 0 && young.young.objects == 2)
    #expect(home.count(below: "versions/") == 5 && home.count(below: "packs/") == 4)
    let old = try await home.prune(at: store, minAge: PrunePolicy.day, now: PruneHome.now + 2 * PrunePolicy.day)
    #expect(old.freed.objects == 4 && old.unclaimed.objects == 0)
    #expect(home.count(below: "versions/") == 3 && home.count(below: "packs/") == 2)
    #expect(home.names.contains(cut.objectName.text))
  }

  @Test func `packs are as young as the store says, or as old as can be`() async throws {
    let home = try await PruneHome(versions: 2)
    try await home.forget(1...1)
    let now = Int(PruneHome.now / 1000)
    func store(stored: Int?) -> StagedStore {
      StagedStore(home.home.store) {
        $0.listed = { _, listed async throws(StoreError) in
          listed.map { ObjectInfo(name: $0.name, size: $0.size, stored: stored) }
        }
      }
    }
    let hour: UInt64 = 3_600_000
    let young = try await home.prune(at: store(stored: now - 3599), minAge: hour, dryRun: true).young
    #expect(young.objects == 1 && young.bytes > 0)
    #expect(try await home.prune(at: store(stored: now - 3600), minAge: hour, dryRun: true).young.objects == 0)
    #expect(try await home.prune(at: store(stored: now - 3599), minAge: hour, dryRun: true).freed.objects == 1)
    // A server whose clock is ahead only delays.
    #expect(try await home.prune(at: store(stored: now + 9999), minAge: hour, dryRun: true).freed.objects == 1)
    // One that is years ahead would delay for years.
    #expect(try await home.prune(at: store(stored: now + 86_400), minAge: hour, dryRun: true).freed.objects == 1)
    #expect(try await home.prune(at: store(stored: now + 86_401), minAge: hour, dryRun: true).freed.objects == 2)
    #expect(try await home.prune(at: store(stored: Int.max), minAge: hour, dryRun: true).freed.objects == 2)
    #expect(try await home.prune(at: store(stored: now - 3600), minAge: hour, dryRun: true).freed.objects == 2)
    #expect(try await home.prune(at: store(stored: nil), minAge: hour, dryRun: true).freed.objects == 2)
    let left = try await home.prune(at: store(stored: now - 3599), minAge: hour)
    #expect(left.freed.objects == 1 && left.young == young)
    #expect(home.count(below: "packs/") == 2)
    #expect(try await home.prune(at: store(stored: now - 3600), minAge: hour).freed.objects == 1)
    try await home.expectAllSafe()
  }

  /// - Parameters:
  ///   - tombstones: when they were stored, in seconds since 1970.
  private func store(_ home: PruneHome, tombstones: Int?, versions: Int?) -> StagedStore {
    StagedStore(home.home.store) {
      $0.listed = { prefix, listed async throws(StoreError) in
        let times = ["tomb": tombstones, "versions": versions]
        guard let stored = times[String(prefix.prefix { $0 != "/" })] else { return listed }
        return listed.map { ObjectInfo(name: $0.name, size: $0.size, stored: stored) }
      }
    }
  }

  @Test func `a clock that runs ahead lets nothing go that was forgotten a moment ago`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let (forgotten, month) = (Int(PruneHome.now / 1000), 30 * PrunePolicy.day)
    let ahead = PruneHome.now + 40 * PrunePolicy.day
    // Nothing shows what the store's own clock has come to.
    for versions in [forgotten, forgotten + 30 * 86_400 - 1] {
      let quiet = store(home, tombstones: forgotten, versions: versions)
      let pruned = try await home.prune(at: quiet, forgottenFor: month, now: ahead)
      #expect(pruned.freed.objects == 0 && pruned.resting == 2 && pruned.waitsForTime == 2)
      // Who pushes every few days hears nothing of it.
      let soon = try await home.prune(at: quiet, forgottenFor: month, dryRun: true, now: ahead - 4 * PrunePolicy.day)
      #expect(soon.freed.objects == 0 && soon.resting == 2 && soon.waitsForTime == 0)
    }
    #expect(home.count(below: "versions/") == 3 && home.count(below: "packs/") == 3)
    let later = store(home, tombstones: forgotten, versions: forgotten + 30 * 86_400)
    let pruned = try await home.prune(at: later, forgottenFor: month, now: ahead)
    #expect(pruned.freed.objects == 4 && pruned.resting == 0 && pruned.waitsForTime == 0)
    try await home.expectAllSafe()
  }

  @Test func `what is stored in other chains shows the store's time as well`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let forgotten = Int(PruneHome.now / 1000)
    var policy = PrunePolicy(twoRuns: false) { PruneHome.now + 40 * PrunePolicy.day }
    policy.minAge = 0
    policy.forgottenFor = 30 * PrunePolicy.day
    let repository = home.repository(at: store(home, tombstones: forgotten, versions: forgotten))
    let name = try #require(ObjectName("versions/other/1"))
    // A time of years to come proves nothing.
    for (days, freed) in [(29, 0), (4000, 0), (30, 4)] {
      policy.noteTimes(of: [ObjectInfo(name: name, size: 1, stored: forgotten + days * 86_400)])
      let pruned = try await repository.prune(home.home.chain, policy, state: home.home.state)?.whole()
      #expect(pruned?.freed.objects == freed, "\(days)")
    }
    try await home.expectAllSafe()
  }

  /// Who has taken over a machine forgets everything, and condemns it, too.
  @Test func `what was forgotten rests for as long as was asked for, by the store's time`() async throws {
    let home = try await PruneHome(versions: 3)
    let known = home.safe.withLock { $0 }
    try await home.forget(1...2)
    let forgotten = Int(PruneHome.now / 1000)
    func store(stored: Int?) -> StagedStore { self.store(home, tombstones: stored, versions: forgotten + 30 * 86_400) }
    let month: UInt64 = 30 * PrunePolicy.day
    try await home.home.condemn(home.home.packs() + known.filter { $0.key < 3 }.map(\.value.name.digest))
    for stored in [forgotten, forgotten + 1, Int.min, nil] {
      let pruned = try await home.prune(at: store(stored: stored), forgottenFor: month)
      #expect(pruned.freed.objects == 0 && pruned.resting == 2, "\(String(describing: stored))")
    }
    let timed = store(stored: forgotten)
    let early = try await home.prune(at: timed, forgottenFor: month, now: PruneHome.now + month - 1000)
    #expect(early.freed.objects == 0 && home.count(below: "versions/") == 3 && home.count(below: "packs/") == 3)
    let pruned = try await home.prune(at: timed, forgottenFor: month, now: PruneHome.now + month)
    #expect(pruned.freed.objects == 4 && pruned.resting == 0)
    try await home.expectAllSafe()
  }

  /// Of a push that was cut, and forgotten as the hint of a prune says.
  @Test func `a version that is not whole stops nothing while it rests`() async throws {
    let home = try await PruneHome(versions: 2)
    let first = try #require(home.safe.withLock { $0[1] })
    let packs = try await PackTable(
      of: home.home.repository.readManifest(first.name), repository: home.home.repository, state: nil
    ).all
    let pack = Layout.pack(try #require(packs.first).name, of: home.home.chain)
    home.home.store.content[pack] = nil
    try await home.expectRefusal([.incomplete])
    try await home.forget(1...1)
    let pruned = try await home.prune(forgottenFor: PrunePolicy.day)
    #expect(pruned.freed.objects == 0 && pruned.resting == 1)
    try await home.expectAllSafe()
  }

  /// A folder says of its files what somebody has set.
  @Test func `a pack from before all times is old`() async throws {
    let home = try await PruneHome(versions: 2)
    try await home.forget(1...1)
    let store = StagedStore(home.home.store) {
      $0.listed = { _, listed async throws(StoreError) in
        listed.map { ObjectInfo(name: $0.name, size: $0.size, stored: Int.min) }
      }
    }
    #expect(try await home.prune(at: store, minAge: 3_600_000).freed.objects == 2)
    #expect(home.count(below: "packs/") == 1)
    try await home.expectAllSafe()
  }

  /// A prune is in the way: the version is written anew as revision 1, and revision 0 is left with condemned packs.
  private func pushCrossed(_ home: PruneHome) async throws -> StoredManifest {
    let once = Once()
    let store = StagedStore(home.home.store) {
      $0.afterPut = { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), once() else { return }
        try? await home.home.condemn(home.home.packs())
      }
    }
    let anew = try await home.push(at: store)
    #expect(anew.name.revision == 1)
    return anew
  }

  @Test func `an earlier revision goes when a later one is whole, not earlier`() async throws {
    let home = try await PruneHome(versions: 1)
    let anew = try await pushCrossed(home)
    let manifests = home.count(below: "versions/")
    let packs = try await PackTable(of: anew, repository: home.home.repository, state: nil).all
    let pack = Layout.pack(try #require(packs.first).name, of: home.home.chain)
    let kept = home.home.store.content[pack]

    // Revision 1 is not whole: revision 0 must stay, with its packs.
    home.home.store.content[pack] = nil
    let listed = ChainListing(chain: home.home.chain, objects: try await home.home.store.list(prefix: "versions/"))
    let earlier = try #require(listed.versions.first { $0.sequence == 2 && $0.revision == 0 })
    try await home.prune()
    #expect(home.count(below: "versions/") == manifests)
    let version = try #require(home.safe.withLock { $0[2] })
    #expect(try await home.home.read(home.home.repository.readManifest(earlier)) == version.image)

    home.home.store.content[pack] = kept
    #expect(try await home.prune().freed.objects >= 2)
    #expect(!home.names.contains(earlier.objectName.text))
    try await home.expectAllSafe()
  }

  /// It is left as it is: what it needs is not known, and what its version needs is.
  @Test func `a revision that cannot be read stops nothing where a later one is whole`() async throws {
    let home = try await PruneHome(versions: 2)
    _ = try await pushCrossed(home)
    try await home.forget(1...1)
    let listed = ChainListing(chain: home.home.chain, objects: try await home.home.store.list(prefix: "versions/"))
    let earlier = try #require(listed.versions.first { $0.sequence == 3 && $0.revision == 0 }).objectName
    home.home.store.content[earlier]?[300] ^= 1
    home.home.forgetState()
    #expect(try await home.prune().freed.objects > 0)
    #expect(home.names.contains(earlier.text))
    try await home.expectAllSafe()
  }

  /// Whoever may write to the target, and has no key: a record with the name of something that is alive would never go.
  @Test func `what is called like something that is alive is left lying, and never condemned`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...1)
    let chain = home.home.chain
    let manifest = try #require(home.safe.withLock { $0[3] }).name
    let facts = try #require(home.safe.withLock { $0[2] }).name
    let packs = try await PackTable(
      of: home.home.repository.readManifest(facts), repository: home.home.repository, state: nil
    ).all
    let pack = try #require(packs.first).name
    home.home.store.content[Layout.pack(manifest.digest, of: chain)] = [1]
    let planted = VersionName(chain: chain, sequence: 1, revision: 0, length: 4096, digest: pack)
    home.home.store.content[planted.objectName] = []
    #expect(try await home.prune().freed.objects > 0)
    let records = try await home.home.repository.condemnedRecords(of: chain, state: nil)
    let named = Set(records.flatMap(\.record.packs))
    #expect(!named.isEmpty && named.isDisjoint(with: [manifest.digest, pack]))
    try await home.expectAllSafe()
    _ = try await home.push()
    try await home.expectAllSafe()
  }

  @Test func `both versions of a fork keep their packs`() async throws {
    let home = try await PruneHome(versions: 1)
    let clone = try await Home(sharing: home.home, content: home.home.store.content)
    try await home.push(home.image(7))
    let mine = try #require(home.safe.withLock { $0[2] })
    // The clone knows nothing of that.
    let theirs = try await clone.push(home.image(8)).manifest
    home.home.store.content.merge(clone.store.content) { first, _ in first }
    #expect(theirs.name.sequence == 2 && theirs.id != mine.id)
    let before = home.names
    try await home.prune()
    #expect(home.names == before)
    #expect(try await home.home.read(theirs) == home.image(8), "the clone's")
    #expect(try await home.home.read(home.home.repository.readManifest(mine.name)) == mine.image)
  }

  /// With the other machine's version for its mark, this one would push on in that one's branch.
  @Test(arguments: [false, true])
  func `a prune of a forked chain leaves what this machine has seen as it is`(dryRun: Bool) async throws {
    let home = try await PruneHome(versions: 1)
    let clone = try await Home(sharing: home.home, content: home.home.store.content)
    try await home.push(home.image(7))
    for seed in [8, 9] as [UInt64] { _ = try await clone.push(home.image(seed)) }
    home.home.store.content.merge(clone.store.content) { first, _ in first }
    let before = try HighWaterMark.read(home.home.chain, in: home.home.state)
    #expect(before?.sequence == 2)
    try await home.prune(dryRun: dryRun)
    let after = try HighWaterMark.read(home.home.chain, in: home.home.state)
    #expect(after == before)
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(10)) }
    #expect(error?.code == .forked)
  }

  @Test func `a pack that holds nothing but a part of a pack table stays`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    let content = try await made.pack([made.raw([page])])
    let holder = try await made.pack([made.raw([PackTableLeaf(entries: [content]).encode()], .node)])
    let stray = try await made.pack([made.raw([page])])
    made.place(pack: 1, frame: 0, count: 1)
    let manifest = try await made.manifest(image: page, tableIn: holder)
    var policy = PrunePolicy(twoRuns: false, now: { PruneHome.now })
    policy.minAge = 0
    let pruned = try await home.repository.prune(home.chain, policy, state: home.state)?.whole()
    #expect(pruned?.freed.objects == 1)
    #expect(Set(home.packs()) == [content.name, holder.name] && !home.packs().contains(stray.name))
    #expect(try await home.read(manifest) == page)

    // Without it nobody knows what the version needs.
    home.store.content[Layout.pack(holder.name, of: home.chain)] = nil
    home.store.content[Layout.pack(stray.name, of: home.chain)] = [1]
    let error = await #expect(throws: RepositoryError.self) {
      try await home.repository.prune(home.chain, policy, state: home.state)
    }
    #expect(error?.code == .incomplete)
    #expect(home.packs().count == 2)
  }

  @Test func `many names make several records`() async throws {
    let home = try await tooMany()
    #expect(try await home.prune().freed.objects == 20_001)
    #expect(home.count(below: "gone/") == 2)
    try await home.expectAllSafe()
  }

  @Test func `a record that cannot be stored hides none of those before it`() async throws {
    let home = try await tooMany()
    let records = Locked(0)
    let store = StagedStore(home.home.store) {
      $0.beforePut = { name async throws(StoreError) in
        guard name.text.hasPrefix("gone/") else { return }
        let isSecond = records.withLock { records -> Bool in
          records += 1
          return records > 1
        }
        if isSecond { throw StoreError(.unavailable, "the line was cut") }
      }
    }
    var policy = PrunePolicy(twoRuns: false, now: { PruneHome.now })
    policy.minAge = 0
    let pruned = try await home.repository(at: store).prune(home.home.chain, policy, state: home.home.state)
    #expect((pruned?.cut as? StoreError)?.code == .unavailable)
    #expect(pruned?.condemned.objects == 20_000 && pruned?.waiting.objects == 20_000)
    #expect(pruned?.freed.objects == 0 && home.count(below: "gone/") == 1)
  }

  /// One pack more that nothing needs than a record names.
  private func tooMany() async throws -> PruneHome {
    let home = try await PruneHome(versions: 1)
    var content = home.home.store.content
    for number in 0..<20_001 {
      let name = Digest.sha256(of: [UInt8(number & 255), UInt8(number >> 8)])
      content[Layout.pack(name, of: home.home.chain)] = [0]
    }
    home.home.store.content = content
    return home
  }
}
