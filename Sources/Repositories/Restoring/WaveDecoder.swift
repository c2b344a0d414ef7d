import Sealing
import Storage

/// Decodes waves one after the other, on all cores, and hands out what the member wants.
struct WaveDecoder {
  private let frames: VersionFrames
  /// Decoded frames that others rest on: what would else be decoded again and again, or held in memory that grows with the
  /// database.
  private let bases: ScratchFile
  private let workers: Int
  private let proving: Bool
  private let decoders: WorkerPool<FrameDecoder>

  /// - Parameter proving: check the content of each frame by itself too, which names the one that is wrong.
  init(_ frames: VersionFrames, bases: ScratchFile, workers: Int, proving: Bool) {
    self.proving = proving
    self.frames = frames
    self.bases = bases
    self.workers = workers
    decoders = WorkerPool { [keys = frames.packs.repository.keys] in FrameDecoder(keys: keys) }
  }

  /// - Parameter place: called for each frame that brings units, from several tasks.
  /// - Throws: `.damaged`, `.stateFolder`, `SealError`, and what `place` throws.
  func decode(
    _ wave: RestoreWave, place: @escaping @Sendable (DecodedFrame, [RestorePlan.Demand]) throws -> Void
  ) async throws {
    for level in wave.levels {
      let next = Locked(0)
      try await withThrowingTaskGroup(of: Void.self) { [frames, bases, decoders, proving] group in
        for _ in 0..<min(workers, level.count) {
          group.addTask {
            try decoders.with { decoder in
              while let step = level.next(next) {
                try Task.checkCancellation()
                let frame = step.frame
                let prefix = step.prefix.isEmpty ? nil : try bases.read(step.prefix)
                let plain = try frames.decode(
                  frame, wave.sealed[frame.place], prefix: prefix, with: decoder, proving: proving)
                if let slot = step.slot { try bases.write(plain, at: slot) }
                guard !step.demands.isEmpty else { continue }
                try place(DecodedFrame(record: frame.record, plain: plain), step.demands)
              }
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}

extension Array {
  /// The element that `counter` stands at, which moves on.
  func next(_ counter: Locked<Int>) -> Element? {
    counter.withLock { index in
      guard index < count else { return nil }
      defer { index += 1 }
      return self[index]
    }
  }
}
