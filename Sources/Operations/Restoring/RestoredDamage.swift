import Sealing

/// What is told of a version that came back as it was pushed: damaged. It may be all that is left, so it is not refused;
/// but nobody is to take it for a sound database.
extension Pull.Outcome {
  /// `check` begins with it where SQLite found damage.
  static let damagedPrefix = "damaged: "

  /// - Returns: `.verificationFailed`, code `restoredDamaged`, to be told when the file is where it was to be; `nil` for
  ///   what is sound, not checkable, or no database.
  package var damage: OperationError? {
    guard check.hasPrefix(Self.damagedPrefix) else { return nil }
    return OperationError(
      .verificationFailed, code: "restoredDamaged",
      "'\(version.database)' of \(Times.seconds(version.time)), version \(version.id.prefix(8)), came back \(check)",
      hint: "Its content is what was pushed. \(wayOut); sqlite3's .recover saves what can be read.")
  }

  private var wayOut: String {
    guard let standIn else { return "`sealift list` shows earlier versions" }
    return
      "Version \(standIn.id.prefix(12)) of \(Times.seconds(standIn.time)) is the newest that was sound when it was pushed"
  }
}

extension Restore.Outcome {
  /// The same, with the way back where something stood in its place.
  package var damage: OperationError? {
    guard var damage = pulled.damage else { return nil }
    if let undo { damage.hint = damage.hint.map { "\($0) To take this back: \(undo)" } }
    return damage
  }
}
