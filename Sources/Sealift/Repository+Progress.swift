import Operations
import Storage

extension Repository {
  /// How far a push, a pull or a restore is. It is told on any thread, one call after the other, and within a stage
  /// `bytesDone` never goes back: of what has to be begun anew it stays as it is until that is further.
  public struct Progress: Sendable {
    /// What is being done. More may be added.
    public struct Stage: Sendable, Hashable, CustomStringConvertible {
      /// The database is copied.
      public static let copying = Stage(.copying)
      /// SQLite's check reads the copy.
      public static let checking = Stage(.checking)
      /// The copy is sealed and stored.
      public static let sealing = Stage(.sealing)
      /// A version is fetched.
      public static let fetching = Stage(.fetching)
      /// The old content is copied, before a live restore changes anything.
      public static let keeping = Stage(.keeping)
      /// The new content is written into a live database.
      public static let restoring = Stage(.restoring)

      /// One word.
      public let description: String

      init(_ stage: Operations.Progress.Stage) { description = stage.rawValue }
    }

    public let stage: Stage
    public let bytesDone: Int
    /// `nil` where it cannot be known.
    public let bytesTotal: Int?
  }

  /// Does the work in a task of its own, which ends when the caller's is cancelled or when the callback throws.
  ///
  /// Whoever gets a result was not aborted: what a callback throws too late changes nothing.
  func reporting<Outcome: Sendable>(
    to progress: @escaping @Sendable (Progress) throws -> Void,
    _ work: @escaping @Sendable (World) async throws -> Outcome
  ) async throws -> Outcome {
    let listener = Listener(progress, world.reporter)
    var world = world
    world.reporter = listener
    let task = Task { [world] in try await work(world) }
    listener.cancels(task)
    do {
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    } catch {
      let known = told(error)
      // What the work has to tell of itself counts more: a version that is there, and damaged.
      throw known is CancellationError ? listener.refusal ?? known : known
    }
  }
}

/// Passes progress on to an application, whose first error ends the work.
private final class Listener: Reporter {
  private struct State {
    var refusal: (any Error)?
    var cancel: @Sendable () -> Void = {}
  }

  private let callback: @Sendable (Repository.Progress) throws -> Void
  private let remarks: any Reporter
  private let state = Locked(State())
  /// How far each stage was said to be. Held while the application is told: several threads have something to tell.
  private let heard = Locked<[Operations.Progress.Stage: Int]>([:])

  init(_ callback: @escaping @Sendable (Repository.Progress) throws -> Void, _ remarks: any Reporter) {
    self.callback = callback
    self.remarks = remarks
  }

  /// What the callback threw first.
  var refusal: (any Error)? { state.withLock { $0.refusal } }

  /// - Parameter task: may have begun already.
  func cancels(_ task: Task<some Sendable, any Error>) {
    let isRefused = state.withLock { state in
      state.cancel = { task.cancel() }
      return state.refusal != nil
    }
    if isRefused { task.cancel() }
  }

  func progress(_ progress: Operations.Progress) {
    let cancel: (@Sendable () -> Void)? = heard.withLock { heard in
      guard refusal == nil else { return nil }
      // Each thread tells of what it has done, the one that was the last to finish perhaps first.
      let done = max(progress.bytesDone, heard[progress.stage] ?? 0)
      heard[progress.stage] = done
      do {
        try callback(Repository.Progress(progress, bytesDone: done))
        return nil
      } catch {
        return refuse(error)
      }
    }
    cancel?()
  }

  /// - Returns: what ends the work.
  private func refuse(_ error: any Error) -> @Sendable () -> Void {
    state.withLock { state in
      state.refusal = error
      return state.cancel
    }
  }

  func notice(_ text: String) { remarks.notice(text) }
}

extension Repository.Progress {
  /// - Parameter done: no less than it says itself.
  fileprivate init(_ progress: Operations.Progress, bytesDone done: Int) {
    let total = progress.bytesTotal.flatMap { $0 >= done ? $0 : nil }
    self.init(stage: Stage(progress.stage), bytesDone: done, bytesTotal: total)
  }
}

/// Remarks go to the application, progress to nobody.
struct Remarks: Reporter {
  let tell: @Sendable (String) -> Void
  func progress(_ progress: Operations.Progress) {}
  func notice(_ text: String) { tell(text) }
}
