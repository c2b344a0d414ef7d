import Storage

/// What must be looked at again, in a file without a name whose room is used again: of a check, manifests, nodes, and frames
/// that others rest on; of a repair, packs. May be used from several tasks.
final class ScratchSpool: Sendable {
  private struct Room {
    var end = 0
    /// Where room was given back, by its length: powers of two.
    var free: [Int: [Int]] = [:]
  }

  private let file: ScratchFile
  private let room = Locked(Room())

  /// - Throws: `.stateFolder`; `.noSpace` on a full disk.
  init(in folder: String) throws(RepositoryError) { file = try ScratchFile(in: folder) }

  /// - Returns: where it lies.
  /// - Throws: `.stateFolder`; `.noSpace` on a full disk.
  func add(_ bytes: [UInt8]) throws(RepositoryError) -> Range<Int> {
    let length = Self.roomLength(bytes.count)
    let start = room.withLock { room in
      if let free = room.free[length]?.popLast() { return free }
      defer { room.end += length }
      return room.end
    }
    try file.write(bytes, at: start)
    return start..<start + bytes.count
  }

  /// These parts, joined.
  func read(_ parts: [Range<Int>]) throws(RepositoryError) -> [UInt8] { try file.read(parts) }

  /// Gives back what `add` took.
  func forget(_ place: Range<Int>) {
    room.withLock { $0.free[Self.roomLength(place.count), default: []].append(place.lowerBound) }
  }

  /// The next power of two, so that frames of about the same length take each other's room.
  private static func roomLength(_ count: Int) -> Int {
    var length = 4096
    while length < count { length *= 2 }
    return length
  }
}
