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

  /// - Parameters:
  ///   - database: `nil` when there is none here; what is kept as a file brings nothing.
  ///   - dryRun: a transaction that a dead writer left is not rolled back, whatever the settings say.
  /// - Throws: `CancellationError`.
  init(of database: DatabaseSource?, dryRun: Bool, _ world: World) async throws {
    guard let database, database.method != .file else {
      (paths, spool) = ([], nil)
      return
    }
    bases = BaseFolder(of: database, host: HostName.known(world), world)
    Spool.sweep(in: world.stateFolder)
    let spool = try Spool.open(in: world.stateFolder)
    self.spool = spool
    var paths = bases?.images ?? []
    func tellOfNoHelp(_ why: String) {
      world.reporter.notice("'\(database.name)' as it is now is of no help: \(why)")
    }
    do {
      // As a push: what is behind it would be read, or rolled back, and sealed.
      try OperationError.demandOwnLinks(on: database.path, writing: false)
      var request = database.snapshotRequest(in: spool, world)
      request.check = false
      if dryRun { request.allowRecovery = false }
      paths.insert(try await takeSnapshot(request).path, at: 0)
    } catch let error as OperationError {
      tellOfNoHelp(error.message)
    } catch let error as SnapshotError where error.code != .cancelled {
      let isLeft = dryRun && database.allowRecovery && error.code == .hotJournal
      let isForUs = isLeft && LockFolder.beside(database.path) == nil
      let way = isForUs ? "; a repair rolls that back, a dry run does not" : ""
      tellOfNoHelp("\(error.message)\(way)")
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
