import Sealing
import Storage

/// Databases that lie in what comes with others, which have copies of their files. They are brought back from versions of
/// their own; the others come first, as they bring the folders.
extension RestoreAll {
  /// Finds them, and puts each behind those in whose companions it lies.
  /// - Throws: `.cancelled`.
  func nest(_ choices: inout [Choice], _ work: Work, _ target: TargetAccess, _ chains: ChainsByDatabase) async throws {
    guard case .restore(_, let paths) = work else { return }
    let chosen = choices.map { choice in
      NestedDatabase(
        name: choice.database.name, places: choice.places,
        companions: (try? choice.version.get())?.companions ?? [])
    }
    let known = chosen + Self.standing(at: paths, besides: choices)
    var databases = ClaimedPlaces()
    for one in known { databases.add(one.places, of: one.name) }
    for (index, choice) in choices.enumerated() {
      let name = choice.database.name
      guard case .success(let version) = choice.version, databases.meeting(version.companions, of: name) != nil
      else { continue }
      do {
        let inner = NestedDatabase.among(known, in: version.companions, of: name)
        choices[index] = try await choice.leaving(inner, work, self, target, chains)
      } catch {
        guard OperationError(error).kind != .cancelled else { throw error }
        choices[index].version = .failure(error)
      }
    }
    choices = Self.outerFirst(choices)
  }

  /// Databases of the configuration that have no version here, as those of another target. What stands of them is not
  /// restored over; where nothing does, what another one has of them is all that there is.
  private static func standing(at paths: [String: String], besides choices: [Choice]) -> [NestedDatabase] {
    let meant = Set(choices.map { ExactName($0.database.name) })
    return paths.sorted { $0.key < $1.key }.compactMap { name, path in
      let places = RestorePlaces.ofDatabase(at: path)
      guard !meant.contains(ExactName(name)), places.contains(where: CompanionsPlace.stands) else { return nil }
      return NestedDatabase(name: name, places: places, companions: [])
    }
  }

  /// Each is behind all that are to come before it, by themselves or for one in between. What lies in two that lie in one
  /// another is behind both.
  private static func outerFirst(_ choices: [Choice]) -> [Choice] {
    var outer: [ExactName: Set<ExactName>] = [:]
    for choice in choices where choice.collision == nil {
      for name in choice.precedes + choice.bringsFolderOf {
        outer[ExactName(name), default: []].insert(ExactName(choice.database.name))
      }
    }
    let ordered = choices.enumerated().map { index, choice in
      (depth: before(ExactName(choice.database.name), outer).count, index: index, choice: choice)
    }
    return ordered.sorted { ($0.depth, $0.index) < ($1.depth, $1.index) }.map(\.choice)
  }

  private static func before(_ name: ExactName, _ outer: [ExactName: Set<ExactName>]) -> Set<ExactName> {
    var (found, waiting): (Set<ExactName>, [ExactName]) = ([], [name])
    while let next = waiting.popLast() {
      for one in outer[next] ?? [] where one != name && found.insert(one).inserted { waiting.append(one) }
    }
    return found
  }

  /// Its folder is not there, and would be by then: another one brings it.
  /// - Parameter done: what would have been restored before.
  func awaitsFolder(_ choice: Choice, _ choices: [Choice], _ done: [Done]) -> Bool {
    let name = choice.database.name
    let bringing = choices.filter { $0.bringsFolderOf.containsName(name) }.map(\.database.name)
    return done.contains { one in !one.alreadyThere && bringing.containsName(one.database) }
  }

  /// What helps where the folder of a database did not come with another one.
  func wayToFolder(of name: String, _ choices: [Choice], _ done: [Done]) -> String? {
    let outer = choices.first { $0.collision == nil && $0.precedes.containsName(name) }
    guard let outer else { return nil }
    let other = outer.database.name
    guard done.contains(where: { other.isSameName(as: $0.database) }) else {
      return "It lies in what comes with '\(other)', which was not restored: restore that first; where it cannot be "
        + "had, make the folder and run again."
    }
    guard !outer.bringsFolderOf.containsName(name) else { return nil }
    return "It lies in what comes with '\(other)', whose version has no such folder: make it when that is "
      + "restored, and run again without --replace (what stands there by then is done)."
  }

  func tell(left: [(member: Core.Member, places: [String])], of choice: Choice) {
    guard !left.isEmpty else { return }
    let names = Self.some(choice.nested.map { "'\($0.name)'" })
    let begin = "'\(choice.database.name)': left out of what comes with it"
    var databases = ClaimedPlaces()
    for one in choice.nested { databases.add(one.places, of: one.name) }
    let files = left.filter { $0.member.content != .folder }
    let own = files.filter { $0.places.contains(where: databases.holds) }.map(\.member.path)
    if !own.isEmpty { pull.world.reporter.notice("\(begin), as it belongs to \(names): \(Self.some(own))") }
    // What is excluded there, or came later, may be in this version alone.
    let others = files.filter { !$0.places.contains(where: databases.holds) }.map(\.member.path)
    guard !others.isEmpty else { return }
    pull.world.reporter.notice(
      "\(begin), and left to \(names), whether a version of that has it or not: \(Self.some(others)) (--to FILE brings it, "
        + "into FILE.companions, where '\(choice.database.name)' is restored by itself)")
  }

  func tellUndo(of done: Done, _ choice: Choice) {
    guard done.outcome?.undo != nil, !choice.precedes.isEmpty else { return }
    let names = choice.precedes.map { "'\($0)'" }
    pull.world.reporter.notice(
      "'\(choice.database.name)': to take it back takes along what is restored into its folders: \(Self.some(names))")
  }

  /// A folder may have a database of each of a thousand tenants in it.
  private static func some(_ names: [String]) -> String {
    (names.first ?? "") + (names.count > 1 ? " and \(names.count - 1) more" : "")
  }
}

extension RestoreAll.Choice {
  /// Of databases that may be restored into what comes with it.
  var claims: ClaimedPlaces { NestedDatabase.claims(of: nested) }

  /// The same without what belongs to databases that lie in its companions. It is left out itself where what stands of those
  /// would be moved aside with a folder, or where they would not find a place.
  fileprivate func leaving(
    _ inner: [NestedDatabase], _ work: RestoreAll.Work, _ all: RestoreAll, _ target: TargetAccess,
    _ chains: ChainsByDatabase
  ) async throws -> Self {
    var (choice, version) = (self, try self.version.get())
    choice.nested = inner
    let (path, request) = all.place(of: database.name, work)
    var found = try await all.read(version.facts, version.words, target, chains)
    let left = found.leave(to: choice.claims, request, beside: path)
    let members = RestorePlaces.ofMembers(of: found, request, beside: path)
    version.companions = RestorePlaces.ofCompanions(of: found, request, beside: path)
    version.room = all.room(for: found, at: path, request)
    choice.version = .success(version)
    let obstacle = choice.obstacle(among: members)
    let met =
      obstacle
      ?? choice.disturbance(in: version.companions, of: path, isLeaving: !left.isEmpty, request.mode)
      ?? choice.lossOfFolder(in: version.companions, of: members, request.mode)
    choice.collision = met.map { RestoreAll.collision($0, work) }
    if let met, request.mode == .new, obstacle == nil { choice.offerMove(of: met) }
    let inside = inner.filter { $0.isInside(version.companions) }
    let folders = Set(members.filter { $0.member.content == .folder }.flatMap(\.places).map(MemberPath.key))
      .union(version.companions.flatMap(MemberPath.ancestors))
      .subtracting(choice.places.flatMap(MemberPath.ancestors))
    choice.precedes = inside.map(\.name)
    // Also of one that is a companion by itself, where another companion lies beside it.
    choice.bringsFolderOf = inner.filter { one in
      one.places.contains { folders.contains(MemberPath.key(PathSteps.folder(of: $0))) }
    }.map(\.name)
    return choice
  }

  /// A folder that stands where neither the database does nor anything of those in it, as on a machine that was set up
  /// before, is easily moved away.
  private mutating func offerMove(of met: ClaimedPlaces.Meeting) {
    let stands =
      nested.contains { $0.places.contains(where: CompanionsPlace.stands) }
      || places.contains(where: CompanionsPlace.stands)
    guard !stands, let hint = collision?.hint else { return }
    collision?.message =
      "\(met.own.path), which comes with '\(database.name)', stands already, and '\(met.other.owner)' belongs there: "
      + "'\(database.name)' is left out"
    collision?.hint = "Move it away with what is in it and run again: both have a place then. \(hint)"
  }

  /// A file where the folder of such a database is to be. A link leads to it.
  private func obstacle(among members: [(member: Core.Member, places: [String])]) -> ClaimedPlaces.Meeting? {
    let theirs = claims
    for place in members.filter({ $0.member.file != nil }).flatMap(\.places) {
      guard let claim = theirs.claim(below: place) else { continue }
      return ClaimedPlaces.Meeting(own: ClaimedPlaces.Claim(owner: database.name, path: place), other: claim)
    }
    return nil
  }

  /// The folder of such a database that nothing stands of would be moved aside, and the version has none for its place.
  private func lossOfFolder(
    in tops: [String], of members: [(member: Core.Member, places: [String])], _ mode: Restore.Mode
  ) -> ClaimedPlaces.Meeting? {
    guard mode != .new else { return nil }
    let others = members.filter { $0.member.file == nil }
    let links = others.filter { $0.member.content != .folder }
    func keys(_ some: [(member: Core.Member, places: [String])]) -> Set<[UInt8]> {
      Set(some.flatMap(\.places).map(MemberPath.key))
    }
    let (made, leading) = (keys(others), keys(links))
    for top in tops {
      for one in nested {
        let place = one.places.first { place in
          let folder = PathSteps.folder(of: place)
          return MemberPath.isAbove(top, folder) && CompanionsPlace.stands(folder)
            && !made.contains(MemberPath.key(folder))
            && !MemberPath.ancestors(of: folder).contains(where: leading.contains)
        }
        guard let place else { continue }
        return ClaimedPlaces.Meeting(
          own: ClaimedPlaces.Claim(owner: database.name, path: top),
          other: ClaimedPlaces.Claim(owner: one.name, path: place))
      }
    }
    return nil
  }

  /// What stands of such a database is the only copy of what was not pushed yet: it is moved aside for nobody. Where nothing
  /// is replaced, a folder that stands is in the way by itself, unless a restore of this one that was killed has put it.
  /// - Parameter isLeaving: something of the version belongs to one of them.
  private func disturbance(
    in tops: [String], of path: String, isLeaving: Bool, _ mode: Restore.Mode
  ) -> ClaimedPlaces.Meeting? {
    let intent = NewIntent(database: path)
    for top in tops where mode != .new || isLeaving && CompanionsPlace.stands(top) && !intent.isLeft(top) {
      for one in nested {
        let place = one.claims.first { place in
          MemberPath.isAbove(top, place) && (mode == .new || CompanionsPlace.stands(place))
        }
        guard let place else { continue }
        return ClaimedPlaces.Meeting(
          own: ClaimedPlaces.Claim(owner: database.name, path: top),
          other: ClaimedPlaces.Claim(owner: one.name, path: place))
      }
    }
    return nil
  }
}
