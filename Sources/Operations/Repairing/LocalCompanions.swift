import Repositories
import Sealing
import Storage

/// The files that come with a database, as they are on this machine now: what the target lost of a companion that has not
/// changed since stands in it still. Listed and opened as a push does it.
enum LocalCompanions {
  /// - Parameters:
  ///   - database: `nil` when there is none here.
  ///   - copy: of the database, where it is kept as a file.
  /// - Throws: `CancellationError`.
  static func blocks(
    of database: DatabaseSource?, with copy: CompanionSource?, at target: TargetAccess, keys: SealingKeys,
    _ world: World
  ) async throws -> LocalBlocks? {
    // As a push: what is behind a link would be read, and sealed. `LocalImages` has told of it.
    guard let database, ForeignLink.refusal(on: database.path, writing: false) == nil else { return nil }
    var files = [copy].compactMap { $0 }
    do {
      let capture = try CompanionCapture(
        database, CompanionHooks(), without: world.ownFolders(of: database, at: [target]))
      files += await capture.filesByName()
    } catch let error as OperationError {
      world.reporter.notice("what comes with '\(database.name)' is of no help: \(error.message)")
    }
    return files.isEmpty ? nil : LocalBlocks(files, keys: keys, tables: world.tables)
  }
}
