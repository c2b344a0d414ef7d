import Sealing
import Storage

/// Walks the map of a member and says where each of its units lies (`Docs/Format.md` §7).
struct MapReader: Sendable {
  let manifest: StoredManifest
  let table: PackTable
  let repository: Repository
  let state: StateFolder?

  /// The runs of a member, in order, checked to cover it exactly.
  func runs(of member: Core.FileContent, root: ManifestBody.MapRoot) async throws -> [MapLeaf.Run] {
    let units = Int(member.unitCount)
    guard PageMap.depth(units: units) == root.depth else { throw broken("has the wrong depth") }
    guard root.depth > 0 else { return [] }
    var level = [root.location]
    var depth = root.depth
    while depth > 1 {
      var children: [Location] = []
      for node in try await nodes(at: level) {
        let branch = try MapBranch(decoding: node)
        guard branch.level == depth - 1 else { throw broken("has a branch on the wrong level") }
        children += branch.children
      }
      guard children.count == nodesOnLevel(Int(depth) - 2, units) else { throw broken("does not cover the member") }
      level = children
      depth -= 1
    }
    var runs: [MapLeaf.Run] = []
    for (index, node) in try await nodes(at: level).enumerated() {
      let leaf = try MapLeaf(decoding: node)
      let covered = leaf.runs.reduce(0) { $0 + Int($1.count) }
      guard covered == min(PageMap.unitsPerLeaf, units - index * PageMap.unitsPerLeaf) else {
        throw broken("does not cover the member")
      }
      runs += leaf.runs
    }
    return runs
  }

  /// How many nodes the tree has, so many levels above its leaves.
  private func nodesOnLevel(_ level: Int, _ units: Int) -> Int {
    var count = (units + PageMap.unitsPerLeaf - 1) / PageMap.unitsPerLeaf
    for _ in 0..<level { count = (count + PageMap.childrenPerBranch - 1) / PageMap.childrenPerBranch }
    return count
  }

  /// Reads nodes; those that lie in one frame cost one request.
  private func nodes(at locations: [Location]) async throws -> [[UInt8]] {
    struct Place: Hashable { let pack: UInt32, frame: UInt32 }
    let places = Array(Set(locations.map { Place(pack: $0.pack, frame: $0.frame) }))
    let frames = try await bounded(places, atOnce: repository.store.traits.concurrency) { place in
      try await self.frame(Int(place.frame), ofPack: place.pack)
    }
    let byPlace = Dictionary(uniqueKeysWithValues: zip(places, frames))
    return try locations.map { location in
      guard let (record, plain) = byPlace[Place(pack: location.pack, frame: location.frame)], record.type == .node
      else {
        throw broken("points at something that is no node")
      }
      return try record.slice(plain, unit: Int(location.unit))
    }
  }

  private func frame(_ index: Int, ofPack number: UInt32) async throws -> (FrameRecord, [UInt8]) {
    if number == UnitLocation.thisObject {
      guard manifest.object.directory.frames.indices.contains(index) else {
        throw broken("points outside the manifest")
      }
      return (
        manifest.object.directory.frames[index],
        try manifest.object.decodeFrame(index, with: FrameDecoder(keys: repository.keys))
      )
    }
    guard let entry = table[number] else { throw broken("names pack \(number), which is not in the pack table") }
    let pack = PackFrames(entry, repository: repository, chain: manifest.name.chain, state: state)
    let directory = try await pack.directory()
    guard directory.frames.indices.contains(index) else { throw PackFrames.missing(index, entry) }
    let record = directory.frames[index]
    let sealed = try await pack.sealed(record, through: record)
    let plain = try FrameDecoder(keys: repository.keys).decode(
      sealed[...], record: record, index: index, objectKeys: PackReader(entry: entry, keys: repository.keys).objectKeys,
      prefix: nil)
    return (record, plain)
  }

  private func broken(_ what: String) -> RepositoryError {
    RepositoryError(
      .damaged, "the map of version \(manifest.id.hex.prefix(12)) \(what)",
      hint: "This version cannot be restored; `sealift list` shows the others.")
  }
}
