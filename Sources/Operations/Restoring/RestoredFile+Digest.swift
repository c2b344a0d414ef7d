import Glibc
import Repositories
import Sealing

extension RestoredFile {
  /// Reads the whole file once more and compares its SHA-256 with the version's.
  /// - Throws: `.damaged`.
  func demand(_ content: Core.FileContent) throws {
    let found = try digest(ofFirst: Int(content.length)) { _, _ in }
    guard found == content.sha256 else {
      throw RepositoryError(
        .damaged, "the SHA-256 of what was restored is \(found.hex.prefix(16))…, not \(content.sha256.hex.prefix(16))…")
    }
  }

  /// Gets the content of another file, and proves that it did.
  func take(_ other: RestoredFile) throws {
    var status = stat()
    guard fstat(other.descriptor, &status) == 0 else {
      throw Self.failure("cannot read \(other.temporaryPath)", errno)
    }
    let length = Int(status.st_size)
    try setLength(length)
    let wanted = try other.digest(ofFirst: length) { try write(Array($0)[...], at: $1) }
    guard try digest(ofFirst: length, { _, _ in }) == wanted else {
      throw Self.failure("cannot write \(temporaryPath)", EIO)
    }
  }

  /// - Parameter body: gets each part, and where it begins.
  private func digest(ofFirst length: Int, _ body: (UnsafeRawBufferPointer, Int) throws -> Void) throws -> Digest {
    let digest = RunningDigest()
    try withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 4096) { buffer in
      for start in stride(from: 0, to: length, by: buffer.count) {
        try Task.checkCancellation()
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, length - start)])
        try read(into: part, at: start)
        digest.update(UnsafeRawBufferPointer(part))
        try body(UnsafeRawBufferPointer(part), start)
      }
    }
    return digest.finish()
  }
}
