import Repositories
import Sealing
import Snapshots

/// A database that could not be vacuumed is copied page by page from then on: flapping between methods would make every
/// page look new each time. The vacuum is tried again where the reason may be gone: the schema, the file or SQLite is
/// another (`SchemaMark`), or a person insists.
enum StickyMethod {
  static func method(for database: DatabaseSource, _ world: World) -> SnapshotMethod {
    guard database.method == .vacuum else { return .pages }
    guard !database.insistsOnMethod, let reason = reasonForPages(of: database, world) else { return .vacuum }
    world.reporter.detail(
      "'\(database.name)' is copied page by page, as it could not be vacuumed (\(reason)); that is tried again when "
        + "its schema, its file or SQLite is another, and with --method vacuum or --rebuild-base")
    return .pages
  }

  /// - Parameter mark: of the database when the vacuum was tried.
  static func note(_ database: DatabaseSource, _ world: World, reason: String, _ mark: SchemaMark?) {
    try? StateFiles.makeFolder("\(world.stateFolder)/methods")
    let lines = ["pages: \(reason)"] + (mark.map { ["\($0)"] } ?? [])
    try? StateFiles.write(Array("\(lines.joined(separator: "\n"))\n".utf8), to: path(database, world))
  }

  /// It was vacuumed.
  static func forget(_ database: DatabaseSource, _ world: World) { StateFiles.remove(path(database, world)) }

  /// - Returns: `nil` when a vacuum should be tried: none has failed, or what it failed for may be gone. A note that names
  ///   no mark is of an earlier release.
  private static func reasonForPages(of database: DatabaseSource, _ world: World) -> String? {
    guard let bytes = try? StateFiles.read(path(database, world)) else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    // Of a file that cannot be looked at nothing says that it is another.
    if let mark = SchemaMark(of: database.path), lines.last != "\(mark)" { return nil }
    return lines.first.map { String($0.dropFirst("pages: ".count)) } ?? ""
  }

  private static func path(_ database: DatabaseSource, _ world: World) -> String {
    "\(world.stateFolder)/methods/\(Digest.sha256(of: Array("\(database.name)\0\(database.path)".utf8)).hex.prefix(32))"
  }
}
