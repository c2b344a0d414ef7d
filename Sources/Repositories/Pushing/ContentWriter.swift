import Sealing

/// Decides unit by unit: zeros, known already, or new; and notes where each lies.
///
/// Known pages that stand alone between new ones go into the new ones' delta frame all the same: there they cost next to
/// nothing, while every interruption costs two entries of the map. Versions that refer to such a frame refer to them there.
/// What an earlier leaf has stored is not taken along: it differs from the bases as it did then, and would cost that again.
struct ContentWriter: ~Copyable {
  var frames: FrameMaker
  /// Of the member that is read.
  var runs: RunList
  /// The number of its first unit, where units of several members are counted through.
  var origin = 0

  private let fresh: UnitIndex
  private let gapLimit: Int
  private let gapDepth: Int
  private let movesAll: Bool
  private var gap: [(unit: Int, location: UnitLocation)] = []
  private var followsNew = false
  /// Bytes of units that no version has had: also those that a push which was cut, or an attempt before, has stored.
  private(set) var newBytes = 0
  /// Of those that lay where hardly anything is needed any more, and were stored anew.
  private var movedBytes = 0

  /// - Parameters:
  ///   - gapLimit: so many known units between new ones are taken along,
  ///   - gapDepth: of frames that are no deeper.
  ///   - movesAll: what is stale is stored anew, however much; else no more of it than there is new.
  init(
    frames: consuming FrameMaker, runs: RunList, fresh: UnitIndex, gapLimit: Int, gapDepth: Int = 0, movesAll: Bool
  ) {
    self.frames = frames
    self.runs = runs
    self.fresh = fresh
    self.gapLimit = gapLimit
    self.gapDepth = gapDepth
    self.movesAll = movesAll
  }

  /// - Parameter reach: where what is known may be referred to.
  mutating func add(_ block: FingerprintedBlock, known: KnownPacks, within reach: Reach) throws(RepositoryError) {
    for unit in block.fingerprints.indices {
      let fingerprint = block.fingerprints[unit]
      if block.zeros[unit] {
        try endGap()
        try runs.append(.zero)
      } else if let place = fresh[fingerprint] {
        try endGap()
        try runs.append(UnitLocation(pack: UnitLocation.newFrame, frame: place.frame, unit: place.unit))
      } else if let location = placeToKeep(of: unit, in: block, known, within: reach) {
        if followsNew, gap.count < gapLimit, known.depth(at: location) <= gapDepth {
          gap.append((unit, location))
        } else {
          try endGap()
          try runs.append(location)
        }
      } else {
        for member in gap { try addNew(block, member.unit) }
        gap = []
        try addNew(block, unit)
        followsNew = true
      }
    }
    // What a gap holds lies in this block, which goes now.
    try endGap()
  }

  /// Where the unit lies, unless it is to be stored: it is new, or lies where hardly anything is needed any more. What
  /// versions have left is cleaned up as content comes that pays for it: one row after them does not.
  private mutating func placeToKeep(
    of unit: Int, in block: FingerprintedBlock, _ known: KnownPacks, within reach: Reach
  ) -> UnitLocation? {
    let length = block.range(of: unit).count
    guard let location = place(of: block.fingerprints[unit], known, within: reach) else {
      newBytes += length
      return nil
    }
    if known.isLeftover(location) { newBytes += length }
    guard known.isStale(location), movesAll || movedBytes < newBytes else { return location }
    movedBytes += length
    return nil
  }

  private func place(of fingerprint: Fingerprint, _ known: KnownPacks, within reach: Reach) -> UnitLocation? {
    known.place(of: fingerprint, behind: gap.last?.location ?? runs.last, within: reach)
      ?? known.place(of: fingerprint, within: reach)
  }

  /// Places a unit that was written again after it was read. Its old content may lie in a frame that nobody needs then.
  /// - Parameter block: of this unit alone.
  /// - Returns: where it lies now.
  mutating func correct(
    _ block: FingerprintedBlock, known: KnownPacks, within reach: Reach
  ) throws(RepositoryError) -> UnitLocation {
    let fingerprint = block.fingerprints[0]
    if block.zeros[0] { return .zero }
    if let place = fresh[fingerprint] {
      return UnitLocation(pack: UnitLocation.newFrame, frame: place.frame, unit: place.unit)
    }
    if let location = known.place(of: fingerprint, within: reach) { return location }
    let location = frames.add(block.bytes[...], fingerprint, position: block.first)
    try fresh.insert(fingerprint, at: .init(frame: location.frame, unit: location.unit))
    return location
  }

  private mutating func addNew(_ block: FingerprintedBlock, _ unit: Int) throws(RepositoryError) {
    let fingerprint = block.fingerprints[unit]
    let location = frames.add(
      block.bytes[block.range(of: unit)], fingerprint, position: origin + block.first + unit)
    try fresh.insert(fingerprint, at: .init(frame: location.frame, unit: location.unit))
    try runs.append(location)
  }

  private mutating func endGap() throws(RepositoryError) {
    for member in gap { try runs.append(member.location) }
    gap = []
    followsNew = false
  }
}
