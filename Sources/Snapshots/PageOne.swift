import Glibc

/// Reads page 1 of a database as the last commit left it, beside SQLite and without disturbing it.
///
/// The file is opened before SQLite opens it and closed after SQLite has closed it: closing any descriptor of a file drops
/// all locks this process holds on it. See: sqlite.org/howtocorrupt.html#posix_close_bug
final class PageOne {
  private let database: Int32
  private let path: String

  init(of file: SourceFile) throws(SnapshotError) {
    path = file.path
    database = open(file.path, O_RDONLY | O_CLOEXEC)
    guard database >= 0 else {
      throw SnapshotError(.unreadable, "cannot read \(file.path): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(database) }

  /// The header; from the -wal when a commit that is not checkpointed holds a newer one.
  func header() -> DatabaseHeader? {
    var bytes = [UInt8](repeating: 0, count: DatabaseHeader.length)
    guard pread(database, &bytes, bytes.count, 0) == bytes.count else { return nil }
    return newestInWal() ?? DatabaseHeader(bytes)
  }

  /// The newest committed copy of page 1 in the -wal. See: sqlite.org/fileformat2.html#the_write_ahead_log
  private func newestInWal() -> DatabaseHeader? {
    let wal = open(path + "-wal", O_RDONLY | O_CLOEXEC)
    guard wal >= 0 else { return nil }
    defer { close(wal) }
    var header = [UInt8](repeating: 0, count: 32)
    guard pread(wal, &header, 32, 0) == 32 else { return nil }
    let pageSize = integer(header, 8)
    guard (512...65_536).contains(pageSize) else { return nil }
    var newest: DatabaseHeader?
    var candidate: DatabaseHeader?
    var frame = [UInt8](repeating: 0, count: 24)
    var offset = 32
    while pread(wal, &frame, 24, off_t(offset)) == 24, frame[8..<16] == header[16..<24] {
      if integer(frame, 0) == 1 {
        var page = [UInt8](repeating: 0, count: DatabaseHeader.length)
        guard pread(wal, &page, page.count, off_t(offset + 24)) == page.count else { break }
        candidate = DatabaseHeader(page)
      }
      if integer(frame, 4) != 0 { newest = candidate ?? newest }
      offset += 24 + pageSize
    }
    return newest
  }

  private func integer(_ bytes: [UInt8], _ offset: Int) -> Int {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }
}
