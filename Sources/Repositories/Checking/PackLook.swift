import Sealing
import Storage

/// What one pack says of itself: its directory, and its nodes, decoded. Its pages are not looked at.
struct PackLook: Sendable {
  let entry: PackEntry
  /// `nil` when the pack is lost: nothing in it can be read.
  private(set) var directory: Directory?
  /// By index of a frame of nodes, where it lies in the spool.
  private(set) var nodes: [Int: Int] = [:]
  private(set) var finding: CheckFinding?
  /// In bytes, as it was found; `nil` when it is not there.
  let size: Int?

  /// Asks once more before it finds anything wrong: one bad answer says nothing of the pack.
  /// - Parameter size: as listed; `nil` when it is not.
  /// - Throws: `StoreError`, `.stateFolder`. What is wrong with the pack is a finding.
  init(
    _ entry: PackEntry, size: Int?, chain: ChainID, repository: Repository, spool: ScratchSpool
  ) async throws {
    try await self.init(once: entry, size: size, chain: chain, repository: repository, spool: spool)
    guard finding != nil else { return }
    let again = try await repository.store.head(Layout.pack(entry.name, of: chain))?.size
    self = try await PackLook(once: entry, size: again, chain: chain, repository: repository, spool: spool)
  }

  private init(
    once entry: PackEntry, size: Int?, chain: ChainID, repository: Repository, spool: ScratchSpool
  ) async throws {
    self.entry = entry
    self.size = size
    let name = Layout.pack(entry.name, of: chain)
    guard let size else {
      finding = CheckFinding(name, .missing, "a pack is missing")
      return
    }
    if size != Int(entry.length) {
      finding = CheckFinding(name, .cut, "a pack has \(size) bytes instead of \(entry.length)")
    }
    let frames = PackFrames(entry, repository: repository, chain: chain, state: nil)
    do {
      let directory = try await frames.directory()
      self.directory = directory
      try await read(frames, directory, repository, spool)
    } catch let error where error.isLater {
      // Its tag fits, so its writer meant it.
      finding = finding ?? CheckFinding.later(name, "a pack")
    } catch let error where error.isDamage {
      finding = finding ?? CheckFinding.damaged(pack: name, error)
    }
    if directory != nil, nodes.count < directory?.frames.count(where: { $0.type == .node }) ?? 0 {
      finding = finding ?? CheckFinding(name, .damaged, "maps or tables inside a pack are damaged")
    }
  }

  private mutating func read(
    _ frames: PackFrames, _ directory: Directory, _ repository: Repository, _ spool: ScratchSpool
  ) async throws {
    let keys = try PackReader(entry: entry, keys: repository.keys).objectKeys
    let decoder = FrameDecoder(keys: repository.keys)
    let nodes = directory.frames.indices.filter { directory.frames[$0].type == .node }
    var problem: (any Error)?
    var stretches = directory.stretches(of: nodes)
    while let next = stretches.popLast() {
      let (stretch, indices) = next
      let bytes: [UInt8]
      do { bytes = try await frames.sealed(in: stretch.range) } catch let error where error.isDamage {
        guard error.isUnreadable else { continue }
        problem = error
        // The bad sector may lie in one of many, or between them.
        if indices.count > 1 { stretches += indices.flatMap { directory.stretches(of: [$0]) } }
        continue
      }
      for index in indices {
        let record = directory.frames[index]
        let plain = try unlessDamaged {
          try decoder.decode(
            stretch.sealed(record, in: bytes), record: record, index: index, objectKeys: keys, prefix: nil)
        }
        if let plain { self.nodes[index] = try spool.add(plain).lowerBound }
      }
    }
    if let problem { throw problem }
  }
}
