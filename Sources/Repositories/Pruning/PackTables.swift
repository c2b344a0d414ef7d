import Sealing
import Storage

/// Which packs manifests need, each manifest and each leaf of a pack table read once: most leaves are shared by many
/// versions.
///
/// Manifests are read at the target, never from what this machine has kept of them: others go because these stay.
final class PackTables: Sendable {
  /// A pack, as a table says it.
  struct Pack: Hashable, Sendable {
    let name: Digest
    let length: Int
  }

  /// What one manifest needs. Ten thousand versions need much the same: packs are numbers here, and what leaves of tables
  /// have in common is held once, however many manifests share it.
  struct Needs: Sendable {
    /// A pack may be in several of them.
    fileprivate(set) var parts: [[UInt32]] = []
    /// False when a leaf of its table lies in a pack that is not there: it needs more than is known, and cannot be
    /// restored.
    fileprivate(set) var isComplete = true
  }

  /// A leaf that lies in a pack.
  private struct Leaf: Hashable {
    let holder: Digest
    let frame: UInt32
    let unit: UInt16
  }

  private struct Memory {
    /// By their numbers, which mean the same in every look.
    private(set) var packs: [Pack] = []
    private var numbers: [Pack: UInt32] = [:]
    private var parts: Set<[UInt32]> = []
    var leaves: [Leaf: [UInt32]] = [:]
    var manifests: [Digest: Needs] = [:]

    /// The numbers of packs of different names, in one array for all who need just these.
    mutating func part(_ packs: [Pack]) -> [UInt32] {
      var part: [UInt32] = []
      part.reserveCapacity(packs.count)
      for pack in packs { part.append(number(of: pack)) }
      return parts.insert(part).memberAfterInsert
    }

    private mutating func number(of pack: Pack) -> UInt32 {
      if let number = numbers[pack] { return number }
      let number = UInt32(packs.count)
      packs.append(pack)
      numbers[pack] = number
      return number
    }
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
    var holders: [Digest: Int] = [:]
    for reference in manifest.body.packTable {
      switch reference {
      case .here(let frame, let unit):
        let node = try manifest.object.node(Int(unit), ofFrame: Int(frame), with: decoder)
        needs.parts.append(try part(in: node))
      case .inPack(let holder, let frame, let unit):
        holders[holder.name] = Int(holder.length)
        guard listed[holder.name]?.size == Int(holder.length) else {
          needs.isComplete = false
          continue
        }
        needs.parts.append(try await part(inLeaf: frame, unit, of: holder, chain: name.chain))
      }
    }
    if !holders.isEmpty {
      let packs = holders.map { Pack(name: $0.key, length: $0.value) }.sorted { $0.name < $1.name }
      needs.parts.append(memory.withLock { $0.part(packs) })
    }
    // What could not be read to its end may come back.
    if needs.isComplete { memory.withLock { [needs] in $0.manifests[name.digest] = needs } }
    return needs
  }

  /// The packs that have got their numbers, from one number on.
  func packs(from number: Int) -> [Pack] { memory.withLock { Array($0.packs.dropFirst(number)) } }

  /// The names of all that one of these needs.
  func names(of needs: [Needs]) -> Set<Digest> {
    let packs = packs(from: 0)
    var isNeeded = [Bool](repeating: false, count: packs.count)
    for one in needs {
      for part in one.parts {
        for number in part { isNeeded[Int(number)] = true }
      }
    }
    var names: Set<Digest> = []
    for (number, pack) in packs.enumerated() where isNeeded[number] { names.insert(pack.name) }
    return names
  }

  private func manifest(_ name: VersionName) async throws -> StoredManifest {
    do {
      return try await repository.readManifest(name)
    } catch let error as SealError where error.isDamage {
      throw Repository.unreadable(name, error)
    }
  }

  private func part(
    inLeaf frame: UInt32, _ unit: UInt16, of holder: PackEntry, chain: ChainID
  ) async throws -> [UInt32] {
    let leaf = Leaf(holder: holder.name, frame: frame, unit: unit)
    if let known = memory.withLock({ $0.leaves[leaf] }) { return known }
    let frames = PackFrames(holder, repository: repository, chain: chain, state: state)
    let part = try part(in: try await frames.node(Int(unit), ofFrame: Int(frame)))
    memory.withLock { $0.leaves[leaf] = part }
    return part
  }

  /// - Parameter node: a leaf. Of two packs of one name its first counts.
  private func part(in node: [UInt8]) throws -> [UInt32] {
    var names: Set<Digest> = []
    let entries = try PackTableLeaf(decoding: node).entries.filter { names.insert($0.name).inserted }
    let packs = entries.map { Pack(name: $0.name, length: Int($0.length)) }
    return memory.withLock { $0.part(packs) }
  }
}
