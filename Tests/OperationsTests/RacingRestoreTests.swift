import Glibc
import TestKit
import Testing

@testable import Operations

/// Two restores to one destination begin at once: what one of them made a moment ago is no leftover of a dead run.
@Suite struct RacingRestoreTests {
  @Test func `no sweep takes the temporary that another restore has just made`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    let sweeper = Task {
      while !Task.isCancelled {
        try RestoredFile.sweep(besides: path)
        await Task.yield()
      }
    }
    var taken = 0
    for _ in 1...5000 {
      let file = try RestoredFile(for: path)
      if access(file.temporaryPath, F_OK) != 0 { taken += 1 }
      file.discard()
    }
    sweeper.cancel()
    try await sweeper.value
    #expect(taken == 0)
  }
}
