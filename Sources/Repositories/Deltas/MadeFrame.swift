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
  func naming(_ packs: inout BasePacks) -> EncodedFrame {
    var named = encoded
    named.bases = bases.map { base in
      BaseRun(pack: packs.place(of: base.pack), frame: base.frame, firstUnit: base.firstUnit, count: base.count)
    }
    return named
  }
}

/// The packs that the frames of one object rest on, in the order in which its directory lists them. There are as many as
/// it can list: whoever puts frames into one object sees to that.
struct BasePacks {
  private(set) var names: [Digest] = []
  private var places: [Digest: UInt16] = [:]

  mutating func place(of name: Digest) -> UInt16 {
    if let place = places[name] { return place }
    let place = UInt16(names.count)
    places[name] = place
    names.append(name)
    return place
  }
}
