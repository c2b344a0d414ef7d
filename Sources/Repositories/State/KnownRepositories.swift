package import Sealing
package import Storage

/// Which repositories this machine has met at one place: a storage that shows another one, which the same key opens, would
/// else pass for an empty place, or for somebody's older content.
///
/// Lines of `<state>/places/<hash of the store's identity>`: the id of each, hexadecimal, and behind it `check` and a hash of
/// that: an id with a wrong digit would be one that nobody has used. Ids that a person adds have none, nor have those that
/// earlier builds wrote, which pass over the hashes. Only those count whose versions this machine has seen: two machines
/// that make a repository at once agree on one of the two later.
package struct KnownRepositories {
  package let path: String
  private let name: String
  private let state: String
  private var ids: [RepositoryID] = []
  /// How many of them have their hash behind them.
  private var checked = 0
  /// Something in it is not as it was written: which repositories there were nobody knows.
  package private(set) var isSpoilt = false
  /// What stands there.
  private let held: [UInt8]

  /// - Throws: `.stateFolder` when there may be some that cannot be read: what would be written then forgets them.
  package init(at store: any ObjectStore, in state: String) throws(RepositoryError) {
    self.state = state
    name = Self.name(of: store)
    path = "\(state)/places/\(name)"
    let bytes = try StateFiles.read(path, limit: 1 << 20)
    held = bytes ?? []
    for line in String(decoding: held, as: UTF8.self).split(separator: "\n") { add(line) }
    // Nobody writes one without any.
    if bytes != nil, ids.isEmpty { isSpoilt = true }
  }

  static func name(of store: any ObjectStore) -> String {
    String(Digest.sha256(of: Array(store.traits.identity.utf8)).hex.prefix(32))
  }

  private mutating func add(_ line: Substring) {
    if let id = RepositoryID(hex: String(line)) {
      ids.append(id)
    } else if let id = ids.last, line == check(id) {
      checked += 1
    } else {
      isSpoilt = true
    }
  }

  private func check(_ id: RepositoryID) -> String {
    let text = "\(name) \(id.hex)"
    return "check \(Digest.sha256(of: Array(text.utf8)).hex.prefix(16))"
  }

  func contains(_ id: RepositoryID) -> Bool { ids.contains(id) }

  /// Those with versions that this machine has seen.
  package var used: [RepositoryID] { ids.filter(isUsed) }

  private func isUsed(_ id: RepositoryID) -> Bool {
    !StateFolder(reading: state, repository: id).markedChains().isEmpty
  }

  /// What is remembered of the place is spoilt, and may have been another one that this machine has used somewhere.
  /// - Parameters:
  ///   - shown: which repository is there; `nil` where there is none.
  ///   - location: of the place, for people.
  package func flaw(showing shown: RepositoryID?, at location: String) -> RepositoryError? {
    guard isSpoilt, !(shown.map(isUsed) ?? false),
      StateFiles.names(in: state).contains(where: { RepositoryID(hex: $0).map(isUsed) ?? false })
    else { return nil }
    let what = shown.map { "that \($0.hex) is what it used there" } ?? "that it has used none there"
    return RepositoryError(
      .stateFolder, "what this machine remembered of the repositories at \(location) is spoilt: \(what) is not proved",
      hint:
        "Another disk, bucket or folder may be in its place. Once it is known that all is as it should be: rm '\(path)'"
    )
  }

  /// Whether it stands there as it would be written.
  var isWhole: Bool { !isSpoilt && checked == ids.count }

  /// Best effort: a machine that cannot remember is as a new one. What was spoilt is kept beside it: a person may still
  /// make out of it which repositories there were.
  /// - Returns: whether it is written.
  func write() -> Bool {
    do throws(RepositoryError) {
      try StateFiles.makeFolder("\(state)/places")
      if isSpoilt { try StateFiles.write(held, to: "\(path).bad") }
      try StateFiles.write(Array(ids.map { "\($0.hex)\n\(check($0))\n" }.joined().utf8), to: path)
      return true
    } catch {
      return false
    }
  }

  mutating func add(_ id: RepositoryID) { ids.append(id) }
}

/// What this machine remembered of a place was spoilt.
package struct SpoiltPlace: Sendable, Equatable {
  package let path: String
  /// With the repository that is there now, and what could still be read. What was spoilt has `.bad` behind its name.
  package let isMadeAnew: Bool
}

extension Repository {
  /// Whether this machine may note what it sees there, in order to miss it later. That makes the repository one that it has
  /// used: where what it remembers of the place is spoilt, or cannot be read, the next push would take that for a proof that
  /// this one belongs there. One that it has used before is so already, and what it has seen there protects it.
  ///
  /// To be asked behind `checkPlace`, which may have made it anew.
  package func provesPlace(in state: String) -> Bool {
    guard StateFolder(reading: state, repository: id).markedChains().isEmpty else { return true }
    guard let known = try? KnownRepositories(at: store, in: state) else { return false }
    return !known.isSpoilt
  }

  /// Refuses a repository where this machine has used another one, and remembers the first of a place.
  /// - Parameters:
  ///   - isMade: it was made just now: whatever lay there before, this one is meant.
  ///   - isReading: nothing will be written to it, in a dry run neither: then what is spoilt stays. Another disk may lie
  ///     there for now, and would be the one that was used from then on, and the right one a strange one.
  ///   - onHarm: called where something was found harmed elsewhere, and counts there from now on.
  /// - Returns: what was found spoilt.
  /// - Throws: `.rolledBack`; `.stateFolder` when what this machine remembers of the place cannot be read, or what it found
  ///   elsewhere cannot be noted: the place is met for the first time once more then.
  @discardableResult
  package func checkPlace(
    in state: String, isMade: Bool = false, isReading: Bool = false, onHarm: () -> Void = {}
  ) throws(RepositoryError) -> SpoiltPlace? {
    var known = try KnownRepositories(at: store, in: state)
    let isKnown = known.contains(id)
    guard !isKnown || !known.isWhole else { return nil }
    if !isKnown, !isMade, let other = known.used.first {
      throw RepositoryError(
        .rolledBack,
        "\(store.traits.location) shows the repository \(id.hex), but this machine has used \(other.hex) there",
        hint:
          "Another disk, bucket or folder was put in its place. Find out by whom; to accept it: echo \(id.hex) >> '\(known.path)'"
      )
    }
    if !isKnown, !isMade, let flaw = known.flaw(showing: id, at: store.traits.location) { throw flaw }
    if known.isSpoilt, isReading { return SpoiltPlace(path: known.path, isMadeAnew: false) }
    if !isKnown {
      if !isMade, try takeHarmAlong(in: state) { onHarm() }
      known.add(id)
    }
    let isWritten = known.write()
    return known.isSpoilt ? SpoiltPlace(path: known.path, isMadeAnew: isWritten) : nil
  }
}
