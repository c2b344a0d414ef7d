/// The endings of the files that SQLite keeps beside a database, in the order in which they may go: nothing is left that
/// SQLite would apply to a database without them.
enum SideFiles {
  static let endings = ["-wal", "-shm", "-journal"]

  /// The database and those beside it that are there.
  static func present(of path: String) -> [String] {
    ([""] + endings).filter { FileIdentity(at: path + $0) != nil }
  }
}
