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

  mutating func add(new ordinal: UInt32, _ frame: NewFrame, _ known: KnownPacks) {
    guard countedNew.insert(ordinal).inserted else { return }
    count(frame.plaintextLength, frame.sealedLength, isWhole: frame.bases.isEmpty)
    for base in frame.bases { add(known: base, known) }
  }

  mutating func add(known ordinal: UInt32, _ known: KnownPacks) {
    guard counted.insert(ordinal).inserted else { return }
    let frame = known.frames[Int(ordinal)]
    count(Int(frame.plaintextLength), Int(frame.sealedLength), isWhole: frame.bases.isEmpty)
    for base in known.bases(of: ordinal) { add(known: base, known) }
  }

  private mutating func count(_ plaintext: Int, _ sealed: Int, isWhole: Bool) {
    decoded += plaintext
    fetched += sealed
    guard isWhole else { return }
    wholeDecoded += plaintext
    wholeFetched += sealed
  }

  /// Whether a version of so many bytes may cost that much: no more than three times its length decoded, no more than
  /// one and a half times fetched what it would take whole. Small ones may cost anything.
  func isModest(for length: Int) -> Bool {
    guard decoded > 4 << 20 else { return true }
    let whole = wholeDecoded == 0 ? length : Int(Double(wholeFetched) / Double(wholeDecoded) * Double(length))
    return decoded <= 3 * length && fetched <= max(whole, 1 << 20) * 3 / 2
  }
}
