import Snapshots
import Storage

/// How far a copy has come that is sealed while it is still being written. It may be asked from anywhere.
final class CopyGrowth: Sendable {
  /// The copy is taken by another road than the one it began on: what was read of it is worth nothing.
  struct Abandoned: Error {}

  private struct State: Sendable {
    var begun: Snapshot?
    var written = 0
    var isAbandoned = false
    /// Set where more than the copying goes on behind it.
    var complete: Snapshot?
    var end: Result<Snapshot, any Error>?
    var waiting: [Waiting] = []

    var isWritten: Bool { isAbandoned || complete != nil || end != nil }

    /// Nil while it is still being written.
    func copy() throws -> Snapshot? {
      if isAbandoned { throw Abandoned() }
      return try end?.get() ?? complete
    }
  }

  private struct Waiting: Sendable {
    let isOver: @Sendable (State) -> Bool
    let continuation: CheckedContinuation<State, Never>
  }

  private let limits: Push.Overlap
  private let state = Locked(State())

  init(_ limits: Push.Overlap) { self.limits = limits }

  // MARK: Told by whoever takes the copy

  func progressed(_ progress: SnapshotProgress) {
    if let complete = progress.complete {
      change { state in
        guard let begun = state.begun else { return }
        if begun.isTaken(as: complete) { state.complete = complete } else { state.isAbandoned = true }
      }
    }
    guard progress.stage == .copying else { return }
    change { state in
      state.written = progress.bytesDone
      if let begun = state.begun {
        state.isAbandoned = state.isAbandoned || begun.method != progress.growing?.method
      } else if let growing = progress.growing, progress.bytesDone >= limits.least {
        state.begun = growing
      }
    }
  }

  func ended(_ result: Result<Snapshot, any Error>) {
    change { state in
      state.end = result
      guard let begun = state.begun, case .success(let snapshot) = result else { return }
      state.isAbandoned = state.isAbandoned || !begun.isTaken(as: snapshot)
    }
  }

  // MARK: Asked by whoever seals it

  /// What is known of a copy that is worth beginning with, as soon as there is one; nil when it ended before that.
  func begun() async -> Snapshot? {
    let state = await state { $0.begun != nil || $0.end != nil }
    return state.end == nil ? state.begun : nil
  }

  /// Returns when the copy may be read up to that many bytes, or is finished; then it says how long it is.
  /// - Throws: `Abandoned`; what the copy failed with.
  func readable(_ upTo: Int) async throws -> Int? {
    let margin = limits.margin
    let state = await state {
      $0.isWritten || upTo == 0 || (upTo < .max - margin && $0.written >= upTo + margin)
    }
    return try state.copy()?.length
  }

  /// The copy, as soon as nobody writes to it any more: what `end` has beside it may still be missing.
  /// - Throws: `Abandoned`; what the copy failed with.
  func complete() async throws -> Snapshot? { try await state { $0.isWritten }.copy() }

  /// - Throws: `Abandoned`, when the copy has ended and is another one than that which was sealed.
  func demandKept() throws {
    if state.withLock({ $0.isAbandoned }) { throw Abandoned() }
  }

  /// Somebody seals the copy while it is written.
  var isUsed: Bool { state.withLock { $0.begun != nil && !$0.isAbandoned } }

  /// In bytes: the copy's length, or what it will be about.
  var expectedLength: Int {
    state.withLock { state in
      ((try? state.end?.get()) ?? state.complete ?? state.begun)?.length ?? 0
    }
  }

  // MARK: Waiting

  private func state(when isOver: @escaping @Sendable (State) -> Bool) async -> State {
    await withCheckedContinuation { continuation in
      let now = state.withLock { state -> State? in
        if isOver(state) { return state }
        state.waiting.append(Waiting(isOver: isOver, continuation: continuation))
        return nil
      }
      if let now { continuation.resume(returning: now) }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let (now, due) = state.withLock { state in
      body(&state)
      let now = state
      state.waiting.removeAll { $0.isOver(now) }
      return (now, now.waiting.filter { $0.isOver(now) })
    }
    for waiting in due { waiting.continuation.resume(returning: now) }
  }
}

extension Snapshot {
  fileprivate func isTaken(as other: Snapshot) -> Bool {
    path == other.path && pageSize == other.pageSize && method == other.method
  }
}

extension Push {
  /// When a copy is sealed while it is still being written; sizes in bytes.
  package struct Overlap: Sendable {
    /// Sealing begins when so much was written: what is smaller is copied in no time.
    package var least = 16 << 20
    /// So far behind what was written last hardly anything is written any more.
    package var margin = 8 << 20

    package init() {}
  }
}
