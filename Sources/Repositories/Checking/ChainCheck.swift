package import Sealing
import Storage

/// Looks at one chain: every manifest, every pack that a version needs, every path from the one to the other.
///
/// Listings are taken in the order manifests, condemned records, packs: what a push that runs meanwhile has said is
/// there, is there. Before them all comes the mark: a push of this machine that ends meanwhile raises it. A prune that
/// runs meanwhile takes manifests away, and versions may be pushed and forgotten; then the chain is looked at again.
package struct ChainCheck: Sendable {
  private static let attempts = 3

  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder
  private let folder: String
  private let subset: CheckSubset?
  private let suspects: Set<Digest>
  private let onProgress: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - state: where the chain's mark is read, and which words are to be there; nothing else of it is believed.
  ///   - folder: for files without names, of what grows with the chain.
  ///   - subset: which packs to read whole; `nil` looks at the structure only.
  ///   - suspects: packs to take for damaged without a look.
  ///   - onProgress: bytes of packs looked at since the last call: their directories first, then what is read of them.
  package init(
    _ repository: Repository, chain: ChainID, state: StateFolder, tables folder: String, subset: CheckSubset?,
    suspects: Set<Digest> = [], onProgress: @escaping @Sendable (Int) -> Void
  ) {
    self.repository = repository
    self.chain = chain
    self.state = state
    self.folder = folder
    self.subset = subset
    self.suspects = suspects
    self.onProgress = onProgress
  }

  /// - Parameter left: bytes that may still be read, where that is limited.
  /// - Throws: `StoreError`, `.stateFolder`. What is wrong at the target is in the result.
  package func run(left: inout Int) async throws -> CheckedChain {
    var attempt = 1
    while true {
      let mark = try HighWaterMark.read(chain, in: state, isReading: true)
      let before = try await listed()
      var budget = left
      let isLast = attempt == Self.attempts
      guard let checked = try await look(before, mark, isLast: isLast, &budget) else {
        attempt += 1
        continue
      }
      var isSettled = checked.isSound || isLast
      // What came since says nothing of what was seen.
      if !isSettled { isSettled = Set(before.map(\.name)).isSubset(of: try await listed().map(\.name)) }
      guard !isSettled else {
        left = budget
        return checked
      }
      attempt += 1
    }
  }

  private func listed() async throws -> [ObjectInfo] {
    try await repository.store.list(prefix: Layout.versions(of: chain))
  }

  /// - Returns: `nil` when it should be looked at again, and this is not the last time.
  private func look(
    _ listed: [ObjectInfo], _ mark: HighWaterMark?, isLast: Bool, _ left: inout Int
  ) async throws -> CheckedChain? {
    let spool = try ScratchSpool(in: folder)
    let manifests = try await ManifestsLook(listed, of: chain, repository, in: spool)
    let forgotten = try await repository.forgotten(of: chain, state: nil)
    let history = HistoryReader(chain: chain, manifests.results).finish(isWhole: true, forgotten: forgotten)
    let records = try await RecordsLook(repository, of: chain)
    let lostWords = try await records.lostWords(in: state)
    let sizes = try await repository.packSizes(of: chain)

    var checked = CheckedChain(chain)
    checked.database = history.newest?.version?.database
    checked.host = history.newest?.version?.host
    checked.lacksManifests = listed.isEmpty
    guard let problems = try await problems(of: history, listed, mark, isLast: isLast) else { return nil }
    checked.problems = problems
    checked.isContested = try isContested(history)
    let living = (history.versions + history.displaced).filter { !history.isForgotten($0) }
    let found = try await bounded(living, atOnce: repository.store.traits.concurrency) {
      [repository] version -> (facts: VersionFacts, isKnown: Bool) in
      do {
        return (try await repository.readable(version, in: history, sizes: sizes, state: nil), true)
      } catch let error where error.isLater {
        // Which of its revisions is whole only a newer program can say.
        return (version, false)
      }
    }
    let unjudged = manifests.later + found.filter { !$0.isKnown }.map(\.facts.name)
    checked.forgotten = history.versions.count + history.displaced.count - found.count
    let missing = MissingVersions(
      of: chain, between: history.versions, forgotten, broken: manifests.unreadable + manifests.cut.map(\.name),
      later: manifests.later, mark: mark)
    checked.findings = records.findings + missing.findings + Self.findings(of: manifests, history)
    checked.spoiltRecords = records.findings
    checked.lostWords = lostWords
    checked.versions = missing.versions

    var content = try ContentCheck(
      repository, chain, sizes: sizes, condemned: records.condemned, suspects: suspects, unjudged: unjudged,
      spool: spool, folder: folder)
    try await content.load(manifests.held, counting: found.map(\.facts), onProgress: onProgress)
    if let subset { try await content.read(subset, &left, onProgress: onProgress) }
    try content.judge()
    content.report(to: &checked)
    checked.note(repository.genuine(records.damage, of: chain, nil))
    checked.spoiltRevisions = Self.spoiltRevisions(of: manifests, history, in: checked)
    checked.findings.sort { $0.object < $1.object }
    checked.versions.sort { ($0.sequence, $0.id?.hex ?? "") < ($1.sequence, $1.id?.hex ?? "") }
    return checked
  }

  /// What does not fit in the chain as a whole. Manifests that cannot be read, or not by this program, and holes between
  /// versions are findings.
  /// - Returns: `nil` when versions came and went meanwhile. Where they always do, that says something only to who has
  ///   seen one of them.
  private func problems(
    of history: ChainHistory, _ listed: [ObjectInfo], _ mark: HighWaterMark?, isLast: Bool
  ) async throws -> [RepositoryError]? {
    var problems = history.problems.filter { $0.code != .damaged && $0.code != .unsupported && $0.code != .hole }
    if !history.forgotten.isPartly, let hole = history.reader.hole(before: history.forgotten) {
      // A tombstone may be younger than the listing of the versions before it.
      let isLate = try await !Set(self.listed().map(\.name)).isSubset(of: listed.map(\.name))
      if isLate, !isLast { return nil }
      if !isLate { problems.append(hole) }
    }
    do {
      let listing = ChainListing(chain: chain, objects: listed)
      try await Freshness(mark: mark, listing: listing, history: history).check(repository, state: state)
    } catch let problem as RepositoryError where problem.code == .rolledBack || problem.code == .forked {
      if !problems.contains(where: { $0.message == problem.message }) { problems.append(problem) }
    } catch let problem as RepositoryError where problem.code == .conflict {
      guard isLast else { return nil }
      if mark != nil { problems.append(problem) }
    } catch let problem as RepositoryError where problem.code == .hole || problem.code == .unsupported {}
    return problems
  }

  private func isContested(_ history: ChainHistory) throws -> Bool {
    guard history.contestedFrom != nil else { return false }
    do {
      try repository.checkContested(history, state: state)
      return true
    } catch is RepositoryError {
      return false
    }
  }

  private static func spoiltRevisions(
    of manifests: ManifestsLook, _ history: ChainHistory, in checked: CheckedChain
  ) -> [CheckFinding] {
    let harmed = Set(checked.harmed.map(\.sequence))
    let sound = Set(history.versions.map(\.sequence)).subtracting(harmed)
    let names = Set(manifests.unreadable.filter { sound.contains($0.sequence) }.map(\.objectName.text))
    return checked.findings.filter { $0.kind == .damaged && names.contains($0.object) }
  }

  private static func findings(of manifests: ManifestsLook, _ history: ChainHistory) -> [CheckFinding] {
    let replaced = ReplacedRevisions(manifests.results)
    let doubted = DoubtedManifests(
      manifests.unreadable + manifests.later + manifests.cut.map(\.name),
      among: manifests.results.compactMap { try? $0.result.get() }, history.forgotten)
    // What was cut is no object: beside a whole one of its revision it says nothing.
    func isLeftover(_ name: VersionName) -> Bool {
      history.versions.contains { $0.sequence == name.sequence && $0.revision >= name.revision }
    }
    func isGivenUp(_ name: VersionName) -> Bool {
      name.sequence < history.newest?.sequence ?? 0 && history.forgotten.isGivenUp(name.sequence)
    }
    func hint(_ name: VersionName) -> String? {
      let known: String
      if isGivenUp(name), doubted.contains(name) {
        known = "A version was forgotten at its place"
      } else if replaced.contains(name) {
        return nil
      } else if isGivenUp(name) {
        return "Its version was forgotten: `sealift prune` deletes it."
      } else if history.versions.contains(where: { $0.sequence == name.sequence }) {
        known = "Another manifest can be read at its place"
      } else {
        return "`sealift repair` writes what can be had of its version anew."
      }
      return
        "\(known), and this one may be of another version, of a machine that pushes as this one: run `sealift repair` on each machine that pushes the database, which saves what is harmed and stores this one again where it was kept. If it is still there then, bring it back from a copy of the target, or remove it by hand: \(name.objectName)."
    }
    let broken = manifests.unreadable.map { name in
      let problem = manifests.problem(of: name)
      return CheckFinding(
        name.objectName, replaced.contains(name) ? .spare : .damaged,
        problem.map { "\($0.message)" } ?? "a manifest cannot be read", hint: hint(name))
    }
    let cut = manifests.cut.map { name, size in
      CheckFinding(
        name.objectName, isLeftover(name) ? .spare : .cut,
        "a manifest has \(size) bytes instead of \(name.length): it was cut, or its push never ended",
        hint: hint(name))
    }
    let later = manifests.later.map { name in
      CheckFinding.later(name.objectName, "a manifest", isPassedOver: replaced.contains(name) || isGivenUp(name))
    }
    return broken + cut + later
  }
}
