import Storage

extension Restore {
  /// What comes with a version takes the place of whole folders, in which other databases may lie: theirs is an older content
  /// then, as it was when this version was pushed.
  /// - Parameter path: of the restored database, without links.
  func tellDatabasesMovedAside(by found: FoundVersion, beside path: String, _ request: Request) {
    let standing = found.companionPlaces(of: request, beside: path).map(\.path).filter(CompanionsPlace.stands)
    guard request.mode != .new, !standing.isEmpty else { return }
    var moved = ClaimedPlaces()
    moved.add(standing, of: found.summary.database)
    for (name, place) in request.configured.sorted(by: { $0.key < $1.key }) where CompanionsPlace.stands(place) {
      let names = RestorePlaces.names(of: place)
      guard let met = moved.meeting(names, of: name) else { continue }
      var claims = ClaimedPlaces()
      claims.add(names, of: name)
      let comes = RestorePlaces.ofMembers(of: found, request, beside: path).contains { member in
        member.places.contains(where: claims.holds)
      }
      let instead =
        comes
        ? "in its place comes what '\(met.other.owner)' had there when this version of it was pushed"
        : "nothing comes in its place, as the version of '\(met.other.owner)' has no such file: move it back"
      world.reporter.notice("'\(name)' lies in what is moved aside, \(met.other.path): \(instead)")
    }
  }

  /// Of a configuration: databases that lie in what comes with others, and those that would be restored into one another's
  /// places, so that `restore --all` would leave one of them out.
  package static func overlaps(among databases: [DatabaseSource]) -> [String] {
    let all = databases.map { NestedDatabase($0) }
    var (places, nested) = (ClaimedPlaces(), NestedPlaces())
    for one in all { places.add(one.places, of: one.name) }
    var remarks: [String] = []
    var claims: [[String]] = []
    for (source, one) in zip(databases, all) {
      var companions = one.companions
      if places.meeting(companions, of: one.name) != nil {
        let inner = NestedDatabase.among(all, in: companions, of: one.name)
        nested.note(inner, in: one.name)
        companions.removeAll(where: NestedDatabase.claims(of: inner).holds)
        remarks += inner.compactMap(source.meeting).map { met in
          "where they are restored, \(met.text): `restore --all` brings '\(met.other.owner)' from its own versions; keep it "
            + "out of those of '\(one.name)' (\"exclude\" of the companion)"
        }
      }
      claims.append(one.places + companions)
    }
    var claimed = ClaimedPlaces()
    for (one, paths) in zip(all, claims) {
      if let met = claimed.meeting(paths, of: one.name, unless: nested.areSettled) {
        remarks.append("where they are restored, \(met.text): `restore --all` would bring back one of the two only")
      }
      claimed.add(paths, of: one.name)
    }
    return remarks
  }
}

extension DatabaseSource {
  /// Where its versions hold files of another database, which has versions of its own.
  fileprivate func meeting(_ other: NestedDatabase) -> ClaimedPlaces.Meeting? {
    for companion in companions {
      let patterns = ExcludePatterns(companion.exclude)
      for top in RestorePlaces.places(of: companion, beside: path) {
        let place = other.places.first { place in
          MemberPath.isSameOrAbove(top, place)
            && !patterns.excludesOnWay(MemberPath.components(of: place, below: top)[...])
        }
        guard let place else { continue }
        return ClaimedPlaces.Meeting(
          own: ClaimedPlaces.Claim(owner: name, path: top), other: ClaimedPlaces.Claim(owner: other.name, path: place))
      }
    }
    return nil
  }
}
