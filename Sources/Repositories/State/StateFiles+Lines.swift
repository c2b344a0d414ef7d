import Glibc

/// Files that grow line by line and are never replaced.
extension StateFiles {
  private static let newline = UInt8(ascii: "\n")

  /// Adds lines; durable when it returns. One writer at a time.
  ///
  /// What a dead writer, or a full disk, left of the line before gets an end first: it spoils no other.
  static func append(lines: [String], to path: String) throws(RepositoryError) {
    let descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("cannot write \(path)", errno) }
    var status = stat()
    var last = newline
    var problem: Int32 = 0
    if fstat(descriptor, &status) != 0 { problem = errno }
    if problem == 0, status.st_size > 0, pread(descriptor, &last, 1, status.st_size - 1) < 0 { problem = errno }
    let text = lines.map { "\($0)\n" }.joined()
    if problem == 0 { problem = put(last == newline ? text : "\n\(text)", into: descriptor) }
    if problem == 0, fdatasync(descriptor) != 0 { problem = errno }
    if close(descriptor) != 0, problem == 0 { problem = errno }
    guard problem == 0 else { throw failure("cannot write \(path)", problem) }
    // With its first lines the file got its name.
    if status.st_size == 0 { try synchronizeFolder(of: path) }
  }

  /// - Returns: 0, or the number of the error.
  private static func put(_ text: String, into descriptor: Int32) -> Int32 {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let done = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if done < 0, errno != EINTR { return errno }
      rest = rest.dropFirst(max(0, done))
    }
    return 0
  }

  /// Hands out the lines of a file one by one, without their ends; of a file that is not there, none. Of what is longer
  /// than `longest` bytes nothing: so a file of any length takes next to no memory.
  static func readLines(
    of path: String, longest: Int, _ take: ([UInt8]) -> Void
  ) throws(RepositoryError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return }
      throw failure("cannot read \(path)", errno)
    }
    defer { close(descriptor) }
    var part = [UInt8](repeating: 0, count: 256 << 10)
    var line: [UInt8] = []
    while true {
      let got = part.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw failure("cannot read \(path)", errno) }
      if got == 0 { break }
      var rest = part[..<got]
      while let end = rest.firstIndex(of: newline) {
        line += rest[..<end].prefix(longest + 1)
        if line.count <= longest { take(line) }
        line.removeAll(keepingCapacity: true)
        rest = rest[(end + 1)...]
      }
      line += rest.prefix(max(0, longest + 1 - line.count))
    }
    if !line.isEmpty, line.count <= longest { take(line) }
  }
}
