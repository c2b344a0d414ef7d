import CSQLite

/// Writes a repacked copy of a private, finished image into an empty file of ours.
/// - Parameter isWAL: what the copy says of its journal mode; nil: what the image says.
/// - Throws: `.cancelled`; `.reservedBytes`; `.sqlite` where the image needs collations or functions of its application,
///   or where rows would get other numbers or be left out.
package func repackImage(at path: String, into copy: String, isWAL: Bool?) async throws {
  try await onOwnThread { stop in
    let watch = Watch(stop, busyTimeout: .seconds(1))
    do {
      let image = try Image(path)
      try image.demandFreePageEnds()
      let wasWAL = try image.isWAL()
      try image.restoreJournalMode(isWAL: false)
      defer { try? image.restoreJournalMode(isWAL: wasWAL) }
      do {
        let connection = try openImage(path, watch, knowingChecks: true)
        if let reason = try renumbering(by: connection) { throw reason }
        if let loss = try connection.lossByVacuum() { throw losing(loss) }
        let entries = try StoredEntries(connection)
        // Made durable by its owner when it is whole.
        try connection.execute("PRAGMA synchronous=OFF")
        try connection.execute("VACUUM INTO ?", copy)
        if let loss = try entries.loss(in: StoredEntries(openImage(copy, watch))) { throw losing(loss) }
      }
      try Image(copy).restoreJournalMode(isWAL: isWAL ?? wasWAL)
    } catch let failure as SQLiteFailure {
      if let refusal = watch.refusal { throw refusal }
      guard failure.needsApplicationCode else { throw failure.explained(ofCopy: path) }
      throw SnapshotError(
        .sqlite, "the database needs code of its application to be repacked (\(failure.message))",
        hint: "Restore it as it is, and run VACUUM in its application.", cause: failure)
    }
  }
}

/// Why the copy would have other rowids than the image, see RowNumbers.swift.
private func renumbering(by connection: Connection) throws(SQLiteFailure) -> SnapshotError? {
  let header = DatabaseHeader(try connection.leadingBytes(DatabaseHeader.size))
  let reason: String
  if try connection.schemaSays("desc"), header?.ignoresDescending ?? true {
    reason = Connection.withoutDescending
  } else if try connection.schemaSays("check"), connection.isReadOnly {
    reason = Connection.withoutChecks
  } else {
    return nil
  }
  return SnapshotError(
    .sqlite, "the database cannot be repacked, rows would get other numbers (rowids): \(reason)",
    hint: "Restore it as it is, without --vacuum: SQLite's own VACUUM would number its rows anew as well.")
}

/// See VacuumedSchema.swift.
private func losing(_ loss: String) -> SnapshotError {
  SnapshotError(
    .sqlite, "the database cannot be repacked: \(loss)",
    hint: "Restore it as it is, without --vacuum: SQLite's own VACUUM would lose it as well.")
}

/// Makes a private image say that it is read through a -wal, or through a rollback journal. Its name is of no matter.
/// - Throws: `.reservedBytes` where it does not say so already.
package func setJournalMode(of file: OwnFile, isWAL: Bool) async throws {
  try await onOwnThread { _ in
    let image = try Image(file)
    guard try image.isWAL() != isWAL else { return }
    try image.demandFreePageEnds()
    try image.restoreJournalMode(isWAL: isWAL)
  }
}

extension Image {
  fileprivate func demandFreePageEnds() throws(SnapshotError) {
    guard try usesReservedBytes() else { return }
    throw SnapshotError.reservedBytes(
      of: "the version", hint: "Restore it as it is, without --vacuum and --journal.")
  }
}
