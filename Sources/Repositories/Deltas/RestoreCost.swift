import Sealing

/// What restoring a version decodes and fetches: every frame that it needs, bases included, counted once
/// (`Docs/Format.md` §6.2).
struct RestoreCost {
  /// A frame of this push.
  struct NewFrame: Sendable {
    let plaintextLength: Int
    let sealedLength: Int
    /// Ordinals of known frames.
    let bases: [UInt32]

    init(_ frame: MadeFrame) {
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
  /// The part of both that whole frames make up.
  private var wholeDecoded = 0
  private var wholeFetched = 0
  private var counted: Set<UInt32> = []
  private var countedNew: Set<UInt32> = []
  /// By number of a known pack: bytes of its units that the version needs.
  private(set) var live: [UInt32: Int] = [:]
  private var newStored = 0
  /// Bytes of units of new frames: each is stored once, and needed.
  private var newContent = 0
  /// By ordinal of a known frame: bytes of its units, that members refer to, again and again perhaps.
  private var referred: [UInt32: Int] = [:]

  mutating func add(new ordinal: UInt32, _ frame: NewFrame, _ known: KnownPacks) {
    guard countedNew.insert(ordinal).inserted else { return }
    newContent += frame.plaintextLength
    count(frame.plaintextLength, frame.sealedLength, isWhole: frame.bases.isEmpty)
    newStored += frame.sealedLength
    for base in frame.bases { add(base: base, known) }
  }

  /// - Parameter bytes: of its units, that a member refers to.
  mutating func add(known ordinal: UInt32, bytes: Int, _ known: KnownPacks) {
    live[known.frames[Int(ordinal)].pack, default: 0] += bytes
    referred[ordinal, default: 0] += bytes
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
    guard isWhole else { return }
    wholeDecoded += plaintext
    wholeFetched += sealed
  }

  /// - Parameter length: of the version, in bytes.
  func needs(for length: Int, _ known: KnownPacks) -> VersionNeeds {
    VersionNeeds(
      decoded: decoded, stored: live.keys.reduce(newStored) { $0 + Int(known.entries[$1]?.length ?? 0) },
      whole: whole(of: length, known))
  }

  /// About what a first push of it would store: zeros and what is there twice cost nothing, the rest what whole frames do.
  private func whole(of length: Int, _ known: KnownPacks) -> Int {
    guard wholeDecoded > 0 else { return length }
    let content = referred.reduce(newContent) { sum, frame in
      sum + min(frame.value, Int(known.frames[Int(frame.key)].plaintextLength))
    }
    return Int(Double(wholeFetched) / Double(wholeDecoded) * Double(content))
  }
}
