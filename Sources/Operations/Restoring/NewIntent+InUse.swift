import Repositories

/// What a restore that was killed has put somewhere may be in use since: by a program that has a database in it open, or as
/// the place of a database that is configured. It is in the way then, as anything of somebody else's.
extension NewIntent {
  /// - Throws: `.failed` (`databaseInUse`).
  func demandNobody() throws { try Self.demandNobody(in: left) }

  /// Nor has anybody what is in the way: what the hint says of it would part a database from what is committed beside it.
  func demandNobody(in place: String) throws {
    if isNoted(place) { try Self.demandNobody(in: [place]) }
  }

  private static func demandNobody(in paths: [String]) throws {
    let places = paths.map { path -> CompanionsPlace.Place in (path, path) }
    try DatabaseUse.demandNobody(at: StandingCompanions(at: places))
  }

  /// An application that has not written there yet is seen by nobody.
  /// - Throws: `.usage` (`destinationExists`).
  func demandNone(of configured: [String: String]) throws {
    for place in left {
      var claimed = ClaimedPlaces()
      claimed.add(RestorePlaces.names(of: place), of: database)
      for (name, path) in configured.sorted(by: { $0.key < $1.key }) where CompanionsPlace.stands(path) {
        guard RestorePlaces.names(of: path).contains(where: claimed.holds) else { continue }
        throw OperationError(
          .usage, code: "destinationExists",
          "\(place) exists already, and '\(name)' lies in it: an earlier restore of \(database) that did not end put that "
            + "there, and the database may be in use since",
          hint: Self.keeping(place))
      }
    }
  }

  /// Of what is in the way, though a restore that was killed has put something there: why it is, and how to keep it.
  func explained(_ error: OperationError, at place: String) -> OperationError {
    guard error.code == "destinationExists", isNoted(place) else { return error }
    return error.leaving(
      ": an earlier restore of \(database) that did not end put something there, which is not as it was then",
      hint: Self.keeping(place))
  }

  /// What the hint of such an error says of that; `nil` of any other.
  static func keeping(_ error: OperationError) -> String? {
    error.hint.flatMap { $0.hasPrefix(keep) ? $0 : nil }
  }

  private static let keep = "To keep what stands there under another name: "

  private static func keeping(_ place: String) -> String {
    let database = ReadTogether.database(of: place) ?? place
    let endings = (SideFiles.endings + [""]).filter { CompanionsPlace.stands(database + $0) }
    let other = firstFreeName("\(database).kept") { name in endings.allSatisfy { !CompanionsPlace.stands(name + $0) } }
    let moves = endings.map { "mv -nT -- \(shellQuoted(database + $0)) \(shellQuoted(other + $0))" }
    return keep + moves.joined(separator: " && ")
  }
}
