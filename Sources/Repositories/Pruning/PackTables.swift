import Sealing
import Storage

/// Which packs manifests need, each manifest and each leaf of a pack table read once: most leaves are shared by many
/// versions.
///
/// Manifests are read at the target, not from what this machine has kept of them, where others go because these stay.
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
    /// The packs have numbers that ascend, and names of their own: else no restore takes the table.
    fileprivate(set) var isOrderly = true
  }

  /// A leaf that lies in a pack.
  private struct Leaf: Hashable {
    let holder: Digest
    let frame: UInt32
    let unit: UInt16
  }

  /// What a leaf says.
  private struct Part {
    let packs: [UInt32]
    /// The numbers that the table gives to the first and the last of them.
    let first: UInt32
    let last: UInt32
    /// Each of its packs has another name.
    let isDistinct: Bool
  }

  private struct Memory {
    /// By their numbers, which mean the same in every look.
    private(set) var packs: [Pack] = []
    private var numbers: [Pack: UInt32] = [:]
    private var parts: Set<[UInt32]> = []
    var leaves: [Leaf: Part] = [:]
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
  private let atTarget: Bool
  private let memory = Locked(Memory())

  /// - Parameter atTarget: read manifests there even where `state` has kept them. False where nothing goes because of it.
  init(_ repository: Repository, state: StateFolder?, atTarget: Bool = true) {
    self.repository = repository
    self.state = state
    self.atTarget = atTarget
  }

  /// - Parameter listed: the packs that are there.
  /// - Throws: as of the next one.
  func needs(of name: VersionName, listed: [Digest: ObjectInfo]) async throws -> Needs {
    try await needs(of: name) { listed[$0.name]?.size == $0.length }
  }

  /// - Parameter isThere: whether a pack is there, to read leaves of the table in it.
  /// - Throws: `RepositoryError` `.damaged`, `SealError`, `StoreError` when the manifest or a leaf that is there cannot be
  ///   read.
  func needs(of name: VersionName, isThere: (Pack) -> Bool) async throws -> Needs {
    if let known = memory.withLock({ $0.manifests[name.digest] }) { return known }
    let manifest = try await manifest(name)
    var needs = Needs()
    var holders: [Digest: Int] = [:]
    var references: [ManifestBody.LeafReference] = []
    for reference in manifest.body.packTable {
      if case .inPack(let holder, _, _) = reference {
        let pack = Pack(name: holder.name, length: Int(holder.length))
        holders[pack.name] = pack.length
        guard isThere(pack) else {
          needs.isComplete = false
          continue
        }
      }
      references.append(reference)
    }
    let parts = try await bounded(references, atOnce: repository.store.traits.concurrency) { reference in
      try await self.part(at: reference, of: manifest)
    }
    needs.parts = parts.map(\.packs)
    needs.isOrderly = areInOrder(parts, below: manifest.body.nextPackNumber)
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

  /// All that it needs; a pack may be there twice.
  func packs(of needs: Needs) -> [Pack] {
    let packs = packs(from: 0)
    return needs.parts.joined().map { packs[Int($0)] }
  }

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
      return try await repository.readManifest(name, state: atTarget ? nil : state)
    } catch let error as SealError where error.isDamage {
      throw Repository.unreadable(name, error)
    }
  }

  private func part(at reference: ManifestBody.LeafReference, of manifest: StoredManifest) async throws -> Part {
    switch reference {
    case .here(let frame, let unit):
      let decoder = FrameDecoder(keys: repository.keys)
      return try part(in: try manifest.object.node(Int(unit), ofFrame: Int(frame), with: decoder))
    case .inPack(let holder, let frame, let unit):
      let leaf = Leaf(holder: holder.name, frame: frame, unit: unit)
      if let known = memory.withLock({ $0.leaves[leaf] }) { return known }
      let frames = PackFrames(holder, repository: repository, chain: manifest.name.chain, state: state)
      let part = try part(in: try await frames.node(Int(unit), ofFrame: Int(frame)))
      memory.withLock { $0.leaves[leaf] = part }
      return part
    }
  }

  /// - Parameter node: a leaf. Of two packs of one name its first counts.
  private func part(in node: [UInt8]) throws -> Part {
    var names: Set<Digest> = []
    let all = try PackTableLeaf(decoding: node).entries
    let packs = all.filter { names.insert($0.name).inserted }.map { Pack(name: $0.name, length: Int($0.length)) }
    return Part(
      packs: memory.withLock { $0.part(packs) }, first: all.first?.number ?? 0, last: all.last?.number ?? 0,
      isDistinct: packs.count == all.count)
  }

  /// - Parameter bound: the number that the manifest gives to no pack yet.
  private func areInOrder(_ parts: [Part], below bound: UInt32) -> Bool {
    var last: UInt32 = 0
    var isSeen = [Bool](repeating: false, count: memory.withLock { $0.packs.count })
    for part in parts {
      guard part.isDistinct, part.first > last, part.last < bound else { return false }
      last = part.last
      for number in part.packs {
        guard !isSeen[Int(number)] else { return false }
        isSeen[Int(number)] = true
      }
    }
    return true
  }
}
