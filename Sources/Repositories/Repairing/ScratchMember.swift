import Sealing

/// A member that is put together on this machine, in a file without a name: plain, and gone whatever happens. Members of
/// one version share the file, one behind the other.
struct ScratchMember: MemberDestination {
  let length: Int
  private let file: ScratchFile
  /// Where it begins in the file.
  private let start: Int

  /// As zeros, behind what the file holds so far.
  /// - Throws: `.stateFolder`.
  init(length: Int, at start: Int, of file: ScratchFile) throws(RepositoryError) {
    self.length = length
    self.file = file
    self.start = start
    if length > 0 { try file.write([0], at: start + length - 1) }
  }

  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws { try file.write(Array(bytes), at: start + offset) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    buffer.copyBytes(from: try read(offset..<offset + buffer.count))
  }

  func read(_ range: Range<Int>) throws(RepositoryError) -> [UInt8] {
    range.isEmpty ? [] : try file.read([start + range.lowerBound..<start + range.upperBound])
  }

  /// The image digest of what stands in it.
  /// - Throws: `.stateFolder`; `CancellationError`.
  func imageDigest(_ content: Core.FileContent, keys: SealingKeys, tables folder: String) async throws -> Digest {
    let proofs = try UnitProofs(of: content, in: self, keys: keys, tables: folder)
    try await proofs.proveRest(workers: max(1, min(4, Cores.available)))
    return proofs.digest
  }
}
