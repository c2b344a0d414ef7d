import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What manifests need is held by numbers, which outlive a look; whether it is there, each look says for itself.
@Suite struct PackTablesTests {
  private struct Chain {
    let home: PruneHome
    let tables: PackTables
    let listed: [Digest: ObjectInfo]
    /// Of versions 1, 2 and 3, which have packs of their own.
    let needs: [PackTables.Needs]

    init() async throws {
      let home = try await PruneHome(versions: 3)
      let tables = PackTables(home.home.repository, state: nil)
      let infos = try await home.home.store.list(prefix: Layout.packs(of: home.home.chain))
      let listed = Dictionary(infos.compactMap { info in Layout.packDigest(info.name).map { ($0, info) } }) { $1 }
      var needs: [PackTables.Needs] = []
      for (_, version) in home.safe.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
        needs.append(try await tables.needs(of: version.name, listed: listed))
      }
      self.home = home
      self.tables = tables
      self.listed = listed
      self.needs = needs
    }

    /// The pack of one version.
    func pack(_ number: Int) throws -> Digest { try #require(tables.names(of: [needs[number]]).first) }

    func verdicts(_ listed: [Digest: ObjectInfo], condemned: [Digest] = []) -> PackVerdicts {
      PackVerdicts(tables, listed: listed, condemned: NameSet(condemned))
    }
  }

  @Test func `what versions need is what they refer to, each and together`() async throws {
    let chain = try await Chain()
    let each = try (0..<3).map { try chain.pack($0) }
    #expect(Set(each).count == 3 && Set(each) == Set(chain.listed.keys))
    #expect(chain.needs.allSatisfy { $0.isComplete })
    #expect(chain.tables.names(of: chain.needs) == Set(each))
    #expect(chain.tables.names(of: Array(chain.needs.dropFirst())) == Set(each.dropFirst()))
    #expect(chain.tables.names(of: []) == [])
  }

  @Test func `each look judges by what it shows`() async throws {
    let chain = try await Chain()
    let (first, second) = try (chain.pack(0), chain.pack(1))
    let all = chain.verdicts(chain.listed)
    #expect(chain.needs.allSatisfy { all.areMet($0) && all.areSpared($0) })
    let later = chain.verdicts(chain.listed.filter { $0.key != first }, condemned: [second])
    for _ in 0..<2 {
      #expect(chain.needs.map { later.areMet($0) } == [false, true, true])
      #expect(chain.needs.map { later.areSpared($0) } == [true, false, true])
    }
    var cut = chain.listed
    let whole = try #require(cut[second])
    cut[second] = ObjectInfo(name: whole.name, size: whole.size - 1)
    let short = chain.verdicts(cut)
    #expect(chain.needs.map { short.areMet($0) } == [true, false, true])
    #expect(chain.needs.allSatisfy { all.areMet($0) && short.areSpared($0) })
  }

  /// Rules have every version looked at that stays, and those share nearly all of their tables.
  @Test func `leaves that versions share are fetched once, however many are looked at`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    let content = try await made.pack([made.raw([page])])
    made.place(pack: 1, frame: 0, count: 1)
    let holder = try await made.pack([made.raw([PackTableLeaf(entries: [content]).encode()], .node)])
    let fetched = Locked(0)
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix("packs/") { fetched.withLock { $0 += 1 } }
      })
    let repository = Repository(
      store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let completeness = try await Completeness(repository, chain: home.chain, state: nil)
    var first = 0
    for sequence: UInt64 in 1...10 {
      let manifest = try await made.manifest(
        image: page, sequence: sequence, previous: sequence == 1 ? .zero : .sha256(of: [1]), tableIn: holder,
        table: [content])
      #expect(try await completeness.look(at: manifest.facts) == .whole)
      if sequence == 1 { first = fetched.withLock { $0 } }
    }
    #expect(first > 0 && fetched.withLock { $0 } == first)
  }

  @Test func `a version whose pack table is out of order is not whole`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    let first = try await made.pack([made.raw([page])])
    let second = try await made.pack([made.raw([home.noise(4096, seed: 2)])])
    let twin = PackEntry(
      number: 2, name: first.name, length: first.length, directoryLength: first.directoryLength, version: first.version,
      aead: first.aead, kem: first.kem, epoch: first.epoch, salt: first.salt)
    made.place(pack: 1, frame: 0, count: 1)
    let completeness = try await Completeness(home.repository, chain: home.chain, state: nil)
    for (index, leaves) in [[[first], [second]], [[second], [first]], [[first], [twin]], [[first, twin]]].enumerated() {
      let manifest = try await made.manifest(
        image: page, sequence: UInt64(index + 1), previous: index == 0 ? .zero : .sha256(of: [1]), inLeaves: leaves)
      #expect(try await completeness.look(at: manifest.facts) == (index == 0 ? .whole : .incomplete))
    }
  }

  /// Packs get their numbers while a look goes on.
  @Test func `what is read after the first judgement is judged as well`() async throws {
    let chain = try await Chain()
    let verdicts = chain.verdicts(chain.listed)
    #expect(verdicts.areMet(chain.needs[0]))
    let manifest = try await chain.home.push()
    let needs = try await chain.tables.needs(of: manifest.name, listed: chain.listed)
    #expect(needs.isComplete && !verdicts.areMet(needs) && verdicts.areSpared(needs))
    #expect(verdicts.areMet(chain.needs[2]))
    #expect(chain.tables.names(of: [needs]).isDisjoint(with: chain.listed.keys))
  }
}
