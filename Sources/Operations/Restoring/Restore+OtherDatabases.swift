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
      guard let met = moved.meeting(RestorePlaces.names(of: place), of: name) else { continue }
      world.reporter.notice(
        "'\(name)' lies in what is moved aside, \(met.other.path): in its place comes what '\(met.other.owner)' had there "
          + "when this version of it was pushed")
    }
  }

  /// Of a configuration: databases that would be restored into one another's places, so that `restore --all` would leave
  /// one of them out.
  package static func overlaps(among databases: [DatabaseSource]) -> [String] {
    var claimed = ClaimedPlaces()
    var remarks: [String] = []
    for source in databases {
      let places = RestorePlaces.ofDatabase(at: source.path) + RestorePlaces.ofCompanions(of: source)
      if let met = claimed.meeting(places, of: source.name) {
        remarks.append("where they are restored, \(met.text): `restore --all` would bring back one of the two only")
      }
      claimed.add(places, of: source.name)
    }
    return remarks
  }
}
