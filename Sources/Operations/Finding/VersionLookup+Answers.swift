import Repositories
import Sealing
import Storage

/// Which version answers to what somebody typed, and what is said where none does.
extension VersionLookup {
  /// Whoever types a name may compose its letters in another way: where none is of the bytes that were typed, the only
  /// one that looks alike is meant.
  func exact(_ selector: VersionSelector, among histories: [ChainHistory]) async throws -> VersionSelector {
    guard let name = selector.database else { return selector }
    let alike = histories.filter { name.looksLike($0.database) }
    let names = Set(alike.compactMap { $0.database.map { ExactName($0) } })
    guard let only = names.first, !names.contains(ExactName(name)) else { return selector }
    try await demandNoneTyped(selector, histories)
    guard names.count > 1 else { return selector.naming(only.text) }
    let ids = alike.compactMap { $0.newestCounting?.id.hex.prefix(12) }.sorted()
    throw RepositoryError(
      .noSuchVersion, "\(names.count) databases have names that look like '\(name)', and none is written as that",
      hint: "Name the version by its id: \(ids.joined(separator: ", ")).")
  }

  /// The version of an id, also one that was forgotten and is still there.
  func named(_ prefix: String, in histories: [ChainHistory]) throws -> Found {
    let matching = histories.flatMap { history in
      (history.versions + history.displaced).filter { $0.id.hex.hasPrefix(prefix) }
        .map { Found(facts: $0, history: history) }
    }
    guard Set(matching.map(\.facts.id)).count < 2 else {
      throw RepositoryError(
        .noSuchVersion, "'\(prefix)' names \(matching.count) versions",
        hint: "Give more digits; `sealift list --json` shows whole ids.")
    }
    guard let found = matching.first else { throw nothing(named: prefix, isID: true, histories) }
    return found
  }

  /// The last version of each chain that answers to the name, and of those the one that was pushed last.
  func newest(_ selector: VersionSelector, in histories: [ChainHistory]) async throws -> Found {
    let candidates = histories.compactMap { history in
      history.answer(to: selector, times).map { Found(facts: $0, history: history) }
    }
    let chosen = try await ofOneHost(candidates, selector, histories)
    let found = try await times.last(of: chosen) { history in
      guard let listing = byChain[history.chain] else { return history }
      return try await whole(listing)
    }
    guard let found else {
      for history in histories { tellPassedOver(in: history, selector) }
      try await demandNeverThere(selector, histories)
      throw nothing(named: selector.text, histories)
    }
    tellPassedOver(in: found.history, selector)
    tellDoubted(behind: found, selector)
    times.tell(
      selector.text, is: found.facts, besides: chosen.map(\.facts), repository.keys.keyring, to: reporter)
    tellWhose(found, among: candidates, selector)
    return found
  }

  /// Before it is said that nothing answers to a name, which some take for leave to begin with nothing: nothing that this
  /// machine has seen may be gone, and nothing that cannot be read may be what is meant.
  /// - Parameter isOwn: of this host only; others have one.
  /// - Throws: `.rolledBack` and its kin, `.hole`, `.damaged`, `.unsupported`.
  private func demandNeverThere(
    _ selector: VersionSelector, _ histories: [ChainHistory], isOwn: Bool = false
  ) async throws {
    let meant = MeantChains(selector, host: host, isOwn: isOwn, among: histories, repository.keys.keyring, state)
    try demandNoneGone(meant)
    for history in histories where meant.contains(history) {
      guard let listing = listings.first(where: { $0.chain == history.chain }) else { continue }
      try await freshness(ofLeft: history, listing)
      try await demandTakenBack(of: history.chain)
      try history.demandNothingLost(selector.text)
    }
  }

  /// What only looks alike stands in for none of the very bytes that were typed: neither for one that this machine has
  /// seen, of whatever host, nor for this host's own that cannot be read.
  private func demandNoneTyped(_ typed: VersionSelector, _ histories: [ChainHistory]) async throws {
    try demandNoneGone(MeantChains(typed, host: host, isOwn: false, among: histories, repository.keys.keyring, state))
    try await demandNeverThere(typed, histories, isOwn: true)
  }

  private func demandNoneGone(_ meant: MeantChains) throws {
    if let gone = vanishedChains(among: meant.seen).first { throw gone }
  }

  /// Whoever names no database, where there are several, may have meant another one.
  private func tellWhose(_ found: Found, among candidates: [Found], _ selector: VersionSelector) {
    let owners = Set(candidates.compactMap { found in found.facts.version.map { ChainOwner($0) } })
    guard !selector.namesDatabase, owners.count > 1, let version = found.facts.version else { return }
    reporter.notice(
      "\(selector.text) is '\(version.database)' of \(version.host), the newest of \(owners.count) databases at "
        + "\(targetName); NAME:latest names another one's")
  }

  /// Whoever looks at a list would have expected that version.
  private func tellPassedOver(in history: ChainHistory, _ selector: VersionSelector) {
    guard let (version, after) = history.passedOver(by: selector, now: now) else { return }
    reporter.notice(
      "\(selector.text) passes over \(version.words): it was pushed after \(after.words), so its clock was wrong")
  }

  /// It stands in the list with a time that would do.
  private func tellDoubted(behind found: Found, _ selector: VersionSelector) {
    guard let version = found.history.doubted(behind: found.facts, selector, now: now).last else { return }
    reporter.notice(
      "\(selector.text) passes over \(version.words): it may be newer than that time, as its clock was wrong; if it is meant, name it by its id"
    )
  }

  /// Two hosts may push databases of one name: this host's own is meant, and where it has none, or nobody knows its name,
  /// nobody guesses.
  private func ofOneHost(
    _ candidates: [Found], _ selector: VersionSelector, _ histories: [ChainHistory]
  ) async throws -> [Found] {
    let hosts = Set(candidates.compactMap { $0.facts.version.map { ExactName($0.host) } })
    guard selector.namesDatabase, hosts.count > 1 else { return candidates }
    let own = candidates.filter { host?.isSameName(as: $0.facts.version?.host) == true }
    let known = [host].compactMap { $0.map { ExactName($0) } }
    let others = hosts.subtracting(known).sorted().map(\.text).joined(separator: ", ")
    if let host, !own.isEmpty {
      let push = hosts.count > 2 ? "push" : "pushes"
      reporter.notice(
        "\(selector.text) is taken as this host's (\(host)); \(others) \(push) a database of that name too")
      return own
    }
    // Which of them were its own, and are gone or cannot be read, nobody knows either.
    if host != nil {
      try await demandNeverThere(selector, histories, isOwn: true)
    }
    let ids = candidates.map { found in
      let unread = found.history.unread(behind: found.facts)
      let doubt = unread.map { "; newer there, and unreadable: manifest \($0)" } ?? ""
      return "\(found.facts.id.hex.prefix(12)) (\(found.facts.version?.host ?? "")\(doubt))"
    }.sorted()
    let doubt = unnamed.map { _ in ", and which of them this one is cannot be told" } ?? ""
    let hints = ["Name the version by its id: \(ids.joined(separator: ", ")).", unnamed?.hint]
    // Where one of them may be this one's, nobody is told that it has none, which some take for leave to begin with nothing.
    throw RepositoryError(
      unnamed == nil ? .noSuchVersion : .stateFolder,
      "\(selector.text) names databases of \(hosts.count) hosts\(doubt): \(others)",
      hint: hints.compactMap { $0 }.joined(separator: " "), cause: unnamed)
  }

  private func nothing(
    named name: String, isID: Bool = false, _ histories: [ChainHistory]
  ) -> RepositoryError {
    if isBare {
      return RepositoryError(
        .noSuchVersion, "there are no versions at \(targetName)",
        hint: "Push a database first; where there were versions, `sealift list` says more.")
    }
    let problem = histories.flatMap(\.problems).first
    return RepositoryError(
      .noSuchVersion, "no version at \(targetName) answers to '\(name)'",
      hint: problem.map { "Some manifests cannot be read (\($0.message)); `sealift list` shows the rest." }
        ?? (isID
          ? "`sealift list --forgotten` shows the versions; what was pruned does not come back."
          : "`sealift list` shows the versions."),
      cause: problem)
  }
}
