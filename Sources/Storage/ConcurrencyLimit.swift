/// At most so many at once; the others wait in the order they came.
package final class ConcurrencyLimit: Sendable {
  private struct Queue {
    var free: Int
    var nextTicket = 0
    var waiting: [(ticket: Int, wake: CheckedContinuation<Bool, Never>)] = []
  }

  private let queue: Locked<Queue>

  /// - Parameter places: at least 1.
  package init(_ places: Int) {
    precondition(places > 0, "a limit of no places at all would wait for ever")
    queue = Locked(Queue(free: places))
  }

  /// Runs `work` as soon as a place is free.
  /// - Throws: what `work` throws, or `.cancelled` when the task was cancelled while it waited.
  package func withPlace<Answer>(_ work: () async throws(StoreError) -> Answer) async throws(StoreError) -> Answer {
    guard await enter() else { throw StoreError(.cancelled, "the work was cancelled while it waited for its turn") }
    defer { leave() }
    return try await work()
  }

  /// `false` when the task was cancelled first.
  private func enter() async -> Bool {
    let ticket = queue.withLock { queue in
      queue.nextTicket += 1
      return queue.nextTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { wake in
        let answer: Bool? = queue.withLock { queue in
          // Looked at under the lock: the handler below either ran before, and this sees it, or finds the ticket.
          if Task.isCancelled { return false }
          if queue.free > 0 {
            queue.free -= 1
            return true
          }
          queue.waiting.append((ticket, wake))
          return nil
        }
        if let answer { wake.resume(returning: answer) }
      }
    } onCancel: {
      let wake = queue.withLock { queue in
        queue.waiting.firstIndex { $0.ticket == ticket }.map { queue.waiting.remove(at: $0).wake }
      }
      wake?.resume(returning: false)
    }
  }

  private func leave() {
    let next = queue.withLock { queue -> CheckedContinuation<Bool, Never>? in
      if queue.waiting.isEmpty {
        queue.free += 1
        return nil
      }
      return queue.waiting.removeFirst().wake
    }
    next?.resume(returning: true)
  }
}
