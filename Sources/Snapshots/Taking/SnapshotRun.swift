/// One snapshot, from the first look at the source to the finished image.
final class SnapshotRun {
  let request: SnapshotRequest
  let watch: Watch
  let progress: (SnapshotProgress) throws -> Void
  var image: String
  /// Bytes; for progress, before the copy's own header can be read.
  var pageSize = 4096
  var lastReport = ContinuousClock.now - .seconds(1)
  var pagesReported = 0
  /// What was found in the source itself, where it was looked at, and how long that held it.
  var look: (outcome: CheckOutcome, transaction: ReadTransaction)?

  init(_ request: SnapshotRequest, _ watch: Watch, _ progress: @escaping (SnapshotProgress) throws -> Void) {
    self.request = request
    self.watch = watch
    self.progress = progress
    image = Self.newImage(in: request.spoolFolder)
  }

  static func newImage(in folder: String) -> String { "\(folder)/\(randomName()).sqlite" }

  func take() throws -> Snapshot {
    try watch.check()
    let identity = try identify(request.source)
    pageSize = try identity.demandDatabase(named: request.source).pageSize ?? pageSize
    let mark = SchemaMark(identity)
    let sideFilesBefore = Set(sideFiles(of: identity.path))

    try makeImageFile(image)
    do {
      let copy = try copySource(identity.path)
      let check = try checkCopy(copy)
      let finished = try Image(image)
      let zeroed = try normalise(finished, copy, check)
      var snapshot = Snapshot(
        path: image, pageSize: finished.pageSize, pageCount: finished.pageCount, method: copy.method,
        fallback: copy.fallback, check: check, takenAt: copy.transaction.takenAt,
        longestWriterStall: copy.blocksWriters ? max(copy.transaction.held, look?.transaction.held ?? .zero) : nil,
        walGrowth: copy.transaction.walGrowth + (look?.transaction.walGrowth ?? 0),
        sideFilesAppeared: sideFiles(of: identity.path).filter { !sideFilesBefore.contains($0) },
        source: copy.signature, freePagesZeroed: zeroed)
      snapshot.sourceCheck = look?.outcome
      snapshot.fallbackIsPassing = copy.fallbackIsPassing
      snapshot.schemaMark = mark
      snapshot.lockWasPassed = copy.transaction.lockWasPassed || look?.transaction.lockWasPassed == true
      // Complete: from here on nobody can stop it.
      try? progress(report(.checking, finished.pageCount, finished.pageCount))
      return snapshot
    } catch {
      removeImage(image)
      throw error
    }
  }
}
