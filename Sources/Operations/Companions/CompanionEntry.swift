import Glibc

/// One file, folder or link that comes with a database, as it was listed.
struct CompanionEntry: Sendable {
  enum Kind: Sendable, Equatable {
    case file
    case folder
    case link(target: String)
  }

  /// Inside the version.
  let path: String
  let kind: Kind
  let status: FileStatus
  /// Which of the companions it belongs to, by number.
  let root: Int
}

/// What tells whether a file is still the same, and left alone.
struct FileStatus: Sendable, Equatable {
  let device: UInt64
  let inode: UInt64
  /// Bytes.
  let size: Int
  /// Nanoseconds since 1970.
  let modified: Int64
  let changed: Int64
  /// Permission bits.
  let mode: UInt32

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int(status.st_size)
    modified = Self.nanoseconds(status.st_mtim)
    changed = Self.nanoseconds(status.st_ctim)
    mode = status.st_mode & 0o7777
  }

  func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
  /// Nothing but its number tells them apart.
  func isAlike(_ other: FileStatus) -> Bool {
    size == other.size && modified == other.modified && changed == other.changed
  }

  /// Milliseconds since 1970 UTC.
  var modifiedMilliseconds: UInt64 { UInt64(max(0, modified) / 1_000_000) }
  /// Nanoseconds since it was touched last: as long as somebody would have had to write to it without a trace. A write
  /// sets times to the time that it is, so one in the future, set by hand or by a clock that was wrong, is as far from that
  /// as one in the past.
  func age(at now: Int64) -> Int64 { min(abs(now - modified), abs(now - changed)) }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    // Some file systems keep times that nanoseconds in 64 bits cannot tell, nor how far they are apart.
    min(max(Int64(time.tv_sec), -3_000_000_000), 6_000_000_000) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Now, by the clock of these times.
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
  }

  /// The kernel's clock for files moves in steps: what was written less long ago than this may be written again and
  /// keep its times.
  static let grain: Int64 = 20_000_000
}
