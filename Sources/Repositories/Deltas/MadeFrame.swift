import Sealing

/// A frame of this push, and what it rests on.
struct MadeFrame: Sendable {
  /// Units of a known frame, one after the other.
  struct Base: Sendable {
    let pack: Digest
    /// Ordinal among the known frames.
    let ordinal: UInt32
    /// Index in its pack.
    let frame: UInt32
    let firstUnit: UInt16
    var count: UInt16
  }

  var encoded: EncodedFrame
  let bases: [Base]

  init(_ encoded: EncodedFrame, bases: [Base] = []) {
    self.encoded = encoded
    self.bases = encoded.codec.hasPrefix ? bases : []
  }

  /// Names the bases by their place in `packs`, to which packs not in it yet are added.
  func naming(_ packs: inout [Digest]) -> EncodedFrame {
    var named = encoded
    named.bases = bases.map { base in
      if !packs.contains(base.pack) { packs.append(base.pack) }
      let index = packs.firstIndex(of: base.pack) ?? 0
      return BaseRun(pack: UInt16(index), frame: base.frame, firstUnit: base.firstUnit, count: base.count)
    }
    return named
  }
}
