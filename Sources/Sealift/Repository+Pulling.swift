import Operations

extension Repository {
  /// What was pulled.
  public struct Pulled: Sendable {
    public let version: Version
    /// The file that was made.
    public let path: String
    /// The folder of companion files beside it, `FILE.companions`, for versions that have any.
    public let companionsFolder: String?
    /// The folder of a Core Data store's external files beside it, `.NAME_SUPPORT`, for versions that have one.
    public let supportFolder: String?
    /// What SQLite's check said of this content: `ok`, or why not.
    public let check: String
  }

  /// Brings a version back as a new file, verified to the last byte before the file gets its name.
  ///
  /// ```swift
  /// let pulled = try await repository.pull("app:latest", to: "/srv/app/restored.db")
  /// ```
  ///
  /// Nothing that exists is replaced. The file of a database has mode 600; one that was kept as it is (``Database`` of a
  /// file) has the mode that it had. Cancelling the task leaves no file behind. Where the line or the target fails, what was
  /// fetched of a large database is kept for the next call, and the error says where.
  /// - Parameters:
  ///   - version: an id or at least 4 digits of it, `latest` (the newest of all databases and hosts), `app:latest` (the
  ///     newest of the database `app`), or `app@2026-11-20T12:00:00Z` (the newest not later than that).
  ///   - path: of a file that does not exist; nor do side files (-wal, -shm, -journal) of that name.
  ///   - head: refuse when the target does not hold this head (``Version/head``), or something that follows it.
  ///   - companions: `false` leaves out what comes with the database, which comes back also where its companions are
  ///     damaged or have no room; a remark says what was left out.
  ///   - progress: throwing from it ends the pull, and the error is passed on; once the file is there, what it throws
  ///     is ignored. Called on any thread, never on two at once.
  /// - Throws: `SealiftError` of kind `noSuchVersion`, `verificationFailed`, `noRepository`, `wrongKey`, `usage` (with the
  ///   code `destinationExists` or `sideFileExists`), `failed`; `CancellationError`; or what `progress` threw.
  @discardableResult
  public func pull(
    _ version: String, to path: String, expecting head: String? = nil, companions: Bool = true,
    progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> Pulled {
    try await reporting(to: progress) { [target] world in
      let selector = try VersionSelector(parsing: version)
      var pull = Pull(world)
      pull.leavesCompanions = !companions
      // Nobody reads a remark of where it lies.
      pull.keepsWhenInterrupted = false
      let outcome = try await pull.run(selector, from: target, to: .file(path), expect: head.map { [$0] } ?? [])
      return Pulled(
        version: Version(outcome.version), path: path, companionsFolder: outcome.companionsFolder,
        supportFolder: outcome.supportFolder, check: outcome.check)
    }
  }
}
