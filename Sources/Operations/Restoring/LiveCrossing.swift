import Glibc
import Snapshots
import Storage

/// The instant of a live restore in which files and rows change: when all pages are written, and right before they are
/// committed. What fails before that leaves the old files with the old rows.
final class LiveCrossing: Sendable {
  private struct State {
    /// Paths that what stood in the way of the new files has now.
    var aside: [String] = []
    /// It can happen at any time from now on that the new rows are there.
    var isCommitting = false
  }

  private let intent: LiveIntent
  /// What restores that were killed have left: named until one has ended.
  private let earlier: [String]
  private let beside: RestoreBeside
  private let undo: RestoredFile?
  private let state = Locked(State())

  /// - Parameter undo: a copy of the old content.
  init(into database: String, _ beside: RestoreBeside, _ undo: RestoredFile?) {
    intent = LiveIntent(database: database)
    earlier = intent.left
    self.beside = beside
    self.undo = undo
  }

  /// Everything but the rows.
  /// - Parameters:
  ///   - time: as in file names.
  ///   - hasMoved: called when the new files are in their places.
  func cross(_ time: String, hasMoved: () throws -> Void) throws {
    // Somebody may have come while the rows were written.
    try beside.demandNobodyCame()
    let time = beside.freeTime(time)
    let aside = beside.aside(at: time)
    // Also where nothing stood in the way: whoever is killed now leaves new files with old rows.
    if !beside.places.isEmpty {
      let left = earlier + aside + [undo?.path].compactMap { $0 }
      try intent.note(left.isEmpty ? beside.places : left)
    }
    state.withLock { $0.aside = aside }
    try beside.put(time)
    try hasMoved()
    state.withLock { $0.isCommitting = true }
  }

  /// Files that were left alone, or are of no companion of this version, are as those that were killed have left them: they
  /// stay named.
  func end() { if !beside.leavesOut { intent.settle(beside.put, left: earlier) } }

  /// - Parameter isUntouched: the transaction was rolled back, if there was one.
  /// - Returns: the error, with what a person has to know in order to go on.
  func givenUp(after error: any Error, isUntouched: Bool) -> any Error {
    let state = state.withLock { $0 }
    guard !state.isCommitting || isUntouched else { return unsure(error, state.aside) }
    let undone = beside.takeBack().undone
    let error = withdrawUndo(after: error)
    let left = state.aside.filter(CompanionsPlace.stands)
    guard left.isEmpty else {
      return OperationError(error).leaving(
        "; and what was moved aside could not all be put back: \(left.joined(separator: ", "))")
    }
    try? intent.note(earlier)
    guard !undone.isEmpty else { return error }
    return OperationError(error).leaving(
      "; nothing was changed but that what comes with the version, which was in its place for a moment, is \(undone.joined(separator: ", ")) now",
      hint: "Try again later. What has that name can be deleted, unless an application wrote into it in that moment.")
  }

  /// Where not even the journal could be rolled back, the copy is the one whole thing there is.
  private func withdrawUndo(after error: any Error) -> any Error {
    guard (error as? SnapshotError)?.code == .notRolledBack, let copy = undo?.path, CompanionsPlace.stands(copy) else {
      undo?.withdraw()
      return error
    }
    return OperationError(error).leaving("; a whole copy of the old content is \(copy)")
  }

  private func unsure(_ error: any Error, _ aside: [String]) -> OperationError {
    let old = ([undo?.path].compactMap { $0 } + aside).filter(CompanionsPlace.stands)
    let told = OperationError(error).leaving("; it is not known whether the new content is there")
    guard !old.isEmpty else { return told }
    return told.leaving(
      ", and the old one is \(old.joined(separator: ", "))",
      hint: "Restore again with --live, so that rows and files are of one version; or put the old ones back.")
  }
}
