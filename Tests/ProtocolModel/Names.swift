/// A set of objects at the target, one bit each. Packs are the low five bits, so that a set of packs fits in a byte.
///
/// `old` is the pack of version A, which everybody may refer to. Writer w stores one pack in each of its two attempts.
/// A has a manifest of revision 0; an unforget may write revision 1, a repair revision 2. The writers' own versions have
/// a manifest per attempt, and a partial one.
typealias Names = UInt16

enum Name {
  static let packs: Names = 0b1_1111
  static let manifests: Names = 0b11_1111_1110_0000
  static let old: Names = 1
  static let a0: Names = 1 << 5
  static let a1: Names = 1 << 6
  static let a2: Names = 1 << 7
  static let a: Names = a0 | a1 | a2

  static func pack(_ writer: Int, _ attempt: Int) -> Names { 1 << Names(1 + 2 * writer + attempt) }
  static func version(_ writer: Int, _ attempt: Int) -> Names { 1 << Names(8 + 2 * writer + attempt) }
  static func versions(_ writer: Int) -> Names { version(writer, 0) | version(writer, 1) }
  static func partial(_ writer: Int) -> Names { 1 << Names(12 + writer) }

  private static let words = [
    "the old pack", "pack 0.0", "pack 0.1", "pack 1.0", "pack 1.1", "A's manifest, revision 0",
    "A's manifest, revision 1",
    "A's manifest, revision 2", "manifest 0.0", "manifest 0.1", "manifest 1.0", "manifest 1.1", "partial 0",
    "partial 1",
  ]

  static func text(_ names: Names) -> String {
    var members: [String] = []
    names.forEachMember { members.append(words[$0.trailingZeroBitCount]) }
    return members.joined(separator: ", ")
  }

  /// The same set after the writers have changed places.
  static func mirrored(_ names: Names) -> Names {
    let kept = names & (old | a)
    let up = (names & (pack(0, 0) | pack(0, 1) | version(0, 0) | version(0, 1))) << 2
    let down = (names & (pack(1, 0) | pack(1, 1) | version(1, 0) | version(1, 1))) >> 2
    return kept | up | down | (names & partial(0)) << 1 | (names & partial(1)) >> 1
  }
}

extension Names {
  /// Calls `body` with every subset, the empty one and the whole included.
  @inline(__always) func forEachSubset(_ body: (Names) -> Void) {
    var subset: Names = 0
    repeat {
      body(subset)
      subset = (subset &- self) & self
    } while subset != 0
  }

  /// Calls `body` with each member alone, lowest first.
  @inline(__always) func forEachMember(_ body: (Names) -> Void) {
    var rest = self
    while rest != 0 {
      body(rest & (~rest &+ 1))
      rest &= rest &- 1
    }
  }

  @inline(__always) func holds(_ other: Names) -> Bool { other & ~self == 0 }
}
