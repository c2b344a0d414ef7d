/// What is said of a version of which files that came with the database are lost, and the database itself is whole. The
/// words at the beginning tell it (`Docs/Format.md` §8.3): earlier programs take them for any damage.
package enum CompanionLoss {
  private static let words = "the database is whole, and companions are lost: "

  /// - Parameter what: is lost.
  static func text(_ what: String) -> String { words + what }

  /// Whether what was found damaged of a version spares its database.
  package static func isMeant(by damage: String) -> Bool { damage.hasPrefix(words) }
}

extension VersionSummary {
  /// It was found damaged since it was pushed, and its database comes back all the same.
  package var losesCompanionsAlone: Bool { foundDamaged.map(CompanionLoss.isMeant(by:)) ?? false }
}
