import Sealing

/// Finds a place for nodes: where the same node lies in a pack already, else in the manifest while they are few,
/// else in a pack of this push, where the next version finds them again.
struct NodePlacer: ~Copyable {
  /// New nodes beyond this many bytes go to a pack.
  private static let ridingLimit = 24 << 10

  private let encoders: WorkerPool<FrameEncoder>
  private let fingerprints: WorkerPool<Fingerprinter>
  /// Frames of the manifest so far: riders, then nodes.
  private(set) var riding: [MadeFrame]
  private var fresh: [Fingerprint: UnitLocation] = [:]

  init(riders: [MadeFrame], encoders: WorkerPool<FrameEncoder>, fingerprints: WorkerPool<Fingerprinter>) {
    riding = riders
    self.encoders = encoders
    self.fingerprints = fingerprints
  }

  /// The places of `nodes`, in their order.
  mutating func place(_ nodes: [[UInt8]], known: KnownPacks, packs: inout PackStream) async throws -> [UnitLocation] {
    let prints = fingerprints.with { worker in
      nodes.map { node in node.withUnsafeBytes { worker.fingerprint(.node, $0) } }
    }
    var missing: [(node: [UInt8], fingerprint: Fingerprint)] = []
    var seen: Set<Fingerprint> = []
    for (node, fingerprint) in zip(nodes, prints)
    where known.place(of: fingerprint) == nil && fresh[fingerprint] == nil && seen.insert(fingerprint).inserted {
      missing.append((node, fingerprint))
    }
    let inPack = missing.reduce(0) { $0 + $1.node.count } > Self.ridingLimit
    for group in Self.frames(of: missing) {
      let frame = MadeFrame(try encode(group))
      let place: UnitLocation
      if inPack {
        try await packs.append(frame)
        place = packs.placed[packs.placed.count - 1]
      } else {
        place = UnitLocation(pack: UnitLocation.thisObject, frame: UInt32(riding.count), unit: 0)
        riding.append(frame)
      }
      for (unit, member) in group.enumerated() {
        fresh[member.fingerprint] = UnitLocation(pack: place.pack, frame: place.frame, unit: UInt16(unit))
      }
    }
    return try prints.map { fingerprint in
      guard let location = known.place(of: fingerprint) ?? fresh[fingerprint] else {
        throw RepositoryError(.damaged, "a node of the map was placed nowhere")
      }
      return location
    }
  }

  private func encode(_ group: [(node: [UInt8], fingerprint: Fingerprint)]) throws -> EncodedFrame {
    let bytes = group.flatMap(\.node)
    return try encoders.with { encoder in
      try bytes.withUnsafeBytes {
        try encoder.encode(
          type: .node, units: $0, unitLengths: group.map(\.node.count), fingerprints: group.map(\.fingerprint))
      }
    }
  }

  /// Nodes joined to frames, none over the limit of a frame.
  private static func frames(
    of nodes: [(node: [UInt8], fingerprint: Fingerprint)]
  ) -> [[(node: [UInt8], fingerprint: Fingerprint)]] {
    var groups: [[(node: [UInt8], fingerprint: Fingerprint)]] = []
    var length = 0
    for node in nodes {
      if groups.isEmpty || length + node.node.count > FrameMaker.frameSize {
        groups.append([])
        length = 0
      }
      groups[groups.count - 1].append(node)
      length += node.node.count
    }
    return groups
  }
}
