import Glibc

/// What `stat` says of a database and its -wal: if it is the same twice, and settled, nothing was committed in
/// between. The files are never opened, so asking costs nothing and disturbs nobody.
///
/// The -shm does not count (readers change it), nor does an empty -wal (opening a WAL database makes one).
package struct SourceSignature: Codable, Hashable, Sendable {
  package struct Part: Codable, Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    /// Bytes.
    package var size: Int64
    /// Nanoseconds since 1970.
    package var modified: Int64
    /// Nanoseconds since 1970; the time of the last change of content, mode or name.
    package var changed: Int64
  }

  package let database: Part
  package let wal: Part?
  /// Permission bits of the database; for whoever restores it. A change of them shows in the times as well.
  package let mode: UInt32
  /// When the files were looked at, in nanoseconds since 1970.
  private let readAt: Int64

  /// - Throws: `.missing` or `.unreadable`.
  package static func read(_ path: String) throws(SnapshotError) -> SourceSignature {
    var status = stat()
    guard let real = realPath(path), stat(real, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { throw SnapshotError(.missing, "there is no file \(path)") }
      throw unreadable(path, errno)
    }
    var walStatus = stat()
    let hasWal = stat(real + "-wal", &walStatus) == 0 && walStatus.st_size > 0
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return SourceSignature(
      database: Part(status), wal: hasWal ? Part(walStatus) : nil, mode: status.st_mode & 0o7777,
      readAt: nanoseconds(now))
  }

  /// Whether both files had been left alone for two seconds when they were looked at. A file that was written
  /// within the clock's grain can change again and keep its times.
  package var isSettled: Bool {
    [database, wal].compactMap { $0 }.allSatisfy { max($0.modified, $0.changed) <= readAt - 2_000_000_000 }
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.database == right.database && left.wal == right.wal
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(database)
    hasher.combine(wal)
  }
}

extension SourceSignature.Part {
  fileprivate init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = nanoseconds(status.st_mtim)
    changed = nanoseconds(status.st_ctim)
  }
}

private func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }
