import Sealing

/// Where a unit lies, while a version is being written: in a pack that is stored already, or in a frame that this
/// push is making, whose pack is not known yet.
struct UnitLocation: Sendable, Equatable {
  /// A pack number, or one of the marks below.
  var pack: UInt32
  /// The frame in the pack; for `newFrame`, the ordinal of the frame in this push.
  var frame: UInt32
  var unit: UInt16

  static let thisObject: UInt32 = 0
  static let zeros: UInt32 = 0xFFFF_FFFF
  /// Not in the format: resolved before a map is encoded.
  static let newFrame: UInt32 = 0xFFFF_FFFE

  static let zero = UnitLocation(pack: zeros, frame: 0, unit: 0)
}

/// Consecutive units of a member that lie one after the other in one frame (or are zeros).
struct UnitRun: Sendable, Equatable {
  var location: UnitLocation
  var count: Int

  /// A run whose frame was new when it was noted, now that the frame has its pack.
  /// - Parameter placed: by ordinal of the frame in this push.
  func resolved(_ placed: [UnitLocation]) -> UnitRun {
    guard location.pack == UnitLocation.newFrame else { return self }
    let place = placed[Int(location.frame)]
    return UnitRun(location: UnitLocation(pack: place.pack, frame: place.frame, unit: location.unit), count: count)
  }

  /// Whether `next`, the location of the unit after this run, continues it.
  func isContinued(by next: UnitLocation) -> Bool {
    guard count < Int(UInt16.max), next.pack == location.pack else { return false }
    if next.pack == UnitLocation.zeros { return true }
    return next.frame == location.frame && Int(next.unit) == Int(location.unit) + count
  }
}

/// The runs of a whole member, in order.
struct RunList: Sendable {
  private(set) var runs: [UnitRun] = []

  mutating func append(_ location: UnitLocation) {
    if let last = runs.indices.last, runs[last].isContinued(by: location) {
      runs[last].count += 1
    } else {
      runs.append(UnitRun(location: location, count: 1))
    }
  }
}
