import Repositories
import Sealing

/// A database that could not be vacuumed once is copied page by page from then on: flapping between methods would make
/// every page look new each time. Removing the file in the state folder tries the vacuum again.
enum StickyMethod {
  static func usesPages(_ database: DatabaseSource, _ world: World) -> Bool {
    (try? StateFiles.read(path(database, world))) != nil
  }

  static func note(_ database: DatabaseSource, _ world: World, reason: String) {
    try? StateFiles.makeFolder("\(world.stateFolder)/methods")
    try? StateFiles.write(Array("pages: \(reason)\n".utf8), to: path(database, world))
  }

  private static func path(_ database: DatabaseSource, _ world: World) -> String {
    "\(world.stateFolder)/methods/\(Digest.sha256(of: Array("\(database.name)\0\(database.path)".utf8)).hex.prefix(32))"
  }
}
