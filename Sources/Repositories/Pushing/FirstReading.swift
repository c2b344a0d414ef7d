import Sealing

/// What was read of a member while it was written, unit by unit, until the second reading says what of it still holds.
struct FirstReading {
  private struct Unit: BitwiseCopyable {
    var high: UInt64
    var low: UInt64
    var sum: UnitSum
  }

  private let units: GrowingTable<Unit>
  let sums: UnitSums

  /// - Throws: `.stateFolder`; `.noSpace` when there is no room in `folder`.
  init(unitSize: Int, in folder: String) throws(RepositoryError) {
    units = try GrowingTable(in: folder)
    sums = UnitSums(unitSize: unitSize)
  }

  func add(_ block: FingerprintedBlock) throws(RepositoryError) {
    for (fingerprint, sum) in zip(block.fingerprints, block.sums) {
      try units.append(Unit(high: fingerprint.high, low: fingerprint.low, sum: sum))
    }
  }

  /// Forgets what lies beyond the end.
  /// - Throws: `.damaged` when not all of the member was read.
  func end(by second: SecondReading) throws(RepositoryError) {
    units.truncate(to: min(units.count, second.sums.count))
    guard units.count == second.sums.count else {
      throw RepositoryError(.damaged, "\(second.sums.count - units.count) pages of the copy were never read")
    }
  }

  /// The next unit, from `start` on, that is not any more what was read.
  func staleUnit(from start: Int, by second: SecondReading) -> Int? {
    var unit = start
    while unit < units.count {
      if units[unit].sum != second.sums[unit] { return unit }
      unit += 1
    }
    return nil
  }

  /// Takes note of what a unit is now.
  /// - Parameter block: of this unit alone, read since.
  /// - Throws: `.damaged` when that is not what the second reading saw.
  func correct(_ unit: Int, _ block: FingerprintedBlock, by second: SecondReading) throws(RepositoryError) {
    guard block.sums[0] == second.sums[unit] else {
      throw RepositoryError(
        .damaged, "page \(unit + 1) of the copy changed after the copy was finished",
        hint: "Push again. If it happens again, something else writes in the state folder, or the disk is failing.")
    }
    let fingerprint = block.fingerprints[0]
    units[unit] = Unit(high: fingerprint.high, low: fingerprint.low, sum: block.sums[0])
  }

  /// SHA-256 over all fingerprints in order.
  func imageDigest() -> Digest {
    let digest = RunningDigest()
    var part: [UInt8] = []
    for unit in 0..<units.count {
      withUnsafeBytes(of: units[unit].high.bigEndian) { part.append(contentsOf: $0) }
      withUnsafeBytes(of: units[unit].low.bigEndian) { part.append(contentsOf: $0) }
      guard part.count >= 64 << 10 else { continue }
      digest.update(part)
      part.removeAll(keepingCapacity: true)
    }
    digest.update(part)
    return digest.finish()
  }
}
