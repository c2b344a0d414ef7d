import Platform

/// The moments and costs of one held read transaction.
final class ReadTransaction {
  private let walPath: String
  private let maxWalGrowth: Int?
  private var walBefore = 0
  private var began = ContinuousClock.now
  /// Milliseconds since 1970, UTC.
  private(set) var takenAt: Int64 = 0
  /// How long the transaction was held, in the end.
  private(set) var held: Duration = .zero
  /// Bytes, in the end.
  private(set) var walGrowth = 0
  /// Somebody wrote to the database although SQLite's lock on it was held.
  private(set) var lockWasPassed = false
  private let database: String
  /// The lock keeps out who wants to write.
  let looksForWriters: Bool
  /// The file under that lock.
  private var underLock: Written?

  /// - Parameter looksForWriters: whether the lock keeps out who wants to write.
  init(of database: String, maxWalGrowth: Int?, looksForWriters: Bool = false) {
    walPath = database + "-wal"
    self.maxWalGrowth = maxWalGrowth
    self.database = database
    self.looksForWriters = looksForWriters
  }

  /// Called when the lock is asked for, and again after each wait for it: the last time counts.
  func begins() {
    takenAt = millisecondsSince1970()
    began = .now
    walBefore = fileSize(walPath) ?? 0
    underLock = nil
  }

  /// To be called while the lock is had for certain, from the first such moment to the last: who heeds it cannot change the
  /// file then, and who wrote before it has done so.
  func lookForWriters() {
    guard looksForWriters, let now = Written(database) else { return }
    guard let underLock else {
      self.underLock = now
      return
    }
    if now.inode == underLock.inode, now != underLock { lockWasPassed = true }
  }

  /// - Throws: `.walGrowth`.
  func demandModestWal() throws(SnapshotError) {
    guard let limit = maxWalGrowth else { return }
    let growth = (fileSize(walPath) ?? 0) - walBefore
    guard growth > limit else { return }
    throw SnapshotError(
      .walGrowth, "\(walPath) grew by \(growth) bytes while the snapshot was taken; \(limit) were allowed",
      hint: "Take the snapshot at a quieter time, or raise maxWalGrowth.")
  }

  func ends() {
    held = .now - began
    walGrowth = max(0, (fileSize(walPath) ?? 0) - walBefore)
  }
}

/// When, and to what length, a file was written last. Its time of change would tell of its mode and names as well.
private struct Written: Equatable {
  let inode: UInt64
  /// Bytes.
  let size: Int64
  let seconds: Int64
  let nanoseconds: Int64

  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    seconds = Int64(status.modificationTime.tv_sec)
    nanoseconds = Int64(status.modificationTime.tv_nsec)
  }
}
