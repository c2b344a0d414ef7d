import Sealift

/// What became of all pushes of one run: each database at each target.
struct PushReport {
  private(set) var pushed: [Push.Pushed] = []
  private(set) var failures: [(database: String, target: String?, error: OperationError)] = []
  private var damages: [OperationError] = []
  /// What is safe, but not all of it; and machines that take turns under one name.
  private var shortfalls: [OperationError] = []
  private var interruption: OperationError?
  /// What was to be pushed, in the order in which it is told.
  private let places: [Place]

  /// A database and one of its targets; `nil` is all of them.
  private struct Place: Hashable {
    let database: String
    let target: String?

    init(database: String, target: String?) {
      self.database = database
      self.target = target
    }

    init(_ pushed: Push.Pushed) { self.init(database: pushed.version.database, target: pushed.version.target) }
  }

  init(of wishes: [RunTurn.Wish] = []) {
    places = wishes.flatMap { wish in wish.targets.map { Place(database: wish.database.name, target: $0) } }
  }

  /// Whether a database has its turn. Once the work was cancelled nothing more is begun, and what could be pushed to no
  /// target cannot be pushed to the others.
  func awaits(_ database: DatabaseSource) -> Bool {
    interruption == nil && !failures.contains { $0.target == nil && $0.database.isSameName(as: database.name) }
  }

  /// Pushes one database. Its failure is kept, and the next one is pushed all the same.
  mutating func push(_ request: Push.Request, _ world: World, _ terminal: Terminal) async {
    let name = request.database.name
    do {
      let outcome = try await Push(world).run(request)
      pushed += outcome.pushed
      for failure in outcome.failures { failed(name, failure.target, failure.error) }
      if let damage = outcome.damage { damages.addOnce(damage) }
      for shortfall in outcome.shortfalls + outcome.pushed.compactMap(\.turnTaken) { shortfalls.addOnce(shortfall) }
      if !terminal.manner.json { for one in outcome.pushed { terminal.report(Self.line(one)) } }
      interruption = outcome.interruption
    } catch {
      let error = OperationError(error)
      if error.kind == .cancelled { interruption = error } else { failed(name, nil, error) }
    }
  }

  mutating func failed(_ database: String, _ target: String?, _ error: OperationError) {
    failures.append((database, target, error))
  }

  /// Says what is left to say. What could not be verified counts most; least of the failures a push that is running already,
  /// which alone is none.
  /// - Throws: the interruption; a failure when nothing is safe.
  func end(_ terminal: Terminal) throws -> ExitStatus {
    var ordered = self
    ordered.sort()
    return try ordered.tell(terminal)
  }

  private func tell(_ terminal: Terminal) throws -> ExitStatus {
    if terminal.manner.json { terminal.report(Documents.push(self, notices: terminal.notices)) }
    let failed = failures.map(\.error)
    for error in damages + shortfalls + failed { terminal.tell(error) }
    if let interruption { throw telling(interruption) }
    if let worst = failed.first(where: { $0.kind == .verificationFailed }) ?? damages.first {
      terminal.tellDocument(worst)
      return .verificationFailed
    }
    guard let first = failed.first(where: { $0.kind != .pushInProgress }) ?? failed.first else {
      if let shortfall = shortfalls.first { terminal.tellDocument(shortfall) }
      return shortfalls.isEmpty ? .success : .partlyDone
    }
    guard !pushed.isEmpty else {
      terminal.tellDocument(first)
      return ExitStatus(first.kind)
    }
    terminal.tellDocument(
      OperationError(
        .partlyDone, "\(failed.count) of \(failed.count + pushed.count) pushes failed: \(first.message)",
        hint: first.hint))
    return .partlyDone
  }

  /// As if each database had gone to all of its targets in one turn.
  private mutating func sort() {
    var order: [Place: Int] = [:]
    for (number, place) in places.enumerated() {
      for one in [place, Place(database: place.database, target: nil)] where order[one] == nil { order[one] = number }
    }
    let (pushed, failures) = (self.pushed, self.failures)
    let placesOfPushed = pushed.map { order[Place($0)] ?? places.count }
    self.pushed = pushed.indices.sorted { (placesOfPushed[$0], $0) < (placesOfPushed[$1], $1) }.map { pushed[$0] }
    let placesOfFailures = failures.map { order[Place(database: $0.database, target: $0.target)] ?? places.count }
    self.failures = failures.indices.sorted { (placesOfFailures[$0], $0) < (placesOfFailures[$1], $1) }
      .map { failures[$0] }
  }

  /// Nobody could tell else which databases have no version of this run, and where.
  private func telling(_ interruption: OperationError) -> OperationError {
    let ended = Set(pushed.map { Place($0) } + failures.map { Place(database: $0.database, target: $0.target) })
    let left = places.filter { !ended.contains($0) && !ended.contains(Place(database: $0.database, target: nil)) }
    guard !left.isEmpty else { return interruption }
    let list = left.map { "\($0.database) -> \($0.target ?? "")" }.joined(separator: ", ")
    var telling = interruption
    telling.hint = "Push again: not pushed are \(list)."
    return telling
  }

  /// `app -> nas: version 3f2a91c0, 8.4 MiB, 120.0 KiB new, head 12-0123456789abcdef`.
  static func line(_ pushed: Push.Pushed) -> String {
    let version = pushed.version
    let place = "\(printable(version.database)) -> \(printable(version.target))"
    let unchanged = "unchanged since \(Times.seconds(version.time))"
    if pushed.dryRun {
      // What the version added when it was pushed is there.
      if pushed.unchanged { return "\(place): \(unchanged), would store nothing" }
      return "\(place): would store \(ByteCount.text(version.bytesNew)) of \(ByteCount.text(version.size))"
    }
    let facts =
      pushed.unchanged ? unchanged : "\(ByteCount.text(version.size)), \(ByteCount.text(version.bytesNew)) new"
    return "\(place): version \(version.id.prefix(8)), \(facts)\(beside(pushed)), head \(version.head)"
  }

  /// `, 12 files (3.4 MiB) with it`, `, 12 files (3.4 MiB) with it, 8 of them (3.1 MiB) external data`.
  private static func beside(_ pushed: Push.Pushed) -> String {
    guard let beside = pushed.beside, beside.files > 0 else { return "" }
    let files = "\(beside.files) \(beside.files == 1 ? "file" : "files") (\(ByteCount.text(beside.bytes))) with it"
    guard beside.externalFiles > 0 else { return ", \(files)" }
    if beside.externalFiles == beside.files { return ", \(files): external data" }
    return ", \(files), \(beside.externalFiles) of them (\(ByteCount.text(beside.externalBytes))) external data"
  }
}

extension [OperationError] {
  /// What the second turn of a database says as the first did is told once.
  mutating func addOnce(_ error: OperationError) {
    if !contains(where: { ($0.code, $0.message) == (error.code, error.message) }) { append(error) }
  }
}
