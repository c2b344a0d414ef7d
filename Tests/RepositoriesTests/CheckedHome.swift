import Storage
import TestKit

@testable import Repositories
@testable import Sealing

/// A small chain that has everything: whole frames, deltas of two levels, packs that several versions share, riders, a
/// partial manifest.
struct CheckedHome {
  let home: Home
  let versions: [StoredManifest]

  init(frames: Int = 13) async throws {
    home = try await Home()
    let levelled = try await LevelledVersion(home, frames: frames)
    var versions = [levelled.manifest]
    // A few new pages ride; many make a pack.
    let second = levelled.image + home.noise(2 * 4096, seed: 71)
    versions.append(try await home.push(second).manifest)
    let third = home.noise(40 * 4096, seed: 72) + levelled.image
    versions.append(try await home.push(third).manifest)
    versions.append(try await home.push(third + [UInt8](repeating: 0, count: 4096)).manifest)
    self.versions = versions
    try await partial()
  }

  /// Of a push that was cut.
  private func partial() async throws {
    let body = ManifestBody(
      state: .partial, chain: home.chain, sequence: 5, revision: 0, core: [], bytesDecoded: 0, bytesFetched: 0,
      newBytes: 0, nextPackNumber: 1, tags: [], note: "", packTable: [], maps: [])
    let builder = ObjectBuilder(kind: .manifest, keys: home.repository.keys, random: home.repository.random)
    let sealed = try builder.finish(meta: body.encode())
    let name = VersionName(
      chain: home.chain, sequence: 5, revision: 0, length: sealed.bytes.count, digest: sealed.name)
    home.store.content[name.objectName] = sealed.bytes
  }

  func check(
    _ subset: CheckSubset?, suspects: Set<Digest> = [], at other: (any ObjectStore)? = nil, state: StateFolder? = nil
  ) async throws -> CheckReport {
    let repository = Repository(
      store: ReadOnlyStore(other ?? home.store), keys: home.repository.keys, random: home.repository.random,
      slot: home.repository.slot)
    let state = try state ?? home.state
    return try await RepositoryCheck(
      repository, state: state, tables: state.path, subset: subset, suspects: suspects
    ).run()
  }

  /// The ids of the versions that do not restore.
  func broken() async -> Set<Digest> {
    var broken: Set<Digest> = []
    for version in versions {
      do { _ = try await home.read(version) } catch { broken.insert(version.id) }
    }
    return broken
  }
}

extension CheckReport {
  var damaged: [String] { allFindings.filter(\.isDamage).map(\.object).sorted() }
  var harmed: Set<Digest> { Set(chains.flatMap(\.harmed).compactMap(\.id)) }
  var whole: Set<Digest> { Set(chains.flatMap(\.whole).compactMap(\.id)) }
}
