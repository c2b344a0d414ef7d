import Sealing
import Storage

/// The packs a manifest refers to, by number (`Docs/Format.md` §7.3).
struct PackTable: Sendable {
  private let byNumber: [UInt32: PackEntry]
  private let byName: [Digest: PackEntry]
  /// Every pack the version needs, those that hold parts of the table itself included.
  let all: [PackEntry]

  subscript(_ number: UInt32) -> PackEntry? { byNumber[number] }
  subscript(_ name: Digest) -> PackEntry? { byName[name] }

  init(of manifest: StoredManifest, repository: Repository, state: StateFolder?) async throws {
    let decoder = FrameDecoder(keys: repository.keys)
    var entries: [PackEntry] = []
    var holders: [PackEntry] = []
    for reference in manifest.body.packTable {
      let node: [UInt8]
      switch reference {
      case .here(let frame, let unit):
        node = try manifest.object.unit(Int(unit), ofFrame: Int(frame), with: decoder)
      case .inPack(let holder, let frame, let unit):
        holders.append(holder)
        let frames = PackFrames(holder, repository: repository, chain: manifest.name.chain, state: state)
        node = try await frames.unit(Int(unit), ofFrame: Int(frame))
      }
      entries += try PackTableLeaf(decoding: node).entries
    }
    guard zip(entries, entries.dropFirst()).allSatisfy({ $0.number < $1.number }),
      entries.allSatisfy({ $0.number < manifest.body.nextPackNumber }), Set(entries.map(\.name)).count == entries.count
    else {
      throw RepositoryError(.damaged, "the pack table of \(manifest.name.objectName) is out of order")
    }
    byNumber = Dictionary(uniqueKeysWithValues: entries.map { ($0.number, $0) })
    byName = Dictionary(entries.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let listed = Set(entries.map(\.name))
    all = entries + holders.filter { !listed.contains($0.name) }
  }
}
