import Testing

@testable import Repositories
@testable import Sealing

/// The nodes of a map are made and placed one by one, and are what they would be if all of them were held at once.
@Suite struct MapNodesTests {
  @Test func `leaves hold 1,024 units each, wherever runs begin and end`() async throws {
    let home = try await Home()
    let runs = try RunList(in: try home.state.path)
    var expected: [UnitLocation] = []
    func append(_ location: UnitLocation) throws {
      try runs.append(location)
      expected.append(location)
    }
    for _ in 0..<3000 { try append(UnitLocation(pack: UnitLocation.zeros, frame: 0, unit: 0)) }
    // Of new frames, whose places follow; with gaps and without.
    for unit in 0..<1500 { try append(UnitLocation(pack: UnitLocation.newFrame, frame: 1, unit: UInt16(unit))) }
    for unit in 0..<700 { try append(UnitLocation(pack: 7, frame: 3, unit: UInt16(2 * unit))) }
    let placed = [UnitLocation(pack: 9, frame: 0, unit: 0), UnitLocation(pack: 9, frame: 1, unit: 0)]

    let leaves = try MapLeaves(of: runs, placed: placed).map { try MapLeaf(decoding: $0) }
    #expect(leaves.map { $0.runs.reduce(0) { $0 + Int($1.count) } } == [1024, 1024, 1024, 1024, 1024, 80])
    #expect(leaves.count == PageMap.nodes(units: expected.count, level: 0))
    let found = leaves.flatMap(\.runs).flatMap { run in
      (0..<run.count).map { unit in
        run.pack == UnitLocation.zeros
          ? UnitLocation(pack: run.pack, frame: 0, unit: 0)
          : UnitLocation(pack: run.pack, frame: run.frame, unit: run.firstUnit + unit)
      }
    }
    let isRight =
      found
      == expected.map { location in
        location.pack == UnitLocation.newFrame ? UnitLocation(pack: 9, frame: 1, unit: location.unit) : location
      }
    #expect(isRight)
  }

  @Test(arguments: [(length: 100, count: 200, isInPack: false), (length: 10_000, count: 100, isInPack: true)])
  func `nodes are found where they are said to lie`(length: Int, count: Int, isInPack: Bool) async throws {
    let home = try await Home()
    let state = try home.state
    var packs = PackStream(
      home.repository, chain: home.chain, state: state, firstNumber: 1, dryRun: false, keepsUnits: false,
      packLength: .max, onStored: { _ in })
    let keys = home.repository.keys
    var placer = NodePlacer(
      riders: [], reach: Reach(depth: 0), encoders: WorkerPool { FrameEncoder(level: 1) },
      fingerprints: WorkerPool { Fingerprinter(keys) })
    // Each of them three times: twice side by side, and far from those.
    let kinds = (0..<count).map { kind in (0..<length).map { UInt8(truncatingIfNeeded: kind &* 31 &+ $0 &* $0) } }
    let nodes = kinds.flatMap { [$0, $0] } + kinds
    let places = try await placer.place(nodes, known: try KnownPacks(in: state.path), packs: &packs)

    #expect(places.count == nodes.count && Set(places.map { "\($0)" }).count == count)
    #expect(places.allSatisfy { $0.pack == (isInPack ? 1 : UnitLocation.thisObject) })
    #expect(placer.riding.isEmpty == isInPack)
    let frames = isInPack ? packs.takeRiders().map(\.encoded) : placer.riding.map(\.encoded)
    #expect(frames.allSatisfy { $0.unitLengths.total <= FrameMaker.frameSize })
    #expect(frames.count == (length * count + FrameMaker.frameSize - 1) / FrameMaker.frameSize)
    let fingerprinter = Fingerprinter(keys)
    let isThere = zip(nodes, places).allSatisfy { node, place in
      node.withUnsafeBytes { fingerprinter.fingerprint(.node, $0) }
        == frames[Int(place.frame)].fingerprints[Int(place.unit)]
    }
    #expect(isThere)
  }

  /// A version that is to rest on nothing that is there takes no node of an old pack either.
  @Test func `nodes of packs that are there are found within reach, and not beyond it`() async throws {
    let home = try await Home()
    let state = try home.state
    let keys = home.repository.keys
    let nodes = (0..<100).map { [UInt8](repeating: UInt8($0), count: 400) }
    let tries: [(number: UInt32, reach: Reach)] = [
      (1, Reach(depth: 0)), (2, Reach(depth: 0)), (3, Reach(depth: -1)), (4, Reach(depth: -1, ownDepth: 0)),
    ]
    var known = try KnownPacks(in: state.path)
    var used: [Set<UInt32>] = []
    for (number, reach) in tries {
      var packs = PackStream(
        home.repository, chain: home.chain, state: state, firstNumber: number, dryRun: false, keepsUnits: false,
        packLength: .max, onStored: { _ in })
      var placer = NodePlacer(
        riders: [], reach: reach, encoders: WorkerPool { FrameEncoder(level: 1) },
        fingerprints: WorkerPool { Fingerprinter(keys) })
      let places = try await placer.place(nodes, known: known, packs: &packs)
      try await packs.close()
      try await packs.settle()
      used.append(Set(places.map(\.pack)))
      for pack in packs.stored {
        let directory = try await home.repository.directory(of: pack, chain: home.chain, state: nil)
        // The third is what a push that was cut has left.
        try known.add(pack, directory, unitsOfDeltas: nil, isLeftover: number == 3)
      }
    }
    #expect(used == [[1], [1], [3], [3]])
  }
}
