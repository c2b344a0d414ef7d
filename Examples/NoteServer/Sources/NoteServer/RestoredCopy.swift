import Foundation
import GRDB

/// A version on its way back: pulled into a private file, and brought to the schema of this release before anybody sees it.
struct RestoredCopy: Sendable {
  private let folder: String
  let path: String

  /// - Parameter stateFolder: gets a folder of mode 0700 that is gone after `remove()`. Only one restore may run at a time.
  init(in stateFolder: String) throws {
    Self.removeLeftovers(in: stateFolder)
    folder = Self.folder(in: stateFolder)
    path = folder + "/notes.db"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// What a server that was killed in the middle of a restore has left.
  static func removeLeftovers(in stateFolder: String) {
    try? FileManager.default.removeItem(atPath: folder(in: stateFolder))
  }

  private static func folder(in stateFolder: String) -> String { stateFolder + "/restoring" }

  func remove() { try? FileManager.default.removeItem(atPath: folder) }

  /// - Throws: `Failure` with code `newerRelease`.
  func migrate() async throws {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    _ = try await queue.read { db in try DatabaseMigrator.notes.pending(db) }
    try await DatabaseMigrator.notes.migrate(waitingFor: queue)
  }
}
