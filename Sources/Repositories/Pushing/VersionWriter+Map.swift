import Sealing

/// Where the content lies: maps of members and the table of packs.
extension VersionWriter {
  /// Places the map of every member, leaves first (`Docs/Format.md` §7).
  /// - Returns: where each map begins, and the packs its nodes lie in.
  mutating func placeMaps(
    _ members: [RunList], _ placer: inout NodePlacer
  ) async throws -> (maps: [ManifestBody.MapRoot], used: [UInt32]) {
    let depths = members.map { PageMap.depth(units: $0.units) }
    var nodes: [[UnitLocation]] = Array(repeating: [], count: members.count)
    var used: Set<UInt32> = []
    // One level of all members at a time: together they are worth a pack where each alone would ride.
    for level in 0..<(depths.max() ?? 0) {
      let chosen = members.indices.filter { depths[$0] > level }
      let placed = packs.placed
      var places: ArraySlice<UnitLocation>
      if level == 0 {
        let leaves = chosen.lazy.map { MapLeaves(of: members[$0], placed: placed) }.joined()
        places = try await placer.place(leaves, known: known, packs: &packs)[...]
      } else {
        let branches = chosen.flatMap { PageMap.branches(above: nodes[$0], level: level) }
        places = try await placer.place(branches, known: known, packs: &packs)[...]
      }
      used.formUnion(places.map(\.pack))
      for index in chosen {
        let count = PageMap.nodes(units: members[index].units, level: Int(level))
        nodes[index] = Array(places.prefix(count))
        places = places.dropFirst(count)
        // A root of another member would show at the next restore, and no sooner.
        guard nodes[index].count == count else { throw Self.wrongMap() }
      }
      guard places.isEmpty else { throw Self.wrongMap() }
    }
    let maps = zip(depths, nodes).map { depth, nodes in
      let root = nodes.first.map { Location(pack: $0.pack, frame: $0.frame, unit: $0.unit) }
      return ManifestBody.MapRoot(depth: depth, location: root ?? Location(pack: 0, frame: 0, unit: 0))
    }
    return (maps, Array(used))
  }

  private static func wrongMap() -> RepositoryError {
    RepositoryError(
      .damaged, "the map of a member came to another number of nodes than it has units for",
      hint: "Nothing says that this version exists. This machine's memory or disk may be failing; push again.")
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
