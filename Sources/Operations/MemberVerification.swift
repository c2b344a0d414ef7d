import Repositories
import Sealing

/// Reads a restored member back and proves it: the digest over all fingerprints, and the plain SHA-256.
struct MemberVerification {
  private let content: Core.FileContent
  private let keys: SealingKeys

  init(_ content: Core.FileContent, keys: SealingKeys) {
    self.content = content
    self.keys = keys
  }

  /// - Throws: `RepositoryError` `.damaged` when what stands in the file is not what was pushed.
  func verify(_ file: RestoredFile, onProgress: (Int) -> Void) throws {
    let fingerprinter = Fingerprinter(keys)
    let image = RunningDigest()
    let plain = RunningDigest()
    let unit = Int(content.unitSize)
    let step = max(unit, (1 << 20) / unit * unit)
    let length = Int(content.length)
    for start in stride(from: 0, to: length, by: step) {
      try Task.checkCancellation()
      let bytes = try file.read(start..<min(start + step, length))
      plain.update(bytes)
      bytes.withUnsafeBytes { block in
        for offset in stride(from: 0, to: block.count, by: unit) {
          let slice = UnsafeRawBufferPointer(rebasing: block[offset..<min(offset + unit, block.count)])
          image.update(fingerprinter.fingerprint(content.unitType, slice).bytes)
        }
      }
      onProgress(start + bytes.count)
    }
    guard image.finish() == content.imageDigest, plain.finish() == content.sha256 else {
      throw RepositoryError(
        .damaged, "what was fetched is not what was pushed: the digests differ",
        hint: "Nothing was written. `sealift list` shows other versions.")
    }
  }
}
