import Sealing

/// Where the content lies: maps of members and the table of packs.
extension VersionWriter {
  /// Places the map of every member, leaves first (`Docs/Format.md` §7).
  /// - Returns: where each map begins, and the packs its nodes lie in.
  mutating func placeMaps(
    _ members: [RunList], _ placer: inout NodePlacer
  ) async throws -> (maps: [ManifestBody.MapRoot], used: [UInt32]) {
    var maps: [ManifestBody.MapRoot] = []
    var used: [UInt32] = []
    for runs in members {
      let depth = PageMap.depth(units: runs.units)
      guard depth > 0 else {
        maps.append(ManifestBody.MapRoot(depth: 0, location: Location(pack: 0, frame: 0, unit: 0)))
        continue
      }
      var nodes = try await placer.place(PageMap.leaves(of: runs, placed: packs.placed), known: known, packs: &packs)
      used += nodes.map(\.pack)
      for level in 1..<max(1, depth) {
        nodes = try await placer.place(PageMap.branches(above: nodes, level: level), known: known, packs: &packs)
        used += nodes.map(\.pack)
      }
      maps.append(
        ManifestBody.MapRoot(
          depth: depth, location: Location(pack: nodes[0].pack, frame: nodes[0].frame, unit: nodes[0].unit)))
    }
    return (maps, used)
  }

  /// The pack table, in leaves cut by number so that a full leaf never changes again.
  mutating func placeTable(
    _ table: [PackEntry], _ placer: inout NodePlacer
  ) async throws -> (references: [ManifestBody.LeafReference], holders: [PackEntry]) {
    let groups = Dictionary(grouping: table) { $0.number / 512 }
    let nodes = groups.keys.sorted().map { PackTableLeaf(entries: groups[$0] ?? []).encode() }
    let places = try await placer.place(nodes, known: known, packs: &packs)
    try await packs.close()
    try await packs.settle()
    try await noteStored()
    var holders: [PackEntry] = []
    let references = try places.map { place throws -> ManifestBody.LeafReference in
      if place.pack == UnitLocation.thisObject { return .here(frame: place.frame, unit: place.unit) }
      guard let holder = known.entries[place.pack] else {
        throw RepositoryError(.damaged, "pack number \(place.pack) is not known")
      }
      holders.append(holder)
      return .inPack(holder, frame: place.frame, unit: place.unit)
    }
    return (references, holders)
  }

  /// What restoring all members costs, by the frames that their units lie in.
  func cost(of members: [RunList]) -> RestoreCost {
    var cost = RestoreCost()
    for (runs, source) in zip(members, draft.members) {
      for index in 0..<runs.count {
        let place = runs[index].location
        if place.pack == UnitLocation.newFrame {
          cost.add(new: place.frame, packs.costs[Int(place.frame)], known)
        } else if place.pack != UnitLocation.zeros, let ordinal = known.frame(at: place) {
          cost.add(known: ordinal, bytes: Int(runs[index].count) * source.unitSize, known)
        }
      }
    }
    return cost
  }

  /// The packs that hold units of the members.
  func packs(of members: [RunList]) -> Set<UInt32> {
    let placed = packs.placed
    var used: Set<UInt32> = []
    for runs in members {
      for index in 0..<runs.count { used.insert(runs[index].resolved(placed).location.pack) }
    }
    return used.subtracting([UnitLocation.thisObject, UnitLocation.zeros])
  }
}
