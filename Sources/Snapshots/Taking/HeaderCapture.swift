import CSQLite
import Platform

/// Sees page 1 exactly as a read transaction sees it, wherever that is: in the database file or in the -wal.
///
/// The backup API overwrites three counters in its copy of page 1, no pragma tells all of them, and reading
/// the file is wrong when a newer page 1 waits in the -wal. So while the transaction begins, the read method
/// of SQLite's two open files is replaced by one that forwards and looks. Nothing global is touched: the
/// method table that a file points to is ours, with our own facts behind its end.
final class HeaderCapture {
  private(set) var header: DatabaseHeader?
  private var patches: [Patch] = []
  /// Held, so that its files live as long as what is written into them.
  private let connection: Connection

  private struct Patch {
    let file: UnsafeMutablePointer<sqlite3_file>
    let original: UnsafePointer<sqlite3_io_methods>
    let table: UnsafeMutablePointer<ObservedMethods>
  }

  /// `connection` must have read before (so that its -wal is open) and be outside a transaction.
  init(_ connection: Connection) {
    self.connection = connection
    // Page 1 would come from the cache otherwise, and no read would be seen.
    sqlite3_db_release_memory(connection.handle)
    for file in [connection.mainFile, connection.journalFile].compactMap({ $0 }) { observe(file) }
  }

  deinit { end() }

  /// Gives SQLite its own method tables back.
  func end() {
    for patch in patches {
      patch.file.pointee.pMethods = patch.original
      patch.table.deallocate()
    }
    patches = []
  }

  private func observe(_ file: UnsafeMutablePointer<sqlite3_file>) {
    guard let original = file.pointee.pMethods else { return }
    let table = UnsafeMutablePointer<ObservedMethods>.allocate(capacity: 1)
    table.initialize(
      to: ObservedMethods(methods: original.pointee, original: original, capture: Unmanaged.passUnretained(self)))
    table.pointee.methods.xRead = { file, buffer, amount, offset in
      guard let file, let buffer, let methods = file.pointee.pMethods else { return SQLITE_IOERR }
      let observed = UnsafeRawPointer(methods).assumingMemoryBound(to: ObservedMethods.self)
      let code = observed.pointee.original.pointee.xRead(file, buffer, amount, offset)
      if code == SQLITE_OK { observed.pointee.capture._withUnsafeGuaranteedRef { $0.look(at: buffer, Int(amount)) } }
      return code
    }
    file.pointee.pMethods = UnsafeRawPointer(table).assumingMemoryBound(to: sqlite3_io_methods.self)
    patches.append(Patch(file: file, original: original, table: table))
  }

  /// Whole pages only: a page is at least 512 bytes, and none but page 1 begins with the magic words.
  private func look(at buffer: UnsafeMutableRawPointer, _ amount: Int) {
    guard amount >= 512 else { return }
    if let found = DatabaseHeader(Array(UnsafeRawBufferPointer(start: buffer, count: DatabaseHeader.size))) {
      header = found
    }
  }
}

/// SQLite's table, which must come first, and what our read method needs to know.
private struct ObservedMethods {
  var methods: sqlite3_io_methods
  let original: UnsafePointer<sqlite3_io_methods>
  let capture: Unmanaged<HeaderCapture>
}
