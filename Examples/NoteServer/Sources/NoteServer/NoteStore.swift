import Foundation
import GRDB

/// The database of this server: one pool, open from start to end. Whoever restores writes into it; it is never closed or
/// swapped for another file meanwhile.
struct NoteStore: Sendable {
  let path: String
  private let pool: DatabasePool
  private let gate = WriteGate()

  /// Opens the database in WAL mode, or makes an empty one.
  init(path: String) throws {
    var configuration = Configuration()
    // A push reads, and a restore writes, through the same file: wait for them instead of failing.
    configuration.busyMode = .timeout(30)
    self.path = path
    pool = try DatabasePool(path: path, configuration: configuration)
  }

  /// Brings the -wal home. Only a connection that may write can do that, so the readers are closed before the writer.
  func close() throws {
    pool.releaseMemory()
    try pool.close()
  }

  // MARK: - Notes

  /// At most `limit` notes with ids above `id`, in the order of their ids: one state of the database.
  func notes(after id: Int64, limit: Int) async throws -> [Note] {
    try await pool.read { db in
      try Note.filter(Column("id") > id).order(Column("id")).limit(limit).fetchAll(db)
    }
  }

  func note(_ id: Int64) async throws -> Note {
    guard let note = try await pool.read({ db in try Note.fetchOne(db, key: id) }) else { throw noNote(id) }
    return note
  }

  func add(_ text: NoteText) async throws -> Note {
    try await write { db in
      let now = Date()
      var note = Note(title: text.title, body: text.body, createdAt: now, updatedAt: now)
      try note.insert(db)
      return note
    }
  }

  func change(_ id: Int64, to text: NoteText) async throws -> Note {
    try await write { db in
      guard var note = try Note.fetchOne(db, key: id) else { throw noNote(id) }
      (note.title, note.body, note.updatedAt) = (text.title, text.body, Date())
      try note.update(db)
      return note
    }
  }

  func remove(_ id: Int64) async throws {
    try await write { db in
      guard try Note.deleteOne(db, key: id) else { throw noNote(id) }
    }
  }

  private func write<T: Sendable>(_ body: @Sendable (Database) throws -> T) async throws -> T {
    await gate.enter()
    do {
      let result = try await pool.write(body)
      await gate.leave()
      return result
    } catch {
      await gate.leave()
      throw error
    }
  }

  private func noNote(_ id: Int64) -> Failure { Failure(.notFound, code: "noSuchNote", "there is no note \(id)") }

  // MARK: - Migrations

  /// Runs the migrations that wait, after `push` has put the database, as it is, out of harm's way. A new database has
  /// nothing to push.
  /// - Throws: what `push` throws, with the database untouched.
  func migrate(pushingFirst push: () async throws -> Void) async throws {
    let (pending, isNew) = try await pool.read { db in
      let objects = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
      return (try DatabaseMigrator.notes.pending(db), objects == 0)
    }
    guard !pending.isEmpty else { return }
    if !isNew { try await push() }
    try await DatabaseMigrator.notes.migrate(waitingFor: pool)
    // Readers know the schema as it was when they first looked.
    pool.invalidateReadOnlyConnections()
  }

  // MARK: - Restoring

  /// Lets reads go on and writes wait, while `body` looks at what is certain not to change.
  func whileNobodyWrites<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
    await gate.close()
    do {
      let result = try await body()
      await gate.open()
      return result
    } catch {
      await gate.open()
      throw error
    }
  }

  /// Puts the content of another database in the place of this one's, in one transaction: requests that are being answered
  /// see the old content to their end, all later ones the new.
  func replaceContent(with path: String) async throws {
    try await pool.writeWithoutTransaction { db in
      try Backup.restore(path, into: db)
      // GRDB remembers tables and statements; those were of the old content.
      db.clearSchemaCache()
      // The whole database stands in the -wal now. Bring home what no reader holds up.
      try db.checkpoint(.passive)
    }
    pool.invalidateReadOnlyConnections()
  }
}
