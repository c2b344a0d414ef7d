import CSQLite
import Platform

/// Copies a database file in large blocks, when it is certain that it stands still and holds all there is.
///
/// It does while a read transaction is held that reads nothing from a -wal: in rollback mode nobody gets the lock to
/// write to the file; in WAL mode with an empty -wal, no checkpoint may write to the file before we are done (and an
/// empty -wal proves that ours began without one: it cannot be cut while somebody reads through it). Where a writer has
/// to wait they wait less.
struct StillCopy {
  private static let blockSize = 1 << 18
  private let file: UnsafeMutablePointer<sqlite3_file>
  private let read:
    @convention(c) (UnsafeMutablePointer<sqlite3_file>?, UnsafeMutableRawPointer?, Int32, Int64) -> Int32
  private let pageSize: Int
  let pageCount: Int

  /// Nil when page by page is the way: something may be in the -wal, or the file is not as long as its header says.
  /// - Parameter header: that of page 1 as the transaction, which is held already, has seen it.
  init?(_ source: Source, _ header: DatabaseHeader) {
    guard let file = source.connection.mainFile, let methods = file.pointee.pMethods, let read = methods.pointee.xRead,
      let pageSize = header.pageSize, let pageCount = header.pageCount
    else { return nil }
    // SQLite reads through a -wal that holds something whatever the header says, and it has opened the one that stood
    // beside the file: by now another one may.
    guard (fileSize(source.path + "-wal") ?? 0) == 0, !source.connection.hasMoved else { return nil }
    var size: sqlite3_int64 = 0
    guard methods.pointee.xFileSize(file, &size) == SQLITE_OK, Int(size) == pageCount * pageSize else { return nil }
    self.file = file
    self.read = read
    self.pageSize = pageSize
    self.pageCount = pageCount
  }

  /// - Parameter blockDone: called after each block with the pages done.
  /// - Throws: `SQLiteFailure` when reading fails, `SnapshotError` when writing does, or what `blockDone` throws.
  func write(to path: String, by steps: CopySteps, blockDone: (Int) throws -> Void) throws {
    let image = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard image >= 0 else { throw imageError(path, errno) }
    defer { close(image) }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockSize, alignment: 4096)
    defer { block.deallocate() }
    let end = pageCount * pageSize
    var offset = 0
    while offset < end {
      let length = steps.next(after: offset / pageSize, atMost: Self.blockSize / pageSize) * pageSize
      let bytes = UnsafeMutableRawBufferPointer(rebasing: block[..<min(length, end - offset)])
      let code = read(file, bytes.baseAddress, Int32(bytes.count), Int64(offset))
      guard code == SQLITE_OK else {
        throw SQLiteFailure(code: code, message: String(cString: sqlite3_errstr(code)))
      }
      clearLockBytePage(in: bytes, at: offset)
      try writeBytes(UnsafeRawBufferPointer(bytes), to: image, path, at: offset)
      offset += bytes.count
      try blockDone(offset / pageSize)
    }
  }

  /// Pages copied one by one leave out the page of lock bytes as well.
  private func clearLockBytePage(in block: UnsafeMutableRawBufferPointer, at offset: Int) {
    let start = (lockBytePage(pageSize: pageSize) - 1) * pageSize - offset
    guard block.indices.contains(start) else { return }
    UnsafeMutableRawBufferPointer(rebasing: block[start..<start + pageSize]).initializeMemory(
      as: UInt8.self, repeating: 0)
  }
}
