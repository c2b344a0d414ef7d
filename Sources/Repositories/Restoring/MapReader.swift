import Sealing
import Storage

/// Walks the map of a member and says where each of its units lies (`Docs/Format.md` §7).
struct MapReader: Sendable {
  /// So many nodes are held at once.
  private static let batch = PageMap.childrenPerBranch

  /// Their frames are decoded whole, so many at once.
  private static let framesAtOnce = 32

  /// So many frames of nodes are kept: leaves of many small members lie in few frames, one batch after the other.
  private static let framesKept = 4

  let manifest: StoredManifest
  let packs: OpenPacks
  /// For who goes on where a map is lost.
  private let lost: LostNodes?
  private typealias NodeFrame = (record: FrameRecord, plain: [UInt8])
  /// Those that were needed last.
  private let kept = Locked<[(place: FramePlace, frame: NodeFrame)]>([])

  init(manifest: StoredManifest, packs: OpenPacks, noting lost: LostNodes? = nil) {
    self.manifest = manifest
    self.packs = packs
    self.lost = lost
  }

  /// Hands out the runs of a member, in order, leaf by leaf; checked to cover it exactly.
  func forEachRun(
    of member: Core.FileContent, root: ManifestBody.MapRoot, _ body: (MapLeaf.Run) throws -> Void
  ) async throws {
    let units = Int(member.unitCount)
    guard PageMap.depth(units: units) == root.depth else { throw broken("has the wrong depth") }
    guard root.depth > 0 else { return }
    var level = [root.location]
    for depth in stride(from: root.depth, to: 1, by: -1) {
      level = try await children(of: level, level: depth - 1)
      guard level.count == nodesOnLevel(Int(depth) - 2, units) else { throw broken("does not cover the member") }
    }
    var index = 0
    for start in stride(from: 0, to: level.count, by: Self.batch) {
      for node in try await nodes(at: level[start..<min(start + Self.batch, level.count)]) {
        let leaf = try MapLeaf(decoding: node)
        let covered = leaf.runs.reduce(0) { $0 + Int($1.count) }
        guard covered == min(PageMap.unitsPerLeaf, units - index * PageMap.unitsPerLeaf) else {
          throw broken("does not cover the member")
        }
        for run in leaf.runs { try body(run) }
        index += 1
      }
    }
  }

  /// The same for many members: what maps of one leaf say is read together, as the leaves of small members share frames.
  /// - Parameter body: gets the member, by its place among `members`, and the number of the run's first unit in it.
  func forEachRun(
    of members: [(file: Core.FileContent, root: ManifestBody.MapRoot)],
    _ body: (_ member: Int, _ unit: Int, MapLeaf.Run) throws -> Void
  ) async throws {
    var small: [Int] = []
    for (index, member) in members.enumerated() {
      guard PageMap.depth(units: Int(member.file.unitCount)) == member.root.depth else {
        throw broken("has the wrong depth")
      }
      switch member.root.depth {
      case 0: continue
      case 1:
        small.append(index)
        if small.count == Self.batch {
          try await leaves(of: small, members, body)
          small = []
        }
      default:
        var unit = 0
        try await forEachRun(of: member.file, root: member.root) { run in
          try body(index, unit, run)
          unit += Int(run.count)
        }
      }
    }
    try await leaves(of: small, members, body)
  }

  private func leaves(
    of small: [Int], _ members: [(file: Core.FileContent, root: ManifestBody.MapRoot)],
    _ body: (_ member: Int, _ unit: Int, MapLeaf.Run) throws -> Void
  ) async throws {
    let nodes = try await nodes(at: small.map { members[$0].root.location }[...])
    for (index, node) in zip(small, nodes) {
      let leaf = try MapLeaf(decoding: node)
      guard leaf.runs.reduce(0, { $0 + Int($1.count) }) == Int(members[index].file.unitCount) else {
        throw broken("does not cover the member")
      }
      var unit = 0
      for run in leaf.runs {
        try body(index, unit, run)
        unit += Int(run.count)
      }
    }
  }

  private func children(of branches: [Location], level: UInt8) async throws -> [Location] {
    var children: [Location] = []
    var branchesLeft = branches.count
    for start in stride(from: 0, to: branches.count, by: Self.batch) {
      for node in try await nodes(at: branches[start..<min(start + Self.batch, branches.count)]) {
        let branch = try MapBranch(decoding: node)
        guard branch.level == level else { throw broken("has a branch on the wrong level") }
        branchesLeft -= 1
        guard branchesLeft == 0 || branch.children.count == PageMap.childrenPerBranch else {
          throw broken("has a branch that is not full")
        }
        children += branch.children
      }
    }
    return children
  }

  /// How many nodes the tree has, so many levels above its leaves.
  private func nodesOnLevel(_ level: Int, _ units: Int) -> Int {
    var count = (units + PageMap.unitsPerLeaf - 1) / PageMap.unitsPerLeaf
    for _ in 0..<level { count = (count + PageMap.childrenPerBranch - 1) / PageMap.childrenPerBranch }
    return count
  }

  /// Reads nodes, a few frames at a time: after many pushes nearly each may lie in another one.
  private func nodes(at locations: ArraySlice<Location>) async throws -> [[UInt8]] {
    var nodes: [[UInt8]] = []
    var start = locations.startIndex
    while start < locations.endIndex {
      var places: Set<FramePlace> = []
      let end =
        locations[start...].firstIndex { location in
          places.insert(FramePlace(pack: location.pack, frame: location.frame))
          return places.count > Self.framesAtOnce
        } ?? locations.endIndex
      nodes += try await fewNodes(at: locations[start..<end])
      start = end
    }
    return nodes
  }

  /// Each frame that holds some is fetched and decoded once, neighbours by one request.
  private func fewNodes(at locations: ArraySlice<Location>) async throws -> [[UInt8]] {
    let places = Set(locations.map { FramePlace(pack: $0.pack, frame: $0.frame) }).sorted()
    var found: [FramePlace: NodeFrame] = [:]
    for (place, frame) in kept.withLock({ $0 }) { found[place] = frame }
    let missing = places.filter { found[$0] == nil }
    try lost?.demandNone(of: missing, in: packs.table)
    do {
      found.merge(try await fetch(missing)) { _, fetched in fetched }
    } catch let error where error.isDamage {
      lost?.note(missing, error, in: packs.table)
      throw error
    }
    let last = places.suffix(Self.framesKept).compactMap { place in found[place].map { (place: place, frame: $0) } }
    kept.withLock { $0 = last }
    return try locations.map { location in
      guard let frame = found[FramePlace(pack: location.pack, frame: location.frame)], frame.record.type == .node else {
        throw broken("points at something that is no node")
      }
      return try frame.record.slice(frame.plain, unit: Int(location.unit))
    }
  }

  /// - Parameter places: ascending.
  private func fetch(_ places: [FramePlace]) async throws -> [FramePlace: NodeFrame] {
    try await openPacks(of: places)
    var found: [FramePlace: NodeFrame] = [:]
    var wanted: [FrameFetch.Frame] = []
    let decoder = FrameDecoder(keys: packs.repository.keys)
    for place in places {
      if place.pack == UnitLocation.thisObject {
        guard manifest.object.directory.frames.indices.contains(Int(place.frame)) else {
          throw broken("points outside the manifest")
        }
        let plain = try manifest.object.decodeFrame(Int(place.frame), with: decoder)
        found[place] = (manifest.object.directory.frames[Int(place.frame)], plain)
      } else {
        wanted.append(try await packs.frame(place))
      }
    }
    let fetched = try await FrameFetch(packs).fetch(wanted) { frame, sealed in
      NodeFrame(frame.record, try frame.decode(sealed, with: decoder, prefix: nil))
    }
    found.merge(fetched) { _, fetched in fetched }
    return found
  }

  /// Directories that are not at hand are asked for at once.
  private func openPacks(of places: [FramePlace]) async throws {
    let missing = Set(places.map(\.pack)).filter { $0 != UnitLocation.thisObject && packs.kept($0) == nil }
    _ = try await bounded(missing.sorted(), atOnce: packs.repository.store.traits.concurrency) { [packs] number in
      _ = try await packs.open(number)
    }
  }

  private func broken(_ what: String) -> RepositoryError {
    RepositoryError(
      .damaged, "the map of version \(manifest.id.hex.prefix(12)) \(what)",
      hint: "This version cannot be restored; `sealift list` shows the others.")
  }
}
