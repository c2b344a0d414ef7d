package import Sealing
package import Storage

/// What listings say of one chain, before anything is opened: names and sizes.
package struct ChainListing: Sendable {
  package let chain: ChainID
  /// By sequence, then revision, ascending; objects shorter or longer than their name says are left out.
  package let versions: [VersionName]

  package init(chain: ChainID, objects: [ObjectInfo]) {
    self.init(chain: chain, names: objects.compactMap(Self.whole).filter { $0.chain == chain })
  }

  private init(chain: ChainID, names: [VersionName]) {
    self.chain = chain
    versions = names.sorted { ($0.sequence, $0.revision, $0.digest) < ($1.sequence, $1.revision, $1.digest) }
  }

  private static func whole(_ info: ObjectInfo) -> VersionName? {
    VersionName(info.name).flatMap { $0.length == info.size ? $0 : nil }
  }

  /// Names of manifests in a listing of the chain whose objects are shorter, or longer, than they say.
  func cut(_ objects: [ObjectInfo]) -> [VersionName] {
    objects.compactMap { info in
      VersionName(info.name).flatMap { $0.chain == chain && $0.length != info.size ? $0 : nil }
    }
  }

  /// The same with one more manifest, which was stored since.
  func adding(_ name: VersionName) -> ChainListing { ChainListing(chain: chain, names: versions + [name]) }

  func without(_ names: Set<VersionName>) -> ChainListing {
    ChainListing(chain: chain, names: versions.filter { !names.contains($0) })
  }

  package var highestSequence: UInt64 { versions.last?.sequence ?? 0 }

  var sequences: Set<UInt64> { Set(versions.map(\.sequence)) }

  /// Places where more than one manifest claims the same revision: what two machines write when they push as one.
  var contested: [VersionName] {
    let places = Dictionary(grouping: versions) { "\($0.sequence)-\($0.revision)" }
    let sequences = Set(places.values.filter { $0.count > 1 }.map { $0[0].sequence })
    return versions.filter { sequences.contains($0.sequence) }
  }

  func revisions(of sequence: UInt64) -> [VersionName] { versions.filter { $0.sequence == sequence } }

  /// Splits a listing of `versions/` by chain.
  package static func byChain(_ objects: [ObjectInfo]) -> [ChainListing] {
    let groups = Dictionary(grouping: objects.compactMap(whole), by: \.chain)
    return groups.map { ChainListing(chain: $0.key, names: $0.value) }.sorted { $0.chain.hex < $1.chain.hex }
  }
}
