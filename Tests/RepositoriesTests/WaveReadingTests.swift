import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Versions of many frames that rest on each other: whatever the waves are cut to, the image is the same, no frame is
/// fetched in vain, and few requests do.
@Suite struct WaveReadingTests {
  /// From all in one wave to each frame in its own.
  static let cuts = [(9 << 20, 1024), (300_000, 1024), (1 << 20, 7), (1, 1)].map {
    RestoreWave.Limits(sealed: $0.0, steps: $0.1)
  }

  @Test(arguments: cuts.indices, [false, true])
  func `an image over three levels is the same in waves of any size`(cut: Int, shuffled: Bool) async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 50, shuffled: shuffled)
    #expect(try await home.read(version.manifest, limits: Self.cuts[cut]) == version.image)
  }

  @Test func `each frame is fetched once, by few requests`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 96)
    let stored = version.packs.reduce(0) { $0 + Int($1.length) }
    for limits in Self.cuts {
      let tally = TallyingStore(home.store)
      #expect(try await home.read(version.manifest, from: tally, limits: limits) == version.image)
      #expect(tally.tally.bytesDown < stored + stored / 10)
    }
    let tally = TallyingStore(home.store)
    _ = try await home.read(version.manifest, from: tally)
    // The manifest; each pack's directory and frames.
    #expect(tally.tally.gets <= 1 + version.packs.count * 2)
  }

  /// Of a version in many layers that takes long, and a signal waits for it.
  @Test func `bases are counted no further when the restore is to end`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 50)
    let planner = try await home.planner(of: version.manifest, limits: RestoreWave.Limits())
    let counting = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await planner.countBases()
    }
    await #expect(throws: CancellationError.self) { try await counting.value }
  }

  /// What just fits would end each wave a little further into a pack.
  @Test func `each full pack is fetched in one piece`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    var image: [UInt8] = []
    for number in 0..<5 {
      let frames = (0..<12).map { frame in
        (0..<8).map { home.noise(4096, seed: UInt64(number * 96 + frame * 8 + $0)) }
      }
      let pack = try await made.pack(frames.map { made.raw($0) })
      for frame in frames.indices { made.place(pack: pack.number, frame: UInt32(frame), count: 8) }
      image += frames.joined().joined()
    }
    let manifest = try await made.manifest(image: image)
    // A pack and two frames; a pack and a half.
    for sealed in [450_000, 590_000] {
      let limits = RestoreWave.Limits(sealed: sealed, least: 200_000, steps: 1024)
      #expect(try await home.waves(of: manifest, limits: limits).map(\.requests.count) == [1, 1, 1, 1, 1])
      let tally = TallyingStore(home.store)
      #expect(try await home.read(manifest, from: tally, limits: limits) == image)
      // The manifest; each pack's directory and frames.
      #expect(tally.tally.gets == 1 + 5 * 2)
    }
  }

  /// It is closed with the frame that fills it.
  @Test func `the longest pack fits one wave, and one request`() {
    let length = PushSession.Policy.packLength + FrameMaker.frameSize
    #expect(RestoreWave.Limits().sealed >= length)
    let frames = stride(from: 0, to: length, by: 1 << 16).map { $0..<min($0 + 1 << 16, length) }
    #expect(Stretch.covering(frames) { $0 }.count == 1)
  }

  /// A base from anywhere brings along what lies beside it and is wanted later: by itself it would cost a request, and
  /// another one where it parts the rest.
  @Test func `bases from anywhere are fetched with their neighbours`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 96, shuffled: true)
    let tally = TallyingStore(home.store)
    #expect(try await home.read(version.manifest, from: tally, limits: Self.cuts[1]) == version.image)
    // 71; one by one it would be 173.
    #expect(tally.tally.gets < 100)
  }

  /// A wave ends among them: one more request, not one for each side that is left.
  @Test func `neighbours of a base come in the order of their pack`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    // Further apart than is fetched along.
    let whole = (0..<33).map { frame in (0..<8).map { home.noise(4096, seed: UInt64(frame * 8 + $0)) } }
    let anchor = try await made.pack(whole.map { made.raw($0) })
    let page: [UInt8] = [1] + whole[16][0].dropFirst()
    let base = BaseRun(pack: 0, frame: 16, firstUnit: 0, count: 1)
    let delta = try await made.pack([made.delta([page], on: [base], prefix: whole[16][0])], basePacks: [anchor.name])
    made.place(pack: delta.number, frame: 0, count: 1)
    for frame in whole.indices { made.place(pack: anchor.number, frame: UInt32(frame), count: 8) }
    let image = page + whole.joined().joined()
    let manifest = try await made.manifest(image: image)
    // Eight frames a wave.
    let limits = RestoreWave.Limits(sealed: 262_000, steps: 1024, ahead: 0)
    #expect(try await home.read(manifest, limits: limits) == image)
    let waves = try await home.waves(of: manifest, limits: limits)
    #expect(waves.map(\.requests.count) == [1, 1, 1, 1, 2])
  }

  /// What other versions rest on may be gone, and beside a base lies what only they need.
  @Test func `neighbours of a base that rest on a pack which is gone are left alone`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    var random = SeededRandom(5)
    let (lost, base) = (random.bytes(4096), random.bytes(4096))
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    let gone = try await made.pack([made.raw([lost])])
    let other = made.delta([[1] + lost.dropFirst()], on: [run], prefix: lost)
    let middle = try await made.pack([other, made.raw([base]), other], basePacks: [gone.name])
    let page = [2] + base.dropFirst()
    let onBase = BaseRun(pack: 0, frame: 1, firstUnit: 0, count: 1)
    let newest = try await made.pack([made.delta([page], on: [onBase], prefix: base)], basePacks: [middle.name])
    try await home.store.delete(Layout.pack(gone.name, of: home.chain))
    made.place(pack: newest.number, frame: 0, count: 1)
    #expect(try await home.read(made.manifest(image: page, table: [middle, newest])) == page)
  }

  @Test func `directories that the state folder keeps are not fetched again`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 96)
    func requests(_ state: StateFolder) async throws -> Int {
      let tally = TallyingStore(home.store)
      let repository = Repository(
        store: tally, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
      let reader = try await VersionReader(
        version.manifest, repository: repository, state: state, tables: home.stateFolder)
      try await reader.read(member: 0, into: MemoryDestination(of: reader), onProgress: { _ in })
      return tally.tally.gets
    }
    #expect(try await requests(home.state) == version.packs.count * 2)
    #expect(try await requests(home.state) == version.packs.count)
    // Nothing can be kept there: they are asked for again by the next run, and not by this one.
    let nowhere = StateFolder(reading: "/dev/null/state", repository: home.repository.id)
    for _ in 0..<2 { #expect(try await requests(nowhere) == version.packs.count * 2) }
  }

  @Test func `progress adds up to the image`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 30)
    let reader = try await VersionReader(version.manifest, repository: home.repository, state: nil)
    let done = Locked(0)
    try await reader.read(
      member: 0, into: MemoryDestination(of: reader), onProgress: { count in done.withLock { $0 += count } })
    #expect(done.withLock { $0 } == version.image.count)
  }

  @Test func `a pack gone in the middle of a restore ends it, by name`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 48)
    for pack in version.packs {
      let held = home.store.content
      try await home.store.delete(Layout.pack(pack.name, of: home.chain))
      let error = await #expect(throws: RepositoryError.self) {
        _ = try await home.read(version.manifest, limits: Self.cuts[1])
      }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains(pack.name.hex.prefix(12)) == true)
      home.store.content = held
    }
  }

  @Test(arguments: cuts.indices) func `a flipped bit in any pack is found, by name`(cut: Int) async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 24)
    for pack in version.packs {
      let name = Layout.pack(pack.name, of: home.chain)
      // The third frame of each pack is needed, as it is or as a base.
      let directory = try await home.repository.directory(of: pack, chain: home.chain, state: nil)
      let place = try #require(directory.frames.dropFirst(2).first).offset + 5
      home.store.content[name]?[place] ^= 1
      let error = await #expect(throws: SealError.self) {
        _ = try await home.read(version.manifest, limits: Self.cuts[cut])
      }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains(pack.name.hex.prefix(12)) == true)
      home.store.content[name]?[place] ^= 1
    }
    #expect(try await home.read(version.manifest, limits: Self.cuts[cut]) == version.image)
  }

  @Test(arguments: [0, 1]) func `a directory, and a node, that came garbled are asked for once more`(number: Int)
    async throws
  {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let bytes = home.noise(4096, seed: 1)
    let pack = try await made.pack([made.raw([bytes], .node)])
    for times in [1, 2] {
      let store = SpoilingStore(home.store, .garbled) { (number..<number + times).contains($0) }
      let repository = Repository(
        store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
      let frames = PackFrames(pack, repository: repository, chain: home.chain, state: nil)
      let node = try? await frames.node(0, ofFrame: 0)
      #expect(node == (times == 1 ? bytes : nil))
      #expect(store.met == times)
    }
  }

  @Test func `whatever of a version comes garbled is asked for once more`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let image = home.noise(4096, seed: 1)
    try await made.pack([made.raw([image])])
    made.place(pack: 1, frame: 0, count: 1)
    let map = try await made.pack([made.raw([try made.map()], .node)])
    let manifest = try await made.manifest(image: image, mapIn: map)
    var number = 0
    while true {
      let store = SpoilingStore(home.store, .garbled) { [number] in $0 == number }
      #expect(try await home.read(manifest, from: store) == image)
      guard store.met == 1 else { break }
      number += 1
    }
    // The manifest, two directories, the map, and the page.
    #expect(number == 5)
  }

  /// Who restores holds in memory what a request brings, wanted or not.
  @Test(arguments: [1, 2, 5, 20, 40]) func `of a thin selection little more is fetched than is wanted`(every: Int) {
    let (length, count) = (4096, 20_000)
    var stretches: [Stretch] = []
    for index in stride(from: 0, to: count, by: every) {
      let frame = index * length..<(index + 1) * length
      if stretches.isEmpty || !stretches[stretches.count - 1].take(frame) { stretches.append(Stretch(frame)) }
    }
    let wanted = (count + every - 1) / every * length
    let fetched = stretches.map(\.range.count).reduce(0, +)
    #expect(fetched >= wanted && fetched <= 2 * wanted + stretches.count * Stretch.gap)
    // Where nearly all of it is wanted, by few requests.
    if every <= 2 { #expect(stretches.count <= fetched / (4 << 20)) }
    #expect(stretches.allSatisfy { $0.isThin == (every > 1) || $0.range.count == length })
    #expect(stretches.allSatisfy { $0.range.count <= 9 << 20 })
  }
}
