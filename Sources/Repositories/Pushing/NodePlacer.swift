import Sealing

/// Finds a place for nodes: where the same node lies in a pack already, else in the manifest while they are few,
/// else in a pack of this push, where the next version finds them again.
struct NodePlacer: ~Copyable {
  /// New nodes of one level, or of the pack table, go to a pack when they come to more bytes than this.
  private static let ridingLimit = 24 << 10

  private let encoders: WorkerPool<FrameEncoder>
  private let fingerprints: WorkerPool<Fingerprinter>
  /// Where nodes that are there may be referred to.
  private let reach: Reach
  /// Frames of the manifest so far: riders, then nodes.
  private(set) var riding: [MadeFrame]
  private var fresh: [Fingerprint: UnitLocation] = [:]

  init(
    riders: [MadeFrame], reach: Reach, encoders: WorkerPool<FrameEncoder>, fingerprints: WorkerPool<Fingerprinter>
  ) {
    riding = riders
    self.reach = reach
    self.encoders = encoders
    self.fingerprints = fingerprints
  }

  /// The places of `nodes`, in their order. Of a lazy sequence no more than a frame holds are in memory.
  mutating func place(
    _ nodes: some Sequence<[UInt8]>, known all: KnownPacks, packs: inout PackStream
  ) async throws -> [UnitLocation] {
    let known = KnownNodes(packs: all, reach: reach)
    var prints: [Fingerprint] = []
    var missing = 0
    var waiting = NodesOfFrame()
    for node in nodes {
      let fingerprint = fingerprints.with { worker in node.withUnsafeBytes { worker.fingerprint(.node, $0) } }
      prints.append(fingerprint)
      guard known.place(of: fingerprint) == nil, fresh[fingerprint] == nil, !waiting.holds(fingerprint) else {
        continue
      }
      if !waiting.hasRoom(for: node) {
        try await store(waiting, inPack: true, &packs)
        waiting = NodesOfFrame()
      }
      waiting.append(node, fingerprint)
      missing += node.count
    }
    if !waiting.isEmpty { try await store(waiting, inPack: missing > Self.ridingLimit, &packs) }
    return try prints.map { fingerprint in
      guard let location = known.place(of: fingerprint) ?? fresh[fingerprint] else {
        throw RepositoryError(.damaged, "a node of the map was placed nowhere")
      }
      return location
    }
  }

  private mutating func store(_ nodes: NodesOfFrame, inPack: Bool, _ packs: inout PackStream) async throws {
    let frame = MadeFrame(try encoders.with { try nodes.encode(with: $0) })
    let place: UnitLocation
    if inPack {
      try await packs.append(frame)
      place = packs.placed[packs.placed.count - 1]
    } else {
      place = UnitLocation(pack: UnitLocation.thisObject, frame: UInt32(riding.count), unit: 0)
      riding.append(frame)
    }
    for (unit, fingerprint) in nodes.fingerprints.enumerated() {
      fresh[fingerprint] = UnitLocation(pack: place.pack, frame: place.frame, unit: UInt16(unit))
    }
  }
}

/// Nodes that are there, as far as they may be referred to.
private struct KnownNodes {
  let packs: KnownPacks
  let reach: Reach

  func place(of fingerprint: Fingerprint) -> UnitLocation? { packs.place(of: fingerprint, within: reach) }
}

/// New nodes that are going to be one frame.
private struct NodesOfFrame {
  private var bytes: [UInt8] = []
  private var lengths: [Int] = []
  private(set) var fingerprints: [Fingerprint] = []
  /// The same: of many small members there are thousands.
  private var held: Set<Fingerprint> = []

  var isEmpty: Bool { lengths.isEmpty }

  func holds(_ fingerprint: Fingerprint) -> Bool { held.contains(fingerprint) }

  func hasRoom(for node: [UInt8]) -> Bool { isEmpty || bytes.count + node.count <= FrameMaker.frameSize }

  mutating func append(_ node: [UInt8], _ fingerprint: Fingerprint) {
    bytes += node
    lengths.append(node.count)
    fingerprints.append(fingerprint)
    held.insert(fingerprint)
  }

  func encode(with encoder: FrameEncoder) throws -> EncodedFrame {
    try bytes.withUnsafeBytes { bytes in
      try encoder.encode(type: .node, units: bytes, unitLengths: lengths, fingerprints: fingerprints)
    }
  }
}
