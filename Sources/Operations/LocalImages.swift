import Repositories
import Sealing
import Snapshots

/// Plain images on this machine of what was pushed, or may have been: a fresh snapshot, and the bases of deltas.
final class LocalImages {
  private let paths: [String]
  private let spool: Spool?
  /// Held so that no push changes the bases meanwhile.
  private var bases: BaseFolder?
  private var indexed: (pageSize: Int, pages: LocalPages)?

  /// - Parameter database: `nil` when there is none here; what is kept as a file brings nothing.
  /// - Throws: `CancellationError`.
  init(of database: DatabaseSource?, _ world: World) async throws {
    guard let database, database.method != .file else {
      (paths, spool) = ([], nil)
      return
    }
    bases = BaseFolder(of: database, host: HostName.known(world), world)
    Spool.sweep(in: world.stateFolder)
    let spool = try Spool.open(in: world.stateFolder)
    self.spool = spool
    var paths = bases?.images ?? []
    do {
      var request = SnapshotRequest(source: database.path, spoolFolder: spool.path)
      request.method = StickyMethod.method(for: database, world)
      request.busyTimeout = .milliseconds(database.busyTimeoutMilliseconds)
      request.keepFreePages = database.keepFreePages
      request.maxWalGrowth = database.maxWalGrowth
      request.check = false
      paths.insert(try await takeSnapshot(request).path, at: 0)
    } catch let error as SnapshotError where error.code != .cancelled {
      world.reporter.notice("'\(database.name)' as it is now is of no help: \(error.message)")
    }
    self.paths = paths
  }

  /// - Throws: `.stateFolder`.
  func pages(of size: Int, keys: SealingKeys, tables: String) throws -> LocalPages? {
    guard !paths.isEmpty else { return nil }
    if let indexed, indexed.pageSize == size { return indexed.pages }
    let pages = try LocalPages(paths, pageSize: size, keys: keys, tables: tables)
    indexed = (size, pages)
    return pages
  }

  /// Lets a push use them, and put others in their place.
  func releaseBases() { bases = nil }

  func remove() { spool?.remove() }
}
