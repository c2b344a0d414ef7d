import Sealing
import Storage

/// Puts the frames of a member in an order in which each is fetched and decoded once, and cuts that into waves.
actor WavePlanner {
  private let plan: RestorePlan
  private let frames: VersionFrames
  private let limits: RestoreWave.Limits
  private var cursor = 0
  private let notes: FrameNotes<Note>
  private var waiting: ArraySlice<Waiting> = []
  /// Frames of almost one length take each other's places.
  private var slots = ScratchSlots(grain: 64 << 10)
  private var ahead: FetchedAhead

  private struct Note: BitwiseCopyable {
    /// How many runs of others rest on it that are not settled yet.
    var uses: UInt32 = 0
    /// Those it rests on know of it.
    var isCounted = false
    /// It is in a wave, or waits for one.
    var isSettled = false
    /// How many frames rest on each other below it.
    var depth: UInt8 = 0
    /// It is in a wave.
    var isTaken = false
    /// It came along with a wave before its own: its place in the scratch file, and one.
    var ahead: UInt32 = 0
    /// Where it is put in the file of bases.
    var slot = 0
  }

  /// What waits for its wave.
  private struct Waiting {
    let step: RestoreWave.Step
    /// Places in the file of bases that nobody reads after it.
    let ended: [Int]
  }

  /// - Parameter wavesAhead: so many waves are fetched while one is decoded.
  /// - Throws: `.stateFolder`.
  init(
    _ plan: RestorePlan, of frames: VersionFrames, limits: RestoreWave.Limits, wavesAhead: Int, in folder: String
  ) throws(RepositoryError) {
    self.plan = plan
    self.frames = frames
    self.limits = limits
    ahead = FetchedAhead(wavesAhead: wavesAhead)
    notes = try FrameNotes(Note(), in: folder)
  }

  /// Finds out how many rest on each frame. Before the first wave.
  func countBases() async throws {
    for index in 0..<plan.frames.count {
      // With all directories on this machine nothing else in here looks whether it is to end.
      try Task.checkCancellation()
      try await countBases(of: plan.frames[index].place, above: 0)
    }
  }

  /// The next wave, not fetched yet; `nil` after the last.
  /// - Throws: `.damaged`; `SealError`; `StoreError`.
  func next() async throws -> RestoreWave? {
    try Task.checkCancellation()
    var wave = RestoreWave()
    while !wave.isFull(limits) {
      if let next = waiting.first {
        if notes[next.step.frame.place].ahead == 0, wave.ends(before: next.step.frame, limits) { break }
        waiting.removeFirst()
        wave.add(taken(next.step))
        slots.release(next.ended)
      } else if cursor < plan.frames.count {
        _ = try await settle(plan.frames[cursor].place, above: 0)
        cursor += 1
      } else {
        break
      }
    }
    wave.firstMissing = firstMissing
    wave.requests = requests(of: wave)
    slots.closeWave()
    ahead.closeWave()
    return wave.levels.isEmpty ? nil : wave
  }

  /// The step, where it is in a wave, with the place where its frame lies if that came along with an earlier one.
  private func taken(_ step: RestoreWave.Step) -> RestoreWave.Step {
    let place = step.frame.place
    notes[place].isTaken = true
    guard notes[place].ahead > 0 else { return step }
    var step = step
    let slot = Int(notes[place].ahead) - 1
    step.ahead = slot..<slot + Int(step.frame.record.sealedLength)
    ahead.release(slot)
    return step
  }

  private func requests(of wave: RestoreWave) -> [FrameFetch.Request] {
    ahead.requests(for: wave.missing, budget: limits.ahead) { [frames] pack in
      frames.packs.kept(pack)?.directory
    } isWantedLater: { [notes, plan] place in
      let note = notes[place]
      return !note.isTaken && note.ahead == 0 && (note.isSettled || note.uses > 0 || plan.wants(place))
    } note: { [notes] place, slot in
      notes[place].ahead = UInt32(slot) + 1
    }
  }

  /// The least unit that a frame brings which is in no wave yet: those that wait for one, and, as frames are taken in the
  /// order of their least units, the next that is not looked at.
  private var firstMissing: UInt32 {
    let ahead = cursor < plan.frames.count ? plan.frames[cursor].memberUnit : .max
    return waiting.reduce(ahead) { min($0, $1.step.demands.first?.memberUnit ?? .max) }
  }

  /// - Parameter above: how many frames rest on each other above it.
  private func countBases(of place: FramePlace, above: Int) async throws {
    guard !notes[place].isCounted else { return }
    // It has to be there to be noted.
    let frame = try await frame(place)
    guard above < Limits.depth || frame.bases.isEmpty else { throw FrameRecord.tooDeep() }
    notes[place].isCounted = true
    for base in frame.bases {
      try await countBases(of: base, above: above + 1)
      notes[base].uses += 1
    }
  }

  /// Lets a frame wait for its wave, after all it rests on, unless it was there before.
  /// - Parameter above: how many frames rest on each other above it: whoever has the key can make a frame rest on itself.
  private func settle(_ place: FramePlace, above: Int) async throws -> Note {
    let known = notes[place]
    if known.isSettled { return known }
    let frame = try await frame(place)
    guard above < Limits.depth || frame.bases.isEmpty else { throw FrameRecord.tooDeep() }
    var depth = 0
    var prefix: [Range<Int>] = []
    for (run, base) in zip(frame.record.bases, frame.bases) {
      let below = try await settle(base, above: above + 1)
      depth = max(depth, Int(below.depth) + 1)
      let units = try await self.frame(base).record.range(of: run, like: frame.record)
      prefix.append(below.slot + units.lowerBound..<below.slot + units.upperBound)
    }
    guard depth <= Limits.depth else { throw FrameRecord.tooDeep() }
    guard prefix.reduce(0, { $0 + $1.count }) <= Limits.prefix else {
      throw RepositoryError(.damaged, "a delta rests on more than \(Limits.prefix) bytes")
    }
    if above > 0 { try await settle(neighbours(of: place, -1).reversed()) }
    let slot = notes[place].uses > 0 ? slots.take(frame.record.plaintextLength) : nil
    let step = RestoreWave.Step(frame: frame, prefix: prefix, slot: slot, demands: plan.demands(of: place))
    waiting.append(Waiting(step: step, ended: endUses(of: frame.bases)))
    notes[place].isSettled = true
    notes[place].depth = UInt8(depth)
    notes[place].slot = slot ?? 0
    let made = notes[place]
    if above > 0 { try await settle(neighbours(of: place, 1)) }
    return made
  }

  /// Notes that one more of those that rest on the bases is settled.
  /// - Returns: the places of those that it was the last of.
  private func endUses(of bases: [FramePlace]) -> [Int] {
    var ended: [Int] = []
    for base in bases where notes[base].uses > 0 {
      notes[base].uses -= 1
      if notes[base].uses == 0 { ended.append(notes[base].slot) }
    }
    return ended
  }

  /// What lies beside a base in its pack, and is wanted anyway: it waits for the same wave. A base may be from anywhere:
  /// fetched by itself it costs a request, and a second one where it parts what is fetched later. All of it waits in the
  /// order of the pack, the base in its place: where a wave ends among them, that parts them once.
  /// - Parameter direction: before the base (-1) or behind it (1).
  /// - Returns: the nearest first.
  private func neighbours(of base: FramePlace, _ direction: Int) throws -> [FramePlace] {
    var found: [FramePlace] = []
    var reach = Self.reach
    while reach > 0, let next = try frames.wholeFrameAtHand(beside: found.last ?? base, direction),
      isWanted(next.place)
    {
      found.append(next.place)
      reach -= Int(next.record.sealedLength)
    }
    return found
  }

  /// - Parameter neighbours: frames that rest on nothing.
  private func settle(_ neighbours: [FramePlace]) async throws {
    for place in neighbours { _ = try await settle(place, above: 0) }
  }

  /// So many bytes to each side of a base are fetched with it.
  private static let reach = 4 << 20

  private func isWanted(_ place: FramePlace) -> Bool {
    let note = notes[place]
    return !note.isSettled && (note.uses > 0 || plan.wants(place))
  }

  /// A frame that there is, which has room for its note.
  private func frame(_ place: FramePlace) async throws -> VersionFrames.Frame {
    let frame = if let atHand = try frames.frameAtHand(place) { atHand } else { try await frames.frame(place) }
    if !notes.hasRoom(for: place.pack) {
      try notes.makeRoom(for: place.pack, frames: try await frames.frameCount(of: place.pack))
    }
    return frame
  }
}
