import Repositories
import Sealing
import Storage

/// The program's own prune and repair.
extension Simulation {
  func prune(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    var policy = PrunePolicy(twoRuns: profile.twoRuns, now: { self.clock(of: session.host) })
    policy.minAge = profile.minimumAge
    guard let pruned = try await repository.prune(chain, policy, state: state), !session.isDead else { return }
    if let cut = pruned.cut { throw cut }
    tally.prunes += 1
    tally.deleted += pruned.freed.objects
  }

  /// Writes a version anew although nothing is wrong with it: as its next revision, out of what can be read of it.
  func repair(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    let history = try await history(of: chain, repository, state)
    let counting = history.versions.filter { !history.isForgotten($0) }
    guard !counting.isEmpty else { return }
    let version = counting[dice.below(counting.count)]
    do {
      let manifest = try await repository.readManifest(version.name, state: state)
      var rewrite = VersionRewrite(repository, chain: chain, state: state, tables: root)
      rewrite.clock = waits(of: session)
      note("\(session.name) writes version \(version.sequence) anew")
      let isSaved = try await rewrite.run(manifest, from: nil, dryRun: false)
      guard !session.isDead else { return }
      if isSaved { tally.repairs += 1 }
    } catch {
      // A prune may take what somebody repairs, once it was forgotten; nothing else.
      if isDemanded(version) { throw error }
    }
  }

  /// When everybody has gone home: what was never whole is forgotten, and a prune finds no doubt and takes nothing that
  /// somebody relies on.
  func pruneInTheEnd() throws {
    for chain in Set(promises.map(\.chain.hex)).sorted().compactMap(ChainID.init(hex:)) {
      let refusal = try straight { repository -> String? in
        let state = try StateFolder("\(self.root)/end", repository: repository.id)
        let history = try await self.history(of: chain, repository, state)
        guard history.displaced.isEmpty else { return nil }
        let found = try await self.wholeness(of: history, repository, state)
        if let lost = found.broken.first(where: { self.isDemanded($0) }) {
          return "version \(lost.sequence) was promised and is not whole"
        }
        for version in found.broken { self.release(version.id) }
        if !found.broken.isEmpty { try await repository.forget(found.broken, now: self.now) }
        let annotations = try await repository.annotations(of: chain, state: state)
        guard !found.broken.contains(where: { annotations.isPinned($0) }) else { return nil }
        // A push that was cut last of all; a word that a version counts again, of which a prune took a part.
        guard found.open.isEmpty, self.unfinished[chain.hex, default: 0] == 0 else { return nil }
        var policy = PrunePolicy(twoRuns: false, now: { self.now + 400 * PrunePolicy.day })
        policy.minAge = 0
        do {
          return try await repository.prune(chain, policy, state: state)?.cut.map(Self.words)
        } catch {
          return Self.words(error)
        }
      }
      if let refusal { throw fail("in the end, a prune of the chain \(chain.hex.prefix(12)) refuses: \(refusal)") }
    }
  }
}

extension Simulation {
  struct Wholeness {
    /// Not whole, though a newer one is: no rule may leave them behind.
    var broken: [VersionFacts] = []
    /// Not whole, and nothing newer is.
    var open: [VersionFacts] = []
  }

  /// Of what was not forgotten, or is pinned; and of the newest, which a prune keeps whatever a tombstone says. Such a one
  /// was excluded by a push that knew of it and died then, and came late.
  private func wholeness(
    of history: ChainHistory, _ repository: Repository, _ state: StateFolder?
  ) async throws -> Wholeness {
    let completeness = try await Completeness(repository, chain: history.chain, state: state)
    let annotations = try await repository.annotations(of: history.chain, state: state)
    var found = Wholeness()
    var isNewerWhole = false
    for version in history.versions.reversed()
    where !history.isForgotten(version) || annotations.isPinned(version)
      || version.id == history.versions.last?.id
    {
      let finding = try await completeness.look(at: repository.readable(version, in: history, state: state))
      if finding == .incomplete {
        if isNewerWhole { found.broken.append(version) } else { found.open.append(version) }
      } else if finding == .whole {
        isNewerWhole = true
      }
    }
    return found
  }
}
