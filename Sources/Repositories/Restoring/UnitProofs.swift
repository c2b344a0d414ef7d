import Sealing
import Storage

/// The fingerprint of every unit that stands in a member's destination, by unit: what the image digest is made of.
///
/// Nothing is believed of what was decoded, or of having written it. A block is read back as soon as the last of its
/// units was put there, while it is still in the cache, and each unit's fingerprint is made of what was read. So
/// `digest` speaks of the whole destination, zeros that were never written among it.
///
/// 16 bytes a unit, in a nameless file.
final class UnitProofs: Sendable {
  /// What is read back at once, in bytes.
  private static let blockLength = 256 << 10
  /// In `missing`: this block was read back.
  private static let proved = UInt16.max

  private let file: Core.FileContent
  private let destination: any MemberDestination
  private let unitsPerBlock: Int
  private let fingerprints: FileTable<UInt8>
  /// How many units of each block are yet to be put there.
  private let missing: Locked<FileTable<UInt16>>
  private let provers: WorkerPool<UnitProver>

  /// - Throws: `.stateFolder`.
  init(
    of file: Core.FileContent, in destination: any MemberDestination, keys: SealingKeys, tables folder: String
  ) throws {
    self.file = file
    self.destination = destination
    let units = Int(file.unitCount)
    let perBlock = max(1, Self.blockLength / Int(file.unitSize))
    unitsPerBlock = perBlock
    fingerprints = try FileTable(
      capacity: units * Fingerprint.length, count: units * Fingerprint.length, in: folder)
    let blocks = (units + perBlock - 1) / perBlock
    let missing = try FileTable<UInt16>(capacity: blocks, in: folder)
    for block in 0..<blocks { missing.append(UInt16(min(perBlock, units - block * perBlock))) }
    self.missing = Locked(missing)
    provers = WorkerPool { UnitProver(file.unitType, keys: keys, capacity: perBlock * Int(file.unitSize)) }
  }

  /// Notes units that stand where they belong without being written: zeros, and what an earlier reading left. Nothing of
  /// that is believed either: `proveRest` reads it.
  func noteStanding(_ units: Range<Int>) { _ = settle(units) }

  /// Notes units that were written, and proves the blocks that are complete now. From several tasks, each its own units.
  /// - Throws: what reading the destination throws.
  func noteWritten(_ units: Range<Int>) throws {
    for block in settle(units) { try prove(block) }
  }

  /// Proves what no write has completed: blocks that stood there, and all of which too little was written.
  func proveRest(workers: Int) async throws {
    let next = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<workers {
        group.addTask {
          while let block = self.unproved(from: next) {
            try Task.checkCancellation()
            try self.prove(block)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// The block that is to be proved next, at the counter or behind it.
  private func unproved(from counter: Locked<Int>) -> Int? {
    counter.withLock { block in
      missing.withLock { missing in
        while block < missing.count, missing[block] == Self.proved { block += 1 }
        guard block < missing.count else { return nil }
        defer { block += 1 }
        return block
      }
    }
  }

  /// Over all units, as far as they were read back.
  var digest: Digest {
    let digest = RunningDigest()
    fingerprints.withUnsafeMutableBufferPointer { digest.update(UnsafeRawBufferPointer($0)) }
    return digest.finish()
  }

  /// - Returns: the blocks that are complete now.
  private func settle(_ units: Range<Int>) -> [Int] {
    missing.withLock { missing in
      var complete: [Int] = []
      var first = units.lowerBound
      while first < units.upperBound {
        let block = first / unitsPerBlock
        let end = min(units.upperBound, (block + 1) * unitsPerBlock)
        missing[block] -= UInt16(end - first)
        if missing[block] == 0 { complete.append(block) }
        first = end
      }
      return complete
    }
  }

  private func prove(_ block: Int) throws {
    let start = block * unitsPerBlock * Int(file.unitSize)
    let count = min(unitsPerBlock * Int(file.unitSize), Int(file.length) - start)
    try provers.with { prover in
      try destination.read(into: prover.room(count), at: start)
      fingerprints.withUnsafeMutableBufferPointer { all in
        prover.prove(
          count, unitSize: Int(file.unitSize),
          into: UnsafeMutableBufferPointer(rebasing: all[(block * unitsPerBlock * Fingerprint.length)...]))
      }
    }
    missing.withLock { $0[block] = Self.proved }
  }
}

extension Fingerprint {
  /// In bytes.
  static let length = 16
}
