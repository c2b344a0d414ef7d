import Repositories
import Sealing
import Storage

/// What happens between deeds: machines are cloned or lose their state, and the target shows less than it holds. What it
/// took away it gives back afterwards; what counts is that somebody said so.
extension Simulation {
  func playScene() throws {
    let host = hosts[dice.below(hosts.count)]
    switch dice.below(8) {
    case 0: rollBack(host)
    case 1: try tamper(host, "cuts the tail", [.rolledBack, .forked]) { sequence, newest in sequence == newest }
    case 2: try punchHole(host)
    case 3: clone(host)
    case 4: loseState(of: host)
    case 5, 6: try loseManifest(host)
    default: now += UInt64(dice.below(72) * 3_600_000)
    }
    if let earlier, dice.once(in: 3) { try putBack(earlier, host) }
  }

  /// What was on its way from here may meet what comes next from here.
  func loseState(of host: Host) {
    host.leaveState(keeping: false)
    beginners.insert(host.line)
  }

  /// Remembers the target as it is, to be put back later.
  private func rollBack(_ host: Host) { earlier = target.objects }

  private func putBack(_ objects: [ObjectName: [UInt8]], _ host: Host) throws {
    self.earlier = nil
    let taken = target.objects.filter { objects[$0.key] == nil }
    guard taken.keys.contains(where: { $0.text.hasPrefix(Layout.versions) }) else { return }
    try withTaken(Set(taken.keys), host, "puts back an older state", [.rolledBack, .forked, .hole])
  }

  private func tamper(
    _ host: Host, _ words: String, _ codes: [RepositoryError.Code], _ isTaken: (UInt64, UInt64) -> Bool
  ) throws {
    guard let chain = try marked(host), lost[chain.hex] == nil else { return }
    let names = target.names(Layout.versions(of: chain)).compactMap { VersionName($0) }
    guard let newest = names.map(\.sequence).max() else { return }
    try withTaken(Set(names.filter { isTaken($0.sequence, newest) }.map(\.objectName)), host, words, codes)
  }

  /// A version in the middle is taken away: whoever reads the chain says so.
  private func punchHole(_ host: Host) throws {
    guard let chain = try marked(host) else { return }
    let history = try straight { try await self.history(of: chain, $0) }
    let candidates = history.versions.dropLast().filter {
      !history.isForgotten($0) && !history.forgotten.ranges.explains($0.sequence)
    }
    guard history.problems.isEmpty, let victim = candidates.randomElement(using: &dice) else { return }
    let taken = target.names(Layout.versions(of: chain)).filter { VersionName($0)?.sequence == victim.sequence }
    let kept = target.objects.filter { taken.contains($0.key) }
    for name in taken { target.objects[name] = nil }
    note("the target takes version \(victim.sequence) of \(host.name) away")
    let after = try straight { try await self.history(of: chain, $0) }
    target.objects.merge(kept) { _, old in old }
    tally.scenes += 1
    if !after.problems.contains(where: { $0.code == .hole }) {
      throw fail("version \(victim.sequence) of \(host.name) was taken away, and nobody said so")
    }
  }

  /// The chain of a host that has a mark in it, if no delayed request may change it meanwhile.
  private func marked(_ host: Host) throws -> ChainID? {
    try straight { repository in
      let chain = self.chain(of: host, in: repository)
      let state = StateFolder(reading: host.state, repository: repository.id)
      return try HighWaterMark.read(chain, in: state) == nil ? nil : chain
    }
  }

  /// Takes objects away, lets the host push, and gives them back. The push must refuse if what its machine has seen is gone.
  private func withTaken(
    _ names: Set<ObjectName>, _ host: Host, _ words: String, _ codes: [RepositoryError.Code]
  ) throws {
    let kept = target.objects.filter { names.contains($0.key) }
    guard let mark = try seen(host) else { return }
    for name in names { target.objects[name] = nil }
    let isGone = try straight { repository in
      let chain = self.chain(of: host, in: repository)
      let history = try await self.history(of: chain, repository)
      return self.lost[chain.hex] == nil
        && !(history.versions + history.displaced).contains { $0.id == mark.id }
    }
    note("the target \(words): \(names.count) objects")
    defer { target.objects.merge(kept) { new, _ in new } }
    guard isGone else { return }
    tally.scenes += 1
    let answer = try straight { repository in
      let chain = self.chain(of: host, in: repository)
      let state = try StateFolder(host.state, repository: repository.id)
      do {
        var policy = PushSession.Policy(now: { self.clock(of: host) })
        policy.settles = false
        let session = try await PushSession(repository, chain: chain, state: state, policy: policy)
        return "nothing; it would write version \(session.next.sequence)"
      } catch let error as RepositoryError where codes.contains(error.code) {
        return ""
      } catch {
        return Self.words(error)
      }
    }
    if !answer.isEmpty { throw fail("the target \(words), and \(host.name) said \(answer)") }
  }

  private func seen(_ host: Host) throws -> HighWaterMark? {
    try straight { repository in
      let chain = self.chain(of: host, in: repository)
      return try HighWaterMark.read(chain, in: StateFolder(reading: host.state, repository: repository.id))
    }
  }

  /// A second machine goes on as the first one, from a copy of its state.
  private func clone(_ host: Host) {
    guard hosts.count < 5 else { return }
    let skew = profile.skew == 0 ? 0 : dice.below(2 * profile.skew) - profile.skew
    let twin = Host("host\(hosts.count)", identity: host.identity, root: root, skew: skew, image: host.image)
    twin.fork = host.fork
    twin.copyState(of: host)
    hosts.append(twin)
    note("\(twin.name) is a clone of \(host.name)")
  }
}

extension [Tombstone.Range] {
  func explains(_ sequence: UInt64) -> Bool { contains { $0.first <= sequence && sequence <= $0.last } }
}
