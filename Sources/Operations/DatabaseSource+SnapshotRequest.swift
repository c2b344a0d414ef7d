import Snapshots

extension DatabaseSource {
  /// How a copy of it is taken, for whatever purpose: as its settings say.
  func snapshotRequest(in spool: Spool, _ world: World) -> SnapshotRequest {
    var request = SnapshotRequest(source: path, spoolFolder: spool.path)
    request.method = StickyMethod.method(for: self, world)
    request.busyTimeout = .milliseconds(busyTimeoutMilliseconds)
    request.allowRecovery = allowRecovery
    request.keepFreePages = keepFreePages
    request.maxWalGrowth = maxWalGrowth
    return request
  }
}
