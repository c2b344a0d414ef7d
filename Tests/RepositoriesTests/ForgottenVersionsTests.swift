import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// The links of a chain, with versions forgotten, pruned half-way or damaged in the middle.
@Suite struct ForgottenVersionsTests {
  private func chain(of count: Int) async throws -> (Home, [StoredManifest]) {
    let home = try await Home()
    var versions: [StoredManifest] = []
    for seed in 0..<count { versions.append(try await home.push(home.image(pages: 4, seed: UInt64(seed))).manifest) }
    return (home, versions)
  }

  private func forget(_ home: Home, _ first: UInt64, _ last: UInt64, after: Digest, endingIn hash: Digest) throws {
    let range = Tombstone.Range(first: first, last: last, previousOfFirst: after, coreHashOfLast: hash)
    let builder = ObjectBuilder(kind: .tombstone, keys: home.repository.keys, random: systemRandom)
    let sealed = try builder.finish(meta: Tombstone(chain: home.chain, time: 1, ranges: [range]).encode())
    home.store.content[Layout.known("tomb/\(home.chain.hex)/\(sealed.bytes.count)-\(sealed.name.hex)")] = sealed.bytes
  }

  private func problems(_ home: Home) async throws -> [RepositoryError.Code] {
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    return try await home.repository.history(of: listing).problems.map(\.code)
  }

  @Test(arguments: [[1], [2], [3], [1, 3], [2, 3], [1, 2, 3], []])
  func `a prune that stopped half-way leaves no hole`(pruned: [Int]) async throws {
    let (home, versions) = try await chain(of: 5)
    try forget(home, 2, 4, after: versions[0].id, endingIn: versions[3].id)
    for index in pruned { home.store.content[versions[index].name.objectName] = nil }
    #expect(try await problems(home) == [])
  }

  @Test func `a tombstone that begins after another past is a fork`() async throws {
    let (home, versions) = try await chain(of: 3)
    try forget(home, 2, 2, after: .sha256(of: [7]), endingIn: versions[1].id)
    home.store.content[versions[1].name.objectName] = nil
    #expect(try await problems(home) == [.forked])
    Fault.wentBack.met("fork")
  }

  @Test func `a version that cannot be read is damaged, not missing`() async throws {
    let (home, versions) = try await chain(of: 3)
    home.store.content[versions[1].name.objectName]?[200] ^= 1
    #expect(try await problems(home) == [.damaged])
    home.store.content[versions[1].name.objectName] = nil
    #expect(try await problems(home) == [.hole])
    Fault.wentBack.met("hole")
  }
}
