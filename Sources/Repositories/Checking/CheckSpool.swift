import Storage

/// What a check must look at again, in a file without a name: manifests, nodes, frames that others rest on. May be used
/// from several tasks.
final class CheckSpool: Sendable {
  private let file: BaseFile
  private let end = Locked(0)

  /// - Throws: `.stateFolder`.
  init(in folder: String) throws(RepositoryError) { file = try BaseFile(in: folder) }

  /// - Returns: where it lies.
  /// - Throws: `.stateFolder`, on a full disk too.
  func add(_ bytes: [UInt8]) throws(RepositoryError) -> Range<Int> {
    let place = end.withLock { end in
      defer { end += bytes.count }
      return end..<end + bytes.count
    }
    try file.write(bytes, at: place.lowerBound)
    return place
  }

  /// These parts, joined.
  func read(_ parts: [Range<Int>]) throws(RepositoryError) -> [UInt8] { try file.read(parts) }

  /// Gives the room of a part back to the disk.
  func forget(_ part: Range<Int>) { file.forget(part) }
}
