import Sealing

/// Before an object leaves, it is opened again as a reader would: memory fails, and so do compressors.
extension OpenedObject {
  /// Every frame's payload must come out as it went in. That it expands to its units was proved when it was made.
  /// - Throws: `.damaged` when the object does not hold exactly these frames, in this order.
  func demand(holding frames: [EncodedFrame], _ keys: SealingKeys) throws {
    let decoder = FrameDecoder(keys: keys)
    guard directory.frames.count == frames.count else { throw Self.isAnother() }
    for (index, frame) in frames.enumerated() {
      try Task.checkCancellation()
      let record = directory.frames[index]
      guard record.frameID == frame.frameID, record.codec == frame.codec, record.unitLengths == frame.unitLengths,
        record.bases == frame.bases, opens(index, to: frame.payload, with: decoder)
      else { throw Self.isAnother() }
    }
  }

  private static func isAnother() -> RepositoryError {
    RepositoryError(
      .damaged, "an object that was just sealed does not hold what was put in",
      hint: "It was not stored. This machine's memory may be failing; run a memory test.")
  }
}
