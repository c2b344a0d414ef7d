import Sealing

/// What restoring the version takes.
extension VersionWriter {
  /// What restoring all members costs, by the frames that their units lie in.
  func cost(of members: [PlacedMember]) -> RestoreCost {
    var cost = RestoreCost()
    for member in members {
      var unit = 0
      for index in 0..<member.runs.count {
        let run = member.runs[index]
        let place = run.location
        if place.pack == UnitLocation.newFrame {
          cost.add(new: place.frame, packs.costs[Int(place.frame)], known)
        } else if place.pack != UnitLocation.zeros, let ordinal = known.frame(at: place) {
          // The last unit of a file is mostly shorter.
          let end = min((unit + Int(run.count)) * member.unitSize, member.length)
          cost.add(known: ordinal, bytes: end - unit * member.unitSize, known)
        }
        unit += Int(run.count)
      }
    }
    return cost
  }

  /// That, beside what the version would take by itself. Where it needs clearly more than its frames say that this is,
  /// the database image is looked at, too: after a great change they are of what was deleted.
  /// - Parameter read: all members; the database image comes first.
  func needs(_ cost: RestoreCost, of read: ReadMembers) async throws -> VersionNeeds {
    let needs = cost.needs(for: read.length, known)
    guard needs.areWorthALook, let image = draft.members.first, image.unitType == .page, let placed = read.placed.first
    else { return needs }
    let density = try await PageDensity.look(at: image, length: placed.length, encoders)
    return cost.needs(for: read.length, density: density.value, known)
  }
}
