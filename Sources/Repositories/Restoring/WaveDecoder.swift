import Sealing
import Storage

/// Decodes waves one after the other, on all cores, and hands out what the member wants.
struct WaveDecoder {
  private let frames: VersionFrames
  /// Decoded frames that others rest on: what would else be decoded again and again, or held in memory that grows with the
  /// database.
  private let bases: ScratchFile
  /// Sealed frames that came along with waves before their own.
  private let ahead: ScratchFile
  private let workers: Int
  private let proving: Bool
  private let decoders: WorkerPool<FrameDecoder>

  /// - Parameter proving: check the content of each frame by itself too, which names the one that is wrong.
  init(_ frames: VersionFrames, bases: ScratchFile, ahead: ScratchFile, workers: Int, proving: Bool) {
    self.proving = proving
    self.frames = frames
    self.bases = bases
    self.ahead = ahead
    self.workers = workers
    decoders = WorkerPool { [keys = frames.packs.repository.keys] in FrameDecoder(keys: keys) }
  }

  /// - Parameter place: called for each frame that brings units, once, from several tasks.
  /// - Throws: `.damaged`, `.stateFolder`, `SealError`, `StoreError`, and what `place` throws.
  func decode(
    _ wave: RestoreWave, place: @escaping @Sendable (DecodedFrame, [RestorePlan.Demand]) throws -> Void
  ) async throws {
    for level in wave.levels {
      let spoilt = try await decode(level, wave.sealed, place)
      guard !spoilt.isEmpty else { continue }
      // One bad answer says nothing of the packs: the second one counts.
      let again = try await FrameFetch(frames.packs).fetch(spoilt.compactMap(\.step.frame.packed))
      if let lost = try await decode(spoilt.map(\.step), again, place).first { throw lost.problem }
    }
  }

  private struct Spoilt: Sendable {
    let step: RestoreWave.Step
    let problem: SealError
  }

  /// - Returns: frames that do not open, by their places.
  private func decode(
    _ level: [RestoreWave.Step], _ sealed: [FramePlace: ArraySlice<UInt8>],
    _ place: @escaping @Sendable (DecodedFrame, [RestorePlan.Demand]) throws -> Void
  ) async throws -> [Spoilt] {
    let next = Locked(0)
    return try await withThrowingTaskGroup(of: [Spoilt].self) { [decoders] group in
      for _ in 0..<min(workers, level.count) {
        group.addTask {
          var spoilt: [Spoilt] = []
          try decoders.with { decoder in
            while let step = level.next(next) {
              try Task.checkCancellation()
              let frame = step.frame
              let plain: [UInt8]
              do {
                plain = try open(step, sealed[frame.place], with: decoder)
              } catch let problem as SealError where problem.isDamage {
                spoilt.append(Spoilt(step: step, problem: problem))
                continue
              }
              if let slot = step.slot { try bases.write(plain, at: slot) }
              guard !step.demands.isEmpty else { continue }
              try place(DecodedFrame(record: frame.record, plain: plain), step.demands)
            }
          }
          return spoilt
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }.sorted { $0.step.frame.place < $1.step.frame.place }
    }
  }

  private func open(
    _ step: RestoreWave.Step, _ sealed: ArraySlice<UInt8>?, with decoder: FrameDecoder
  ) throws -> [UInt8] {
    let sealed = sealed ?? step.ahead.map { ArraySlice((try? ahead.read([$0])) ?? []) }
    let prefix = step.prefix.isEmpty ? nil : try bases.read(step.prefix)
    return try frames.decode(step.frame, sealed, prefix: prefix, with: decoder, proving: proving)
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
