import Logging

/// The pushes and restores of this server, one at a time.
actor Backups {
  private let backup: Backup
  private let store: NoteStore
  private let stateFolder: String
  private let logger: Logger
  private var running: String?

  init(_ backup: Backup, of store: NoteStore, stateFolder: String, logger: Logger) {
    self.backup = backup
    self.store = store
    self.stateFolder = stateFolder
    self.logger = logger
  }

  /// What a restore did.
  struct Restored: Encodable, Sendable {
    var version: BackupVersion
    /// The content until then, with every write that a client was told of.
    var undo: BackupVersion
  }

  /// - Throws: `Failure` with code `busy`.
  func push(tags: [String] = []) async throws -> BackupVersion {
    try begin("a backup")
    defer { running = nil }
    let version = try await backup.push(store.path, tags: tags)
    if !version.unchanged { logger.notice("pushed", metadata: ["version": "\(version.id)"]) }
    return version
  }

  func versions() async throws -> [BackupVersion] { try await backup.versions() }

  /// Puts the content of a version in the place of the present one, while requests go on.
  ///
  /// What takes long or may fail comes first and disturbs nobody: pulling the version, and bringing it to the schema of this
  /// release. Then writes wait, reads go on: the present content is pushed, so that this can be undone, and replaced.
  func restore(_ id: String) async throws -> Restored {
    try begin("a restore")
    defer { running = nil }
    let copy = try RestoredCopy(in: stateFolder)
    defer { copy.remove() }
    let version = try await backup.pull(id, to: copy.path)
    try await copy.migrate()
    let undo = try await store.whileNobodyWrites { [backup, store] in
      let undo = try await backup.push(store.path, tags: ["before-restore"])
      try await store.replaceContent(with: copy.path)
      return undo
    }
    logger.notice("restored", metadata: ["version": "\(version.id)", "undo": "\(undo.id)"])
    return Restored(version: version, undo: undo)
  }

  private func begin(_ what: String) throws {
    if let running {
      throw Failure(.conflict, code: "busy", "\(running) is running", hint: "Try again when it has ended.")
    }
    running = what
  }
}
