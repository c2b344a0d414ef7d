/// What the requests of one run at one store see together: whether it has answered, and since when none succeeds.
///
/// A store that has answered is waited for: most likely its network or its server comes back, and all that was done until
/// then would have to be done anew. One that never answered has a wrong address more likely than a bad hour. One that was
/// waited for in vain is not waited for again, until a request that had failed comes through after all. And where all tries
/// of a request were in vain, those that begin within the next while are made once: a run pushes hundreds of databases.
///
/// A server may answer whatever is read, and take what is to be stored without ever saying that it has it. What it answers
/// otherwise says nothing of that.
package final class Outage: Sendable {
  private enum Standing {
    case unknown
    case answers
    case givenUp(at: Duration)
  }

  private struct State {
    var standing = Standing.unknown
    /// When the first request failed after the last one that succeeded.
    var began: Duration?
    /// When a request last had all its tries in vain, with no success since.
    var inVain: Duration?
    /// What was to be stored had no answer, nor had it when it was sent anew; and nothing was stored since.
    var storesNothing = false
    /// The most failures of one request that were told since then, and when a person heard last.
    var told = 0
    var lastTold = Duration.zero
  }

  private let state = Locked(State())

  package init() {}

  /// A request succeeded.
  /// - Parameters:
  ///   - hadFailed: it was not its first try.
  ///   - patience: so long after it was waited for in vain, others that succeed say that it is back.
  func succeeded(at now: Duration, hadFailed: Bool, patience: Duration) {
    state.withLock { state in
      switch state.standing {
      case .unknown: state.standing = .answers
      case .givenUp(let moment): if hadFailed || now - moment >= patience { state.standing = .answers }
      case .answers: break
      }
      state.began = nil
      state.inVain = nil
      state.told = 0
    }
  }

  /// A request failed.
  /// - Returns: since when all do; `nil` where waiting is out of place.
  func failed(at now: Duration) -> Duration? {
    state.withLock { state in
      let began = state.began ?? now
      state.began = began
      guard case .answers = state.standing else { return nil }
      return began
    }
  }

  /// It was waited for in vain.
  func giveUp(at now: Duration) { state.withLock { $0.standing = .givenUp(at: now) } }

  /// All tries of a request that was not waited for were in vain.
  func triedInVain(at now: Duration) { state.withLock { $0.inVain = now } }

  /// Whether tries were in vain so short a time ago that a request which begins now need not find it out anew.
  func wasTriedInVain(within patience: Duration, at now: Duration) -> Bool {
    state.withLock { state in state.inVain.map { now - $0 < patience } ?? false }
  }

  /// What was sent was taken, and then sent anew, and no answer came in all the time that there is for one.
  func storedInVain() { state.withLock { $0.storesNothing = true } }

  /// Something was stored.
  func stored() { state.withLock { $0.storesNothing = false } }

  /// Whether what is to be stored is sent once, as one try may take ten minutes.
  var storesNothing: Bool { state.withLock { $0.storesNothing } }

  /// Whether a person wants to hear of a failure: of the first ones of a request, but of one alone where several requests
  /// fail side by side, and then once a minute.
  /// - Parameters:
  ///   - failures: of that request, this one counted.
  ///   - first: how many are told in any case.
  func isNews(_ failures: Int, at now: Duration, first: Int) -> Bool {
    state.withLock { state in
      let isNext = failures > state.told && failures <= first
      guard isNext || now - state.lastTold >= .seconds(60) else { return false }
      state.told = max(state.told, failures)
      state.lastTold = now
      return true
    }
  }
}
