import Sealing

/// The packs that a new version may refer to, and what lies in them.
struct KnownPacks: Sendable {
  /// A frame of a known pack.
  struct Frame: Sendable {
    let pack: UInt32
    let index: UInt32
    let type: UnitType
    let plaintextLength: UInt32
    let sealedLength: UInt32
    /// How many deltas lie below each other; `unknownDepth` when a base of it is not known here.
    let depth: UInt8
    /// Which of `baseFrames` it rests on.
    let bases: Range<Int>
  }

  static let unknownDepth: UInt8 = 255

  private(set) var entries: [UInt32: PackEntry] = [:]
  /// All frames of all packs; their place here is their ordinal.
  private(set) var frames: [Frame] = []
  private var baseFrames: [UInt32] = []
  /// The ordinal of each pack's first frame.
  private var firstFrame: [UInt32: Int] = [:]
  private var numbers: [Digest: UInt32] = [:]
  private var stale: Set<UInt32> = []
  private let units: UnitIndex
  /// The ordinal of the first frame that no version needs yet: such packs come last.
  private var firstLeftover = Int.max
  /// Of leftovers, the units that `units` places before them.
  private let leftovers: UnitIndex
  /// Units that `units` places elsewhere: known ones that a delta frame took along (`ContentWriter`).
  private let takenAlong: UnitIndex

  /// - Parameter folder: where the index may lie.
  init(in folder: String) throws(RepositoryError) {
    units = try UnitIndex(in: folder)
    leftovers = try UnitIndex(in: folder)
    takenAlong = try UnitIndex(in: folder)
  }

  /// So many units can be noted before the index of them has to grow.
  var room: Int { units.room }

  /// Packs of about so many units will be added. Where there is no room for them all, there may be for those that come.
  func reserve(units count: Int) { try? units.reserve(count) }

  /// Takes a pack in. Packs come by ascending number, so that bases are there before what rests on them. Of several places
  /// of a unit one that is not stale wins, then that with the fewest deltas below it, then the earliest: a deeper one would
  /// hide from a version that may not refer to it what was stored anew for just that reason.
  /// - Parameters:
  ///   - list: the fingerprints of the units of its delta frames, if this machine kept them; proved here by the
  ///     frame ids, which are authentic.
  ///   - isStale: nothing new is to rest on its pages and blocks; what is found there see `isStale(_:)`.
  ///   - isLeftover: no version needs it yet.
  mutating func add(
    _ entry: PackEntry, _ directory: Directory, unitsOfDeltas list: [UInt8]?, isStale: Bool = false,
    isLeftover: Bool = false
  ) throws(RepositoryError) {
    guard entries[entry.number] == nil else { return }
    entries[entry.number] = entry
    numbers[entry.name] = entry.number
    firstFrame[entry.number] = frames.count
    if isStale { stale.insert(entry.number) }
    if isLeftover { firstLeftover = min(firstLeftover, frames.count) }
    var listed = 0
    for (index, record) in directory.frames.enumerated() {
      let ordinal = UInt32(frames.count)
      let frame = frame(record, index, of: entry, directory)
      frames.append(frame)
      var fingerprints = record.fingerprints
      if record.codec.hasPrefix {
        fingerprints = Self.fingerprints(of: record, in: list, from: listed)
        listed += 16 * record.unitLengths.count
      }
      // Nothing can refer to a frame that rests on what is not known here.
      if frame.depth == Self.unknownDepth { continue }
      for (unit, fingerprint) in fingerprints.enumerated() {
        let place = UnitIndex.Place(frame: ordinal, unit: UInt16(unit))
        try units.insert(fingerprint, at: place) { isWorse(frames[Int($0.frame)], than: frame) }
        if isLeftover, let found = units[fingerprint], found.frame < firstLeftover {
          try leftovers.insert(fingerprint, at: place) { frames[Int($0.frame)].depth > frame.depth }
        }
        // The newest version refers to the last place.
        if frame.type != .node, units[fingerprint] != place {
          try takenAlong.insert(fingerprint, at: place) { _ in true }
        }
      }
    }
  }

  private func isWorse(_ place: Frame, than other: Frame) -> Bool {
    let (isStale, isOtherStale) = (stale.contains(place.pack), stale.contains(other.pack))
    return isStale == isOtherStale ? place.depth > other.depth : isStale
  }

  private mutating func frame(
    _ record: FrameRecord, _ index: Int, of entry: PackEntry, _ directory: Directory
  ) -> Frame {
    let first = baseFrames.count
    var depth: UInt8 = 0
    for run in record.bases {
      let number = run.pack.map { numbers[directory.basePacks[Int($0)]] } ?? entry.number
      guard let number, let start = firstFrame[number], start + Int(run.frame) < frames.count,
        frames[start + Int(run.frame)].depth != Self.unknownDepth
      else {
        depth = Self.unknownDepth
        break
      }
      let base = UInt32(start + Int(run.frame))
      if !baseFrames[first...].contains(base) { baseFrames.append(base) }
      depth = max(depth, frames[Int(base)].depth + 1)
    }
    return Frame(
      pack: entry.number, index: UInt32(index), type: record.type, plaintextLength: UInt32(record.plaintextLength),
      sealedLength: record.sealedLength, depth: depth, bases: first..<baseFrames.count)
  }

  private static func fingerprints(of record: FrameRecord, in list: [UInt8]?, from start: Int) -> [Fingerprint] {
    let end = start + 16 * record.unitLengths.count
    guard let list, end <= list.count else { return [] }
    let fingerprints = list.withUnsafeBytes { bytes in
      stride(from: start, to: end, by: 16).map { Fingerprint(bytes, at: $0) }
    }
    return FrameRecord.frameID(of: fingerprints) == record.frameID ? fingerprints : []
  }

  /// Where such a unit lies within reach.
  func place(of fingerprint: Fingerprint, within reach: Reach = Reach(depth: 0)) -> UnitLocation? {
    guard let place = anyPlace(of: fingerprint, reach.depth) ?? leftover(fingerprint, reach.ownDepth) else {
      return nil
    }
    let frame = frames[Int(place.frame)]
    return UnitLocation(pack: frame.pack, frame: frame.index, unit: place.unit)
  }

  /// Where such a unit lies right behind another one, in its frame or the next, if it was taken along there.
  func place(of fingerprint: Fingerprint, behind last: UnitLocation?, within reach: Reach) -> UnitLocation? {
    guard let last, let place = takenAlong[fingerprint], let before = frame(at: last) else { return nil }
    let follows = place.unit == 0 ? place.frame == before + 1 : place.frame == before && place.unit == last.unit + 1
    let frame = frames[Int(place.frame)]
    guard follows, Int(frame.depth) <= (place.frame < firstLeftover ? reach.depth : reach.ownDepth) else { return nil }
    return UnitLocation(pack: frame.pack, frame: frame.index, unit: place.unit)
  }

  /// By the frame's ordinal, in a frame of no more than this depth that is not stale: what new frames may rest on.
  func ordinal(of fingerprint: Fingerprint, depth: Int) -> UnitIndex.Place? {
    anyPlace(of: fingerprint, depth).flatMap { stale.contains(frames[Int($0.frame)].pack) ? nil : $0 }
  }

  private func anyPlace(of fingerprint: Fingerprint, _ depth: Int) -> UnitIndex.Place? {
    units[fingerprint].flatMap { Int(frames[Int($0.frame)].depth) <= depth ? $0 : nil }
  }

  private func leftover(_ fingerprint: Fingerprint, _ depth: Int) -> UnitIndex.Place? {
    guard firstLeftover < .max, depth >= 0, let first = units[fingerprint] else { return nil }
    let place = first.frame < firstLeftover ? leftovers[fingerprint] : first
    return place.flatMap { Int(frames[Int($0.frame)].depth) <= depth ? $0 : nil }
  }

  func frame(at location: UnitLocation) -> UInt32? {
    firstFrame[location.pack].map { UInt32($0) + location.frame }
  }

  /// What lies there should be stored anew, by whoever stores enough to pay for that.
  func isStale(_ location: UnitLocation) -> Bool { isStale(pack: location.pack) }

  func isStale(pack number: UInt32) -> Bool { stale.contains(number) }

  /// No version needs it yet.
  func isLeftover(_ location: UnitLocation) -> Bool { frame(at: location).map { $0 >= firstLeftover } ?? false }

  /// How many deltas lie below each other there.
  func depth(at location: UnitLocation) -> Int { frame(at: location).map { Int(frames[Int($0)].depth) } ?? 0 }

  /// By pack: bytes of pages and blocks that it holds. Blocks in deltas are as long as what they take there: a change of a
  /// companion, of which the next version has no use, makes no pack one of little use, where another companion's base may lie.
  func contentLengths() -> [UInt32: Int] {
    var lengths: [UInt32: Int] = [:]
    for frame in frames where frame.type != .node {
      let isChange = frame.type == .block && !frame.bases.isEmpty
      lengths[frame.pack, default: 0] += Int(isChange ? frame.sealedLength : frame.plaintextLength)
    }
    return lengths
  }

  func bases(of ordinal: UInt32) -> ArraySlice<UInt32> { baseFrames[frames[Int(ordinal)].bases] }

  func contains(_ name: Digest) -> Bool { numbers[name] != nil }

  /// A pack of this push. Its units are the push's own business.
  mutating func addNew(_ entry: PackEntry) {
    entries[entry.number] = entry
    numbers[entry.name] = entry.number
  }
}
