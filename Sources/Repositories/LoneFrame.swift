import Sealing
import Storage

/// Decodes a frame that rests on more than a wave may hold: its bases one after the other, each fetched alone.
///
/// Slow, and rare: a delta mostly rests on a few neighbours. Only the latest few decoded frames are kept.
actor LoneFrame {
  private static let kept = 32

  private let frames: VersionFrames
  private let decoder: FrameDecoder
  private var latest: [FramePlace: (frame: DecodedFrame, depth: Int)] = [:]
  private var order: [FramePlace] = []

  init(_ frames: VersionFrames) {
    self.frames = frames
    decoder = FrameDecoder(keys: frames.packs.repository.keys)
  }

  /// - Throws: `.damaged`; `SealError`; `StoreError`.
  func decoded(_ place: FramePlace) async throws -> DecodedFrame { try await decode(place, above: 0).frame }

  private func decode(_ place: FramePlace, above: Int) async throws -> (frame: DecodedFrame, depth: Int) {
    if let known = latest[place] { return known }
    try Task.checkCancellation()
    guard above <= Limits.depth else { throw FrameRecord.tooDeep() }
    let frame = try await frames.frame(place)
    var parts: [[UInt8]] = []
    var depth = 0
    for (run, base) in zip(frame.record.bases, frame.bases) {
      let below = try await decode(base, above: above + 1)
      depth = max(depth, below.depth + 1)
      parts.append(
        Array(
          try below.frame.record.units(
            Int(run.firstUnit), count: Int(run.count), of: below.frame.plain, like: frame.record)))
      guard parts.reduce(0, { $0 + $1.count }) <= Limits.prefix else {
        throw RepositoryError(.damaged, "a delta rests on more than \(Limits.prefix) bytes")
      }
    }
    guard depth <= Limits.depth else { throw FrameRecord.tooDeep() }
    let sealed = try await FrameFetch(frames.packs).fetch([frame.packed].compactMap(\.self))
    let plain = try frames.decode(
      frame, sealed[place], prefix: parts.isEmpty ? nil : Array(parts.joined()), with: decoder)
    let decoded = (
      frame: DecodedFrame(record: frame.record, plain: plain, fingerprints: decoder.fingerprints), depth: depth
    )
    if latest.updateValue(decoded, forKey: place) == nil { order.append(place) }
    if order.count > Self.kept { latest[order.removeFirst()] = nil }
    return decoded
  }
}
