import Sealing

/// What the units of new frames may rest on.
protocol FrameBases: Sendable {
  /// The base units for a frame, as far as they are worth it.
  /// - Parameters:
  ///   - units: joined.
  ///   - positions: the number of each in its member.
  ///   - fingerprints: of each.
  func choose(for units: UnsafeRawBufferPointer, positions: [Int], fingerprints: [Fingerprint]) -> BaseChoice

  /// Told what became of the frame: whether it rests on what was chosen is decided when it is compressed.
  /// - Parameter lengths: of the units.
  func note(_ frame: MadeFrame, positions: [Int], lengths: [Int])
}

extension FrameBases {
  func note(_ frame: MadeFrame, positions: [Int], lengths: [Int]) {}
}

/// Base units, and where the target holds them.
struct BaseChoice {
  /// The units, joined.
  var prefix: [UInt8] = []
  var bases: [MadeFrame.Base] = []
  /// Nearly every new page is a base page, changed in place.
  var isInPlace = false
  private var frames: Set<UInt32> = []

  /// Takes a unit in, unless it is one too many.
  /// - Parameter place: what makes it safe to rest on it: the target holds just this content there.
  mutating func add(_ unit: UnsafeRawBufferPointer, at place: UnitIndex.Place, of known: KnownPacks) {
    let frame = known.frames[Int(place.frame)]
    guard prefix.count + unit.count <= Limits.prefix, let entry = known.entries[frame.pack],
      frames.contains(place.frame) || frames.count < Limits.prefixFrames
    else { return }
    frames.insert(place.frame)
    prefix.append(contentsOf: unit)
    if let last = bases.indices.last, bases[last].ordinal == place.frame,
      bases[last].firstUnit + bases[last].count == place.unit
    {
      bases[last].count += 1
    } else {
      bases.append(
        MadeFrame.Base(pack: entry.name, ordinal: place.frame, frame: frame.index, firstUnit: place.unit, count: 1))
    }
  }
}
