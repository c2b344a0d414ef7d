import Testing

@testable import Backends

@Suite struct TransferPaceTests {
  /// Progress by the second, from the first one on.
  private func stalls(_ progress: [Int], timeout: Duration = .seconds(10)) -> Int? {
    let start = SuspendingClock.now
    var pace = TransferPace(now: start)
    return progress.indices.first { second in
      pace.isStalled(at: progress[second], now: start + .seconds(second + 1), timeout: timeout)
    }
  }

  @Test func `what does not move is given up when the time is over`() {
    #expect(stalls(Array(repeating: 0, count: 20)) == 9)
    #expect(stalls([5_000] + Array(repeating: 5_000, count: 20)) == 10)
  }

  @Test func `64 bytes a second are enough, fewer are not`() {
    #expect(stalls((1...60).map { $0 * 64 }) == nil)
    #expect(stalls((1...60).map { $0 * 63 }) == 9)
    // At once or little by little.
    #expect(stalls((1...60).map { $0 / 9 * 640 }) == nil)
  }

  @Test func `a body that goes from its start again has its time anew`() {
    #expect(stalls((1...60).map { second in (second < 5 ? 1_000_000 : 0) + second * 100 }) == nil)
  }
}
