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
    let outOfOrder = RepositoryError(.damaged, "the pack table of \(manifest.name.objectName) is out of order")
    for start in stride(from: 0, to: references.count, by: Self.leavesAtOnce) {
      let part = references[start..<min(start + Self.leavesAtOnce, references.count)]
      let stored = try await bounded(Array(part), atOnce: concurrency) { reference -> [UInt8]? in
        guard case .inPack(let holder, let frame, let unit) = reference else { return nil }
        let frames = PackFrames(holder, repository: repository, chain: manifest.name.chain, state: state)
        do { return try await frames.node(Int(unit), ofFrame: Int(frame)) } catch let error as SealError {
          throw error.of(holder)
        }
      }
      for (reference, node) in zip(part, stored) {
        switch reference {
        case .here(let frame, let unit):
          let node = try manifest.object.node(Int(unit), ofFrame: Int(frame), with: decoder)
          guard try PackTableLeaf(decoding: node).isAppended(to: &entries, of: manifest) else { throw outOfOrder }
        case .inPack(let holder, _, _):
          holders.append(holder)
          guard try PackTableLeaf(decoding: node ?? []).isAppended(to: &entries, of: manifest) else { throw outOfOrder }
        }
      }
    }
    guard Set(entries.map(\.name)).count == entries.count else { throw outOfOrder }
    byNumber = Dictionary(uniqueKeysWithValues: entries.map { ($0.number, $0) })
    byName = Dictionary(entries.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    numbered = entries
    let listed = Set(entries.map(\.name))
    all = entries + holders.filter { !listed.contains($0.name) }
  }

  /// Of a table that is in packs so many leaves are held at once.
  private static let leavesAtOnce = 256
}

extension PackTableLeaf {
  /// Numbers ascend from leaf to leaf: one that is named a hundred thousand times takes no memory.
  /// - Returns: false where they do not, or are none that the manifest has given.
  func isAppended(to all: inout [PackEntry], of manifest: StoredManifest) -> Bool {
    for entry in entries {
      guard entry.number < manifest.body.nextPackNumber, all.last.map({ $0.number < entry.number }) ?? true else {
        return false
      }
      all.append(entry)
    }
    return true
  }
}
