import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// The file that decoded bases are put in while a version is restored: nothing is written over that is still read, and
/// it is no longer than it has to be.
@Suite struct ScratchSlotsTests {
  @Test func `a place is taken again by a later wave, not by the same one`() throws {
    var slots = ScratchSlots(grain: 64 << 10)
    let taken = slots.take(200_000)
    let first = try #require(taken)
    slots.release([first])
    #expect(slots.take(200_000) != first)
    slots.closeWave()
    #expect(slots.take(200_000) == first)
  }

  @Test func `a place is taken by what is nearly as long, and by nothing longer`() throws {
    var slots = ScratchSlots(grain: 64 << 10)
    let taken = slots.take(200_000)
    let first = try #require(taken)
    slots.release([first])
    slots.closeWave()
    let longer = slots.take(262_145)
    #expect(try #require(longer) >= first + 200_000)
    #expect(slots.take(199_000) == first)
  }

  @Test func `a file of places gets no longer than it may, and rests as many waves as are on their way`() throws {
    var slots = ScratchSlots(grain: 1024, limit: 4096, waves: 3)
    let taken = slots.take(3000)
    let first = try #require(taken)
    #expect(slots.take(1025) == nil)
    #expect(slots.take(1000) != nil)
    #expect(slots.take(1) == nil)
    slots.release([first])
    for _ in 0..<3 {
      #expect(slots.take(3000) == nil)
      slots.closeWave()
    }
    #expect(slots.take(3000) == first)
  }

  /// Walks the waves as the decoder does, which takes the frames of one wave in any order but that of its levels.
  @Test(arguments: WaveReadingTests.cuts.indices, [false, true])
  func `no base is written over before the last that rests on it`(cut: Int, shuffled: Bool) async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 96, shuffled: shuffled)
    var owners: [Int: FramePlace] = [:]
    var (end, together, reads) = (0, 0, 0)
    for wave in try await home.waves(of: version.manifest, limits: WaveReadingTests.cuts[cut]) {
      let steps = wave.levels.flatMap { $0 }
      var written: Set<Int> = []
      for step in steps {
        guard let slot = step.slot else { continue }
        #expect(written.insert(slot).inserted)
        owners[slot] = step.frame.place
        end = max(end, slot + step.frame.record.plaintextLength)
        together += step.frame.record.plaintextLength
      }
      for step in steps {
        for (part, base) in zip(step.prefix, step.frame.bases) {
          let slot = try #require(owners.keys.filter { $0 <= part.lowerBound }.max())
          #expect(owners[slot] == base)
          reads += 1
        }
      }
    }
    #expect(reads > 0)
    // Where deltas lie beside their bases, few places are held at once.
    if !shuffled, cut > 0 { #expect(end < together / 2) }
  }

  /// A frame that others rest on is met twice: where it is wanted itself, and below them.
  @Test func `what a base rests on is held until the base is decoded, and no longer`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = (0..<6).map { home.noise(4096, seed: $0) }
    func delta(_ page: Int, on bases: [Int]) -> EncodedFrame {
      made.delta(
        [pages[page]], on: bases.map { BaseRun(pack: nil, frame: UInt32($0), firstUnit: 0, count: 1) },
        prefix: bases.flatMap { pages[$0] })
    }
    let pack = try await made.pack([
      made.raw([pages[0]]), delta(1, on: [0]), delta(2, on: [1]), made.raw([pages[3]]), made.raw([pages[4]]),
      delta(5, on: [3, 4]),
    ])
    for frame: UInt32 in [1, 2, 5] { made.place(pack: pack.number, frame: frame, count: 1) }
    let image = [1, 2, 5].flatMap { pages[$0] }
    let manifest = try await made.manifest(image: image)
    let limits = RestoreWave.Limits(sealed: 1, steps: 1)
    #expect(try await home.read(manifest, limits: limits) == image)
    let slots = try await home.waves(of: manifest, limits: limits).flatMap(\.levels).flatMap { $0 }.compactMap(\.slot)
    #expect(slots.count == 4)
    #expect(Set(slots).count == 2)
  }
}

extension Home {
  /// The waves that a version's only member is read in, not fetched.
  func waves(of manifest: StoredManifest, limits: RestoreWave.Limits) async throws -> [RestoreWave] {
    let planner = try await planner(of: manifest, limits: limits)
    try await planner.countBases()
    var waves: [RestoreWave] = []
    while let wave = try await planner.next() { waves.append(wave) }
    return waves
  }

  /// Of a version's only member; it has counted nothing yet.
  func planner(of manifest: StoredManifest, limits: RestoreWave.Limits) async throws -> WavePlanner {
    let reader = try await VersionReader(manifest, repository: repository, state: nil, tables: stateFolder)
    let packs = try OpenPacks(reader.table, repository: repository, chain: chain, state: nil)
    let file = try #require(reader.core.members[0].file)
    let demands = try FileTable<RestorePlan.Demand>(capacity: Int(file.unitCount), in: stateFolder)
    var unit: UInt32 = 0
    try await MapReader(manifest: manifest, packs: packs).forEachRun(of: file, root: manifest.body.maps[0]) { run in
      demands.append(
        RestorePlan.Demand(
          pack: run.pack, frame: run.frame, firstUnit: UInt16(run.firstUnit), count: UInt16(run.count), memberUnit: unit
        ))
      unit += UInt32(run.count)
    }
    return try WavePlanner(
      RestorePlan(demands, in: stateFolder), of: VersionFrames(manifest: manifest, packs: packs), limits: limits,
      wavesAhead: 2, in: stateFolder)
  }
}
