import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// The deltas of a push lie together in a pack and are wanted all over the member: what one wave does not want yet comes
/// along, and is there when its wave comes.
@Suite struct FetchedAheadTests {
  /// Whole frames in the order of the member, and a small delta on each, in another order.
  private struct ScatteredVersion {
    let manifest: StoredManifest
    let image: [UInt8]
    let deltas: PackEntry

    init(_ home: Home, frames: Int = 64) async throws {
      let made = HandmadeVersion(home)
      let pages = (0..<frames).map { home.noise(4096, seed: UInt64($0)) }
      let changed = pages.enumerated().map { [UInt8(truncatingIfNeeded: $0)] + $1.dropFirst() }
      // 27 has no divisor in common with 64: each frame comes once.
      let order = (0..<frames).map { $0 * 27 % frames }
      let whole = try await made.pack(pages.map { made.raw([$0]) })
      let deltas = try await made.pack(
        order.map {
          let base = BaseRun(pack: 0, frame: UInt32($0), firstUnit: 0, count: 1)
          return made.delta([changed[$0]], on: [base], prefix: pages[$0])
        }, basePacks: [whole.name])
      for page in 0..<frames {
        made.place(pack: deltas.number, frame: UInt32(order.firstIndex(of: page) ?? 0), count: 1)
      }
      self.deltas = deltas
      image = changed.flatMap { $0 }
      manifest = try await made.manifest(image: image)
    }
  }

  /// About five whole frames a wave.
  private static func limits(ahead: Int) -> RestoreWave.Limits {
    RestoreWave.Limits(sealed: 20_000, steps: 1024, ahead: ahead)
  }

  @Test func `deltas that lie together are fetched together`() async throws {
    let home = try await Home()
    let version = try await ScatteredVersion(home)
    func requests(ahead: Int) async throws -> Int {
      let tally = TallyingStore(home.store)
      let limits = Self.limits(ahead: ahead)
      #expect(try await home.read(version.manifest, from: tally, limits: limits) == version.image)
      return tally.tally.gets
    }
    let waves = try await home.waves(of: version.manifest, limits: Self.limits(ahead: 0)).count
    #expect(waves > 8)
    let (alone, along) = (try await requests(ahead: 0), try await requests(ahead: 1 << 20))
    // All but the first wave's come along with it; the whole frames are fetched as before.
    #expect(along == alone - waves + 1)
  }

  /// Few come along at a time, so that places are given back and taken again.
  @Test(arguments: [5000, 20_000, 1 << 20])
  func `what came along is not written over before it is decoded`(ahead: Int) async throws {
    let home = try await Home()
    let version = try await ScatteredVersion(home)
    let limits = Self.limits(ahead: ahead)
    #expect(try await home.read(version.manifest, limits: limits) == version.image)
    let waves = try await home.waves(of: version.manifest, limits: limits)
    var owners: [Int: FramePlace] = [:]
    var (fetched, read) = (0, 0)
    for number in waves.indices {
      // These are fetched, or on their way, while the wave is decoded.
      while fetched <= min(number + 2, waves.count - 1) {
        for part in waves[fetched].requests.flatMap(\.parts) {
          if let slot = part.ahead { owners[slot] = part.frame.place }
        }
        fetched += 1
      }
      for step in waves[number].levels.flatMap({ $0 }) {
        guard let ahead = step.ahead else { continue }
        #expect(owners[ahead.lowerBound] == step.frame.place)
        #expect(ahead.count == Int(step.frame.record.sealedLength))
        read += 1
      }
    }
    #expect(read > 0)
  }

  /// What should have come along lies nowhere, or in its place what was there before.
  @Test(arguments: [0, 32]) func `where what comes along cannot be read, each wave fetches its own`(
    first: Int
  ) async throws {
    let home = try await Home()
    let version = try await ScatteredVersion(home)
    let store = try await BadSectorStore(home, pack: version.deltas) { $0.count > 1 && $0[0] >= first }
    for ahead in [5000, 1 << 20] {
      #expect(try await home.read(version.manifest, from: store, limits: Self.limits(ahead: ahead)) == version.image)
    }
  }

  @Test func `what comes along is put where it is read from`() async throws {
    let home = try await Home()
    let version = try await ScatteredVersion(home)
    let frames = try await home.frames(of: version.manifest)
    let place = FramePlace(pack: 2, frame: 3)
    let packed = try #require(try await frames.frame(place).packed)
    let scratch = try ScratchFile(in: home.stateFolder)
    let requests = FrameFetch.requests(for: [FrameFetch.Part(frame: packed, ahead: 512)])
    #expect(try await FrameFetch(frames.packs).fetch(requests, puttingAhead: scratch).isEmpty)
    let sealed = try #require(try await FrameFetch(frames.packs).fetch([packed])[place])
    #expect(try scratch.read([512..<512 + sealed.count]) == Array(sealed))
  }
}

extension Home {
  fileprivate func frames(of manifest: StoredManifest) async throws -> VersionFrames {
    let reader = try await VersionReader(manifest, repository: repository, state: nil, tables: stateFolder)
    let packs = try OpenPacks(reader.table, repository: repository, chain: chain, state: nil)
    return VersionFrames(manifest: manifest, packs: packs)
  }
}
