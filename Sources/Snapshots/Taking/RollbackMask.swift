import CSQLite

/// Makes page 1 of a file that we read say that it is not read through a -wal, without changing the file: whoever it is
/// copied to shall not change how it keeps its journal.
///
/// As in `HeaderCapture`, the method table of the connection's one open file is ours for a while.
final class RollbackMask {
  private struct Patch {
    let file: UnsafeMutablePointer<sqlite3_file>
    let original: UnsafePointer<sqlite3_io_methods>
    let table: UnsafeMutablePointer<MaskedMethods>
  }

  private var patch: Patch?
  /// Held, so that its file lives as long as what is written into it.
  private let connection: Connection

  /// `connection` must be outside a transaction.
  init(_ connection: Connection) {
    self.connection = connection
    // Page 1 would come from the cache otherwise.
    sqlite3_db_release_memory(connection.handle)
    guard let file = connection.mainFile, let original = file.pointee.pMethods else { return }
    let table = UnsafeMutablePointer<MaskedMethods>.allocate(capacity: 1)
    table.initialize(to: MaskedMethods(methods: original.pointee, original: original))
    table.pointee.methods.xRead = { file, buffer, amount, offset in
      guard let file, let buffer, let methods = file.pointee.pMethods else { return SQLITE_IOERR }
      let masked = UnsafeRawPointer(methods).assumingMemoryBound(to: MaskedMethods.self)
      let code = masked.pointee.original.pointee.xRead(file, buffer, amount, offset)
      let field = DatabaseHeader.journalMode
      if code == SQLITE_OK, offset == 0, Int(amount) >= field.upperBound {
        for position in field { buffer.storeBytes(of: 1, toByteOffset: position, as: UInt8.self) }
      }
      return code
    }
    file.pointee.pMethods = UnsafeRawPointer(table).assumingMemoryBound(to: sqlite3_io_methods.self)
    patch = Patch(file: file, original: original, table: table)
  }

  deinit { end() }

  /// Gives SQLite its own method table back.
  func end() {
    guard let patch else { return }
    patch.file.pointee.pMethods = patch.original
    patch.table.deallocate()
    self.patch = nil
  }
}

/// SQLite's table, which must come first, and where the real read method is.
private struct MaskedMethods {
  var methods: sqlite3_io_methods
  let original: UnsafePointer<sqlite3_io_methods>
}
