import Glibc

/// A folder held open. What is below is reached from it name by name, and no link is ever followed: whatever somebody
/// swaps on the way, nothing outside is read or written.
final class FolderHandle: Sendable {
  let descriptor: Int32

  /// Takes over the descriptor.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// A folder that a person named: links on the way to it are theirs. `nil`, and `errno`, when it cannot be opened.
  init?(path: String) {
    let opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { return nil }
    descriptor = opened
  }

  deinit { close(descriptor) }

  /// `nil`, and `errno` (`ELOOP` or `ENOTDIR` for a link), when it cannot be opened.
  func folder(_ name: String) -> FolderHandle? {
    let opened = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    return opened < 0 ? nil : FolderHandle(opened)
  }

  /// The folder at the end of a path.
  func folder(_ components: ArraySlice<String>) -> FolderHandle? {
    var folder = self
    for component in components {
      guard let next = folder.folder(component) else { return nil }
      folder = next
    }
    return folder
  }

  /// Opens a file for reading. It does not wait for a pipe that was put in its place.
  func file(_ name: String) -> Int32 { openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }

  /// What stands under a name, unfollowed. `nil`, and `errno`.
  func status(_ name: String) -> stat? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  func ownStatus() -> stat? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status : nil
  }

  /// What a link says, as it stands there; `nil` when that cannot be read, or is no UTF-8.
  func linkTarget(_ name: String) -> String? { linkBytes(name).flatMap { String(validating: $0, as: UTF8.self) } }

  /// The same, whatever it says. `nil`, and `errno`.
  func linkBytes(_ name: String) -> [UInt8]? {
    let limit = 65_536
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: limit) { buffer in
      guard let start = buffer.baseAddress else { return nil }
      errno = 0
      let count = readlinkat(descriptor, name, start, limit)
      guard count > 0, count < limit else { return nil }
      return Array(UnsafeRawBufferPointer(buffer)[..<count])
    }
  }

  /// All names but `.` and `..`; those that are no UTF-8 apart, with U+FFFD where that shows. `nil`, and `errno`.
  func names() -> (names: [String], unreadable: [String])? {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return nil }
    guard let stream = fdopendir(copy) else {
      close(copy)
      return nil
    }
    defer { closedir(stream) }
    var names: [String] = []
    var unreadable: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { return errno == 0 ? (names, unreadable) : nil }
      withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { bytes in
          if let name = String(validatingCString: bytes) {
            if name != ".", name != ".." { names.append(name) }
          } else {
            unreadable.append(String(cString: bytes))
          }
        }
      }
    }
  }
}
