import Snapshots

/// What a drill found out of one version.
struct DrillProof {
  let image: ImageProof
  /// All of its content came back from the target, with the SHA-256 it had.
  let isRestored: Bool
  /// The database failed its own check when it was pushed.
  var wasDamaged = false
  /// Why what comes with the database could not be had, where the database itself came back.
  var lostCompanions: String?

  /// Why the version takes no other's place any more, if that is proved: it cannot be restored, or what comes back is no
  /// sound database, and nobody knew. Rows that are missing, and a query without an answer, are for a person to judge.
  var damage: String? {
    let isBroken = image.isBroken && !wasDamaged
    if let lostCompanions, !isBroken { return CompanionLoss.text(String(lostCompanions.prefix(1000))) }
    guard isBroken || !isRestored else { return nil }
    let finding = String((image.findings.first ?? "it cannot be restored").prefix(1000))
    return isBroken ? Self.ofImage + finding : finding
  }

  /// Whether what was found before can be taken back by what was looked at now: an SQLite that cannot check the image says
  /// nothing against one that could.
  func mayTakeBack(_ known: String?) -> Bool {
    guard let known, Self.isOfImage(known) else { return true }
    return image.isChecked
  }

  private static let ofImage = "what was restored is no sound database: "

  /// Whether a version was found damaged though all of its bytes are at the target.
  static func isOfImage(_ damage: String) -> Bool { damage.hasPrefix(ofImage) }
}
