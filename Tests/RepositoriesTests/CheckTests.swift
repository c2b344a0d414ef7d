import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Every object of a repository is lost, cut and flipped in turn: a check names it, and the versions that it harms, and
/// the truth about those is what restores.
@Suite struct CheckTests {
  /// Two packs that nobody needs, longer than all disks of the world.
  private final class BoastingStore: ObjectStore {
    let base: MemoryStore
    let chain: ChainID
    var traits: StoreTraits { base.traits }

    init(_ base: MemoryStore, _ chain: ChainID) { (self.base, self.chain) = (base, chain) }

    func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
      let boasts = [1, 2].map { number in
        ObjectInfo(name: Layout.pack(.sha256(of: [number]), of: chain), size: .max, stored: nil)
      }
      return try await base.list(prefix: prefix) + boasts.filter { $0.name.text.hasPrefix(prefix) }
    }
    func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
      try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
    func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
      try await base.get(name, range: range)
    }
    func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
    func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
  }

  @Test func `sizes that a listing boasts of end nothing`() async throws {
    let checked = try await CheckedHome()
    let store = BoastingStore(checked.home.store, checked.home.chain)
    for subset in [nil, CheckSubset.share(1), .bytes(.max)] {
      let report = try await checked.check(subset, at: store)
      #expect(report.chains.first?.unreferencedBytes == .max)
    }
    let repository = Repository(
      store: store, keys: checked.home.repository.keys, random: checked.home.repository.random,
      slot: checked.home.repository.slot)
    var policy = PrunePolicy(twoRuns: false, now: { 1 })
    policy.dryRun = true
    let pruned = try await repository.prune(checked.home.chain, policy, state: try checked.home.state)
    #expect(pruned?.condemned.bytes == .max)
  }

  @Test(arguments: [nil, CheckSubset.all]) func `a sound repository is found sound`(subset: CheckSubset?) async throws {
    let checked = try await CheckedHome()
    let before = checked.home.store.content
    let report = try await checked.check(subset)
    #expect(report.isSound)
    #expect(report.damaged == [])
    #expect(report.whole == Set(checked.versions.map(\.id)))
    #expect(checked.home.store.content == before)
    let chain = try #require(report.chains.first)
    #expect(chain.database == "app" && chain.unreferenced == 0 && report.unknown == 0)
    #expect(chain.packsRead == (subset == nil ? 0 : chain.packs))
    // The one made by hand says that it costs nothing; what pushes say is true.
    #expect(report.allFindings.map(\.kind) == [.costly])
    #expect(report.allFindings.map(\.object) == [checked.versions[0].name.objectName.text])
  }

  @Test func `it tells how far it is, also where it reads directories alone`() async throws {
    let checked = try await CheckedHome()
    let state = try checked.home.state
    func seen(_ subset: CheckSubset?) async throws -> Int {
      let bytes = Locked(0)
      _ = try await RepositoryCheck(checked.home.repository, state: state, tables: state.path, subset: subset).run {
        count in bytes.withLock { $0 += count }
      }
      return bytes.withLock { $0 }
    }
    let structure = try await seen(nil)
    #expect(structure > 0)
    #expect(try await seen(.all) > structure)
  }

  @Test func `every object that is missing is named, with the versions it harms`() async throws {
    let checked = try await CheckedHome()
    let content = checked.home.store.content
    for name in content.keys.sorted() where !isPartial(name) {
      checked.home.store.content = content
      checked.home.store.content[name] = nil
      let broken = await checked.broken()
      for subset in [nil, CheckSubset.all] {
        let report = try await checked.check(subset)
        #expect(!report.isSound)
        #expect(report.damaged.count == 1 && name.text.hasPrefix(report.damaged.first ?? "-"), "\(name)")
        #expect(report.harmed == broken, "\(name)")
        #expect(report.whole.isDisjoint(with: report.harmed))
      }
    }
  }

  @Test func `every object that is cut is named, with the versions it harms`() async throws {
    let checked = try await CheckedHome()
    let content = checked.home.store.content
    for (name, bytes) in content {
      checked.home.store.content = content
      checked.home.store.content[name] = Array(bytes.prefix(bytes.count / 2))
      let broken = await checked.broken()
      for subset in [nil, CheckSubset.all] {
        let report = try await checked.check(subset)
        #expect(report.damaged == [name.text])
        #expect(report.harmed == broken, "\(name)")
      }
    }
  }

  @Test func `every byte that is flipped is found by reading, and the versions it harms are those that fail`()
    async throws
  {
    let checked = try await CheckedHome()
    let content = checked.home.store.content
    for (name, bytes) in content {
      let isPack = name.text.hasPrefix("packs/")
      let places = isPack ? [5, 140, bytes.count / 2, bytes.count - 99, bytes.count - 1] : [5, bytes.count - 9]
      for place in places {
        checked.home.store.content = content
        checked.home.store.content[name]?[place] ^= 0x10
        let report = try await checked.check(.all)
        #expect(report.damaged == [name.text], "byte \(place) of \(name)")
        let broken = await checked.broken()
        #expect(report.harmed == broken, "byte \(place) of \(name)")
        guard !isPack || place > bytes.count / 2 else { continue }
        let structure = try await checked.check(nil)
        #expect(structure.harmed == broken, "byte \(place) of \(name)")
        // The length at its very end is not read where a table says it too.
        if place != bytes.count - 1 { #expect(structure.damaged == [name.text], "byte \(place) of \(name)") }
      }
    }
  }

  @Test func `a pack that is a byte longer or shorter is found by its size`() async throws {
    let checked = try await CheckedHome()
    let name = Layout.pack(try #require(checked.home.packs().first), of: checked.home.chain)
    let bytes = try #require(checked.home.store.content[name])
    for wrong in [bytes + [0], Array(bytes.dropLast())] {
      checked.home.store.content[name] = wrong
      for subset in [nil, CheckSubset.all] {
        let report = try await checked.check(subset)
        #expect(report.damaged == [name.text])
        #expect(await report.harmed == checked.broken())
      }
    }
  }

  @Test(arguments: [nil, CheckSubset.all])
  func `a pack of an epoch that the keyring does not hold is named, and others are read`(
    subset: CheckSubset?
  ) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = [home.noise(4096, seed: 1), home.noise(4096, seed: 2)]
    let known = try await made.pack([made.raw([pages[0]])])
    let other = try await made.pack([made.raw([pages[1]])])
    for number in 1...2 as ClosedRange<UInt32> { made.place(pack: number, frame: 0, count: 1) }
    let strange = PackEntry(
      number: other.number, name: other.name, length: other.length, directoryLength: other.directoryLength, version: 1,
      aead: 1, kem: 0, epoch: 9, salt: other.salt)
    let manifest = try await made.manifest(image: pages[0] + pages[1], table: [known, strange])
    let state = try home.state
    let report = try await RepositoryCheck(home.repository, state: state, tables: state.path, subset: subset).run()
    #expect(report.damaged == [Layout.pack(other.name, of: home.chain).text])
    #expect(report.harmed == [manifest.id])
    let chain = try #require(report.chains.first)
    #expect(chain.damagedPacks == [other.name] && chain.packsRead >= (subset == nil ? 0 : 1))
  }

  @Test func `a keyring and a configuration that somebody without the key put there are told`() async throws {
    let home = try await Home()
    let sealed = try home.repository.keys.keyring.seal(
      master: MasterKey([UInt8](repeating: 1, count: 32)), repository: home.repository.id, random: systemRandom)
    for prefix in [Layout.keyrings, Layout.configurations] {
      // One in place of which another counts is of no use, whoever made it.
      for number in [1, 9] as [UInt64] {
        let store = MemoryStore()
        store.content = home.store.content
        let name = NumberedName(
          prefix: prefix, number: number, length: sealed.bytes.count, digest: .sha256(of: sealed.bytes))
        store.content[name.objectName] = sealed.bytes
        let opened = try await Repository.open(at: store, with: Home.secret)
        let state = try home.state
        let report = try await RepositoryCheck(opened, state: state, tables: state.path, subset: nil).run()
        #expect(report.damaged == (number == 9 ? [name.objectName.text] : []), "\(name)")
        #expect(try await opened.repairOpening().isEmpty, "\(name)")
        store.content[name.objectName]?[8] ^= 2
        let spoilt = try await Repository.open(at: store, with: Home.secret)
        let again = try await RepositoryCheck(spoilt, state: state, tables: state.path, subset: nil).run()
        #expect(again.damaged == (number == 9 ? [name.objectName.text] : []), "\(name)")
      }
    }
  }

  /// Two inits at once write under the same numbers; then one copy of what counts goes bad.
  @Test(arguments: [Layout.keyrings, Layout.configurations])
  func `what a raced init left is no damage, whichever copy opens`(prefix: String) async throws {
    let home = try await Home()
    let own = home.store.content.keys.compactMap { NumberedName($0, prefix: prefix) }
    let last = try #require(own.max { $0.number < $1.number }).objectName
    let sealed = try home.repository.keys.keyring.seal(
      master: MasterKey([UInt8](repeating: 1, count: 32)), repository: home.repository.id, random: systemRandom)
    try await RepositoryFiles.putTwice(sealed.bytes, below: prefix, after: 0, at: home.store)
    home.store.content[last]?[8] ^= 2
    let opened = try await Repository.open(at: home.store, with: Home.secret)
    let state = try home.state
    let report = try await RepositoryCheck(opened, state: state, tables: state.path, subset: nil).run()
    #expect(report.damaged == [last.text])
  }

  /// Removing it leaves no trace, and harms nobody.
  private func isPartial(_ name: ObjectName) -> Bool { VersionName(name)?.sequence == 5 }

  @Test func `the parts of a division read every pack once`() async throws {
    let checked = try await CheckedHome(frames: 49)
    let reads = Locked<[ObjectName: Int]>([:])
    for part in 1...7 {
      let counting = CountingStore(checked.home.store) { name in reads.withLock { $0[name, default: 0] += 1 } }
      #expect(try await checked.check(.part(part, of: 7), at: counting).isSound)
    }
    let packs = checked.home.store.content.keys.filter { $0.text.hasPrefix("packs/") }
    #expect(packs.count > 14)
    #expect(reads.withLock { $0 } == Dictionary(packs.map { ($0, 1) }) { $1 })
  }

  @Test func `a part finds what is damaged in it, and only there`() async throws {
    let checked = try await CheckedHome()
    let pack = try #require(checked.home.packs().sorted().first)
    let name = Layout.pack(pack, of: checked.home.chain)
    checked.home.store.content[name]?[140] ^= 1
    let own = CheckSubset.part(of: pack, among: 3)
    #expect(try await checked.check(.part(own, of: 3)).damaged == [name.text])
    var random = 0
    for _ in 0..<4 where try await !checked.check(.bytes(1)).isSound { random += 1 }
    #expect(try await checked.check(.share(1)).damaged == [name.text])
    #expect(random <= 4)
  }

  @Test func `a check reads each pack once, however many versions need it`() async throws {
    let checked = try await CheckedHome()
    let reads = Locked<[ObjectName: Int]>([:])
    let counting = CountingStore(checked.home.store) { name in reads.withLock { $0[name, default: 0] += 1 } }
    _ = try await checked.check(.all, at: counting)
    #expect(reads.withLock { $0.values.allSatisfy { $0 == 1 } && $0.count == checked.home.packs().count })
  }

  /// A version that a push adds meanwhile says nothing of what was found; one that a prune takes away does.
  @Test(arguments: [(false, 1), (true, 3)] as [(Bool, Int)]) func `a busy chain with a flaw is read once`(
    isPruned: Bool, times: Int
  ) async throws {
    let checked = try await CheckedHome()
    let store = checked.home.store
    let spoilt = try #require(checked.home.packs().sorted().first)
    let name = Layout.pack(spoilt, of: checked.home.chain)
    store.content[name]?[140] ^= 1
    let looks = Locked(0)
    let manifests = store.content.filter { $0.key.text.hasPrefix("versions/") }
    let counting = CountingStore(store) { read in
      guard read == name else { return }
      let look = looks.withLock { looks in
        looks += 1
        return looks
      }
      // What a cut push leaves is no version, and may come and go.
      let added = VersionName(
        chain: checked.home.chain, sequence: 9000, revision: UInt32(look), length: 4096, digest: .sha256(of: [1]))
      store.content[added.objectName] = [1]
      if isPruned {
        for old in store.content.keys where old.text.contains("/000000009000-") && old != added.objectName {
          store.content[old] = nil
        }
      }
    }
    if isPruned {
      let first = VersionName(
        chain: checked.home.chain, sequence: 9000, revision: 0, length: 4096, digest: .sha256(of: [1]))
      store.content[first.objectName] = [1]
    }
    #expect(try await checked.check(.all, at: counting).damaged.contains(name.text))
    // What does not have the hash of its name is asked for twice each time.
    #expect(looks.withLock { $0 } == 2 * times)
    #expect(manifests.allSatisfy { store.content[$0.key] == $0.value })
  }

  /// Does something, a few times, whenever the newest manifest that there was is about to be read.
  private func store(
    _ checked: CheckedHome, times: Int, _ work: @escaping @Sendable (Int) async throws -> Void
  ) -> HookedStore {
    let newest = Locked<ObjectName?>(checked.versions.last?.name.objectName)
    let done = Locked(0)
    return HookedStore(
      checked.home.store,
      beforeGet: { name async throws(StoreError) in
        guard newest.withLock({ $0 == name }), done.withLock({ $0 < times }) else { return }
        let turn = done.withLock { done in
          done += 1
          return done
        }
        do { try await work(turn) } catch { Issue.record(error) }
        let names = checked.home.store.content.keys.filter { VersionName($0)?.sequence ?? 0 < 9000 }
        newest.withLock { $0 = names.filter { $0.text.hasPrefix("versions/") }.max() }
      })
  }

  @Test func `a push of this machine that ends while its chain is looked at is no way back`() async throws {
    let checked = try await CheckedHome()
    let home = checked.home
    let store = store(checked, times: 1) { _ in _ = try await home.push(home.noise(30 * 4096, seed: 91)) }
    let report = try await checked.check(nil, at: store)
    #expect(report.isSound && report.chains.first?.problems.isEmpty == true)
    #expect(try HighWaterMark.read(home.chain, in: home.state)?.sequence ?? 0 > 4)
  }

  /// A version came, and the one before it was forgotten, while the chain was looked at; and so each time.
  @Test(arguments: [(1, true), (1, false), (9, true), (9, false)] as [(Int, Bool)])
  func `versions that come and go meanwhile are looked at again`(times: Int, hasSeen: Bool) async throws {
    let checked = try await CheckedHome()
    let home = checked.home
    let scratch = try Scratch()
    let state = try hasSeen ? home.state : StateFolder(scratch.path, repository: home.repository.id)
    let newest = Locked(checked.versions.last)
    let store = store(checked, times: times) { turn in
      let pushed = try await home.push(home.noise(30 * 4096, seed: UInt64(90 + turn))).manifest
      let before = newest.withLock { newest in
        defer { newest = pushed }
        return newest
      }
      if let before { _ = try await home.repository.forget([before.facts], now: 1) }
    }
    let report = try await checked.check(nil, at: store, state: state)
    #expect(report.allFindings.allSatisfy { !$0.isDamage })
    let problems = report.chains.first?.problems.map(\.code)
    #expect(problems == (times > 1 && hasSeen ? [.conflict] : []))
  }

  /// Three versions came behind the listing, and the second of them was forgotten.
  @Test(arguments: [1, 9])
  func `a tombstone that is younger than the listing of versions tells of no hole`(times: Int) async throws {
    let checked = try await CheckedHome()
    let home = checked.home
    let scratch = try Scratch()
    let store = store(checked, times: times) { turn in
      var pushed: [StoredManifest] = []
      for number in 0..<3 {
        pushed.append(try await home.push(home.noise(4 * 4096, seed: UInt64(90 + 3 * turn + number))).manifest)
      }
      _ = try await home.repository.forget([pushed[1].facts], now: 1)
    }
    let report = try await checked.check(
      nil, at: store, state: StateFolder(scratch.path, repository: home.repository.id))
    #expect(report.chains.first?.problems.map(\.code) == [])
  }

  @Test func `packs that belong to nothing are counted, and no error`() async throws {
    let checked = try await CheckedHome()
    let junk = checked.home.noise(5000, seed: 9)
    checked.home.store.content[Layout.pack(.sha256(of: junk), of: checked.home.chain)] = junk
    let report = try await checked.check(.all)
    #expect(report.isSound && report.unknown == 0)
    #expect(report.chains.first?.unreferenced == 1 && report.chains.first?.unreferencedBytes == 5000)
  }

  @Test func `names of others are counted where ours lie, and nowhere else`() async throws {
    let checked = try await CheckedHome()
    let chain = checked.home.chain
    let digest = Digest.sha256(of: [1]).hex
    let among = [
      "repo/other", "keys/other", "keyring/other", "config/other", "versions/other", "versions/a/b/other",
      "\(Layout.versions(of: chain))000000000005-9999-04096-\(digest)", "packs/other", "packs/nobody/\(digest)",
      "\(Layout.packs(of: chain))other", "tomb/\(digest)", "\(Layout.tombstones(of: chain))04096-\(digest)",
      "\(Layout.annotations(of: chain))other", "\(Layout.condemned(of: chain))other",
    ]
    for name in among + ["other", "doctor/left-behind", "tmp/other", "repository/other"] {
      checked.home.store.content[Layout.known(name)] = [1]
    }
    let listed = Locked<[String]>([])
    let store = ListedStore(checked.home.store) { prefix in listed.withLock { $0.append(prefix) } }
    let report = try await checked.check(nil, at: store)
    #expect(report.isSound && report.unknown == among.count && report.chains.map(\.chain) == [chain])
    // Whose it is may forbid a look at the rest.
    #expect(listed.withLock { $0.allSatisfy { $0.hasSuffix("/") && $0 != "tmp/" } })
  }

  @Test func `a pack that a prune noted is told, and no damage`() async throws {
    let checked = try await CheckedHome()
    let pack = try #require(checked.home.packs().first)
    try await checked.home.condemn([pack])
    let report = try await checked.check(nil)
    #expect(report.isSound)
    #expect(report.allFindings.contains { $0.kind == .condemned && $0.object.hasSuffix(pack.hex) })
  }

  @Test func `a target that cannot be read is an error, not damage`() async throws {
    let checked = try await CheckedHome()
    let failing = HookedStore(
      checked.home.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix("packs/") { throw StoreError(.unavailable, "the connection was cut") }
      })
    await #expect(throws: StoreError.self) { try await checked.check(.all, at: failing) }
    await #expect(throws: StoreError.self) { try await checked.check(nil, at: failing) }
  }
}
