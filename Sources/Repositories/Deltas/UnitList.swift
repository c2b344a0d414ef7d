import Sealing

/// The fingerprints of the units of a pack's delta frames, in order, 16 bytes each.
///
/// The directory of a pack states only the ids of delta frames. Whoever wants to find such units again, or to rest on
/// them, keeps this list; it is proved by the frame ids. Without it those units are stored anew.
enum UnitList {
  static func name(of pack: Digest) -> String { "\(pack.hex).units" }

  /// The same of a pack that only the next push will ask for, or one that continues a push which was cut: it goes when a
  /// version is acknowledged that does not need the pack.
  static func passingName(of pack: Digest) -> String { "\(pack.hex).passing-units" }

  static func kept(of pack: Digest, in state: StateFolder) -> [UInt8]? {
    state.kept(name(of: pack)) ?? state.kept(passingName(of: pack))
  }

  /// What becomes of the list when a version is acknowledged.
  enum Use {
    /// The pack is this version's own, and later ones will rest on it.
    case base
    /// Later versions may refer to it as long as the version before them does.
    case reference
    case none
  }

  static func settle(of pack: Digest, for use: Use, in state: StateFolder) {
    if use == .reference { return }
    if use == .base, let list = state.kept(passingName(of: pack)) { state.keep(list, as: name(of: pack)) }
    state.drop(passingName(of: pack))
  }

  static func isName(_ name: String) -> Bool { name.hasSuffix(".units") || name.hasSuffix(".passing-units") }

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
