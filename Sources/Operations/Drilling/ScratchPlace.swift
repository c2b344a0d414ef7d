import Repositories
import Snapshots

/// A private folder in which versions are restored for a while, and which nothing is left of afterwards.
struct ScratchPlace {
  private let spool: Spool

  /// Also removes what runs that died left below that folder.
  init(below folder: String) throws {
    try StateFiles.makeFolder(folder)
    Spool.sweep(in: folder)
    spool = try Spool.open(in: folder)
  }

  /// Absolute where the folder is; 0700.
  var path: String { spool.path }

  func remove() { spool.remove() }
}
