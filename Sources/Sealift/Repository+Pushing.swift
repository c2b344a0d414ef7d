import Operations

extension Repository {
  /// What came of a push.
  public struct Pushed: Sendable {
    public let version: Version
    /// False when nothing was stored, because the newest version there is this content already.
    public let isNew: Bool
    /// What could not be taken along of the files that belong to the database, such as a Core Data store's external
    /// ones that may not be read; and, with the code `pushedElsewhere`, that another machine has pushed under this one's
    /// name since the last push from here, or with the code `forked`, that two machines pushed as one before. All are of the
    /// kind ``SealiftError/Kind-swift.struct/partlyDone``: the version is safe, but somebody should look.
    public let shortfalls: [SealiftError]
  }

  /// Takes a copy of a database, seals it and stores it as a new version.
  ///
  /// ```swift
  /// let pushed = try await repository.push(
  ///   .database(named: "app", at: "/var/lib/app/app.db"), tags: ["before-migration"])
  /// log("version \(pushed.version.id), head \(pushed.version.head)")
  /// ```
  ///
  /// When this returns, the version is complete at the target, and was looked for there after its last object was
  /// stored. A database that did not change since its last push costs two calls of `stat` and, once a day, a request;
  /// with a tag or a note a version is made all the same.
  ///
  /// Cancelling the task ends the push. Packs that have reached the target by then belong to no version, and the next
  /// push of this database uses them; nothing else stays behind.
  /// - Parameters:
  ///   - database: what to push.
  ///   - tags: words for the version; at most 1000.
  ///   - note: a text for the version.
  ///   - progress: throwing from it ends the push like cancelling, and the error is passed on; once the version is
  ///     complete, what it throws is ignored. Called on any thread, never on two at once.
  /// - Throws: `SealiftError` of kind `sourceUnreadable`, `pushInProgress`, `noRepository`, `wrongKey`,
  ///   `verificationFailed`, `usage`, `failed`; `CancellationError`; or what `progress` threw. With the code
  ///   `sourceDamaged` the database has failed SQLite's check: it was pushed all the same, as it is, and flagged
  ///   (``Version/isDamaged``). With the code `overtaken` another push has put a newer version there while this one
  ///   worked, and this copy was left out.
  @discardableResult
  public func push(
    _ database: Database, tags: [String] = [], note: String = "",
    progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> Pushed {
    try await reporting(to: progress) { [target] world in
      var request = Push.Request(database: try database.source(), targets: [target])
      (request.tags, request.note) = (tags, note)
      let outcome = try await Push(world).run(request)
      guard let pushed = outcome.pushed.first else {
        throw outcome.failures.first?.error ?? OperationError(.failed, "the push ended without a version")
      }
      if outcome.interruption != nil { throw CancellationError() }
      if let damage = outcome.damage { throw damage }
      return Pushed(
        version: Version(pushed.version), isNew: !pushed.unchanged,
        shortfalls: (outcome.shortfalls + outcome.pushed.compactMap(\.turnTaken)).map { SealiftError($0) })
    }
  }
}
