import Sealing

/// A member that is put together on this machine, in a file without a name: plain, and gone whatever happens.
struct ScratchMember: MemberDestination {
  let length: Int
  private let file: BaseFile

  /// As zeros.
  /// - Throws: `.stateFolder`.
  init(length: Int, in folder: String) throws(RepositoryError) {
    self.length = length
    file = try BaseFile(in: folder)
    if length > 0 { try file.write([0], at: length - 1) }
  }

  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws { try file.write(Array(bytes), at: offset) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    buffer.copyBytes(from: try read(offset..<offset + buffer.count))
  }

  func read(_ range: Range<Int>) throws(RepositoryError) -> [UInt8] {
    range.isEmpty ? [] : try file.read([range])
  }

  /// The image digest of what stands in it.
  /// - Throws: `.stateFolder`; `CancellationError`.
  func imageDigest(_ content: Core.FileContent, keys: SealingKeys, tables folder: String) async throws -> Digest {
    let proofs = try UnitProofs(of: content, in: self, keys: keys, tables: folder)
    try await proofs.proveRest(workers: max(1, min(4, Cores.available)))
    return proofs.digest
  }
}
