import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Deltas put together by hand, in shapes that our writer need not make and every reader must read, or refuse.
@Suite struct DeltaReadingTests {
  /// A chain of packs, each a delta on the one before.
  private func chain(of depth: Int, in made: HandmadeVersion) async throws -> [UInt8] {
    var random = SeededRandom(UInt64(depth))
    var page = random.bytes(4096)
    var below = try await made.pack([made.raw([page])])
    for step in 0..<depth {
      let prefix = page
      page[step * 7] ^= 0xFF
      let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
      below = try await made.pack([made.delta([page], on: [run], prefix: prefix)], basePacks: [below.name])
    }
    made.place(pack: UInt32(depth + 1), frame: 0, count: 1)
    return page
  }

  @Test(arguments: [1, 2, 8]) func `deltas of some depth are read`(depth: Int) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let image = try await chain(of: depth, in: made)
    #expect(try await home.read(made.manifest(image: image)) == image)
  }

  @Test func `a delta of depth 9 is refused`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let manifest = try await made.manifest(image: chain(of: 9, in: made))
    let error = await #expect(throws: RepositoryError.self) { try await home.read(manifest) }
    #expect(error?.code == .damaged)
  }

  @Test func `a prefix that begins like a dictionary is raw content`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    var random = SeededRandom(1)
    let base = [0x37, 0xA4, 0x30, 0xEC] + random.bytes(4092)
    var page = base
    page[100] ^= 1
    let pack = try await made.pack([made.raw([base])])
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    try await made.pack([made.delta([page], on: [run], prefix: base)], basePacks: [pack.name])
    made.place(pack: 2, frame: 0, count: 1)
    #expect(try await home.read(made.manifest(image: page)) == page)
  }

  @Test func `a delta on an earlier frame of its own pack is read`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    var random = SeededRandom(2)
    let bases = [random.bytes(4096), random.bytes(4096), random.bytes(4096)]
    var page = bases[2]
    page[9] ^= 1
    let runs = [
      BaseRun(pack: nil, frame: 0, firstUnit: 2, count: 1), BaseRun(pack: nil, frame: 0, firstUnit: 0, count: 2),
    ]
    try await made.pack([made.raw(bases), made.delta([page], on: runs, prefix: bases[2] + bases[0] + bases[1])])
    made.place(pack: 1, frame: 0, count: 3)
    made.place(pack: 1, frame: 1, count: 1)
    let image = bases.flatMap { $0 } + page
    #expect(try await home.read(made.manifest(image: image)) == image)
  }

  @Test func `a base pack that is gone is said to be gone`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let manifest = try await made.manifest(image: chain(of: 1, in: made))
    try await home.store.delete(Layout.pack(made.packs[0].name, of: home.chain))
    let error = await #expect(throws: RepositoryError.self) { try await home.read(manifest) }
    #expect(error?.code == .damaged)
  }

  /// Directories do not list what deltas hold, so that is stored anew; pages of whole frames are found again.
  @Test func `a push goes on above deltas it did not write`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let image = try await chain(of: 3, in: made)
    _ = try await made.manifest(image: image)
    let more = image + home.noise(4096, seed: 3)
    let result = try await home.push(more)
    #expect(result.manifest.core?.sequence == 2)
    let table = try await PackTable(of: result.manifest, repository: home.repository, state: nil)
    #expect(!table.all.contains { made.packs.dropFirst().map(\.name).contains($0.name) })
    #expect(try await home.read(result.manifest) == more)
  }
}
