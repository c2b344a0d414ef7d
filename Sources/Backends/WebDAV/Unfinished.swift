import Storage

/// Why a server cannot do something yet with what it has taken: it looks for viruses in every upload, or somebody has
/// it locked.
struct Unfinished: Error, CustomStringConvertible {
  /// Locked, too early, and what ownCloud Infinite Scale says of a MOVE and a DELETE instead.
  static let statuses = [423, 425, 503]

  /// The pauses of one wait, all together.
  private static let patience = Duration.seconds(180)
  private static let firstPause = Duration.milliseconds(300)
  private static let longestPause = Duration.seconds(30)

  var description: String { "the server is not done with it" }

  /// Asks again, with growing pauses, while that is the reason. Who gave it up would send everything anew, and wait for
  /// that as long.
  /// - Throws: what `ask` threw last.
  static func outwait<Answer>(
    on clock: StoreClock, _ ask: () async throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    var left = patience
    var pause = firstPause
    while true {
      do throws(StoreError) {
        return try await ask()
      } catch {
        guard error.cause is Unfinished, case .later(let named) = error.retry else { throw error }
        let wait = max(pause, named ?? .zero)
        guard wait <= left else { throw error }
        try await clock.pause(wait)
        left -= wait
        pause = min(pause * 2, longestPause)
      }
    }
  }
}
