import Repositories
import Sealing
import Storage

/// `sealift forget --lost`: gives versions up whose manifests the target lost or spoilt. Until a person says so, such a gap
/// keeps every rule and every prune from the chain: nobody can tell it from a listing that came up short.
package struct ForgetLost: Sendable {
  package struct Request: Sendable {
    /// Only databases of these names; all when empty.
    package var named: [String] = []
    /// Also databases that other hosts pushed.
    package var allHosts = false
    /// Databases that this host pushed, instead of this machine's own.
    package var host: String?
    package var dryRun = false

    package init() {}
  }

  package struct Outcome: Sendable {
    /// Of one chain, what was given up, or would be.
    package struct Chain: Sendable {
      package var database: String
      package var host: String
      /// Places in the chain.
      package var lost: [ClosedRange<UInt64>]

      package init(database: String, host: String, lost: [ClosedRange<UInt64>]) {
        (self.database, self.host, self.lost) = (database, host, lost)
      }
    }

    package var target: String
    package var chains: [Chain] = []
    /// Chains that were left alone, because something about them is in doubt.
    package var problems: [OperationError] = []

    package init(target: String) { self.target = target }
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  package func run(_ request: Request, at target: TargetAccess) async throws -> Outcome {
    do {
      let lookup = try await VersionLookup(at: target, world, isReading: false, keepsPlace: request.dryRun)
      // `nil`: everybody's. Nothing is given up by a guess at whose it is.
      let host: String? = try request.allHosts ? nil : request.host ?? HostName.known(world)
      let histories = try await lookup.histories()
      let gone = lookup.vanishedChains(named: request.named, isOwn: !request.allHosts, of: request.host)
      try demandKnown(request, of: host, among: histories, gone)
      var outcome = Outcome(target: target.name)
      outcome.problems = gone.map { OperationError($0, doing: "giving versions up at \(target.name)") }
      for history in histories {
        if history.isNameless { outcome.problems.append(history.nameless) }
        guard let version = history.newest?.version,
          request.named.isEmpty || request.named.containsName(version.database)
        else { continue }
        guard host.map({ $0.isSameName(as: version.host) }) ?? true else {
          if request.host == nil, !history.lost.isEmpty { outcome.problems.append(elsewhere(version)) }
          continue
        }
        let unknown = history.problems.filter { $0.code == .unsupported } + [history.doubtOfLoss].compactMap { $0 }
        for problem in unknown {
          outcome.problems.append(
            OperationError(problem, doing: "giving versions of '\(version.database)' up at \(target.name)"))
        }
        try await giveUp(history.chain, of: version, request, lookup, &outcome)
        if let last = history.unreadable.map(\.sequence).max(), last > history.newest?.sequence ?? 0 {
          outcome.problems.append(newest(last, of: version))
        }
        if let newest = history.newest, let flaw = try await lookup.repository.lastingFlaw(of: newest, in: history) {
          outcome.problems.append(kept(newest.sequence, of: version, flaw))
        }
      }
      return outcome
    } catch {
      throw OperationError(error, doing: "giving versions up at \(target.name)")
    }
  }

  /// Before anything is given up, which nobody takes back. A chain of which nothing can be read may be the one that was meant.
  /// - Parameters:
  ///   - host: whose are given up; `nil`: everybody's.
  ///   - gone: what this machine has seen there of the databases that are meant, and is not shown any more.
  private func demandKnown(
    _ request: Request, of host: String?, among histories: [ChainHistory], _ gone: [RepositoryError]
  ) throws {
    let isOwn = { (history: ChainHistory) in
      (host.map { $0.isSameName(as: history.host) } ?? true) || (request.host == nil && !history.lost.isEmpty)
    }
    let known = histories.filter(isOwn).compactMap(\.database)
    guard !histories.contains(where: \.isNameless) else { return }
    let missing = request.named.first { !known.containsName($0) }
    guard missing != nil || request.host != nil && known.isEmpty else { return }
    // What is gone was there: nobody is told that it never was.
    if let gone = gone.first { throw gone }
    throw histories.lack(of: missing.map { [$0] } ?? [], host: request.host)
  }

  private func elsewhere(_ version: VersionFacts.Version) -> OperationError {
    OperationError(
      .verificationFailed, code: "hole",
      "of '\(version.database)', which \(version.host) pushes, versions are lost, too",
      hint: "Name that host with --host, or add --all-hosts, to give them up.")
  }

  /// It may be the newest version that somebody was told of: nothing stands behind it yet.
  private func newest(_ sequence: UInt64, of version: VersionFacts.Version) -> OperationError {
    OperationError(
      .verificationFailed, code: "damaged",
      "manifest \(sequence) of '\(version.database)' cannot be read, and no newer version is there: it stays",
      hint:
        "`sealift repair` on \(version.host) saves it where it can. Once a newer version was pushed it can be given up."
    )
  }

  /// What this machine has kept of it hides that from everybody who asks here.
  private func kept(_ sequence: UInt64, of version: VersionFacts.Version, _ flaw: RepositoryError) -> OperationError {
    OperationError(
      .verificationFailed, code: "damaged",
      "manifest \(sequence) of '\(version.database)' cannot be read at the target, and this machine keeps it: it is not lost",
      hint: "`sealift repair` writes it anew.", cause: flaw)
  }

  private func giveUp(
    _ chain: ChainID, of version: VersionFacts.Version, _ request: Request, _ lookup: VersionLookup,
    _ outcome: inout Outcome
  ) async throws {
    do {
      if !request.dryRun { try await lookup.repository.takeBackSaved(of: chain, world, lookup.state) }
      let lost = try await lookup.repository.lostVersions(of: chain, state: lookup.state)
      guard !lost.isEmpty else { return }
      if !request.dryRun {
        let saved = try await lookup.repository.giveUp(lost, of: chain, now: world.now(), state: lookup.state)
        world.tell(takenBack: saved)
      }
      outcome.chains.append(
        .init(database: version.database, host: version.host, lost: lost.map { $0.first...$0.last }))
    } catch let error where error is RepositoryError || (error is StoreError && !outcome.chains.isEmpty) {
      // A target that does not answer any more hides nothing of what was given up before.
      outcome.problems.append(
        OperationError(error, doing: "giving versions of '\(version.database)' up at \(outcome.target)"))
    }
  }
}

extension Repository {
  /// A run of this machine that gave versions up may have died before it saw that a repair had just saved one of them.
  func takeBackSaved(of chain: ChainID, _ world: World, _ state: StateFolder) async throws {
    world.tell(takenBack: try await lookBehindOpenTombstones(of: chain, now: world.now(), state: state))
  }
}

extension World {
  fileprivate func tell(takenBack saved: [VersionFacts]) {
    for version in saved {
      reporter.notice(
        "version \(version.id.hex.prefix(12)) came to be there meanwhile, and was taken back: a repair has saved it")
    }
  }
}
