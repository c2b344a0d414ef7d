import Sealing

/// Puts the units of decoded frames where they belong in a member.
struct MemberWriter: Sendable {
  let file: Core.FileContent
  let destination: any MemberDestination

  /// Zeros between two parts that are written get room with them, unless there are more than this, in bytes.
  private static let zerosAlong = 1 << 20

  /// Lets the destination take room for what is going to be written. A full disk is met now, not in the middle; and what
  /// is written in any order lies in one piece, and costs the system less.
  /// - Parameter demands: in the order of the member.
  func reserve(_ demands: FileTable<RestorePlan.Demand>) throws {
    var part = 0..<0
    for index in 0..<demands.count {
      let start = Int(demands[index].memberUnit) * Int(file.unitSize)
      let end = max(start, min(Int(file.length), start + Int(demands[index].count) * Int(file.unitSize)))
      if !part.isEmpty, start - part.upperBound <= Self.zerosAlong {
        part = part.lowerBound..<end
      } else {
        if !part.isEmpty { try destination.reserve(part) }
        part = start..<end
      }
    }
    if !part.isEmpty { try destination.reserve(part) }
  }

  /// - Parameter body: gets each run of units with its bytes, for a place of the member.
  /// - Throws: `.damaged` when a map asks for what the frame does not have; what `body` throws.
  private func forEachRun(
    of frame: DecodedFrame, _ demands: [RestorePlan.Demand],
    _ body: (_ units: Range<Int>, ArraySlice<UInt8>) throws -> Void
  ) throws {
    let record = frame.record
    guard record.type == file.unitType else { throw RepositoryError(.damaged, "a map points at units of another type") }
    for demand in demands {
      let units = Int(demand.firstUnit)..<Int(demand.firstUnit) + Int(demand.count)
      guard units.upperBound <= record.unitLengths.count else {
        throw RepositoryError(.damaged, "a map points beyond the end of a frame")
      }
      let first = Int(demand.memberUnit)
      for (step, unit) in units.enumerated() {
        let expected = min(Int(file.unitSize), Int(file.length) - (first + step) * Int(file.unitSize))
        guard record.unitLengths[unit] == expected else {
          throw RepositoryError(.damaged, "a map points at a unit of another length")
        }
      }
      let last = units.upperBound - 1
      let bytes = frame.plain[record.unitOffset(units.lowerBound)..<record.unitOffset(last) + record.unitLengths[last]]
      try body(first..<first + units.count, bytes)
    }
  }

  /// Writes the units that are asked for.
  /// - Parameter onProgress: called once for all of them: a frame may be asked for page by page.
  func write(
    _ frame: DecodedFrame, _ demands: [RestorePlan.Demand], noting proofs: UnitProofs, _ onProgress: (Int) -> Void
  ) throws {
    var written = 0
    try forEachRun(of: frame, demands) { units, bytes in
      try destination.write(bytes, at: units.lowerBound * Int(file.unitSize))
      try proofs.noteWritten(units)
      written += bytes.count
    }
    onProgress(written)
  }

  /// Notes that every unit before this one is in place.
  func noteComplete(before unit: UInt32) {
    destination.noteComplete(below: min(Int(unit) * Int(file.unitSize), Int(file.length)))
  }

  /// Writes the units that are asked for, and proves nothing.
  /// - Returns: how many bytes they are.
  @discardableResult
  func write(_ frame: DecodedFrame, _ demands: [RestorePlan.Demand]) throws -> Int {
    var written = 0
    try forEachRun(of: frame, demands) { units, bytes in
      try destination.write(bytes, at: units.lowerBound * Int(file.unitSize))
      written += bytes.count
    }
    return written
  }

  /// Looks whether the units that are asked for stand where they were written.
  /// - Throws: `.damaged` when they do not.
  func compare(_ frame: DecodedFrame, _ demands: [RestorePlan.Demand]) throws {
    try forEachRun(of: frame, demands) { units, bytes in
      let offset = units.lowerBound * Int(file.unitSize)
      try withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 16) { found in
        try destination.read(into: found, at: offset)
        guard bytes.withUnsafeBytes({ $0.elementsEqual(found) }) else {
          throw RepositoryError(
            .damaged, "what stands in the restored file from byte \(offset) on is not what was written there",
            hint: "Nothing got its name. Check the disk and the memory of this machine, then restore again.")
        }
      }
    }
  }
}
