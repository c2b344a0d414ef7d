import Platform

/// Takes a consistent copy of a live database, and changes nothing of it.
///
/// Runs on a thread of its own. Cancelling the task, or throwing from `progress`, ends it within moments and
/// removes what was written; once the copy is complete both are ignored.
/// - Parameter progress: called on that thread, at most some fifty times a second; with `pagesPerStep` after each step.
/// - Throws: `SnapshotError`, or what `progress` threw.
package func takeSnapshot(
  _ request: SnapshotRequest, progress: @escaping @Sendable (SnapshotProgress) throws -> Void = { _ in }
) async throws -> Snapshot {
  try await onOwnThread { stop in
    try patiently {
      try onceMore { try SnapshotRun(request, Watch(stop, busyTimeout: request.busyTimeout), progress).take() }
    }
  }
}

/// A busy writer that keeps its journal file (PERSIST) can look, for an instant, like one that died: between SQLite's look
/// at its lock and that at its journal it began. What is really left behind by the dead is still there a moment later.
private func patiently(_ take: () throws -> Snapshot) throws -> Snapshot {
  for _ in 0..<5 {
    do {
      return try take()
    } catch let error as SnapshotError where error.code == .hotJournal {
      usleep(50_000)
    }
  }
  return try take()
}

/// Who wrote in spite of SQLite's lock may be gone by now: what may be of two moments is copied again, once.
private func onceMore(_ take: () throws -> Snapshot) throws -> Snapshot {
  let snapshot = try take()
  guard snapshot.lockWasPassed else { return snapshot }
  removeImage(snapshot.path)
  return try take()
}
