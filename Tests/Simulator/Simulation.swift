import Repositories
import Sealing
import Storage

/// A small world: hosts that push, forget, pin, prune, repair and restore at one target, a network that loses, repeats and
/// delays, listings that cannot be relied on, machines that die. One seed decides everything that happens in it.
final class Simulation: @unchecked Sendable {
  struct Stopped: Error {}

  let seed: UInt64
  let profile: Profile
  var dice: Dice
  var target: Target
  var trace = Trace()
  /// True time, milliseconds since 1970 UTC; it passes only when somebody waits.
  var now: UInt64 = 1_700_000_000_000
  var hosts: [Host] = []
  var parked: [Parked] = []
  var promises: [Promise] = []
  /// How many tombstones of a version somebody began to store, and the names of those that do not count any more.
  var tombstonesOf: [Digest: Int] = [:]
  var takenBack: [Digest: Set<Digest>] = [:]
  /// Versions of which somebody was told that they are pinned, and nobody has begun to take that back.
  var pins = Pins()
  /// Versions of which somebody began to say that they are damaged, and of those the ones where it is said.
  var marks: Set<Digest> = []
  var saidDamaged: Set<Digest> = []
  /// By chain, the versions whose manifests the target lost.
  var lost: [String: Set<UInt64>] = [:]
  /// Chains, hexadecimal, of which nobody could give up in the end what was lost: they are forked.
  var keepingHoles: Set<String> = []
  /// What listings that are late show: by name, every change so far.
  var changes: [ObjectName: [Change]] = [:]
  /// By version: how often somebody began to take it back.
  var takings: [Digest: Int] = [:]
  /// By chain: so often somebody began to take a version back and did not come to an end.
  var unfinished: [String: Int] = [:]
  /// Whose chain it is, by its id.
  var lines: [String: Host.Line] = [:]
  /// Chains of which a machine lost all that it knew.
  var beginners: Set<Host.Line> = []
  var tally = Tally()
  /// What must never happen, and did.
  private(set) var violation: String?
  let root: String
  /// When each object was first stored, in true time.
  var stored: [ObjectName: UInt64] = [:]
  /// The target at some earlier moment.
  var earlier: [ObjectName: [UInt8]]?
  /// The number of the session that goes on while others wait.
  private var favoured = 0
  private var sessions = 0
  private var deedsLeft: Int
  var sealingDice: Dice
  var opened: Repository?

  init(seed: UInt64, stem: [ObjectName: [UInt8]], root: String, isTold: Bool) {
    self.seed = seed
    self.root = root
    var dice = Dice(seed)
    profile = Profile(&dice)
    sealingDice = Dice(dice.next())
    deedsLeft = profile.deeds
    target = Target(objects: stem)
    trace.isTold = isTold
    for number in 0..<profile.hosts {
      let pages = 36 + dice.below(30)
      let image = (0..<pages).flatMap { _ in Host.page(&dice) }
      let name = "host\(number)"
      let skew = profile.skew == 0 ? 0 : dice.below(2 * profile.skew) - profile.skew
      hosts.append(Host(name, identity: name, root: root, skew: skew, image: image))
    }
    self.dice = dice
  }

  // MARK: What happens next

  /// - Throws: `Stopped` when something happened that must not; `violation` says what.
  func run() throws {
    // It holds this simulation, and so on round.
    defer { opened = nil }
    try playPast()
    while true {
      try settle()
      tally.steps += 1
      guard tally.steps < 60_000 else { throw fail("no end after \(tally.steps) steps: somebody waits for ever") }
      let isQuiet = parked.isEmpty && hosts.allSatisfy { $0.running == nil }
      if isQuiet, deedsLeft == 0 { break }
      if isQuiet, dice.once(in: 5) { try playScene() } else { try happen() }
    }
    while !target.late.isEmpty { deliverLate() }
    try giveUpInTheEnd()
    try checkEverything()
    try pruneInTheEnd()
    try checkEverything()
  }

  private func happen() throws {
    let roll = dice.below(100)
    let idle = hosts.filter { $0.running == nil }
    if deedsLeft > 0, !idle.isEmpty, parked.isEmpty || roll < 14 { return begin(idle[dice.below(idle.count)]) }
    if (14..<18).contains(roll), !target.late.isEmpty { return deliverLate() }
    if roll == 18 { now += UInt64(dice.below(40) * 3_600_000) }
    if roll == 19, dice.once(in: 4) { try checkOne() }
    let running = hosts.filter { $0.running != nil }
    if !running.isEmpty, dice.once(in: profile.crash) { return crash(running[dice.below(running.count)]) }
    if !parked.isEmpty { answer(parked.remove(at: whoseTurn())) }
  }

  /// One session is favoured for a while, so that another one sleeps between two of its requests for as long as whole runs
  /// of the first one take: that is when something can be lost.
  private func whoseTurn() -> Int {
    if dice.once(in: profile.favour) { favoured = parked[dice.below(parked.count)].session.number }
    let awake = parked.indices.filter { !isAsleep(parked[$0]) }
    guard !awake.isEmpty else { return dice.below(parked.count) }
    let its = awake.filter { parked[$0].session.number == favoured }
    guard !its.isEmpty, !dice.once(in: 16) else { return awake[dice.below(awake.count)] }
    return its[dice.below(its.count)]
  }

  private func begin(_ host: Host) {
    deedsLeft -= 1
    // Somebody who sleeps before he says what his packs are for is what a prune could hurt.
    if profile.prunes, let sleeper = parked.first(where: { isAsleep($0) && $0.session.deed == Deed.push.rawValue }),
      !dice.once(in: 3)
    {
      start(.prune, on: host, owner: sleeper.session.host)
      favoured = sessions
      return
    }
    let deed = Deed.choose(&dice, profile, isLost: !lost.isEmpty)
    // Everybody prunes everybody's chain, and may do so while its own host pushes to it.
    start(deed, on: host, owner: deed == .push ? host : hosts[dice.below(hosts.count)])
  }

  private func isAsleep(_ call: Parked) -> Bool { call.wakes > tally.steps }

  /// Starts a deed; it goes on when the loop is drained.
  func start(_ deed: Deed, on host: Host, owner: Host) {
    sessions += 1
    let session = Session(number: sessions, host: host, owner: owner, deed: deed.rawValue)
    host.running = session
    note("\(session.name) begins")
    Task { [self] in
      await carryOut(deed, session)
      session.hasEnded = true
      if host.running === session { host.running = nil }
    }
  }

  /// Lets every task run until it waits.
  func settle() throws {
    do { try Loop.shared.drain() } catch { throw fail("a task spins without a request") }
    if violation != nil { throw Stopped() }
  }

  /// The machine dies: its requests may have arrived, may arrive later, or never.
  private func crash(_ host: Host) {
    guard let session = host.running else { return }
    let isStateLost = dice.once(in: 5)
    tally.crashes += 1
    note("\(session.name) dies\(isStateLost ? ", its state is lost" : "")")
    session.isDead = true
    if isStateLost { loseState(of: host) } else { host.leaveState(keeping: true) }
    host.running = nil
    let abandoned = parked.filter { $0.session === session }
    parked.removeAll { $0.session === session }
    for call in abandoned {
      if let effect = call.request.effect {
        switch dice.below(3) {
        case 0: apply(effect)
        case 1: target.late.append(effect)
        default: break
        }
      }
      call.resume(.failure(Self.dead))
    }
  }

  func deliverLate() {
    let late = target.late.remove(at: dice.below(target.late.count))
    tally.late += 1
    note("late: \(late.words)")
    apply(late)
  }

  // MARK: Requests

  static let dead = StoreError(.cancelled, "the machine died")

  /// Parks a request until its turn comes.
  func wait(_ request: Request, _ session: Session) async -> Result<Answer, StoreError> {
    guard !session.isDead else { return .failure(Self.dead) }
    if case .put(let name, _) = request, name.text.hasPrefix(Layout.allAnnotations) { session.hasSpoken = true }
    return await withUnsafeContinuation { continuation in
      let sleeps = request.isDecisive && dice.once(in: profile.sleep)
      let wakes = sleeps ? tally.steps + 20 + dice.below(150) : 0
      parked.append(Parked(session: session, request: request, wakes: wakes) { continuation.resume(returning: $0) })
    }
  }

  /// The truth, at once.
  func answerStraight(_ request: Request) -> Answer {
    switch request {
    case .get(let name): return target.objects[name].map { .bytes($0) } ?? .absent
    case .list(let prefix):
      let names = target.names(prefix).sorted()
      return .infos(names.map { info($0, target.objects[$0]?.count ?? 0) })
    case .put, .delete, .pause:
      if let effect = request.effect { apply(effect) }
      return .done
    }
  }

  private func answer(_ call: Parked) {
    let name = "\(call.session.name): \(call.request.words)"
    if profile.pace > 0 { now += UInt64(dice.below(profile.pace)) }
    if case .pause(let until) = call.request {
      now = max(now, until)
      return call.resume(.success(.done))
    }
    // Of a listing the beginning or the rest.
    if dice.once(in: profile.fault) { return meetFault(call, name) }
    switch call.request {
    case .list(let prefix):
      guard let before = call.listed else {
        parked.append(begun(call, prefix))
        return note("\(name), begins")
      }
      let infos = listed(before, prefix, call)
      note("\(name): \(infos.count)")
      call.resume(.success(.infos(infos)))
    default:
      let answer = answerStraight(call.request)
      if let effect = call.request.effect, dice.once(in: profile.repeated) { target.late.append(effect) }
      note(name)
      call.resume(.success(answer))
    }
  }

  func info(_ name: ObjectName, _ size: Int) -> ObjectInfo {
    ObjectInfo(name: name, size: size, stored: profile.tellsTimes ? stored[name].map { Int($0 / 1000) } : nil)
  }

  /// The sender learns of a failure. Whether anything was done, and when, is another matter.
  private func meetFault(_ call: Parked, _ name: String) {
    tally.faults += 1
    if let effect = call.request.effect {
      switch dice.below(3) {
      case 0: apply(effect)
      case 1: target.late.append(effect)
      default: break
      }
    }
    note("\(name): fault")
    let after: Duration? = dice.once(in: 4) ? .seconds(dice.below(100)) : nil
    call.resume(.failure(StoreError(.unavailable, "503", retry: .later(after: after))))
  }

  private func apply(_ effect: Target.Late) {
    if case .put(let name, _) = effect, stored[name] == nil { stored[name] = now }
    if profile.lateness > 0 { remember(effect) }
    target.apply(effect)
  }

  // MARK: What everybody needs

  func note(_ event: @autoclosure () -> String) { trace.note(event()) }

  /// Notes what must never happen; the run ends.
  @discardableResult
  func fail(_ what: String) -> Stopped {
    if violation == nil { violation = what }
    return Stopped()
  }

  func clock(of host: Host) -> UInt64 { UInt64(Int(now) + host.skew) }
}
