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
  init?(ofRegularFileKnownAt path: String) {
    var (mode, major, minor, inode): (UInt32, UInt32, UInt32, UInt64) = (0, 0, 0, 0)
    if sl_known_file(path, &mode, &major, &minor, &inode) != 0 {
      // An old kernel, or a container's filter: then it has to be asked. Who has a file open must not go unseen.
      var status = stat()
      guard errno == ENOSYS || errno == EPERM, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        return nil
      }
      self.init(status)
      return
    }
    guard mode & S_IFMT == S_IFREG else { return nil }
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

/// The endings of the files that SQLite keeps beside a database, in the order in which they may go: nothing is left that
/// SQLite would apply to a database without them.
enum SideFiles {
  static let endings = ["-wal", "-shm", "-journal"]

  /// The database and those beside it that are there.
  static func present(of path: String) -> [String] {
    ([""] + endings).filter { FileIdentity(at: path + $0) != nil }
  }
}

/// The whole text of a file whose size the system does not tell, such as those of `/proc`; `nil` when it cannot be read.
func systemText(_ path: String) -> String? { systemBytes(path).map { String(decoding: $0, as: UTF8.self) } }

func systemBytes(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var part = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let got = read(descriptor, &part, part.count)
    if got < 0, errno == EINTR { continue }
    guard got >= 0 else { return nil }
    if got == 0 { return bytes }
    bytes += part[..<got]
  }
}

/// The names in a folder; `nil` when it cannot be looked into.
func folderEntries(_ path: String) -> [String]? {
  guard let folder = opendir(path) else { return nil }
  defer { closedir(folder) }
  var names: [String] = []
  while let entry = readdir(folder) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

/// Text as a shell reads it as one word. A quotation mark is one whatever accent follows.
func shellQuoted(_ text: String) -> String {
  let parts = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
  return "'" + parts.map(String.init).joined(separator: "'\\''") + "'"
}
