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

  // What a list, a check and a prune say of a chain is one

  private func expect(_ code: RepositoryError.Code?, _ home: Home, _ what: Comment? = nil) async throws {
    let history = try await home.repository.history(of: home.repository.versionListing(of: home.chain))
    #expect(history.problems.map(\.code) == (code.map { [$0] } ?? []), what)
    var refusal: RepositoryError.Code?
    do throws(RepositoryError) {
      try ChainProof(home.chain, history.versions + history.displaced, history.forgotten.ranges).check(against: nil)
    } catch {
      refusal = error.code
    }
    #expect(refusal == code, what)
    let state = try home.state
    let report = try await RepositoryCheck(home.repository, state: state, tables: state.path, subset: nil).run()
    #expect(report.isSound == (code == nil), what)
  }

  /// Of each range its first and last place, and by their numbers the versions that it names: before its first, and at its
  /// end. No version has number 9.
  @Test(
    arguments: [
      ("another one before it, and its version stands", 3, [(2, 2, 9, 2)], .forked),
      ("the same, and nothing stands behind it", 2, [(2, 2, 9, 2)], .forked),
      ("behind the newest version", 2, [(3, 3, 9, 9)], .forked),
      ("behind a hole, and nothing behind it", 1, [(3, 3, 9, 9)], .hole),
      ("from the first place, after something", 2, [(1, 1, 9, 1)], .forked),
      ("two versions of one place", 3, [(2, 2, 1, 2), (2, 2, 1, 9)], nil),
      ("two of which each begins within the other", 5, [(2, 3, 1, 3), (3, 4, 2, 4)], nil),
      ("one within another, after something that was there", 5, [(2, 4, 1, 4), (3, 3, 9, 3)], nil),
    ] as [(String, Int, [(UInt64, UInt64, Int, Int)], RepositoryError.Code?)])
  func `what a range continues is looked at whether versions stand or not`(
    what: String, count: Int, ranges: [(UInt64, UInt64, Int, Int)], code: RepositoryError.Code?
  ) async throws {
    let (home, versions) = try await chain(of: count)
    func hash(_ number: Int) -> Digest {
      number == 9 ? .sha256(of: [9]) : versions[number - 1].id
    }
    for (first, last, before, end) in ranges {
      try forget(home, first, last, after: hash(before), endingIn: hash(end))
    }
    try await expect(code, home, "\(what)")
  }

  /// A prune that stopped half-way took the one of two versions that the next continues; all three were forgotten.
  @Test func `what a range covers may continue what is not there any more`() async throws {
    let (home, versions) = try await chain(of: 1)
    let clone = try await Home(sharing: home, content: home.store.content)
    _ = try await home.push(home.image(pages: 4, seed: 7))
    let other = try await clone.push(clone.image(pages: 4, seed: 8)).manifest
    _ = try await clone.push(clone.image(pages: 4, seed: 9))
    home.store.content.merge(clone.store.content) { first, _ in first }
    home.store.content[other.name.objectName] = nil
    home.forgetState()
    try await expect(.forked, home)
    try forget(home, 2, 4, after: versions[0].id, endingIn: .sha256(of: [4]))
    try await expect(nil, home)
  }

  @Test func `a tombstone younger than the listing of versions tells of no hole`() async throws {
    let (home, _) = try await chain(of: 2)
    let listing = try await home.repository.versionListing(of: home.chain)
    var versions: [StoredManifest] = []
    for seed: UInt64 in 10..<13 {
      versions.append(try await home.push(home.image(pages: 4, seed: seed)).manifest)
    }
    try await home.repository.forget([versions[1].facts], now: 5)
    let history = try await home.repository.history(of: listing)
    #expect(history.problems.isEmpty && history.versions.map(\.sequence) == [1, 2, 3, 4, 5])
  }
}
