import Sealing
import Storage

/// Decodes waves one after the other, on all cores, and hands out what the member wants.
///
/// Not to be used by two tasks at once.
final class WaveDecoder {
  private let frames: VersionFrames
  private let decoders: WorkerPool<FrameDecoder>
  private let workers: Int
  /// Frames that later waves rest on, as the planner said.
  private var held: [FramePlace: DecodedFrame] = [:]

  init(_ frames: VersionFrames, workers: Int) {
    self.frames = frames
    self.workers = workers
    decoders = WorkerPool { [keys = frames.packs.repository.keys] in FrameDecoder(keys: keys) }
  }

  /// - Parameter place: called for each frame that brings units, from several tasks.
  /// - Throws: `.damaged`, `SealError`, and what `place` throws.
  func decode(
    _ wave: RestoreWave, place: @escaping @Sendable (DecodedFrame, [RestorePlan.Demand]) throws -> Void
  ) async throws {
    for (held, demands) in wave.heldDemands { try place(try decoded(held, in: self.held), demands) }
    var known = held
    for level in wave.levels {
      for (place, frame) in try await decode(level, of: wave, on: known, place) { known[place] = frame }
    }
    held = known.filter { wave.keep.contains($0.key) }
  }

  /// Decodes the steps of one level, each worker the next one that nobody has begun.
  /// - Returns: those that later steps or waves rest on.
  private func decode(
    _ steps: [RestoreWave.Step], of wave: RestoreWave, on known: [FramePlace: DecodedFrame],
    _ place: @escaping @Sendable (DecodedFrame, [RestorePlan.Demand]) throws -> Void
  ) async throws -> [(FramePlace, DecodedFrame)] {
    let next = Locked(0)
    return try await withThrowingTaskGroup(of: [(FramePlace, DecodedFrame)].self) { [frames, decoders] group in
      for _ in 0..<min(workers, steps.count) {
        group.addTask {
          try decoders.with { decoder in
            var kept: [(FramePlace, DecodedFrame)] = []
            while let step = steps.next(next) {
              try Task.checkCancellation()
              let frame = step.frame
              let prefix = try frame.record.prefix(of: frame.bases) { try Self.decoded($0, in: known) }
              let plain = try frames.decode(frame, wave.sealed[frame.place], prefix: prefix, with: decoder)
              let decoded = DecodedFrame(record: frame.record, plain: plain, fingerprints: decoder.fingerprints)
              if !step.demands.isEmpty { try place(decoded, step.demands) }
              if step.isBase || wave.keep.contains(frame.place) { kept.append((frame.place, decoded)) }
            }
            return kept
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }

  private func decoded(_ place: FramePlace, in known: [FramePlace: DecodedFrame]) throws -> DecodedFrame {
    try Self.decoded(place, in: known)
  }

  private static func decoded(_ place: FramePlace, in known: [FramePlace: DecodedFrame]) throws -> DecodedFrame {
    guard let frame = known[place] else {
      throw RepositoryError(.damaged, "a delta rests on frame \(place.frame) of pack \(place.pack), which was not read")
    }
    return frame
  }
}

extension Array {
  /// The element that `counter` stands at, which moves on.
  fileprivate func next(_ counter: Locked<Int>) -> Element? {
    counter.withLock { index in
      guard index < count else { return nil }
      defer { index += 1 }
      return self[index]
    }
  }
}
