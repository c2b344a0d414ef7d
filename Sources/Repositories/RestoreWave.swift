import Sealing

/// Frames that are fetched together and decoded together: some that bring units of the member, and all that those rest
/// on and that is not held from earlier waves.
struct RestoreWave: Sendable {
  /// What one wave, and what is held between waves, may take in memory. Tests make it small.
  struct Limits: Sendable {
    /// Fetched for one wave; the next wave's is fetched meanwhile.
    var sealed = 8 << 20
    /// Decoded frames that others of the wave rest on.
    var bases = 16 << 20
    /// Decoded frames kept for later waves.
    var held = 16 << 20
    var steps = 1024
  }

  /// What is done with one frame.
  struct Step: Sendable {
    let frame: VersionFrames.Frame
    /// How many frames lie below it, at the deepest place; bounded by the format.
    let depth: Int
    /// Steps of one level rest on lower levels only, so they are decoded at once.
    let level: Int
    var isBase = false
    var demands: [RestorePlan.Demand] = []
  }

  private(set) var steps: [Step] = []
  /// Frames decoded in earlier waves that bring units now.
  private(set) var heldDemands: [FramePlace: [RestorePlan.Demand]] = [:]
  /// A frame that alone rests on more than a wave may hold.
  var lone: RestorePlan.WantedFrame?
  /// What is held after the wave: frames of it, and of earlier ones.
  var keep: Set<FramePlace> = []
  var sealed: [FramePlace: ArraySlice<UInt8>] = [:]

  private var indices: [FramePlace: Int] = [:]
  private var sealedLength = 0
  private var baseLength = 0

  var isEmpty: Bool { steps.isEmpty && heldDemands.isEmpty }

  /// The steps of each level, lowest first.
  var levels: [[Step]] {
    var levels: [[Step]] = []
    for step in steps {
      while levels.count <= step.level { levels.append([]) }
      levels[step.level].append(step)
    }
    return levels
  }

  func step(_ place: FramePlace) -> Step? { indices[place].map { steps[$0] } }

  func exceeds(_ limits: Limits) -> Bool {
    sealedLength > limits.sealed || baseLength > limits.bases || steps.count > limits.steps
  }

  mutating func add(_ step: Step) {
    indices[step.frame.place] = steps.count
    steps.append(step)
    if step.frame.packed != nil { sealedLength += Int(step.frame.record.sealedLength) }
    for base in step.frame.bases {
      guard let index = indices[base], !steps[index].isBase else { continue }
      steps[index].isBase = true
      baseLength += steps[index].frame.record.plaintextLength
    }
  }

  /// Forgets the steps from `count` on, and what they rest on.
  mutating func truncate(to count: Int) {
    let staying = steps.prefix(count)
    (steps, indices, sealedLength, baseLength) = ([], [:], 0, 0)
    for var step in staying {
      step.isBase = false
      add(step)
    }
  }

  /// Says which units of a frame, which is a step or held, are wanted.
  mutating func demand(_ demands: [RestorePlan.Demand], of place: FramePlace) {
    if let index = indices[place] { steps[index].demands = demands } else { heldDemands[place] = demands }
  }
}
