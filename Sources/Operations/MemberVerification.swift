import Repositories
import Sealing

/// Reads a restored member back and proves what stands in the file, by the SHA-256 of the whole.
///
/// That the units are those of the version was proved when they were read; this proves that they were written.
struct MemberVerification {
  private let content: Core.FileContent

  init(_ content: Core.FileContent) { self.content = content }

  /// - Throws: `RepositoryError` `.damaged` when what stands in the file is not what was pushed.
  func verify(_ file: RestoredFile, onProgress: (Int) -> Void) throws {
    let digest = RunningDigest()
    let length = Int(content.length)
    // Small enough to stay in a core's cache between the kernel's copy and the hash.
    try withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 4096) { buffer in
      for start in stride(from: 0, to: length, by: buffer.count) {
        try Task.checkCancellation()
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, length - start)])
        try file.read(into: part, at: start)
        digest.update(UnsafeRawBufferPointer(part))
        if start % (8 << 20) == 0 { onProgress(start + part.count) }
      }
    }
    onProgress(length)
    guard digest.finish() == content.sha256 else {
      throw RepositoryError(
        .damaged, "what was written is not what was pushed: the digests differ",
        hint: "Nothing got its name. Check the disk, or see `sealift list` for other versions.")
    }
  }
}
