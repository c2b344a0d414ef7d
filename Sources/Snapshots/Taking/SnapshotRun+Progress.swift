/// What is told while it goes on.
extension SnapshotRun {
  /// Only where nothing of the copy becomes zeros afterwards: what is deleted must not be carried along.
  func growingCopy(
    of source: Source, _ transaction: ReadTransaction, _ header: DatabaseHeader?, _ pages: Int
  ) -> Snapshot? {
    guard source.growsInSight, source.damage == nil, let header, let pageSize = header.pageSize,
      header.freelistCount == 0 || request.keepFreePages
    else { return nil }
    return growingCopy(of: source, transaction, .pages, pages, pageSize)
  }

  func growingCopy(
    of source: Source, _ transaction: ReadTransaction, _ method: SnapshotMethod, _ pages: Int, _ pageSize: Int
  ) -> Snapshot {
    Snapshot(
      path: image, pageSize: pageSize, pageCount: pages, method: method, check: nil, takenAt: transaction.takenAt,
      source: source.signature)
  }

  func report(
    _ stage: SnapshotProgress.Stage, _ pagesDone: Int, _ pagesTotal: Int?, _ growing: Snapshot? = nil
  ) -> SnapshotProgress {
    SnapshotProgress(
      stage: stage, pagesDone: pagesDone, pagesTotal: pagesTotal, bytesDone: pagesDone * pageSize, growing: growing)
  }

  /// Steps that were asked for are told one by one.
  func eachStepOrOccasionally(_ tell: () throws -> Void) rethrows {
    try request.pagesPerStep == nil ? occasionally(tell) : tell()
  }

  func occasionally(_ work: () throws -> Void) rethrows {
    guard .now - lastReport > .milliseconds(20) else { return }
    lastReport = .now
    try work()
  }
}
