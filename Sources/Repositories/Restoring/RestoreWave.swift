import Sealing

/// Frames that are fetched together and decoded together. What they rest on was decoded before: in an earlier wave, or
/// on a lower level of this one.
struct RestoreWave: Sendable {
  /// What one wave may take. Tests make it small.
  struct Limits: Sendable {
    /// Bytes fetched for one wave; those of the next waves are fetched meanwhile. A pack is shorter, its last frame
    /// included.
    var sealed: Int
    /// Who has that many leaves a pack that it would only begin to the next one.
    var least: Int
    var steps: Int
    /// Bytes that come along for later waves: a restore that is cut has fetched them in vain.
    var ahead: Int

    init(sealed: Int = 9 << 20, least: Int = 4 << 20, steps: Int = 1024, ahead: Int? = nil) {
      self.sealed = sealed
      self.least = least
      self.steps = steps
      self.ahead = ahead ?? min(sealed / 2, 4 << 20)
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
  /// The packs of its whole frames.
  private var packs: Set<UInt32> = []
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

  /// Whether the next wave should begin with a frame: where each took what just fits, nearly every pack would be fetched in
  /// two pieces. Deltas are wanted all over the member, and come along anyway.
  func ends(before frame: VersionFrames.Frame, _ limits: Limits) -> Bool {
    frame.packed != nil && frame.bases.isEmpty && !levels.isEmpty && sealedLength >= limits.least
      && !packs.contains(frame.place.pack)
  }

  /// Adds a step, after all it rests on.
  mutating func add(_ step: Step) {
    let level = step.frame.bases.reduce(0) { max($0, (levelOf[$1] ?? -1) + 1) }
    levelOf[step.frame.place] = level
    if level == levels.count { levels.append([]) }
    levels[level].append(step)
    guard step.frame.packed != nil else { return }
    sealedLength += Int(step.frame.record.sealedLength)
    if step.frame.bases.isEmpty { packs.insert(step.frame.place.pack) }
  }
}
