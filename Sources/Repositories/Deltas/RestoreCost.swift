import Sealing

/// What restoring a version decodes and fetches: every frame that it needs, bases included, counted once
/// (`Docs/Format.md` §6.2).
struct RestoreCost {
  /// A frame of this push.
  struct NewFrame: Sendable {
    let type: UnitType
    let plaintextLength: Int
    let sealedLength: Int
    /// Ordinals of known frames.
    let bases: [UInt32]

    init(_ frame: MadeFrame) {
      type = frame.encoded.type
      plaintextLength = frame.encoded.plaintextLength
      sealedLength = frame.encoded.payload.count + 16
      var bases: [UInt32] = []
      for base in frame.bases where !bases.contains(base.ordinal) { bases.append(base.ordinal) }
      self.bases = bases
    }
  }

  /// Bytes of plaintext, and of sealed frames.
  private(set) var decoded = 0
  private(set) var fetched = 0
  /// Some of the frames rest on others.
  private(set) var hasDeltas = false
  /// The part of both that whole frames make up.
  private var wholeDecoded = 0
  private var wholeFetched = 0
  private var counted: Set<UInt32> = []
  private var countedNew: Set<UInt32> = []
  /// By number of a known pack: bytes of its units that the version needs.
  private(set) var live: [UInt32: Int] = [:]
  private var newStored = 0
  /// Bytes of units of new frames: each is stored once, and needed.
  private var newContent: [UnitType: Int] = [:]
  /// By ordinal of a known frame: bytes of its units that members refer to, again and again perhaps, but no more than it has.
  private var referred: [UInt32] = []

  mutating func add(new ordinal: UInt32, _ frame: NewFrame, _ known: KnownPacks) {
    guard countedNew.insert(ordinal).inserted else { return }
    newContent[frame.type, default: 0] += frame.plaintextLength
    count(frame.plaintextLength, frame.sealedLength, isWhole: frame.bases.isEmpty)
    newStored += frame.sealedLength
    for base in frame.bases { add(base: base, known) }
  }

  /// - Parameter bytes: of its units that a member refers to.
  mutating func add(known ordinal: UInt32, bytes: Int, _ known: KnownPacks) {
    let index = Int(ordinal)
    let frame = known.frames[index]
    live[frame.pack, default: 0] += bytes
    if index >= referred.count {
      referred.append(contentsOf: repeatElement(0, count: known.frames.count - referred.count))
    }
    referred[index] = UInt32(clamping: min(Int(referred[index]) + bytes, Int(frame.plaintextLength)))
    add(known: ordinal, known)
  }

  private mutating func add(base ordinal: UInt32, _ known: KnownPacks) {
    let frame = known.frames[Int(ordinal)]
    if !counted.contains(ordinal) { live[frame.pack, default: 0] += Int(frame.plaintextLength) }
    add(known: ordinal, known)
  }

  private mutating func add(known ordinal: UInt32, _ known: KnownPacks) {
    guard counted.insert(ordinal).inserted else { return }
    let frame = known.frames[Int(ordinal)]
    count(Int(frame.plaintextLength), Int(frame.sealedLength), isWhole: frame.bases.isEmpty)
    for base in known.bases(of: ordinal) { add(base: base, known) }
  }

  private mutating func count(_ plaintext: Int, _ sealed: Int, isWhole: Bool) {
    decoded += plaintext
    fetched += sealed
    guard isWhole else {
      hasDeltas = true
      return
    }
    wholeDecoded += plaintext
    wholeFetched += sealed
  }

  /// - Parameters:
  ///   - length: of the version, in bytes.
  ///   - density: sealed bytes that a byte of its pages takes in whole frames, by a look at the pages themselves.
  func needs(for length: Int, density: Double? = nil, _ known: KnownPacks) -> VersionNeeds {
    VersionNeeds(
      decoded: decoded, stored: live.keys.reduce(newStored) { $0 + Int(known.entries[$1]?.length ?? 0) },
      whole: whole(of: length, density: density, known))
  }

  /// About what a first push of it would store: zeros and what is there twice cost nothing, the rest what whole frames do.
  /// Those at hand may be of content that is not like the version's any more; then the look at its pages says less.
  private func whole(of length: Int, density: Double?, _ known: KnownPacks) -> Int {
    guard wholeDecoded > 0 else { return length }
    let content = self.content(known)
    let ofFrames = Double(wholeFetched) / Double(wholeDecoded)
    let pages = Double(content[.page] ?? 0) * min(density ?? ofFrames, ofFrames)
    return Int(pages + Double(content[.block] ?? 0) * ofFrames)
  }

  /// What members hold: bytes of units, each counted once.
  private func content(_ known: KnownPacks) -> [UnitType: Int] {
    var sums = newContent
    for (ordinal, bytes) in referred.enumerated() where bytes > 0 {
      sums[known.frames[ordinal].type, default: 0] += Int(bytes)
    }
    return sums
  }
}
