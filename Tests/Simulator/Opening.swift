import Operations
import Repositories
import Sealing
import Storage

/// What a session has in hand: the target, the repository, the machine it runs on.
extension Simulation {
  /// The target as a session sees it. Faults are to end deeds: what waits for a quarter of an hour meets few of them.
  func store(of session: Session) -> RetryingStore {
    var policy = RetryingStore.Policy()
    policy.tries = profile.tries
    policy.patience = .zero
    return RetryingStore(SessionStore(self, session), policy: policy, clock: waits(of: session)) { 0.5 }
  }

  /// How a session waits: other sessions go on meanwhile.
  func waits(of session: Session) -> StoreClock {
    StoreClock(now: { .milliseconds(Int64(self.now)) }) { duration in
      let (seconds, attoseconds) = duration.components
      let until = self.now + UInt64(seconds) * 1000 + UInt64(attoseconds / 1_000_000_000_000_000)
      _ = await self.wait(.pause(until: until), session)
    }
  }

  /// The repository as a session sees it, opened without a fault.
  func open(_ session: Session) async throws -> Repository {
    session.goesStraight = true
    defer { session.goesStraight = false }
    return try await Repository.open(at: store(of: session), with: Stem.secret, random: random)
  }

  /// What the program's operations need of a host, and of the target as this session sees it.
  func world(of session: Session) -> World {
    let host = session.host
    var world = World(
      stateFolder: host.state, host: host.identity, now: { self.clock(of: host) }, reporter: Silence())
    world.random = random
    return world
  }

  func access(_ session: Session) -> TargetAccess {
    TargetAccess(name: "target", store: store(of: session)) { .keyFile(Stem.keyFile) }
  }

  var random: RandomSource { { count throws(SealError) in self.sealingDice.bytes(count) } }

  /// The simulation's own look at the target: true, at once, and seen by nobody.
  func openStraight() async throws -> Repository {
    if let opened { return opened }
    let repository = try await Repository.open(at: SessionStore(self, nil), with: Stem.secret, random: random)
    opened = repository
    return repository
  }
}

struct Silence: Reporter {
  func progress(_ progress: Progress) {}
  func notice(_ text: String) {}
}
