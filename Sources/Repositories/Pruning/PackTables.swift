import Sealing
import Storage

/// Which packs manifests need, each manifest and each leaf of a pack table read once: most leaves are shared by many
/// versions.
///
/// Manifests are read at the target, never from what this machine has kept of them: others go because these stay.
final class PackTables: Sendable {
  /// Packs by name, with their lengths.
  typealias Packs = [Digest: Int]

  /// What one manifest needs. Ten thousand versions need much the same: the packs of a leaf are held once, however many
  /// manifests share it.
  struct Needs: Sendable {
    /// A pack may be in several of them.
    fileprivate var parts: [Packs] = []
    /// False when a leaf of its table lies in a pack that is not there: it needs more than is known, and cannot be restored.
    fileprivate(set) var isComplete = true

    /// The names of the packs, some of them more than once.
    var packs: some Sequence<Digest> { parts.lazy.flatMap(\.keys) }

    /// Whether all of it is there.
    func areMet(by listed: [Digest: ObjectInfo]) -> Bool {
      isComplete && parts.allSatisfy { $0.allSatisfy { listed[$0.key]?.size == $0.value } }
    }
  }

  /// A leaf that lies in a pack.
  private struct Leaf: Hashable {
    let holder: Digest
    let frame: UInt32
    let unit: UInt16
  }

  private struct Memory {
    var leaves: [Leaf: Packs] = [:]
    var manifests: [Digest: Needs] = [:]
  }

  private let repository: Repository
  private let state: StateFolder?
  private let memory = Locked(Memory())

  init(_ repository: Repository, state: StateFolder?) {
    self.repository = repository
    self.state = state
  }

  /// - Parameter listed: the packs that are there.
  /// - Throws: `RepositoryError` `.damaged`, `SealError`, `StoreError` when the manifest or a leaf that is there cannot be
  ///   read.
  func needs(of name: VersionName, listed: [Digest: ObjectInfo]) async throws -> Needs {
    if let known = memory.withLock({ $0.manifests[name.digest] }) { return known }
    let manifest = try await manifest(name)
    let decoder = FrameDecoder(keys: repository.keys)
    var needs = Needs()
    var holders: Packs = [:]
    for reference in manifest.body.packTable {
      switch reference {
      case .here(let frame, let unit):
        let node = try manifest.object.unit(Int(unit), ofFrame: Int(frame), with: decoder)
        needs.parts.append(try Self.packs(in: node))
      case .inPack(let holder, let frame, let unit):
        holders[holder.name] = Int(holder.length)
        guard listed[holder.name]?.size == Int(holder.length) else {
          needs.isComplete = false
          continue
        }
        needs.parts.append(try await packs(inLeaf: frame, unit, of: holder, chain: name.chain))
      }
    }
    if !holders.isEmpty { needs.parts.append(holders) }
    // What could not be read to its end may come back.
    if needs.isComplete { memory.withLock { [needs] in $0.manifests[name.digest] = needs } }
    return needs
  }

  private func manifest(_ name: VersionName) async throws -> StoredManifest {
    do {
      return try await repository.readManifest(name)
    } catch let error as SealError where error.isDamage {
      throw Repository.unreadable(name, error)
    }
  }

  private func packs(
    inLeaf frame: UInt32, _ unit: UInt16, of holder: PackEntry, chain: ChainID
  ) async throws -> Packs {
    let leaf = Leaf(holder: holder.name, frame: frame, unit: unit)
    if let known = memory.withLock({ $0.leaves[leaf] }) { return known }
    let frames = PackFrames(holder, repository: repository, chain: chain, state: state)
    let packs = try Self.packs(in: try await frames.unit(Int(unit), ofFrame: Int(frame)))
    memory.withLock { $0.leaves[leaf] = packs }
    return packs
  }

  private static func packs(in node: [UInt8]) throws -> Packs {
    let entries = try PackTableLeaf(decoding: node).entries
    return Packs(entries.map { ($0.name, Int($0.length)) }) { first, _ in first }
  }
}
