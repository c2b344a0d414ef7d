import Glibc
import Storage

/// A file held open, closed with the value.
struct OpenFile: ~Copyable {
  private let descriptor: Int32
  private let path: String

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// The regular file `name`, or `nil` when there is none.
  static func reading(_ name: Substring, in folder: borrowing OpenFolder) throws(StoreError) -> OpenFile? {
    let path = "\(folder.path)/\(name)"
    // Not blocking, so that a pipe planted under the name does not hold us up.
    let descriptor = openat(folder.descriptor, String(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0 {
      switch errno {
      case ENOENT: return nil
      case ELOOP: throw .symbolicLink(path)
      case let number: throw .content(number, "\(path) could not be opened")
      }
    }
    let file = OpenFile(descriptor: descriptor, path: path)
    guard try file.status().isFile else { return nil }
    return file
  }

  /// A new file (0600); it is an error when something stands there.
  static func creating(_ name: Substring, in folder: borrowing OpenFolder) throws(StoreError) -> OpenFile {
    let path = "\(folder.path)/\(name)"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = openat(folder.descriptor, String(name), flags, 0o600)
    guard descriptor >= 0 else { throw .system(errno, "\(path) could not be made", for: .write) }
    return OpenFile(descriptor: descriptor, path: path)
  }

  func status() throws(StoreError) -> OpenFolder.Entry {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno, "\(path) could not be looked at") }
    return OpenFolder.Entry(status)
  }

  /// Exactly these bytes.
  /// - Throws: `.unavailable` when the file ends before: somebody is changing it.
  func read(_ range: Range<Int>) throws(StoreError) -> [UInt8] {
    var outcome: Result<Void, StoreError> = .success(())
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, done in
      outcome = Result { () throws(StoreError) in
        while done < range.count {
          let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[done..<range.count])
          let count = pread(descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound + done))
          if count < 0, errno == EINTR { continue }
          guard count >= 0 else { throw .content(errno, "\(path) could not be read") }
          guard count > 0 else {
            throw StoreError(.unavailable, "\(path) became shorter while it was read", retry: .later(after: nil))
          }
          done += count
        }
      }
    }
    try outcome.get()
    return bytes
  }

  /// Writes everything and returns when it is on the disk and has the right size.
  func write(durably bytes: [UInt8]) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.write(descriptor, buffer.baseAddress?.advanced(by: done), bytes.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .system(errno, "\(path) could not be written", for: .write) }
      done += count
    }
    guard fsync(descriptor) == 0 else { throw .system(errno, "\(path) could not be made durable", for: .write) }
    // Some file systems tell only whoever closes it that it did not arrive (FUSE, NFS). Each descriptor is asked.
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0, close(copy) == 0 else { throw .system(errno, "\(path) could not be written", for: .write) }
    let size = try status().size
    guard size == bytes.count else {
      throw StoreError(.fileSystem, "\(path) has \(size) bytes after \(bytes.count) were written")
    }
  }
}
