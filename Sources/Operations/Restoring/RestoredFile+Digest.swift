import Repositories
import Sealing

extension RestoredFile {
  /// Reads the whole file once more and compares its SHA-256 with the version's.
  /// - Throws: `.damaged`.
  func demand(_ content: Core.FileContent) throws {
    let digest = RunningDigest()
    let length = Int(content.length)
    try withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 4096) { buffer in
      for start in stride(from: 0, to: length, by: buffer.count) {
        try Task.checkCancellation()
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, length - start)])
        try read(into: part, at: start)
        digest.update(UnsafeRawBufferPointer(part))
      }
    }
    let found = digest.finish()
    guard found == content.sha256 else {
      throw RepositoryError(
        .damaged, "the SHA-256 of what was restored is \(found.hex.prefix(16))…, not \(content.sha256.hex.prefix(16))…")
    }
  }
}
