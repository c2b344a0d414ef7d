import Operations

extension Repository {
  /// A database to push, or a file that its application has made of one.
  public struct Database: Sendable {
    /// Its versions are listed under this name; at most 255 bytes without a `/`.
    public var name: String
    public var path: String
    /// How the copy is made.
    public var method = Snapshot.Method.vacuum
    /// What to do while somebody else has the database locked.
    public var busy = usualPatience
    /// Bytes by which the -wal may grow while the copy is taken, before that is given up; `nil` for no limit.
    public var maxWALGrowth: Int?
    /// Keep a plain image of an earlier version in the state folder, so that pushes send only what changed. Needs the
    /// database's size once or twice on this machine's disk, and saves most of what would be stored.
    public var keepsBase = true
    /// Files and folders that are kept with the database.
    public var companions: [Companion] = []
    /// Whether the external files of a Core Data store (`.NAME_SUPPORT`) come with it.
    public var takesExternalData = true
    private let isOpaque: Bool
    private static let usualPatience = Snapshot.BusyPolicy.retry(upTo: .seconds(30))

    /// - Parameters:
    ///   - name: its versions are listed under this name; at most 255 bytes without a `/`.
    ///   - path: absolute. The application may have the database open and go on writing meanwhile, through the system's
    ///     SQLite or in another process; see ``Snapshot/DatabaseFile``.
    public static func database(named name: String, at path: String) -> Database {
      Database(name: name, path: path, isOpaque: false)
    }

    /// Any file that its application has made, kept as it is: an encrypted export (`sqlcipher_export`, or GRDB's
    /// `backup(to:)` with a passphrase), an archive.
    ///
    /// It has to lie still while it is read; one that is written to meanwhile is refused. So is, with the code `openHere`,
    /// one that this process has open itself, with SQLCipher for example: to read it would take the locks of that library
    /// away. Export a copy, close it, and push that. What concerns databases only (``method``, ``busy``,
    /// ``maxWALGrowth``) must be left as it is.
    /// - Parameters:
    ///   - name: its versions are listed under this name; at most 255 bytes without a `/`.
    ///   - path: absolute.
    public static func file(named name: String, at path: String) -> Database {
      Database(name: name, path: path, isOpaque: true)
    }

    private init(name: String, path: String, isOpaque: Bool) {
      self.name = name
      self.path = path
      self.isOpaque = isOpaque
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
    var source = DatabaseSource(
      name: name, path: path, method: try operand,
      busyTimeoutMilliseconds: Int(min(max(0, busy.patience / .milliseconds(1)), 1e15)), maxWalGrowth: maxWALGrowth,
      delta: keepsBase)
    source.companions = companions.map(\.operand)
    source.externalData = takesExternalData
    return source
  }

  private var operand: DatabaseSource.Method {
    get throws(OperationError) {
      guard isOpaque else { return method == .vacuum ? .vacuum : .pages }
      guard method == .vacuum, maxWALGrowth == nil, busy.patience == Self.usualPatience.patience else {
        throw OperationError(
          .usage, code: "notForFiles", "'\(name)' is pushed as a file, but is to be treated as a database",
          hint: "Leave method, busy and maxWALGrowth as they are: they are for databases.")
      }
      return .file
    }
  }
}
