import Glibc

/// What `stat` says of a database and its -wal: when nothing of it changed, the content did not either.
/// The file is never opened for it.
package struct SourceSignature: Codable, Hashable, Sendable {
  package struct Part: Codable, Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let modified: Int64
    let changed: Int64

    init(_ status: stat) {
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
      changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }
  }

  package let database: Part
  package let wal: Part?
  /// Permission bits of the database.
  package let mode: UInt32
  /// When this was read, in nanoseconds since 1970.
  private let readAt: Int64

  package static func read(_ named: String) throws(SnapshotError) -> SourceSignature {
    let file = try SourceFile(named)
    var status = stat()
    let wal = stat(file.path + "-wal", &status) == 0 ? Part(status) : nil
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return SourceSignature(
      database: Part(file.status), wal: wal, mode: file.status.st_mode & 0o7777,
      readAt: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
  }

  /// Both times lie at least two seconds back: a later write could not hide in the grain of the clock.
  package var isSettled: Bool {
    ([database] + (wal.map { [$0] } ?? [])).allSatisfy { part in
      max(part.modified, part.changed) <= readAt - 2_000_000_000
    }
  }

  package static func == (left: Self, right: Self) -> Bool { left.database == right.database && left.wal == right.wal }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(database)
    hasher.combine(wal)
  }
}
