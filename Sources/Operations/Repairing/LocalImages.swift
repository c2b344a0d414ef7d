import Repositories
import Sealing
import Snapshots

/// Plain images on this machine of what was pushed, or may have been: a fresh snapshot, and the bases of deltas. Of what is
/// kept as a file, a fresh copy.
final class LocalImages {
  /// That copy, under the path that it has in a version.
  let file: CompanionSource?
  private let paths: [String]
  private let spool: Spool?
  /// Held so that no push changes the bases meanwhile.
  private var bases: BaseFolder?
  private var indexed: (pageSize: Int, pages: LocalPages)?

  /// - Parameters:
  ///   - database: `nil` when there is none here.
  ///   - dryRun: a transaction that a dead writer left is not rolled back, whatever the settings say.
  /// - Throws: `CancellationError`.
  init(of database: DatabaseSource?, dryRun: Bool, _ world: World) async throws {
    guard let database else {
      (file, paths, spool) = (nil, [], nil)
      return
    }
    if database.method != .file, let host = try? HostName.known(world) {
      bases = BaseFolder(of: database, host: host, world)
    }
    Spool.sweep(in: world.stateFolder)
    let spool = try Spool.open(in: world.stateFolder)
    self.spool = spool
    var paths = bases?.images ?? []
    var file: CompanionSource?
    func tellOfNoHelp(_ why: String) {
      world.reporter.notice("'\(database.name)' as it is now is of no help: \(why)")
    }
    do {
      // As a push: what is behind it would be read, or rolled back, and sealed.
      try OperationError.demandOwnLinks(on: database.path, writing: false)
      if try Push(world).takesFile(database) {
        let copy = try await takeFile(FileRequest(source: database.path, spoolFolder: spool.path))
        file = try CompanionSource(copy, of: database)
      } else {
        var request = database.snapshotRequest(in: spool, world)
        request.check = false
        if dryRun { request.allowRecovery = false }
        paths.insert(try await takeSnapshot(request).path, at: 0)
      }
    } catch let error as OperationError {
      tellOfNoHelp(error.message)
    } catch let error as SnapshotError where error.code != .cancelled {
      let isLeft = dryRun && database.allowRecovery && error.code == .hotJournal
      let isForUs = isLeft && LockFolder.beside(database.path) == nil
      let way = isForUs ? "; a repair rolls that back, a dry run does not" : ""
      tellOfNoHelp("\(error.message)\(way)")
    }
    self.file = file
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

extension CompanionSource {
  /// A database that is kept as a file is made of blocks, as companions are.
  fileprivate init(_ copy: Snapshot, of database: DatabaseSource) throws {
    let member = try SnapshotImage(copy).member(of: database, copy)
    let file = CopiedFile(member)
    self.init(path: member.path, mode: member.mode, modified: member.modified, content: .file { file })
  }
}

/// A copy that nobody else writes to.
private final class CopiedFile: CompanionFile {
  private let member: MemberSource
  var length: Int { member.length }
  var mode: UInt32 { member.mode }
  var modified: UInt64 { member.modified }

  init(_ member: MemberSource) { self.member = member }

  func read(_ range: Range<Int>) throws -> [UInt8] { try member.read(range) }
  func isSettled() -> Bool { true }
  func keptUnsettled() {}
}
