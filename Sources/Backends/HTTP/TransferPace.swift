/// Tells a transfer that goes on, however slowly, from one that stands still.
///
/// libcurl's own limit (`CURLOPT_LOW_SPEED_LIMIT`) takes an upload for done with when the kernel has the last byte, which a
/// slow line may take minutes to send: it would be given up, and begun anew, for ever.
struct TransferPace {
  /// In bytes a second, over the whole time of a stall. Eight transfers of this pace fit through 4 kbit/s.
  private static let least = 64

  /// By a clock that stands still while the machine sleeps.
  private var mark: (progress: Int, time: SuspendingClock.Instant)

  init(now: SuspendingClock.Instant) { mark = (0, now) }

  /// - Parameter progress: bytes that came, and bytes that the other side acknowledged; fewer than before when a body
  ///   goes from its start again.
  /// - Returns: whether hardly anything moved for `timeout`.
  mutating func isStalled(at progress: Int, now: SuspendingClock.Instant, timeout: Duration) -> Bool {
    let enough = max(1, Self.least * timeout.wholeMilliseconds / 1000)
    if progress - mark.progress >= enough || progress < mark.progress { mark = (progress, now) }
    return now - mark.time >= timeout
  }
}
