import Glibc

/// The copy in the spool, as plain bytes: opened only while SQLite has it closed.
final class ImageFile {
  let path: String
  private let descriptor: Int32

  /// Opens an existing image.
  init(at path: String) throws(SnapshotError) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw Self.failure("cannot open \(path)", errno) }
  }

  deinit { close(descriptor) }

  /// Makes an empty file, 0600 from its first moment; SQLite's own side files take its mode.
  static func create(at path: String) throws(SnapshotError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("cannot make \(path)", errno) }
    close(descriptor)
  }

  var length: Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  func read(_ count: Int, at offset: Int) throws(SnapshotError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard pread(descriptor, &bytes, count, off_t(offset)) == count else {
      throw Self.failure("cannot read \(path)", errno)
    }
    return bytes
  }

  func write(_ bytes: [UInt8], at offset: Int) throws(SnapshotError) {
    guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else {
      throw Self.failure("cannot write \(path)", errno)
    }
  }

  static func failure(_ message: String, _ number: Int32) -> SnapshotError {
    SnapshotError(
      number == ENOSPC || number == EDQUOT ? .noSpace : .spool, "\(message): \(String(cString: strerror(number)))",
      hint: "Check space and permissions of the state folder, or name another one with SEALIFT_STATE.")
  }
}
