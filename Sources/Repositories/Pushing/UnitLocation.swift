import Sealing

/// Where a unit lies, while a version is being written: in a pack that is stored already, or in a frame that this
/// push is making, whose pack is not known yet.
struct UnitLocation: Sendable, Equatable, BitwiseCopyable {
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
struct UnitRun: Sendable, Equatable, BitwiseCopyable {
  var location: UnitLocation
  var count: UInt16

  /// A run whose frame was new when it was noted, now that the frame has its pack.
  /// - Parameter placed: by ordinal of the frame in this push.
  func resolved(_ placed: [UnitLocation]) -> UnitRun {
    guard location.pack == UnitLocation.newFrame else { return self }
    let place = placed[Int(location.frame)]
    return UnitRun(location: UnitLocation(pack: place.pack, frame: place.frame, unit: location.unit), count: count)
  }

  /// Where its unit of that number lies, counted from 0.
  func location(of offset: UInt16) -> UnitLocation {
    if location.pack == UnitLocation.zeros { return location }
    return UnitLocation(pack: location.pack, frame: location.frame, unit: location.unit + offset)
  }

  /// Whether `next`, the location of the unit after this run, continues it.
  func isContinued(by next: UnitLocation) -> Bool {
    guard count < .max, next.pack == location.pack else { return false }
    if next.pack == UnitLocation.zeros { return true }
    return next.frame == location.frame && Int(next.unit) == Int(location.unit) + Int(count)
  }
}

/// The runs of a whole member, in order, in a file without a name: in the worst case there is one a unit.
final class RunList {
  private let runs: GrowingTable<UnitRun>
  /// Where this list begins in the table; what lies before belongs to other members.
  private let start: Int

  /// - Throws: `.stateFolder`; `.noSpace` when there is no room in `folder`.
  init(in folder: String) throws(RepositoryError) {
    runs = try GrowingTable(in: folder)
    start = 0
  }

  /// A list at the end of a table that members share, one after the other: a file of its own for each of a hundred
  /// thousand would be too many. Nothing is appended to a list once the next one has begun.
  init(in table: GrowingTable<UnitRun>) {
    runs = table
    start = table.count
  }

  private(set) var count = 0
  /// Of the member, so far.
  private(set) var units = 0
  subscript(_ index: Int) -> UnitRun { runs[start + index] }
  /// Where the last unit so far lies.
  var last: UnitLocation? { count > 0 ? runs.last.map { $0.location(of: $0.count - 1) } : nil }

  func append(_ location: UnitLocation) throws(RepositoryError) {
    precondition(start + count == runs.count, "another list has begun")
    units += 1
    if count > 0, let last = runs.last, last.isContinued(by: location) {
      runs[runs.count - 1].count += 1
      return
    }
    try runs.append(UnitRun(location: location, count: 1))
    count += 1
  }

  /// Forgets everything: the member is read anew.
  func removeAll() {
    runs.truncate(to: start)
    count = 0
    units = 0
  }

  /// The same, but that some units lie elsewhere, and none follow after so many.
  /// - Parameter corrections: by ascending number of the unit.
  func corrected(
    by corrections: GrowingTable<UnitCorrection>, units: Int, in folder: String
  ) throws(RepositoryError) -> RunList {
    if corrections.count == 0, units == self.units { return self }
    let list = try RunList(in: folder)
    var next = 0
    for index in 0..<count {
      for offset in 0..<self[index].count where list.units < units {
        if next < corrections.count, corrections[next].unit == list.units {
          try list.append(corrections[next].location)
          next += 1
        } else {
          try list.append(self[index].location(of: offset))
        }
      }
    }
    return list
  }
}

/// A unit that was written again after it was read, and where it lies now.
struct UnitCorrection: BitwiseCopyable {
  let unit: Int
  let location: UnitLocation
}
