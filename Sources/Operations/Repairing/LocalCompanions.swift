import Repositories
import Sealing
import Storage

/// The files that come with a database, as they are on this machine now: what the target lost of a companion that has not
/// changed since stands in it still. Listed and opened as a push does it.
enum LocalCompanions {
  /// - Parameter database: `nil` when there is none here.
  /// - Throws: `CancellationError`.
  static func blocks(
    of database: DatabaseSource?, at target: TargetAccess, keys: SealingKeys, _ world: World
  ) async throws -> LocalBlocks? {
    // As a push: what is behind a link would be read, and sealed. `LocalImages` has told of it.
    guard let database, ForeignLink.refusal(on: database.path, writing: false) == nil else { return nil }
    do {
      let capture = try CompanionCapture(
        database, CompanionHooks(), without: world.ownFolders(of: database, at: [target]))
      let files = await capture.filesByName()
      return files.isEmpty ? nil : LocalBlocks(files, keys: keys, tables: world.tables)
    } catch let error as OperationError {
      world.reporter.notice("what comes with '\(database.name)' is of no help: \(error.message)")
      return nil
    }
  }
}
