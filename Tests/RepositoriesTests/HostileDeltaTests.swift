import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Deltas and maps that whoever holds the key could seal, and no writer of ours does: each is refused, none crashes.
@Suite struct HostileDeltaTests {
  /// All in one wave, and each frame in its own.
  static let roads = [RestoreWave.Limits(), RestoreWave.Limits(sealed: 1, steps: 1)]

  private func refusal(
    of page: [UInt8], _ home: Home, _ made: HandmadeVersion, road: Int, table: [PackEntry]? = nil
  ) async throws -> any Error {
    let manifest = try await made.manifest(image: page, table: table)
    do {
      _ = try await home.read(manifest, limits: Self.roads[road])
    } catch { return error }
    struct Accepted: Error {}
    return Accepted()
  }

  /// Else one part that is named again and again would take all memory before anybody looked.
  @Test func `a pack table whose parts do not ascend`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = [home.noise(4096, seed: 1), home.noise(4096, seed: 2)]
    for (index, page) in pages.enumerated() {
      try await made.pack([made.raw([page])])
      made.place(pack: UInt32(index + 1), frame: 0, count: 1)
    }
    for order in [[0, 1], [1, 0], [0, 1, 0]] {
      let manifest = try await made.manifest(image: pages.flatMap { $0 }, inLeaves: order.map { [made.packs[$0]] })
      do {
        let table = try await PackTable(of: manifest, repository: home.repository, state: nil)
        #expect(order == [0, 1] && table.all.count == 2)
      } catch let error as RepositoryError {
        #expect(order != [0, 1] && error.code == .damaged && error.message.contains("out of order"))
      }
    }
  }

  @Test(arguments: roads.indices) func `a base pack that is not in the table`(road: Int) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let base = home.noise(4096, seed: 1)
    let pack = try await made.pack([made.raw([base])])
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    try await made.pack([made.delta([base], on: [run], prefix: base)], basePacks: [pack.name])
    made.place(pack: 2, frame: 0, count: 1)
    let error = try await refusal(of: base, home, made, road: road, table: [made.packs[1]])
    #expect((error as? RepositoryError)?.code == .damaged)
    #expect((error as? RepositoryError)?.message.contains("not in the pack table") == true)
  }

  @Test(arguments: roads.indices) func `bases that another pack does not have, or not so`(road: Int) async throws {
    let home = try await Home()
    let page = home.noise(4096, seed: 1)
    let impossible = [
      // A frame beyond the last; a unit beyond the last; blocks; pages of another length.
      BaseRun(pack: 0, frame: 3, firstUnit: 0, count: 1), BaseRun(pack: 0, frame: 0, firstUnit: 1, count: 1),
      BaseRun(pack: 0, frame: 1, firstUnit: 0, count: 1), BaseRun(pack: 0, frame: 2, firstUnit: 0, count: 2),
    ]
    for run in impossible {
      let made = HandmadeVersion(home)
      let halves = [Array(page[..<2048]), Array(page[2048...])]
      let pack = try await made.pack([made.raw([page]), made.raw([page], .block), made.raw(halves)])
      try await made.pack([made.delta([page], on: [run], prefix: page)], basePacks: [pack.name])
      made.place(pack: 2, frame: 0, count: 1)
      let error = try await refusal(of: page, home, made, road: road)
      #expect((error as? RepositoryError)?.code == .damaged, "\(run)")
    }
  }

  @Test(arguments: roads.indices) func `another base than the delta was made on`(road: Int) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let base = home.noise(4096, seed: 1)
    var page = base
    page[7] ^= 1
    let pack = try await made.pack([made.raw([home.noise(4096, seed: 2)])])
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    let wrong = try await made.pack([made.delta([page], on: [run], prefix: base)], basePacks: [pack.name])
    made.place(pack: 2, frame: 0, count: 1)
    let error = try await refusal(of: page, home, made, road: road)
    #expect((error as? SealError)?.code == .damaged)
    #expect((error as? SealError)?.message.contains(wrong.name.hex.prefix(12)) == true)
  }

  @Test(arguments: roads.indices) func `a prefix that is too long only when all packs are known`(road: Int) async throws
  {
    let home = try await Home()
    let block = home.noise(65_536, seed: 1)
    let made = HandmadeVersion(home)
    let pack = try await made.pack([made.raw([block, block, block, block], .block)])
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 4)
    // Five times 256 KiB are too long. (Blocks where pages belong would be refused too, but later.)
    let delta = made.delta([block], on: Array(repeating: run, count: 5), prefix: block, .block)
    try await made.pack([delta], basePacks: [pack.name])
    made.place(pack: 2, frame: 0, count: 16)
    let error = try await refusal(of: block, home, made, road: road)
    #expect((error as? RepositoryError)?.message.contains("1048576 bytes") == true)
  }

  /// A pack's name is the hash of all of it, which reading a part does not prove.
  @Test(arguments: roads.indices) func `a frame that rests on itself, and two that rest on each other`(
    road: Int
  ) async throws {
    let home = try await Home()
    let page = home.noise(4096, seed: 1)
    let names = [Digest.sha256(of: [1]), .sha256(of: [2])]
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    for bases in [[names[0]], [names[1], names[0]]] {
      let made = HandmadeVersion(home)
      for (name, base) in zip(names, bases) {
        try await made.pack([made.delta([page], on: [run], prefix: page)], basePacks: [base], as: name)
      }
      made.place(pack: 1, frame: 0, count: 1)
      let error = try await refusal(of: page, home, made, road: road)
      #expect((error as? RepositoryError)?.message.contains("rests on more than") == true, "\(error)")
    }
  }

  @Test func `units in each other's place are found by the image digest`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let (first, second) = (home.noise(4096, seed: 1), home.noise(4096, seed: 2))
    try await made.pack([made.raw([first, second])])
    made.place(pack: 1, frame: 0, unit: 1, count: 1)
    made.place(pack: 1, frame: 0, unit: 0, count: 1)
    let error = try await refusal(of: first + second, home, made, road: 0)
    #expect((error as? RepositoryError)?.message.contains("digests differ") == true)
  }

  @Test func `zeros where the image has none are found by the image digest`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    try await made.pack([made.raw([home.noise(4096, seed: 2)])])
    made.place(pack: UnitLocation.zeros, frame: 0, count: 1)
    let error = try await refusal(of: home.noise(4096, seed: 1), home, made, road: 0)
    #expect((error as? RepositoryError)?.message.contains("digests differ") == true)
  }

  @Test(arguments: [1, 3]) func `a map that covers less, or more, than its member`(placed: Int) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = (1...3).map { home.noise(4096, seed: $0) }
    try await made.pack([made.raw(pages)])
    made.place(pack: 1, frame: 0, count: placed)
    for road in Self.roads.indices {
      let error = try await refusal(of: pages[0] + pages[1], home, made, road: road)
      #expect((error as? RepositoryError)?.message.contains("does not cover the member") == true)
    }
  }

  /// `Docs/Format.md` §7.3.
  @Test(arguments: [true, false]) func `a pack table in a frame that holds no nodes is refused`(inPack: Bool)
    async throws
  {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    let content = try await made.pack([made.raw([page])])
    made.place(pack: 1, frame: 0, count: 1)
    for type in [UnitType.block, .node] {
      let holder = try await made.pack([made.raw([PackTableLeaf(entries: [content]).encode()], type)])
      let manifest = try await made.manifest(
        image: page, sequence: type == .node ? 2 : 1, previous: type == .node ? .sha256(of: [1]) : .zero,
        tableIn: inPack ? holder : nil, table: [content], tableAs: type)
      if type == .node {
        #expect(try await home.read(manifest) == page)
      } else {
        let error = await #expect(throws: RepositoryError.self) { try await home.read(manifest) }
        #expect(error?.message.contains("in a frame that holds none") == true)
      }
    }
  }

  @Test(arguments: roads.indices) func `deltas that ride in the manifest rest on packs and on each other`(
    road: Int
  ) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let base = [home.noise(4096, seed: 1), home.noise(4096, seed: 2)]
    let pack = try await made.pack([made.raw(base)])
    var (first, second) = (base[1], base[0])
    first[3] ^= 1
    second[9] ^= 1
    let onPack = BaseRun(pack: 0, frame: 0, firstUnit: 1, count: 1)
    let onRider = BaseRun(pack: nil, frame: 0, firstUnit: 0, count: 1)
    let onBoth = [onRider, BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)]
    made.place(pack: 0, frame: 0, count: 1)
    made.place(pack: 1, frame: 0, count: 2)
    made.place(pack: 0, frame: 1, count: 1)
    let image = first + base[0] + base[1] + second
    let manifest = try await made.manifest(
      image: image,
      riders: [
        made.delta([first], on: [onPack], prefix: base[1]), made.delta([second], on: onBoth, prefix: first + base[0]),
      ], riderBases: [pack.name])
    #expect(try await home.read(manifest, limits: Self.roads[road]) == image)
  }
}
