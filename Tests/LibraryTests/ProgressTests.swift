import Glibc
import Operations
import Storage
import TestKit
import Testing

@testable import Sealift

/// What an application is told of work that several threads do.
@Suite struct ProgressTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  @Test func `what is done of a stage never goes back, nor beyond its total`() async throws {
    let repository = try await bench.makeRepository()
    let told = Told<Repository.Progress>()
    try await repository.reporting(to: { told.append($0) }) { world in
      func tell(_ stage: Operations.Progress.Stage, _ done: Int, _ total: Int?) {
        world.reporter.progress(Operations.Progress(stage, subject: "app", bytesDone: done, bytesTotal: total))
      }
      tell(.copying, 50, 100)
      for done in [10, 30, 20, 40] { tell(.sealing, done, 100) }
      tell(.sealing, 120, nil)
      tell(.sealing, 5, 100)
    }
    #expect(told.values.map(\.bytesDone) == [50, 10, 30, 30, 40, 120, 120])
    #expect(told.values.map(\.bytesTotal) == [100, 100, 100, 100, 100, nil, nil])
  }

  @Test func `it is told one thing at a time`() async throws {
    let repository = try await bench.makeRepository()
    let (calls, most) = (Locked(0), Locked(0))
    let told = Told<Int>()
    let callback: @Sendable (Repository.Progress) throws -> Void = { progress in
      let now = calls.withLock { calls in
        calls += 1
        return calls
      }
      most.withLock { $0 = max($0, now) }
      usleep(500)
      told.append(progress.bytesDone)
      calls.withLock { $0 -= 1 }
    }
    try await repository.reporting(to: callback) { world in
      await withTaskGroup(of: Void.self) { group in
        for worker in 1...4 {
          group.addTask {
            for step in 0..<20 {
              world.reporter.progress(
                Operations.Progress(.fetching, subject: "app", bytesDone: 4 * step + worker, bytesTotal: 84))
            }
          }
        }
      }
    }
    #expect(most.withLock { $0 } == 1)
    #expect(told.values == told.values.sorted() && told.values.count == 80)
  }
}
