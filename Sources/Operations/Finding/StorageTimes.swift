import Repositories
import Sealing
import Storage

/// When manifests were stored, as a listing said it: a hint of which of two chains was left first, and of which of two
/// versions came to be there last. It is the target's word alone, or that of the clock that wrote there.
struct StorageTimes: Sendable {
  /// By this machine's clock, milliseconds since 1970 UTC.
  let now: UInt64
  private let seconds: [Digest: Int]
  /// Of each chain when the last of its manifests was stored; `.max` where that is not told of all of them.
  private let ends: [ChainID: Int]
  /// A server tells them, by a clock that no machine which pushes has set. In a folder it is theirs.
  private let areServers: Bool

  /// A version may be so much ahead of this machine's clock and be believed: one of the two is a little wrong.
  private static let longestLead: UInt64 = 3_600_000

  /// - Parameter objects: the listing of `versions/`.
  init(_ objects: [ObjectInfo], of store: any ObjectStore, now: UInt64) {
    self.now = now
    areServers = store.traits.folder == nil
    var seconds: [Digest: Int] = [:]
    var ends: [ChainID: Int] = [:]
    for info in objects {
      guard let name = VersionName(info.name) else { continue }
      if let stored = info.stored, seconds[name.digest] == nil { seconds[name.digest] = stored }
      ends[name.chain] = max(ends[name.chain] ?? .min, info.stored ?? .max)
    }
    self.seconds = seconds
    self.ends = ends
  }

  /// Whether a manifest was stored before a version was pushed: it is of an older one then. A version may be stored again
  /// long after, by a repair or as a copy, so the moment of its snapshot counts where that is the earlier one.
  func isBefore(_ one: VersionName, _ version: VersionFacts) -> Bool {
    guard let first = seconds[one.digest], let second = seconds[version.digest] else { return false }
    let taken = version.version.map { Int(clamping: $0.time / 1000) } ?? second
    return first < min(second, taken)
  }

  /// Whether the target says that a version was there at some time. In a folder that may be the word of the very clock that
  /// was wrong: there it counts only where the version was not stored before one that was pushed earlier.
  func wasThere(_ facts: VersionFacts, at time: UInt64, after earlier: VersionFacts) -> Bool {
    guard let stored = seconds[facts.digest], stored <= Int(clamping: time / 1000) else { return false }
    return areServers || seconds[earlier.digest].map { $0 <= stored } ?? false
  }

  /// Whether the target says that one version was stored later than the other.
  func isStoredLater(_ one: VersionFacts, than other: VersionFacts) -> Bool {
    guard let first = seconds[one.digest], let second = seconds[other.digest] else { return false }
    return first > second
  }

  // MARK: between chains

  /// Of what answers in several chains the one that was pushed last, as far as anything says so.
  /// - Parameter whole: reads a chain whole: of chains of one database what came before an answer counts, too.
  func last(
    of answers: [VersionLookup.Found], whole: (ChainHistory) async throws -> ChainHistory
  ) async throws -> VersionLookup.Found? {
    var last: (answer: VersionLookup.Found, order: Order)?
    for rivals in Self.byDatabase(answers) {
      guard let (answer, past) = try await self.last(among: rivals, whole) else { continue }
      let order = self.order(of: answer.facts, in: past, lag: 0)
      if last.map({ $0.order < order }) ?? true { last = (answer, order) }
    }
    return last?.answer
  }

  private static func byDatabase(_ answers: [VersionLookup.Found]) -> [[VersionLookup.Found]] {
    let places = Dictionary(grouping: answers.indices) { place in
      answers[place].facts.version.map { ChainOwner($0) }
    }
    return places.values.sorted { $0[0] < $1[0] }.map { own in own.map { answers[$0] } }
  }

  /// Of one database. What came before an answer makes it younger at most: so the chain of the one that leads without
  /// that, most often the one that is pushed to, is read only where another one overtakes it, and another one only where
  /// it may do so: it may be of thousands of versions, and the machine is one in need.
  private func last(
    among rivals: [VersionLookup.Found], _ whole: (ChainHistory) async throws -> ChainHistory
  ) async throws -> (answer: VersionLookup.Found, past: ChainHistory)? {
    let lag = self.lag(of: rivals.map(\.facts))
    let bare = rivals.map { order(of: $0.facts, in: nil, lag: lag) }
    guard let leader = rivals.indices.max(by: { bare[$0] < bare[$1] }) else { return nil }
    var last = (answer: rivals[leader], past: rivals[leader].history, order: bare[leader])
    var isOvertaken = false
    for place in rivals.indices where place != leader {
      guard mayReach(last.order.1, rivals[place].facts, lag: lag) else { continue }
      let past = try await self.past(of: rivals[place], whole)
      let order = self.order(of: rivals[place].facts, in: past, lag: lag)
      guard last.order < order else { continue }
      last = (rivals[place], past, order)
      isOvertaken = true
    }
    if isOvertaken {
      let past = try await self.past(of: rivals[leader], whole)
      let order = self.order(of: rivals[leader].facts, in: past, lag: lag)
      if last.order < order { last = (rivals[leader], past, order) }
    }
    return (last.answer, last.past)
  }

  /// Whether what was pushed before an answer may make it as young as some time. It does not where the version says itself
  /// that it is older, and the target that its whole chain was stored earlier: see `time(of:in:lag:)`.
  private func mayReach(_ time: UInt64, _ facts: VersionFacts, lag: Int?) -> Bool {
    let time = Int(clamping: time / 1000)
    guard let lag, let end = ends[facts.chain], Self.taken(facts) < time else { return true }
    return max(0, end) >= time - lag
  }

  /// An old manifest that the target does not give keeps nobody from what is newer.
  private func past(
    of answer: VersionLookup.Found, _ whole: (ChainHistory) async throws -> ChainHistory
  ) async throws -> ChainHistory {
    guard !answer.history.isWhole else { return answer.history }
    do {
      return try await whole(answer.history)
    } catch let error as StoreError where error.object != nil {
      return answer.history
    }
  }

  /// How far the target's clock is behind, in seconds: where it says of all answers of a database that they were stored
  /// before they were taken, it is the odd one out.
  /// - Returns: `nil` where it then tells one time of all, which is none.
  private func lag(of rivals: [VersionFacts]) -> Int? {
    var least = Int.max
    var told: Set<Int> = []
    for facts in rivals {
      guard let stored = seconds[facts.digest] else { return 0 }
      least = min(least, max(0, Self.taken(facts) - max(0, stored)))
      told.insert(stored)
    }
    return least > 0 && told.count == 1 && rivals.count > 1 ? nil : least
  }

  /// By its own clock, in seconds.
  private static func taken(_ facts: VersionFacts) -> Int { Int(clamping: (facts.version?.time ?? 0) / 1000) }

  private typealias Order = (Int, UInt64, Int, UInt64)

  /// Between chains: by time, those behind all others that have not been yet. A version that lies there twice was copied
  /// again because something is wrong with the first: what was stored last is taken.
  private func order(of facts: VersionFacts, in history: ChainHistory?, lag: Int?) -> Order {
    let time = self.time(of: facts, in: history, lag: lag)
    let isAhead = time > now && time - now > Self.longestLead && !(lag != nil && isConfirmed(facts))
    return (isAhead ? 0 : 1, time, seconds[facts.digest] ?? 0, facts.sequence)
  }

  /// A server's clock bounds its time: where that is ahead of this machine's clock, so is the server's.
  private func isConfirmed(_ facts: VersionFacts) -> Bool { areServers && seconds[facts.digest] != nil }

  /// The clock of who pushed may have been wrong. None is older than what was pushed before it: that stands in the chain,
  /// and no target can say otherwise.
  private func time(of facts: VersionFacts, in history: ChainHistory?, lag: Int?) -> UInt64 {
    let own = facts.version?.time ?? 0
    let bounded = self.bounded(facts, lag: lag) ?? 0
    guard let history, let before = history.believedTime(before: facts, now: now) else { return bounded }
    guard before > own else { return max(bounded, before) }
    // The chain contradicts itself: this clock was behind, or that of earlier versions was ahead. Where the target says
    // the latter, they make this one no younger. Its own time stands in the chain as theirs do: no older than that.
    let told = history.believedTime(before: facts, now: now) { self.bounded($0, lag: lag) } ?? 0
    let raised = min(before, told)
    return max(own, raised)
  }

  /// No snapshot is younger than its stored manifest, and copies and repairs are stored later: so what a target says makes
  /// a version older at most, never younger.
  private func bounded(_ facts: VersionFacts, lag: Int?) -> UInt64? {
    // One condition: of more than one the optimizer of Swift 6.3.1 makes what it rejects itself.
    guard let lag, let bound = seconds[facts.digest].map({ min(max(0, $0), .max - lag) + lag }),
      bound < Self.taken(facts)
    else { return facts.version?.time }
    return UInt64(bound) * 1000
  }

  /// Whether all that is known says that a version was pushed later than this machine's clock says that it is.
  func isAheadOfClock(_ facts: VersionFacts) -> Bool {
    let time = self.time(of: facts, in: nil, lag: 0)
    return time > now && time - now > Self.longestLead
  }
}
