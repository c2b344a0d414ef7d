import Sealing

/// Where the content lies: maps of members and the table of packs.
extension VersionWriter {
  /// Places the map of every member, leaves first (`Docs/Format.md` §7).
  /// - Returns: where each map begins, and the packs its nodes lie in.
  mutating func placeMaps(
    _ members: [[UnitRun]], _ placer: inout NodePlacer
  ) async throws -> (maps: [ManifestBody.MapRoot], used: [UInt32]) {
    var maps: [ManifestBody.MapRoot] = []
    var used: [UInt32] = []
    for runs in members {
      let depth = PageMap.depth(units: runs.reduce(0) { $0 + $1.count })
      guard depth > 0 else {
        maps.append(ManifestBody.MapRoot(depth: 0, location: Location(pack: 0, frame: 0, unit: 0)))
        continue
      }
      var nodes = try await placer.place(PageMap.leaves(of: runs), known: known, packs: &packs)
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

  /// What a restore of the whole version decodes and fetches, in bytes (`Docs/Format.md` §6.2).
  func cost(of members: [[UnitRun]], riders: [EncodedFrame]) -> (decoded: Int, fetched: Int) {
    var frames: Set<UInt64> = []
    var cost = (decoded: 0, fetched: 0)
    for run in members.joined() {
      let place = run.location
      guard place.pack != UnitLocation.zeros, frames.insert(UInt64(place.pack) << 32 | UInt64(place.frame)).inserted
      else { continue }
      if place.pack == UnitLocation.thisObject {
        let rider = riders[Int(place.frame)]
        cost.decoded += rider.plaintextLength
        cost.fetched += rider.payload.count + 16
      } else if let frame = known.frames[place.pack]?[Int(place.frame)] {
        cost.decoded += frame.plaintextLength
        cost.fetched += frame.sealedLength
      }
    }
    return cost
  }
}
