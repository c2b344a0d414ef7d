import Glibc
import Storage

/// Gives a finished private file a place of its own.
package enum KeptCopy {
  /// Moves it to a name that nothing has yet, and makes content and name durable. What is killed in between leaves no
  /// file of that name that is not whole.
  /// - Throws: `.usage` when the file, or a side file of that name, exists; `.failed`.
  package static func move(_ path: String, to destination: String) throws {
    try RestoredFile.refuseIfPresent(destination)
    guard try !link(path, to: destination) else { return }
    let file = try RestoredFile(for: destination)
    defer { file.discard() }
    try copy(path, into: file)
    try file.publish()
    unlink(path)
  }

  /// - Returns: false where the file system, or its being another one, does not let a file have two names.
  private static func link(_ path: String, to destination: String) throws -> Bool {
    try synchronize(path)
    // The other road refuses it, and says why.
    guard RestoredFile.refusal(onWayTo: PathSteps.folder(of: destination)) == nil else { return false }
    guard Glibc.link(path, destination) == 0 else {
      if errno == EEXIST { try RestoredFile.refuseIfPresent(destination) }
      return false
    }
    do { try RestoredFile.synchronizeFolder(of: destination) } catch {
      // Whoever hears of a failure finds the file where it was.
      unlink(destination)
      throw error
    }
    unlink(path)
    return true
  }

  private static func synchronize(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw OperationError.fileSystem("cannot open \(path)", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw OperationError.fileSystem("cannot make \(path) durable", errno) }
  }

  private static func copy(_ path: String, into file: RestoredFile) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw OperationError.fileSystem("cannot open \(path)", errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw OperationError.fileSystem("cannot read \(path)", errno) }
    try file.setLength(Int(status.st_size))
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var done = 0
    while done < Int(status.st_size) {
      let got = read(descriptor, &buffer, buffer.count)
      if got < 0, errno == EINTR { continue }
      // It has become shorter, which the system does not call an error.
      guard got > 0 else { throw OperationError.fileSystem("cannot read \(path)", got == 0 ? EIO : errno) }
      try file.write(buffer[..<got], at: done)
      done += got
    }
  }
}
