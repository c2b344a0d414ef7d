import Glibc
import Snapshots
import Storage

/// Puts restored companions beside the database that they belong to.
struct CompanionsPlace: Sendable {
  /// The folder of a Core Data store's external files gets the name that belongs to the database's in either.
  enum Layout: Sendable {
    /// Where an application looks for them: in the folder of its database, under their own names.
    case inPlace
    /// All in `FILE.companions`.
    case apart
  }

  /// The path that the database has, or is about to get.
  private let database: String
  private let staged: StagedCompanions
  private let layout: Layout
  /// Called right before something gets its place; for tests.
  var placing: @Sendable (_ place: String) throws -> Void = { _ in }

  /// What was done, and how to undo it.
  package struct Placed: Sendable {
    /// Paths that were put there.
    package var made: [String] = []
    /// What stood there before, and where it is now.
    package var movedAside: [(from: String, to: String)] = []
    /// Those of `made` that are SQLite databases.
    var databases: [String] = []
    /// Commands for a shell that put everything back, to be joined by `&&`. What was put there, and what an application
    /// has written into it since, stays under the name `NAME.undone-<time>`, with what SQLite keeps beside a database;
    /// run twice, they do nothing more.
    package var undo: [String] = []
    let time: String
    /// Those that all of these stand in, by their paths.
    fileprivate var folders: [[UInt8]: FolderHandle] = [:]

    fileprivate init(_ time: String) { self.time = time }

    fileprivate func held(_ path: String) -> HeldPlace? {
      folders[MemberPath.key(PathSteps.folder(of: path))].map { HeldPlace($0, path) }
    }
  }

  /// What is still not as it was.
  struct TakenBack {
    /// Paths of what could not be put back.
    var left: [String] = []
    /// Paths of what was put there, and is kept.
    var undone: [String] = []
  }

  init(_ staged: StagedCompanions, beside database: String, _ layout: Layout = .inPlace) {
    self.staged = staged
    self.database = database
    self.layout = layout
  }

  /// What would stand where, by member.
  var places: [Place] { Self.places(staged.tops, support: staged.supportFolder, beside: database, layout) }

  /// - Returns: `member` is `nil` for all that has no place of its own: it comes last.
  static func places(
    _ tops: [String], support: String?, beside database: String, _ layout: Layout
  ) -> [Place] {
    let (folder, apart) = (PathSteps.folder(of: database), StagedCompanions.places(beside: database))
    let own = tops.filter { layout == .inPlace || $0 == support }
    return own.map { top in (top, top == support ? apart.support : RestoredFile.path(top, in: folder)) }
      + (own.count == tops.count ? [] : [(nil, apart.folder)])
  }

  typealias Place = (member: String?, path: String)

  /// The places, and all that would be taken for a part of what stands there.
  var claimed: [String] { places.map(\.path) + places.flatMap(sideFiles) }

  /// What is in the way.
  var existing: [String] { claimed.filter(Self.stands) }

  /// What would be moved aside under whoever has it open.
  var standing: StandingCompanions { StandingCompanions(at: places, isDatabase: staged.isDatabase) }

  /// What SQLite keeps beside a database that is about to be replaced, where the version has nothing for it: it is of
  /// another database than the one restored, and would be taken for its own (sqlite.org/howtocorrupt.html, 1.4).
  private func sideFiles(_ place: Place) -> [String] {
    guard let member = place.member, staged.isDatabase(member) else { return [] }
    return unnamedEndings(place)
  }

  private func unnamedEndings(_ place: Place) -> [String] {
    let taken = Set(places.map { MemberPath.key($0.path) })
    return SideFiles.endings.map { place.path + $0 }.filter { !taken.contains(MemberPath.key($0)) }
  }

  static func aside(_ path: String, _ time: String) -> String { "\(path).before-\(time)" }

  /// A time for the names of what is moved aside, with a number behind it when there is such a name: two restores may come
  /// within a second.
  static func freeTime(_ time: String, for paths: [String]) -> String {
    firstFreeName(time) { time in !paths.contains { stands(aside($0, time)) } }
  }

  static func stands(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Names everything, or nothing: what was done is undone when something fails.
  /// - Parameters:
  ///   - replacing: moves what exists aside, to `NAME.before-<time>`; otherwise that is refused.
  ///   - time: as it is written into that name.
  ///   - resuming: a restore that was killed has moved things aside at that time already. What it put in their place is
  ///     moved away, and what it moved aside stays where it is.
  ///   - goesAlong: the database's own undo takes `FILE.companions` along (`SetAside.goesAlong`).
  ///   - isLive: an application may write into what was put there at once: it is kept as `NAME.undone-<time>` then.
  /// - Throws: `.usage` for what is in the way.
  func put(
    replacing: Bool, time: String, resuming: Bool = false, goesAlong: Bool = false, isLive: Bool = false
  ) throws -> Placed {
    try Self.demandOwn(places, beside: database)
    if !replacing, let first = existing.first { try StagedCompanions.demandFree(first) }
    var placed = Placed(time)
    do {
      // Whatever fails then, all of what the earlier one has moved is put back.
      if resuming {
        for place in places {
          guard let held = try hold(place, making: false, &placed) else { continue }
          try moveAside(place, held, resuming: true, &placed)
        }
      }
      for place in places {
        guard let held = try hold(place, making: true, &placed) else { continue }
        if !resuming { try moveAside(place, held, resuming: false, &placed) }
        let isDatabase = place.member.map(staged.isDatabase) ?? false
        try placing(place.path)
        try staged.move(place.member, to: held)
        placed.made.append(place.path)
        if isDatabase { placed.databases.append(place.path) }
      }
      for folder in [staged.home] + placed.folders.values { try StagedCompanions.synchronize(folder, beside: database) }
    } catch {
      let left = takeBack(placed, keeping: isLive).left
      guard !left.isEmpty else { throw error }
      throw OperationError(error).leaving(
        "; and what was moved aside could not all be put back: \(left.joined(separator: ", "))")
    }
    placed.undo = undo(placed, leaving: goesAlong ? StagedCompanions.places(beside: database).folder : nil)
    staged.discard()
    return placed
  }

  /// No companion may take the place of the database or of its side files, nor of another companion.
  /// - Throws: `.usage`.
  static func demandOwn(_ places: [Place], beside database: String) throws {
    var taken = Set(([""] + SideFiles.endings).map { MemberPath.key(database + $0) })
    for place in places where !taken.insert(MemberPath.key(place.path)).inserted {
      throw OperationError(
        .usage, code: "companionInTheWay",
        "the companion '\(place.member ?? "")' would take the place of something else that is restored: \(place.path)",
        hint: "Restore to a new file with --to FILE: companions come to lie in FILE.companions then.")
    }
  }

  /// Puts back what was moved aside, and takes away what took its place.
  /// - Parameter keeping: an application may have written into it: it is kept as `NAME.undone-<time>`, not removed.
  @discardableResult
  func takeBack(_ placed: Placed, keeping: Bool) -> TakenBack {
    var taken = TakenBack()
    for place in placed.made.reversed().compactMap(placed.held) where place.stands {
      if keeping {
        let undone = place.undone(placed.time)
        if place.move(to: undone) { taken.undone.append(undone.path) }
      } else {
        place.remove()
      }
    }
    // Whoever has opened a database there meanwhile has files of its own beside it, which are not of the old one.
    let sides = placed.databases.flatMap { path in SideFiles.endings.map { path + $0 } }
    for place in sides.compactMap(placed.held) where place.stands { place.move(to: place.undone(placed.time)) }
    taken.left = placed.movedAside.reversed().filter { from, to in
      placed.held(to).map { !$0.move(to: $0.named(from)) } ?? true
    }.map(\.to)
    return taken
  }

  private func moveAside(_ place: Place, _ held: HeldPlace, resuming: Bool, _ placed: inout Placed) throws {
    let time = placed.time
    let strays = sideFiles(place).filter { held.named($0).stands }
    // Where the earlier one has moved them aside already, nothing need stand there any more.
    let earlier = resuming ? unnamedEndings(place).filter { held.named(Self.aside($0, time)).stands } : []
    let others = earlier.filter { path in !strays.contains { MemberPath.isSame($0, path) } }
    for path in [place.path] + strays + others { try moveAside(held.named(path), resuming: resuming, &placed) }
  }

  private func moveAside(_ place: HeldPlace, resuming: Bool, _ placed: inout Placed) throws {
    let aside = place.named(Self.aside(place.path, placed.time))
    if resuming, aside.stands {
      try place.moveAway(Times.compact(UInt64(max(0, time(nil))) * 1000))
      placed.movedAside.append((place.path, aside.path))
      return
    }
    guard place.stands else { return }
    try StagedCompanions.demandFree(aside)
    guard place.move(to: aside) else { throw OperationError.fileSystem("cannot move \(place.path) aside", errno) }
    placed.movedAside.append((place.path, aside.path))
  }

  /// - Throws: for what `put` could not do: something that stands on the way to a companion and is no folder, or in its place
  ///   and cannot be moved.
  static func demandWay(to places: [Place], beside database: String) throws {
    let home = PathSteps.folder(of: database)
    for member in places.compactMap(\.member) {
      guard var folder = FolderHandle(path: home) else { return }
      var path = home == "/" ? "" : home
      for component in MemberPath.components(member).dropLast() {
        guard folder.status(component) != nil else { break }
        guard let next = folder.folder(component) else { throw noWay(component, to: member) }
        (folder, path) = (next, "\(path)/\(component)")
        // What was fetched beside the database gets its name by a rename, which ends at the border of a mount.
        try demandUnmounted(path, "nothing can be moved into it")
      }
    }
    for place in places.map(\.path) where stands(place) { try demandUnmounted(place, "it cannot be moved aside") }
  }

  private static func demandUnmounted(_ path: String, _ consequence: String) throws {
    guard FileSystemKind.isMountPoint(path) else { return }
    throw OperationError(
      .failed, code: "mountPoint", "\(path) is a mount point: \(consequence)",
      hint: "Unmount it, or restore to a new file with --to FILE: companions come to lie in FILE.companions then.")
  }

  /// - Returns: an error that tells of `errno`.
  private static func noWay(_ component: String, to member: String) -> OperationError {
    var error = OperationError.fileSystem("'\(component)' on the way to '\(member)' is no folder", errno)
    error.hint = "Restore to a new file with --to FILE: companions come to lie in FILE.companions then."
    return error
  }

  /// Opens the folder of a place: of a companion that was named by a longer path, one below the database's. None between the
  /// two is a link.
  /// - Parameter making: makes those that are missing.
  /// - Returns: `nil` where there is none, and none is to be made.
  private func hold(_ place: Place, making: Bool, _ placed: inout Placed) throws -> HeldPlace? {
    // All that has its place in one folder is taken back from that one, whatever has its name by then.
    if let held = placed.held(place.path) { return held }
    var folder = staged.home
    for component in MemberPath.components(of: place.path, below: PathSteps.folder(of: database)).dropLast() {
      let isNew = making && mkdirat(folder.descriptor, component, 0o755) == 0
      guard let next = folder.folder(component) else {
        guard making else { return nil }
        throw Self.noWay(component, to: place.member ?? "")
      }
      if isNew { staged.giveOwner(next) }
      folder = next
    }
    placed.folders[MemberPath.key(PathSteps.folder(of: place.path))] = folder
    return HeldPlace(folder, place.path)
  }
}
