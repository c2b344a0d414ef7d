import Storage

/// A database that lies where what comes with another one comes to lie (Decisions/0015).
struct NestedDatabase {
  let name: String
  /// Of the database, and of what SQLite keeps beside it.
  let places: [String]
  /// Of what comes with it.
  let companions: [String]

  init(name: String, places: [String], companions: [String]) {
    self.name = name
    self.places = places
    self.companions = companions
  }

  init(_ source: DatabaseSource) {
    self.init(
      name: source.name, places: RestorePlaces.ofDatabase(at: source.path),
      companions: RestorePlaces.ofCompanions(of: source))
  }

  /// Those that lie in what comes with one database. What comes with them counts as far as it lies there too.
  /// - Parameters:
  ///   - tops: where that comes to lie.
  ///   - outer: whose it is.
  static func among(_ databases: [NestedDatabase], in tops: [String], of outer: String) -> [NestedDatabase] {
    var claims = ClaimedPlaces()
    claims.add(tops, of: outer)
    return databases.filter { claims.meeting($0.places, of: $0.name) != nil }.map { database in
      let inside = database.companions.filter { path in tops.contains { MemberPath.isAbove($0, path) } }
      return NestedDatabase(name: database.name, places: database.places, companions: inside)
    }
  }

  /// What is left to them.
  static func claims(of databases: [NestedDatabase]) -> ClaimedPlaces {
    var claims = ClaimedPlaces()
    for one in databases { claims.add(one.claims, of: one.name) }
    return claims
  }

  /// What is left to it.
  var claims: [String] { places + companions }

  /// Whether it lies in one of these folders.
  func isInside(_ tops: [String]) -> Bool {
    claims.contains { path in tops.contains { MemberPath.isAbove($0, path) } }
  }
}

/// Which databases lie in what comes with which others. What they have there is left to them, so that both may be restored.
struct NestedPlaces {
  /// Names, by those of the outer ones.
  private var inner: [ExactName: Set<ExactName>] = [:]

  mutating func note(_ databases: [NestedDatabase], in outer: String) {
    inner[ExactName(outer), default: []].formUnion(databases.map { ExactName($0.name) })
  }

  /// One of the two lies in the other, which leaves it out.
  func areSettled(_ one: ClaimedPlaces.Claim, _ other: ClaimedPlaces.Claim) -> Bool {
    isLeft(one, by: other) || isLeft(other, by: one)
  }

  private func isLeft(_ claim: ClaimedPlaces.Claim, by outer: ClaimedPlaces.Claim) -> Bool {
    inner[ExactName(outer.owner)]?.contains(ExactName(claim.owner)) == true
      && MemberPath.isAbove(outer.path, claim.path)
  }
}
