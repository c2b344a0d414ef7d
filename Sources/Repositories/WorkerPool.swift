import Storage

/// Workers that hold state of a C library: lent to one task at a time, made when all are out.
final class WorkerPool<Worker>: @unchecked Sendable {
  private let free = Locked<[Worker]>([])
  private let make: @Sendable () -> Worker

  init(_ make: @escaping @Sendable () -> Worker) { self.make = make }

  func with<Result>(_ body: (Worker) throws -> Result) rethrows -> Result {
    let worker = free.withLock { $0.popLast() } ?? make()
    defer { free.withLock { $0.append(worker) } }
    return try body(worker)
  }
}
