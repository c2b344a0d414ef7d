import Sealing
import Storage

/// Many members at once: small files share frames, and each frame is fetched and decoded once, however many members it
/// brings units for.
extension VersionReader {
  /// Units that are numbered together, at most.
  private static let unitsAtOnce: UInt64 = 1 << 28
  /// A member is read back in parts of so many bytes, whole units.
  private static let partLength = 4 * 65_536

  /// Puts members into their destinations and proves, by the image digests, what stands there then.
  /// - Parameters:
  ///   - indices: of members with content; others are passed over.
  ///   - open: the destination of a member, which begins as zeros of its length. It is asked for again and again, by
  ///     several tasks, and let go of soon after: files need not be open all the time.
  ///   - onProgress: bytes put in place since the last call.
  /// - Throws: `.damaged`, also when what stands in a destination is not the version's; `SealError`; `StoreError`; what
  ///   `open` and the destinations throw.
  package func read(
    members indices: [Int], into open: @escaping @Sendable (Int) throws -> any MemberDestination,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let maps = Dictionary(
      uniqueKeysWithValues: zip(core.members.indices.filter { core.members[$0].file != nil }, manifest.body.maps))
    var group = MemberGroup()
    let packs = try packs()
    try await packs.prefetchDirectories()
    for index in indices {
      guard let file = core.members[index].file else { continue }
      guard let root = maps[index] else {
        throw RepositoryError(.damaged, "member \(index) of the version has no content")
      }
      if !group.members.isEmpty, group.units + file.unitCount > Self.unitsAtOnce {
        try await read(group, packs, open, onProgress)
        group = MemberGroup()
      }
      group.add(index, file, root)
    }
    try await read(group, packs, open, onProgress)
  }

  private func read(
    _ group: MemberGroup, _ packs: OpenPacks, _ open: @escaping @Sendable (Int) throws -> any MemberDestination,
    _ onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    guard !group.members.isEmpty else { return }
    let demands = try FileTable<RestorePlan.Demand>(capacity: Int(group.units), in: tableFolder)
    let map = MapReader(manifest: manifest, packs: packs)
    try await map.forEachRun(of: group.members.map { ($0.file, $0.root) }) { member, unit, run in
      guard run.pack != UnitLocation.zeros else { return }
      demands.append(
        RestorePlan.Demand(
          pack: run.pack, frame: run.frame, firstUnit: run.firstUnit, count: run.count,
          memberUnit: group.members[member].firstUnit + UInt32(unit)))
    }
    let plan = try RestorePlan(demands, in: tableFolder)
    let frames = VersionFrames(manifest: manifest, packs: packs)
    try await decode(plan, of: frames, RestoreWave.Limits(), proving: false) { frame, demands in
      try group.forEach(demands) { member, demands in
        let writer = MemberWriter(file: member.file, destination: try open(member.index))
        onProgress(try writer.write(frame, demands))
      }
    }
    guard let wrong = try await firstWrong(in: group, open) else { return }
    // Frames were not proved one by one; now it is worth it, to say which one is wrong.
    try await decode(plan, of: frames, RestoreWave.Limits(), proving: true) { frame, demands in
      try group.forEach(demands) { member, demands in
        try MemberWriter(file: member.file, destination: try open(member.index)).compare(frame, demands)
      }
    }
    throw RepositoryError(
      .damaged, "what was fetched of '\(core.members[wrong].path)' is not what was pushed: the digests differ",
      hint: "Nothing was written. `sealift list` shows other versions.")
  }

  /// Reads every member back, and looks whether its fingerprints give its image digest.
  /// - Returns: the first that does not stand as it should.
  private func firstWrong(
    in group: MemberGroup, _ open: @escaping @Sendable (Int) throws -> any MemberDestination
  ) async throws -> Int? {
    let next = Locked(0)
    return try await withThrowingTaskGroup(of: Int?.self) { [keys = repository.keys] tasks in
      for _ in 0..<min(Self.workers, group.members.count) {
        tasks.addTask {
          while let member = group.members.next(next) {
            try Task.checkCancellation()
            let prover = UnitProver(member.file.unitType, keys: keys, capacity: Self.partLength)
            guard try member.isWhole(in: try open(member.index), prover, partLength: Self.partLength) else {
              return member.index
            }
          }
          return nil
        }
      }
      var wrong: Int?
      for try await found in tasks { wrong = [wrong, found].compactMap { $0 }.min() }
      return wrong
    }
  }
}

/// Members whose units are numbered one after the other.
private struct MemberGroup: Sendable {
  struct Member: Sendable {
    let index: Int
    let file: Core.FileContent
    let root: ManifestBody.MapRoot
    let firstUnit: UInt32
  }

  private(set) var members: [Member] = []
  private(set) var units: UInt64 = 0

  mutating func add(_ index: Int, _ file: Core.FileContent, _ root: ManifestBody.MapRoot) {
    members.append(Member(index: index, file: file, root: root, firstUnit: UInt32(units)))
    units += file.unitCount
  }

  /// Hands out the demands of each member, in the member's own numbers.
  /// - Parameter demands: in the order of the units.
  func forEach(
    _ demands: [RestorePlan.Demand], _ body: (Member, [RestorePlan.Demand]) throws -> Void
  ) throws {
    var rest = demands[...]
    while let first = rest.first {
      let member = self.member(of: first.memberUnit)
      let end = UInt64(member.firstUnit) + member.file.unitCount
      let own = rest.prefix { UInt64($0.memberUnit) < end }
      rest = rest.dropFirst(own.count)
      try body(
        member,
        own.map {
          RestorePlan.Demand(
            pack: $0.pack, frame: $0.frame, firstUnit: $0.firstUnit, count: $0.count,
            memberUnit: $0.memberUnit - member.firstUnit)
        })
    }
  }

  /// The last member that begins at the unit or before: those without units begin where the next one does.
  private func member(of unit: UInt32) -> Member {
    var (low, high) = (0, members.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if members[middle].firstUnit <= unit { low = middle } else { high = middle }
    }
    return members[low]
  }
}

extension MemberGroup.Member {
  fileprivate func isWhole(
    in destination: any MemberDestination, _ prover: UnitProver, partLength: Int
  ) throws -> Bool {
    let digest = RunningDigest()
    let length = Int(file.length)
    let unitSize = Int(file.unitSize)
    for start in stride(from: 0, to: length, by: partLength) {
      let count = min(partLength, length - start)
      try destination.read(into: prover.room(count), at: start)
      var prints = [UInt8](repeating: 0, count: (count + unitSize - 1) / unitSize * Fingerprint.length)
      prints.withUnsafeMutableBufferPointer { prover.prove(count, unitSize: unitSize, into: $0) }
      digest.update(prints)
    }
    return digest.finish() == file.imageDigest
  }
}
