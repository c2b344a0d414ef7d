import Testing

@testable import Snapshots

@Suite struct StopSignalTests {
  /// Whoever removes a spool a second time would close a descriptor that is somebody else's by then.
  @Test func `of several that raise a signal at once one does`() async {
    let signal = StopSignal()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<64 { group.addTask { signal.raise() } }
      var first = 0
      for await isFirst in group where isFirst { first += 1 }
      #expect(first == 1)
    }
    #expect(signal.isRaised)
  }
}
