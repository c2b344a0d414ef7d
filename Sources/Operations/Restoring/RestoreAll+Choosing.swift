import Repositories
import Sealing
import Storage

/// Which version of each database is meant, and where it would come to lie: of all, before the first one is fetched.
extension RestoreAll {
  struct Choice {
    let database: ChainsByDatabase.Database
    /// Of the database itself.
    let places: [String]
    /// Or why it cannot be had.
    var version: Result<Version, any Error>
    /// Why it is left out though it could be had.
    var collision: OperationError?
    /// Databases that lie in what comes with it.
    var nested: [NestedDatabase] = []
    /// Those of them that come to lie in folders that it brings.
    var precedes: [String] = []
    /// Those of them whose own folder it brings.
    var bringsFolderOf: [String] = []
  }

  /// All but the manifest, which is read again at its turn: it may be long, and there may be many.
  struct Version {
    let facts: VersionFacts
    let words: Annotations?
    let standIn: FoundVersion.StandIn?
    /// Places of what comes with it.
    var companions: [String]
    /// `nil` where nothing would be written.
    var room: RestoreRoom?
  }

  /// - Throws: `.cancelled`.
  func choose(
    of databases: [ChainsByDatabase.Database], _ work: Work, _ target: TargetAccess, _ chains: ChainsByDatabase
  ) async throws -> [Choice] {
    var choices: [Choice] = []
    for database in databases {
      let (path, request) = place(of: database.name, work)
      let places = RestorePlaces.ofDatabase(at: path)
      do {
        let version = try await newest(of: database, at: path, request, target, chains)
        choices.append(Choice(database: database, places: places, version: .success(version)))
      } catch {
        guard OperationError(error).kind != .cancelled else { throw error }
        choices.append(Choice(database: database, places: places, version: .failure(error)))
      }
    }
    return choices
  }

  private func newest(
    of database: ChainsByDatabase.Database, at path: String, _ request: Restore.Request, _ target: TargetAccess,
    _ chains: ChainsByDatabase
  ) async throws -> Version {
    let facts = try await chains.newest(of: database, isNoted: true)
    let lost = await chains.lostWords(of: facts)
    let words = await chains.words(of: facts)
    for problem in [lost, words?.unread].compactMap({ $0 }) {
      pull.world.reporter.notice("\(target.name): \(problem.message). \(problem.hint ?? "")")
    }
    let found = try await read(facts, words, target, chains)
    var standIn: FoundVersion.StandIn?
    if found.summary.isFlawed, let history = try? await chains.history(of: facts, database) {
      standIn = FoundVersion.newestSound(besides: facts, in: history, words)
    }
    let companions = RestorePlaces.ofCompanions(of: found, request, beside: path)
    return Version(
      facts: facts, words: words, standIn: standIn, companions: companions, room: room(for: found, at: path, request))
  }

  func read(
    _ facts: VersionFacts, _ words: Annotations?, _ target: TargetAccess, _ chains: ChainsByDatabase
  ) async throws -> FoundVersion {
    let state = StateFolder(reading: pull.world.stateFolder, repository: chains.repository.id)
    let manifest = try await chains.repository.readManifest(facts.name, state: state)
    // None that was forgotten is chosen.
    var found = try FoundVersion(
      manifest, chains.repository, state, target: target.name, words: words, isForgotten: false)
    found.leavesCompanions = pull.leavesCompanions
    return found
  }

  /// Where a database comes to lie, and how that is asked for.
  func place(of database: String, _ work: Work) -> (path: String, request: Restore.Request) {
    switch work {
    case .pull(let folder):
      let path = "\(folder)/\(Self.fileName(database))"
      return (path, Restore.Request(place: .file(path)))
    case .restore(var request, let paths):
      let path = paths.value(ofName: database) ?? ""
      request.place = .home(path)
      request.configured = paths
      return (path, request)
    }
  }

  /// `NAME.sqlite`; what cannot stand in the name of a file becomes `_`.
  static func fileName(_ database: String) -> String {
    let name = database.asFileName
    return name.hasPrefix(".") ? "_\(name).sqlite" : "\(name).sqlite"
  }

  /// What is no database image cannot be made over: of all, it is the one that stays as it is.
  func suited(to found: FoundVersion) -> Pull {
    guard !pull.makeOver.isNothing, !found.isImage else { return pull }
    var plain = pull
    plain.makeOver = MakeOver()
    return plain
  }

  // MARK: One beside the other

  /// Marks what would not stay as it was restored, or would take the place of what was: of others than nested ones the first
  /// goes before.
  func keepApart(
    _ choices: inout [Choice], _ work: Work, _ target: TargetAccess, _ chains: ChainsByDatabase
  ) async throws {
    try await nest(&choices, work, target, chains)
    var (taken, nested) = (ClaimedPlaces(), NestedPlaces())
    for choice in choices { nested.note(choice.nested, in: choice.database.name) }
    for (index, choice) in choices.enumerated() where choice.collision == nil {
      guard case .success(let version) = choice.version else { continue }
      let (name, all) = (choice.database.name, choice.places + version.companions)
      if let met = taken.meeting(all, of: name, unless: nested.areSettled) {
        choices[index].collision = Self.collision(met, work)
      } else {
        taken.add(all, of: name)
      }
    }
  }

  static func collision(_ met: ClaimedPlaces.Meeting, _ work: Work) -> OperationError {
    let hint =
      if case .pull = work {
        "Fetch it by itself with -o FILE."
      } else {
        "Restore it by itself: with --to FILE, where companions come to lie in FILE.companions, or with --no-companions."
      }
    return OperationError(
      .usage, code: "placesCollide", "\(met.text): '\(met.own.owner)' is left out", hint: hint)
  }

  // MARK: All of them on one disk

  func room(for found: FoundVersion, at path: String, _ request: Restore.Request) -> RestoreRoom? {
    let state = pull.world.stateFolder
    // What stands there is the version, or in the way.
    if request.mode == .new, CompanionsPlace.stands(path) { return nil }
    let real = request.mode == .new ? path : (try? Restore.realPlace(of: path)) ?? path
    return request.mode == .live
      ? RestoreRoom(found, intoUnread: real, keepsUndo: request.keepsUndo, state: state)
      : RestoreRoom(found, beside: real, suited(to: found).makeOver, state: state)
  }

  /// Before hours are spent on what will end without room.
  func tellShortage(of choices: [Choice]) {
    var room = RoomOfAll(freeBytes)
    for choice in choices {
      guard choice.collision == nil, case .success(let version) = choice.version, let needed = version.room,
        let short = room.add(needed)
      else { continue }
      pull.world.reporter.notice("'\(choice.database.name)': \(short.text)")
    }
  }

  /// The same of a rehearsal.
  /// - Throws: `.failed`, code `noSpace`, for what surely does not fit.
  func demandRoom(for done: inout Done, in room: inout RoomOfAll) throws {
    guard let needed = done.preview?.room, let short = room.add(needed) else { return }
    guard !short.isSure else { throw short.error }
    done.preview?.doubtOfAll = short.text
  }
}
