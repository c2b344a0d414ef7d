import Repositories
import Sealing
import Snapshots

/// When this machine last found a live database itself sound. The copy of each push is checked, but what a vacuum cannot
/// reach is not in it (`Docs/Decisions/0027`): so the database is asked at its first push from here, and once a week.
///
/// Only what was found sound is noted. A note that is lost, or of a time to come, costs one check more.
enum SourceChecks {
  /// Milliseconds.
  private static let week: UInt64 = 7 * 24 * 3600 * 1000

  static func isDue(_ database: DatabaseSource, _ world: World) -> Bool {
    guard let bytes = try? StateFiles.read(path(database, world)),
      let last = UInt64(String(decoding: bytes.prefix(while: { $0 != UInt8(ascii: "\n") }), as: UTF8.self))
    else { return true }
    let now = world.now()
    return now < last || now - last >= week
  }

  static func note(_ check: CheckOutcome, of database: DatabaseSource, _ world: World) {
    let path = path(database, world)
    switch check {
    case .ok:
      try? StateFiles.makeFolder("\(world.stateFolder)/checks")
      try? StateFiles.write(Array("\(world.now())\n".utf8), to: path)
    case .damaged:
      // The next push has to find it, too.
      StateFiles.remove(path)
    case .notCheckable(let why):
      world.reporter.notice(
        "the live database '\(database.name)' could not be checked this time, its copy is; the next push tries again: \(why)"
      )
    }
  }

  private static func path(_ database: DatabaseSource, _ world: World) -> String {
    "\(world.stateFolder)/checks/\(Digest.sha256(of: Array("\(database.name)\0\(database.path)".utf8)).hex.prefix(32))"
  }
}
