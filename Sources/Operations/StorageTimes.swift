import Repositories
import Sealing
import Storage

/// When manifests were stored, as a listing said it: a hint of which of two chains was left first, and of which of two
/// versions came to be there last. It is the target's word alone, or that of the clock that wrote there.
struct StorageTimes: Sendable {
  /// By this machine's clock, milliseconds since 1970 UTC.
  let now: UInt64
  private let seconds: [Digest: Int]

  /// A version may be so much ahead of this machine's clock and be believed: one of the two is a little wrong.
  private static let longestLead: UInt64 = 3_600_000

  /// - Parameter objects: the listing of `versions/`.
  init(_ objects: [ObjectInfo], now: UInt64) {
    self.now = now
    let told = objects.compactMap { info in
      VersionName(info.name).flatMap { name in info.stored.map { (name.digest, $0) } }
    }
    seconds = Dictionary(told) { first, _ in first }
  }

  /// Whether a manifest was stored before a version was pushed: it is of an older one then. A version may be stored again
  /// long after, by a repair or as a copy, so the moment of its snapshot counts where that is the earlier one.
  func isBefore(_ one: VersionName, _ version: VersionFacts) -> Bool {
    guard let first = seconds[one.digest], let second = seconds[version.digest] else { return false }
    let taken = version.version.map { Int(clamping: $0.time / 1000) } ?? second
    return first < min(second, taken)
  }

  /// Whether the target says that a version was there at some time.
  func wasThere(_ facts: VersionFacts, at time: UInt64) -> Bool {
    seconds[facts.digest].map { $0 <= Int(clamping: time / 1000) } ?? false
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
    let chains = Dictionary(grouping: answers) { $0.facts.version.map { ChainOwner($0) } }
    var last: (answer: VersionLookup.Found, order: Order)?
    for answer in answers {
      let owner = answer.facts.version.map { ChainOwner($0) }
      var past = answer.history
      if !past.isWhole, chains[owner]?.count ?? 0 > 1 {
        // An old manifest that the target does not give keeps nobody from what is newer.
        do {
          past = try await whole(past)
        } catch let error as StoreError where error.object != nil {
          past = answer.history
        }
      }
      let order = self.order(of: answer.facts, in: past)
      if last.map({ $0.order < order }) ?? true { last = (answer, order) }
    }
    return last?.answer
  }

  func isOlder(_ one: VersionLookup.Found, _ other: VersionLookup.Found) -> Bool {
    order(of: one.facts, in: one.history) < order(of: other.facts, in: other.history)
  }

  private typealias Order = (Int, UInt64, Int, UInt64)

  /// Between chains: by time, those behind all others that have not been yet. A version that lies there twice was copied
  /// again because something is wrong with the first: what was stored last is taken.
  private func order(of facts: VersionFacts, in history: ChainHistory) -> Order {
    let time = self.time(of: facts, in: history)
    let isAhead = time > now && time - now > Self.longestLead
    return (isAhead ? 0 : 1, time, seconds[facts.digest] ?? 0, facts.sequence)
  }

  /// The clock of who pushed may have been wrong. No snapshot is younger than its stored manifest, and copies and repairs
  /// are stored later: so what a target says makes a version older at most, never younger. And none is older than what
  /// was pushed before it: that stands in the chain, and no target can say otherwise.
  private func time(of facts: VersionFacts, in history: ChainHistory) -> UInt64 {
    var time = facts.version?.time ?? 0
    if let stored = seconds[facts.digest], stored < Int(clamping: time / 1000) {
      time = UInt64(clamping: stored) * 1000
    }
    return max(time, history.believedTime(before: facts, now: now) ?? 0)
  }
}
