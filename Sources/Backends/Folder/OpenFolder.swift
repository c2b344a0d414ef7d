import Glibc
import Storage

/// A folder held open, closed with the value. Everything below the target's own folder is reached step by step
/// from such a handle, so that no symbolic link planted there leads anywhere else.
struct OpenFolder: ~Copyable {
  let descriptor: Int32
  /// For messages, relative to the target.
  let path: String

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// The target's own folder; this one may be a link.
  /// - Throws: `.noTarget` when there is none.
  static func target(_ path: String) throws(StoreError) -> OpenFolder {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor < 0 else { return OpenFolder(descriptor: descriptor, path: "") }
    switch errno {
    case ENOENT:
      throw StoreError(
        .noTarget, "there is no folder \(path)",
        hint: "Check that the disk is mounted; `sealift init` makes the folder of a new target.")
    // As of a place that mounts by itself, where the disk is not plugged in.
    case let number where [ENODEV, ENXIO, ENOMEDIUM].contains(number):
      throw StoreError(
        .noTarget, "there is no disk behind \(path): \(String(cString: strerror(number)).lowercased())",
        hint: "Check that the disk is plugged in and mounted.")
    case ENOTDIR:
      throw StoreError(.noTarget, "\(path) is not a folder", hint: "Name a folder; each repository has one of its own.")
    case let number: throw .system(number, "\(path) could not be opened")
    }
  }

  /// Which one it is, whatever its path.
  func identity() throws(StoreError) -> (device: dev_t, inode: ino_t) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno, "the target's folder could not be looked at") }
    return (status.st_dev, status.st_ino)
  }

  /// The folder `name` in this one, or `nil` when there is none.
  /// - Throws: `.badAnswer` when it is a symbolic link.
  func folder(_ name: Substring) throws(StoreError) -> OpenFolder? {
    let child = path.isEmpty ? String(name) : "\(path)/\(name)"
    let descriptor = openat(self.descriptor, String(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor < 0 else { return OpenFolder(descriptor: descriptor, path: child) }
    switch errno {
    case ENOENT: return nil
    case ENOTDIR, ELOOP:
      if try entry(name)?.isLink == true { throw .symbolicLink(child) }
      return nil
    case let number: throw .system(number, "\(child) could not be opened")
    }
  }

  /// Makes the folder `name` (0700) where it is missing.
  /// - Parameters:
  ///   - parent: the descriptor of an open folder.
  ///   - path: for messages, relative to the target.
  /// - Returns: whether it was missing.
  static func make(_ name: Substring, in parent: Int32, _ path: String) throws(StoreError) -> Bool {
    if mkdirat(parent, String(name), 0o700) == 0 { return true }
    guard errno == EEXIST else { throw .system(errno, "the folder \(path) could not be made", for: .write) }
    return false
  }

  /// What stands under `name`, without following it; `nil` when nothing does.
  func entry(_ name: some StringProtocol) throws(StoreError) -> Entry? {
    var status = stat()
    guard fstatat(descriptor, String(name), &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return nil }
      throw .system(errno, "\(path)/\(name) could not be looked at")
    }
    return Entry(status)
  }

  struct Entry {
    let kind: mode_t
    /// In bytes.
    let size: Int
    /// Seconds since 1970 UTC, 30,000 years at most: others may write there, and sums of it are made.
    let modified: Int

    init(_ status: stat) {
      kind = status.st_mode & S_IFMT
      size = Int(status.st_size)
      modified = min(max(status.st_mtim.tv_sec, -1 << 40), 1 << 40)
    }

    var isFile: Bool { kind == S_IFREG }
    var isFolder: Bool { kind == S_IFDIR }
    var isLink: Bool { kind == S_IFLNK }
  }

  /// All names in it but `.` and `..`.
  func names() throws(StoreError) -> [String] {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    let path = path.isEmpty ? "the target's folder" : path
    guard copy >= 0 else { throw .system(errno, "\(path) could not be read") }
    guard let stream = fdopendir(copy) else {
      let number = errno
      close(copy)
      throw .system(number, "\(path) could not be read")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        // A listing that ends in an error is no short listing.
        if errno != 0 { throw .system(errno, "\(path) could not be read to its end") }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  /// Makes its names durable, as far as the file system has anything for that.
  func synchronize() throws(StoreError) {
    guard synchronizeNames(in: descriptor) == 0 else {
      throw .system(errno, "\(path.isEmpty ? "the target's folder" : path) could not be made durable", for: .write)
    }
  }
}
