import Sealing
import Storage

/// The packs a manifest refers to, by number (`Docs/Format.md` §7.3).
struct PackTable: Sendable {
  private let byNumber: [UInt32: PackEntry]
  private let byName: [Digest: PackEntry]
  /// Every pack the version needs, those that hold parts of the table itself included.
  let all: [PackEntry]

  /// The packs that have a number here, ascending: all that units of the version need.
  let numbered: [PackEntry]

  subscript(_ number: UInt32) -> PackEntry? { byNumber[number] }
  subscript(_ name: Digest) -> PackEntry? { byName[name] }

  init(of manifest: StoredManifest, repository: Repository, state: StateFolder?) async throws {
    let decoder = FrameDecoder(keys: repository.keys)
    var entries: [PackEntry] = []
    var holders: [PackEntry] = []
    let references = manifest.body.packTable
    let concurrency = repository.store.traits.concurrency
    let stored = try await bounded(references, atOnce: concurrency) { reference -> [UInt8]? in
      guard case .inPack(let holder, let frame, let unit) = reference else { return nil }
      let frames = PackFrames(holder, repository: repository, chain: manifest.name.chain, state: state)
      return try await frames.node(Int(unit), ofFrame: Int(frame))
    }
    for (reference, node) in zip(references, stored) {
      switch reference {
      case .here(let frame, let unit):
        let node = try manifest.object.node(Int(unit), ofFrame: Int(frame), with: decoder)
        entries += try PackTableLeaf(decoding: node).entries
      case .inPack(let holder, _, _):
        holders.append(holder)
        entries += try PackTableLeaf(decoding: node ?? []).entries
      }
    }
    guard zip(entries, entries.dropFirst()).allSatisfy({ $0.number < $1.number }),
      entries.allSatisfy({ $0.number < manifest.body.nextPackNumber }), Set(entries.map(\.name)).count == entries.count
    else {
      throw RepositoryError(.damaged, "the pack table of \(manifest.name.objectName) is out of order")
    }
    byNumber = Dictionary(uniqueKeysWithValues: entries.map { ($0.number, $0) })
    byName = Dictionary(entries.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    numbered = entries
    let listed = Set(entries.map(\.name))
    all = entries + holders.filter { !listed.contains($0.name) }
  }
}
