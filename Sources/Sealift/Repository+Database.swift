import Operations

extension Repository {
  /// A database to push.
  public struct Database: Sendable {
    /// Its versions are listed under this name; at most 255 bytes without a `/`.
    public var name: String
    public var path: String
    /// How the copy is made.
    public var method = Snapshot.Method.vacuum
    /// What to do while somebody else has the database locked.
    public var busy = Snapshot.BusyPolicy.retry(upTo: .seconds(30))
    /// Bytes by which the -wal may grow while the copy is taken, before that is given up; `nil` for no limit.
    public var maxWALGrowth: Int?
    /// Keep a plain image of an earlier version in the state folder, so that pushes send only what changed. Needs the
    /// database's size once or twice on this machine's disk, and saves most of what would be stored.
    public var keepsBase = true

    /// - Parameters:
    ///   - name: its versions are listed under this name; at most 255 bytes without a `/`.
    ///   - path: absolute. The application may have the database open and go on writing meanwhile, through the system's
    ///     SQLite or in another process; see ``Snapshot/DatabaseFile``.
    public static func database(named name: String, at path: String) -> Database { Database(name: name, path: path) }

    private init(name: String, path: String) {
      self.name = name
      self.path = path
    }
  }
}

extension Repository.Database {
  /// - Throws: `.usage`.
  func source() throws(OperationError) -> DatabaseSource {
    guard !name.isEmpty, !name.contains("/"), name.utf8.count <= 255 else {
      throw OperationError(
        .usage, code: "badName", "'\(name)' cannot be the name of a database",
        hint: "A name has no '/' and at most 255 bytes.")
    }
    guard path.hasPrefix("/") else {
      throw OperationError(
        .usage, code: "badPath", "'\(path)' is not an absolute path",
        hint: "Name the database file by its whole path, beginning with a slash.")
    }
    return DatabaseSource(
      name: name, path: path, method: method == .vacuum ? .vacuum : .pages,
      busyTimeoutMilliseconds: Int(min(max(0, busy.patience / .milliseconds(1)), 1e15)), maxWalGrowth: maxWALGrowth,
      delta: keepsBase)
  }
}
