import CLinux
import Glibc

/// Which file a path leads to, whatever it is called.
struct FileIdentity: Hashable {
  let device: UInt64
  let inode: UInt64

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }

  /// The file itself, not where a link leads; `nil` when there is none.
  init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Where a path leads, of regular files only, by what this machine knows already: nobody waits for a server of files.
  init?(ofRegularFileKnownAt path: String) { self.init(of: S_IFREG, knownAt: path) }

  /// The same, of folders only.
  init?(ofFolderKnownAt path: String) { self.init(of: S_IFDIR, knownAt: path) }

  private init?(of kind: mode_t, knownAt path: String) {
    var (mode, major, minor, inode): (UInt32, UInt32, UInt32, UInt64) = (0, 0, 0, 0)
    if sl_known_file(path, &mode, &major, &minor, &inode) != 0 {
      // An old kernel, or a container's filter: then it has to be asked. Who has a file open must not go unseen.
      var status = stat()
      guard errno == ENOSYS || errno == EPERM, stat(path, &status) == 0, status.st_mode & S_IFMT == kind else {
        return nil
      }
      self.init(status)
      return
    }
    guard mode & S_IFMT == kind else { return nil }
    let (high, low) = (UInt64(major), UInt64(minor))
    self.init(device: (high & 0xfff) << 8 | (high & ~0xfff) << 32 | low & 0xff | (low & ~0xff) << 12, inode: inode)
  }

  private init(device: UInt64, inode: UInt64) {
    (self.device, self.inode) = (device, inode)
  }

  /// As `/proc/locks` and `/proc/PID/maps` write the device, in numbers.
  var major: UInt64 { (device >> 8) & 0xfff | (device >> 32) & 0xffff_f000 }
  var minor: UInt64 { device & 0xff | (device >> 12) & 0xffff_ff00 }
}
