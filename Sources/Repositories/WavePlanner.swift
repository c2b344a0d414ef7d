import Sealing
import Storage

/// Cuts the reading of a member into waves, and fetches each.
///
/// It also decides which decoded frames are held from wave to wave, by what was used last: deltas rest on frames in
/// nearly the order of the member, so what the next wave needs was mostly used by this one.
actor WavePlanner {
  private let plan: RestorePlan
  private let frames: VersionFrames
  private let limits: RestoreWave.Limits
  private var cursor = 0
  private var clock = 0
  /// What the decoder holds when the next wave begins.
  private var held: [FramePlace: Held] = [:]
  /// The greatest depth of a frame so far.
  private var deepest = 0

  private struct Held {
    let length: Int
    let depth: Int
    var used: Int
  }

  init(_ plan: RestorePlan, of frames: VersionFrames, limits: RestoreWave.Limits) {
    self.plan = plan
    self.frames = frames
    self.limits = limits
  }

  /// The next wave, fetched; `nil` after the last.
  /// - Throws: `.damaged`; `SealError`; `StoreError`.
  func next() async throws -> RestoreWave? {
    guard cursor < plan.frames.count else { return nil }
    try Task.checkCancellation()
    var wave = RestoreWave()
    while wave.lone == nil, cursor < plan.frames.count {
      let wanted = plan.frames[cursor]
      let steps = wave.steps.count
      _ = try await close(wanted.place, in: &wave, above: 0)
      if wave.exceeds(limits) {
        wave.truncate(to: steps)
        guard wave.isEmpty else { break }
        wave.lone = wanted
      } else {
        wave.demand(plan.demands(of: wanted), of: wanted.place)
      }
      cursor += 1
    }
    hold(after: &wave)
    wave.sealed = try await FrameFetch(frames.packs).fetch(wave.steps.compactMap(\.frame.packed))
    return wave
  }

  /// Adds a frame to the wave, after all it rests on, unless it is there or held.
  /// - Parameter above: how many frames rest on each other above it.
  /// - Returns: its depth, and the level it is decoded on (-1 when it is held).
  private func close(
    _ place: FramePlace, in wave: inout RestoreWave, above: Int
  ) async throws -> (depth: Int, level: Int) {
    clock += 1
    if let step = wave.step(place) { return (step.depth, step.level) }
    if let known = held[place] {
      held[place]?.used = clock
      return (known.depth, -1)
    }
    guard above <= Limits.depth else { throw FrameRecord.tooDeep() }
    guard !wave.exceeds(limits) else { return (0, 0) }
    let frame = if let known = try frames.frameAtHand(place) { known } else { try await frames.frame(place) }
    var depth = 0
    var level = 0
    for base in frame.bases {
      let below = try await close(base, in: &wave, above: above + 1)
      depth = max(depth, below.depth + 1)
      level = max(level, below.level + 1)
    }
    guard depth <= Limits.depth else { throw FrameRecord.tooDeep() }
    deepest = max(deepest, depth)
    wave.add(RestoreWave.Step(frame: frame, depth: depth, level: level))
    return (depth, level)
  }

  /// Decides what is held after the wave. Nothing rests on the deepest frames, and in a version without deltas all
  /// frames are that.
  private func hold(after wave: inout RestoreWave) {
    for (index, step) in wave.steps.enumerated() where step.depth < deepest {
      held[step.frame.place] = Held(
        length: step.frame.record.plaintextLength, depth: step.depth, used: clock - wave.steps.count + index)
    }
    var room = limits.held
    for (place, known) in held.sorted(by: { $0.value.used > $1.value.used }) {
      room -= known.length
      if room < 0 { held[place] = nil }
    }
    wave.keep = Set(held.keys)
  }
}
