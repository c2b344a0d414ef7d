import Operations
import Repositories
import Sealing
import Storage

/// The target loses a manifest for good: nothing of that chain is forgotten or pruned until a person gives it up.
extension Simulation {
  /// Only where listings tell the truth: elsewhere nobody may take a version for lost because he does not see it.
  func loseManifest(_ host: Host) throws {
    guard profile.prunes, !profile.isVague else { return }
    let (chain, history) = try straight { repository in
      let chain = self.chain(of: host, in: repository)
      return (chain, try await self.history(of: chain, repository))
    }
    let candidates = history.versions.dropLast().filter { isDemanded($0) && isBetweenOthers($0.sequence, history) }
    guard history.problems.isEmpty, history.displaced.isEmpty,
      let victim = candidates.randomElement(using: &dice)
    else { return }
    for name in target.names(Layout.versions(of: chain)) where VersionName(name)?.sequence == victim.sequence {
      target.objects[name] = nil
    }
    for index in promises.indices where promises[index].id == victim.id { promises[index].isLost = true }
    lost[chain.hex, default: []].insert(victim.sequence)
    tally.lost += 1
    note("the target loses version \(victim.sequence) of \(host.name)")
  }

  /// Both neighbours say what stood there.
  private func isBetweenOthers(_ sequence: UInt64, _ history: ChainHistory) -> Bool {
    let places = Set(history.versions.map(\.sequence))
    let ranges = history.forgotten.ranges
    guard !ranges.cover(sequence) else { return false }
    return (places.contains(sequence + 1) || ranges.contains { $0.first == sequence + 1 })
      && (sequence == 1 || places.contains(sequence - 1) || ranges.contains { $0.last == sequence - 1 })
  }

  func giveUp(_ session: Session) async throws {
    guard !lost.isEmpty else { return }
    var request = ForgetLost.Request()
    request.allHosts = true
    let outcome = try await ForgetLost(world(of: session)).run(request, at: access(session))
    for chain in outcome.chains {
      let missing = lines.filter { $0.value.identity == chain.host }.keys.map(gone(from:))
      for range in chain.lost where !missing.contains(where: { $0.isSuperset(of: range) }) {
        throw fail("\(session.name) gave up versions \(range) of \(chain.host), and not all of them were lost")
      }
    }
    guard !session.isDead else { return }
    tally.givenUp += outcome.chains.count
    for problem in outcome.problems { await judge(problem, session) }
  }

  /// The places of a chain where nothing stands that somebody is owed: the target lost it, or it was forgotten and pruned, and
  /// then an `unforget` that was cut had it count again, so that no tombstone explains the place any more.
  private func gone(from chain: String) -> Set<UInt64> {
    let lost = lost[chain] ?? []
    guard unfinished[chain] ?? 0 > 0, let id = ChainID(hex: chain) else { return lost }
    let present = Set(target.names(Layout.versions(of: id)).compactMap { VersionName($0)?.sequence })
    let released = promises.filter { $0.chain == id && $0.isForgotten && !isDemanded($0) }.map(\.sequence)
    return lost.union(released).subtracting(present)
  }

  /// Where nobody did, somebody says at last that it is gone.
  func giveUpInTheEnd() throws {
    for chain in lost.keys.sorted().compactMap(ChainID.init(hex:)) {
      let problem = try straight { repository -> RepositoryError? in
        do {
          let state = try StateFolder("\(self.root)/person", repository: repository.id)
          let lost = try await repository.lostVersions(of: chain, state: state)
          if !lost.isEmpty { _ = try await repository.giveUp(lost, of: chain, now: self.now, state: state) }
          return nil
        } catch let error as RepositoryError {
          return error
        }
      }
      guard let problem else { continue }
      guard problem.code == .forked, mayFork(chain) else {
        throw fail("in the end, nobody can give up what the chain \(chain.hex.prefix(12)) lost: \(Self.words(problem))")
      }
      // Of two lives of a chain it cannot be told which one the lost version belongs to: a person ends one of them first.
      keepingHoles.insert(chain.hex)
    }
  }
}
