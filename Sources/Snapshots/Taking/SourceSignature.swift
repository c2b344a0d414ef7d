import Platform

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
  /// Whether both files had been left alone for two seconds when they were looked at. A file that was written
  /// within the clock's grain can change again and keep its times.
  package private(set) var isSettled: Bool

  /// - Throws: `.missing` or `.unreadable`.
  package static func read(_ path: String) throws(SnapshotError) -> SourceSignature {
    var status = stat()
    guard let real = realPath(path), stat(real, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { throw missingFile(path) }
      throw unreadable(path, errno)
    }
    var walStatus = stat()
    let hasWal = stat(real + "-wal", &walStatus) == 0 && walStatus.st_size > 0
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let parts = [Part(status)] + (hasWal ? [Part(walStatus)] : [])
    return SourceSignature(
      database: parts[0], wal: hasWal ? parts[1] : nil, mode: status.st_mode & 0o7777,
      isSettled: parts.allSatisfy { $0.age(at: nanoseconds(now)) >= 2_000_000_000 })
  }

  /// The state right after SQLite opened the database, where `self` is the state before.
  ///
  /// Run by root, SQLite gives the -wal to the owner of the database each time it opens it, which sets the time
  /// of change and nothing else. A write would also have set the time of modification, so a signature that was
  /// settled stays so.
  func afterOpening(_ path: String) throws(SnapshotError) -> SourceSignature {
    let now = try SourceSignature.read(path)
    let same = afterOwnerIsGiven(now)
    return same == now ? same : now
  }

  /// - Returns: what is now, where nothing is different but the -wal's time of change; else this one.
  func afterOwnerIsGiven(_ now: SourceSignature) -> SourceSignature {
    guard isSettled, var wal, let walNow = now.wal, database == now.database else { return self }
    wal.changed = walNow.changed
    guard wal == walNow else { return self }
    var same = now
    same.isSettled = true
    return same
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
  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = nanoseconds(status.modificationTime)
    changed = nanoseconds(status.statusChangeTime)
  }

  /// Nanoseconds since it was touched last. A write sets times to the time that it is, so one in the future, set by hand or
  /// by a clock that was wrong, is as far from that as one in the past.
  fileprivate func age(at now: Int64) -> Int64 { min(abs(now - modified), abs(now - changed)) }
}

/// Some file systems keep times that nanoseconds in 64 bits cannot tell, nor how far they are apart: those before 1874 are
/// told as that year, those behind 2160 as that.
private func nanoseconds(_ time: timespec) -> Int64 {
  min(max(Int64(time.tv_sec), -3_000_000_000), 6_000_000_000) * 1_000_000_000 + Int64(time.tv_nsec)
}
