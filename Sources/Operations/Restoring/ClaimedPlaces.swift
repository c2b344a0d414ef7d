import Storage

/// Places that restores of one run would write to, and whose they are: what one puts into another's place, or beside what the
/// other has there, undoes what that one did.
struct ClaimedPlaces {
  struct Claim {
    /// A database's name.
    let owner: String
    let path: String
  }

  /// Two places of which one is the other, or lies in it.
  struct Meeting {
    let own: Claim
    let other: Claim

    var text: String {
      let names = "'\(own.owner)' and '\(other.owner)'"
      return MemberPath.isSame(own.path, other.path)
        ? "\(names) have one place, \(own.path)"
        : "places of \(names) lie in one another, \(own.path) and \(other.path)"
    }
  }

  private var places: [[UInt8]: [Claim]] = [:]
  /// What lies above them.
  private var folders: [[UInt8]: [Claim]] = [:]

  mutating func add(_ paths: [String], of owner: String) {
    for path in paths {
      let claim = Claim(owner: owner, path: path)
      Self.note(claim, at: MemberPath.key(path), in: &places)
      for folder in MemberPath.ancestors(of: path) { Self.note(claim, at: folder, in: &folders) }
    }
  }

  /// One claim of each owner says enough.
  private static func note(_ claim: Claim, at key: [UInt8], in claims: inout [[UInt8]: [Claim]]) {
    guard claims[key]?.contains(where: { $0.owner.isSameName(as: claim.owner) }) != true else { return }
    claims[key, default: []].append(claim)
  }

  var isEmpty: Bool { places.isEmpty }

  /// Whether a path was claimed, or lies in what was.
  func holds(_ path: String) -> Bool {
    places[MemberPath.key(path)] != nil || MemberPath.ancestors(of: path).contains { places[$0] != nil }
  }

  /// Something that was claimed below a path.
  func claim(below path: String) -> Claim? { folders[MemberPath.key(path)]?.first }

  /// The first of these paths that somebody else has claimed, or what lies above or below it.
  /// - Parameter areSettled: two that do each other no harm though they meet.
  func meeting(
    _ paths: [String], of owner: String, unless areSettled: (Claim, Claim) -> Bool = { _, _ in false }
  ) -> Meeting? {
    for path in paths {
      let (key, own) = (MemberPath.key(path), Claim(owner: owner, path: path))
      let near: [[Claim]?] = [places[key], folders[key]] + MemberPath.ancestors(of: path).map { places[$0] }
      for case let claims? in near {
        let other = claims.first { claim in !claim.owner.isSameName(as: owner) && !areSettled(own, claim) }
        if let other { return Meeting(own: own, other: other) }
      }
    }
    return nil
  }
}
