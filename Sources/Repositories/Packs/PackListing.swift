package import Sealing
package import Storage

/// The packs of a chain and their sizes, as a store listed them at one moment.
package struct PackListing: Sendable {
  let sizes: [Digest: Int]

  package init(_ objects: [ObjectInfo], of chain: ChainID) {
    var sizes: [Digest: Int] = [:]
    for info in objects {
      // One that was moved into a folder below is not where a restore looks for it.
      guard let digest = Layout.packDigest(info.name), info.name == Layout.pack(digest, of: chain) else { continue }
      sizes[digest] = info.size
    }
    self.sizes = sizes
  }

  /// Two listings of one digest are of the same packs.
  package var digest: Digest {
    let lines = sizes.map { "\($0.key.hex) \($0.value)\n" }.sorted()
    return .sha256(of: Array(lines.joined().utf8))
  }

  /// One of them, the same for the same packs.
  package var sample: (name: Digest, length: Int)? {
    sizes.min { $0.key < $1.key }.map { (name: $0.key, length: $0.value) }
  }

  /// Whether all of them are there in their length.
  package func holds(_ entries: [PackEntry]) -> Bool { entries.allSatisfy { sizes[$0.name] == Int($0.length) } }
}
