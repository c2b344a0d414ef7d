import Sealing

/// The fingerprints of the units of a pack's delta frames, in order, 16 bytes each.
///
/// The directory of a pack states only the ids of delta frames. Whoever wants to find such units again, or to rest on
/// them, keeps this list; it is proved by the frame ids. Without it those units are stored anew.
enum UnitList {
  static func name(of pack: Digest) -> String { "\(pack.hex).units" }

  /// The same of a pack that only a push which was cut will ask for; it goes when that push is acknowledged.
  static func passingName(of pack: Digest) -> String { "\(pack.hex).passing-units" }

  static func kept(of pack: Digest, in state: StateFolder) -> [UInt8]? {
    state.kept(name(of: pack)) ?? state.kept(passingName(of: pack))
  }

  /// The push is acknowledged: what others will rest on is kept for good, the rest goes.
  static func settle(of pack: Digest, isBase: Bool, in state: StateFolder) {
    if isBase, let list = state.kept(passingName(of: pack)) { state.keep(list, as: name(of: pack)) }
    state.drop(passingName(of: pack))
  }

  static func isName(_ name: String) -> Bool { name.hasSuffix(".units") }

  /// `nil` when none of the frames is a delta.
  static func bytes(of frames: [EncodedFrame]) -> [UInt8]? {
    let deltas = frames.filter(\.codec.hasPrefix)
    guard !deltas.isEmpty else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(deltas.reduce(0) { $0 + 16 * $1.fingerprints.count })
    for frame in deltas {
      for fingerprint in frame.fingerprints { fingerprint.append(to: &bytes) }
    }
    return bytes
  }
}
