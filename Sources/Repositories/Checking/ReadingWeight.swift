import Sealing

/// What it takes to read packs whole: themselves, and the frames of others that deltas in them rest on. Of what serves
/// several, each frame counts once.
final class ReadingWeight {
  private let frames: ChainFrames
  /// By frame, whether it was counted.
  private let isCounted: FileTable<UInt8>

  /// - Throws: `.stateFolder`, `.noSpace`.
  init(_ frames: ChainFrames, in folder: String) throws(RepositoryError) {
    self.frames = frames
    isCounted = try FileTable(capacity: frames.count, count: frames.count, in: folder)
  }

  /// - Parameter size: of the pack, in bytes.
  /// - Returns: by how many bytes more is fetched, in about, when the pack is read as well.
  func add(_ pack: Digest, size: Int) -> Int {
    var bytes = 0
    for ordinal in frames.ordinals(of: pack) {
      // Somebody rests on it, and it was fetched for that.
      if isCounted[ordinal] != 0 { bytes -= Int(frames[ordinal].sealedLength) }
      isCounted[ordinal] = 1
      bytes += addBases(of: ordinal)
    }
    // What a listing says of a size may be anything.
    return max(0, [size, bytes].clampedSum)
  }

  private func addBases(of ordinal: Int) -> Int {
    var bytes = 0
    var waiting = [ordinal]
    while let next = waiting.popLast() {
      for index in frames[next].bases {
        guard let base = frames.ordinal(of: frames.base(index)), isCounted[base] == 0 else { continue }
        isCounted[base] = 1
        bytes += Int(frames[base].sealedLength)
        waiting.append(base)
      }
    }
    return bytes
  }
}
