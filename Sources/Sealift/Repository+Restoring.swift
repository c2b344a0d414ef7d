import Operations

extension Repository {
  /// What was restored into a live database.
  public struct Restored: Sendable {
    public let version: Version
    /// A copy of the content that was replaced, beside the database.
    public let undoCopy: String?
    /// The folder of companion files beside it, `FILE.companions`, for versions that have any.
    public let companionsFolder: String?
    /// The folder of a Core Data store's external files beside it, `.NAME_SUPPORT`, for versions that have one.
    public let supportFolder: String?
    /// What stood in the place of those folders before, and where it is now.
    public let movedAside: [Moved]

    public struct Moved: Sendable, Hashable {
      public let from: String
      public let to: String
    }
  }

  /// Replaces the content of a database that applications have open by that of a version, in one transaction.
  ///
  /// ```swift
  /// let restored = try await repository.restore("app:latest", live: "/var/lib/app/app.db")
  /// ```
  ///
  /// Who reads meanwhile sees the old content or the new, never half of each. The version is fetched and verified to the
  /// last byte before anything is changed; cancelling the task leaves the old content. Companion files of the version come
  /// to lie in `FILE.companions`; what stands there is moved aside, to a name that ends in `.before-` and the time. On a file
  /// system where SQLite's locks cannot be trusted (NFS, SMB, most of FUSE) it is refused, with the code `untrustedLocks`;
  /// so is a file in WAL mode that is mounted by itself, or has a second link, unless somebody has it open by this name, with
  /// the code `mountedAlone`.
  ///
  /// - Important: The database is opened with the system's SQLite and closed again. In a process that has it open with
  ///   *another* SQLite of its own (SQLiteNIO / Fluent, SQLCipher), that takes that library's locks away, as
  ///   ``Snapshot/DatabaseFile`` says: close it first, or run the `sealift` program, which is a process of its own.
  /// - Parameters:
  ///   - version: as in ``pull(_:to:expecting:companions:progress:)``.
  ///   - path: of the database, which has to be there.
  ///   - keepsUndo: whether the old content is kept as a file beside it first.
  ///   - busy: how long to wait while somebody else has the database locked.
  ///   - head: refuse when the target does not hold this head (``Version/head``), or something that follows it.
  ///   - companions: `false` leaves out what comes with the database; what stands in `FILE.companions` stays as it is, and
  ///     a remark says what was left out.
  ///   - progress: throwing from it ends the restore, and the error is passed on; once the new content is there, what it
  ///     throws is ignored. Called on any thread, never on two at once.
  /// - Throws: `SealiftError` of kind `noSuchVersion`, `verificationFailed` (with the code `restoredDamaged` when the content
  ///   is there and SQLite's check finds it damaged; the hint tells how to take it back), `noRepository`, `wrongKey`,
  ///   `sourceUnreadable` (with the code `busy` when somebody else kept the lock), `usage`, `failed`; `CancellationError`;
  ///   or what `progress` threw.
  @discardableResult
  public func restore(
    _ version: String, live path: String, keepsUndo: Bool = true,
    busy: Snapshot.BusyPolicy = .retry(upTo: .seconds(30)), expecting head: String? = nil, companions: Bool = true,
    progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> Restored {
    try await reporting(to: progress) { [target] world in
      var request = Restore.Request(place: .file(path), mode: .live)
      (request.keepsUndo, request.busyTimeout, request.expect) = (keepsUndo, busy.patience, head.map { [$0] } ?? [])
      let selector = try VersionSelector(parsing: version)
      var pull = Pull(world)
      pull.leavesCompanions = !companions
      let outcome = try await Restore(pull).run(selector, from: target, request)
      if let damage = outcome.damage { throw damage }
      return Restored(
        version: Version(outcome.pulled.version), undoCopy: outcome.undoCopy,
        companionsFolder: outcome.pulled.companionsFolder, supportFolder: outcome.pulled.supportFolder,
        movedAside: outcome.moved.map { Restored.Moved(from: $0.from, to: $0.to) })
    }
  }
}
