import Testing

@testable import Repositories
@testable import Sealing

/// Which manifests that cannot be read a later revision stands in for.
@Suite struct ReplacedRevisionsTests {
  private let home: Home
  /// One version, in revisions 0 and 2.
  private let first: VersionFacts
  private let later: VersionFacts

  init() async throws {
    home = try await Home()
    let manifest = try await home.push(home.image(pages: 10, seed: 1)).manifest
    first = manifest.facts
    later = try await home.repository.republish(manifest, revision: 2, state: nil).facts
  }

  private func name(_ revision: UInt32, _ seed: UInt8 = 1) -> VersionName {
    VersionName(
      chain: home.chain, sequence: 1, revision: revision, length: 5000, digest: .sha256(of: [seed]))
  }

  private func partial(_ revision: UInt32) -> VersionFacts {
    let body = ManifestBody(
      state: .partial, chain: home.chain, sequence: 1, revision: revision, core: [], bytesDecoded: 0,
      bytesFetched: 0, newBytes: 0, nextPackNumber: 1, tags: [], note: "", packTable: [], maps: [])
    return VersionFacts(
      digest: .sha256(of: [9]), length: 5000, epoch: 1, formatVersion: 1, body: body, core: nil, id: .zero)
  }

  @Test func `a version answers for one manifest of each number below`() {
    let names = [name(0), name(1)]
    let replaced = ReplacedRevisions([1: [later]], unread: names)
    #expect(names.allSatisfy { replaced.contains($0) })
    #expect(!ReplacedRevisions([1: [later]], unread: [name(2)]).contains(name(2)))
    #expect(!ReplacedRevisions([1: [later]], unread: [name(3)]).contains(name(3)))
    let two = ReplacedRevisions([1: [later]], unread: [name(1), name(1, 2)])
    #expect(!two.contains(name(1)) && !two.contains(name(1, 2)))
  }

  @Test func `where it can be read in that number the other is another's`() {
    let replaced = ReplacedRevisions([1: [first, later]], unread: [name(0), name(1)])
    #expect(!replaced.contains(name(0)) && replaced.contains(name(1)))
  }

  @Test func `where a partial manifest has that number the other may be another's`() {
    let replaced = ReplacedRevisions([1: [partial(0), later]], unread: [name(0), name(1)])
    #expect(!replaced.contains(name(0)) && replaced.contains(name(1)))
  }
}
