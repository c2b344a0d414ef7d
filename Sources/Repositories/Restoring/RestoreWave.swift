import Sealing

/// Frames that are fetched together and decoded together. What they rest on was decoded before: in an earlier wave, or
/// on a lower level of this one.
struct RestoreWave: Sendable {
  /// What one wave may take. Tests make it small.
  struct Limits: Sendable {
    /// Bytes fetched for one wave; those of the next waves are fetched meanwhile.
    var sealed: Int
    var steps: Int
    /// Bytes that come along for later waves: a restore that is cut has fetched them in vain.
    var ahead: Int

    init(sealed: Int = 8 << 20, steps: Int = 1024, ahead: Int? = nil) {
      self.sealed = sealed
      self.steps = steps
      self.ahead = ahead ?? sealed / 2
    }
  }

  /// What is done with one frame.
  struct Step: Sendable {
    let frame: VersionFrames.Frame
    /// Where the parts of its prefix lie in the file of bases; none for a frame that rests on nothing.
    let prefix: [Range<Int>]
    /// Where it is put in the file of bases, when others rest on it.
    let slot: Int?
    let demands: [RestorePlan.Demand]
    /// Where it lies sealed in the scratch file of what came along with an earlier wave, if it did.
    var ahead: Range<Int>?
  }

  private(set) var levels: [[Step]] = []
  /// When this wave and all before it are decoded, every unit of the member before this one is in place.
  var firstMissing: UInt32 = 0
  private var levelOf: [FramePlace: Int] = [:]
  private var sealedLength = 0
  var requests: [FrameFetch.Request] = []
  private(set) var sealed: [FramePlace: ArraySlice<UInt8>] = [:]

  /// The same, with its bytes.
  /// - Parameter scratch: gets what comes along for later waves.
  func fetched(from packs: OpenPacks, puttingAhead scratch: ScratchFile) async throws -> RestoreWave {
    var wave = self
    wave.requests = []
    wave.sealed = try await FrameFetch(packs).fetch(requests, puttingAhead: scratch)
    return wave
  }

  /// What has to be fetched for it.
  var missing: [FrameFetch.Frame] { levels.flatMap { $0.filter { $0.ahead == nil }.compactMap(\.frame.packed) } }

  func isFull(_ limits: Limits) -> Bool { sealedLength >= limits.sealed || levelOf.count >= limits.steps }

  /// Adds a step, after all it rests on.
  mutating func add(_ step: Step) {
    let level = step.frame.bases.reduce(0) { max($0, (levelOf[$1] ?? -1) + 1) }
    levelOf[step.frame.place] = level
    if level == levels.count { levels.append([]) }
    levels[level].append(step)
    if step.frame.packed != nil { sealedLength += Int(step.frame.record.sealedLength) }
  }
}
