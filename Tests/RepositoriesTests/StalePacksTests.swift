import Testing

@testable import Repositories
@testable import Sealing

/// A push stores anew what lies in packs that are hardly of use any more: the version after does not need them, so that a
/// prune, which only deletes, can free them.
@Suite struct StalePacksTests {
  /// One more is one too many: then the oldest go, no more of them than a push has new pages.
  @Test(arguments: [64, 65]) func `small packs that many pushes have left are stored anew bit by bit`(count: Int)
    async throws
  {
    let home = try await Home()
    let made = HandmadeVersion(home)
    var image: [UInt8] = []
    for number in 1...count + 1 {
      let page = home.noise(4096, seed: UInt64(number))
      try await made.pack([made.raw([page])])
      made.place(pack: UInt32(number), frame: 0, count: 1)
      image += page
    }
    _ = try await made.manifest(image: image)
    let small = made.packs.dropFirst().map(\.name)
    // What changes rides in the manifest, and needs no pack.
    image[0] ^= 1
    let second = try await home.push(image)
    #expect(try await packs(of: second, home) == Set(small))
    #expect(try await home.read(second.manifest) == image)

    // Twelve are new: what rode in a manifest is, too.
    image = home.noise(11 * 4096, seed: 99) + image
    let third = try await home.push(image)
    var needed = try await packs(of: third, home)
    let kept = Set(count == 64 ? small[...] : small.dropFirst(12))
    #expect(needed.isSuperset(of: kept) && needed.count == kept.count + (count == 64 ? 0 : 1))
    #expect(try await home.read(third.manifest) == image)

    // What was stored anew stays.
    image[image.count - 1] ^= 4
    let fourth = try await home.push(image)
    #expect(fourth.bytesNew == 0)
    needed.remove(small[count - 1])
    #expect(try await packs(of: fourth, home) == needed)
    #expect(try await home.read(fourth.manifest) == image)
  }

  /// A version that others will rest on has them all stored anew at once.
  @Test func `an anchor leaves nothing where hardly anything is needed`() async throws {
    let home = try await Home()
    let first = home.noise(100 * 4096, seed: 1)
    let old = try await packs(of: home.push(first), home)
    var image = Array(first[..<(20 * 4096)]) + home.noise(80 * 4096, seed: 2)
    _ = try await home.push(image)
    image[image.count - 1] ^= 1
    let third = try await home.push(image, deltas: DeltaPlan(level: .anchor))
    #expect(try await packs(of: third, home).isDisjoint(with: old))
    #expect(third.bytesNew < 120_000)
    #expect(try await home.read(third.manifest) == image)
  }

  /// Each push of a large database leaves one, and the next ones take most of its nodes.
  @Test func `packs of nodes alone are no reason to store content anew`() {
    func entry(_ number: UInt32) -> PackEntry {
      PackEntry(
        number: number, name: .sha256(of: Array("\(number)".utf8)), length: 5000, directoryLength: 100,
        version: UInt8(ObjectFormat.version), aead: 1, kem: 0, epoch: 1, salt: [UInt8](repeating: 5, count: 32))
    }
    let table = (1...100).map { entry(UInt32($0)) }
    #expect(StalePacks.scattered(table) { $0 <= 64 }.isEmpty)
    #expect(StalePacks.scattered(table.reversed()) { $0 <= 65 }.map(\.number) == Array(1...32))
  }

  /// As much of it is stored anew as is new: one row pays for no more than a few pages.
  @Test(arguments: [24, 25]) func `a pack of which less than a quarter is needed is not needed for long`(
    alive: Int
  ) async throws {
    let home = try await Home()
    let first = home.noise(100 * 4096, seed: 1)
    let old = try await packs(of: home.push(first), home)
    var image = Array(first[..<(alive * 4096)]) + home.noise((100 - alive) * 4096, seed: 2)
    let second = try await home.push(image)
    #expect(old.count == 1)
    #expect(try await packs(of: second, home).isSuperset(of: old))
    #expect(try await home.read(second.manifest) == image)

    image[image.count - 1] ^= 1
    let third = try await home.push(image)
    #expect(try await packs(of: third, home).isSuperset(of: old) && third.bytesNew == 0)
    image = home.noise(24 * 4096, seed: 3) + image
    let fourth = try await home.push(image)
    #expect(try await packs(of: fourth, home).isSuperset(of: old) == (alive == 25))
    // The rest of the second version is found again.
    #expect(fourth.bytesNew < 220_000)
    #expect(try await home.read(fourth.manifest) == image)
  }

  @Test func `when this machine forgot which packs those are, the push after knows them again`() async throws {
    let home = try await Home()
    let first = home.noise(100 * 4096, seed: 1)
    let old = try await packs(of: home.push(first), home)
    var image = Array(first[..<(20 * 4096)]) + home.noise(80 * 4096, seed: 2)
    _ = try await home.push(image)
    home.forgetState()
    for (isForgotten, seed) in [(true, 3), (false, 4)] {
      image = home.noise(20 * 4096, seed: UInt64(seed)) + image
      let next = try await home.push(image)
      #expect(try await packs(of: next, home).isSuperset(of: old) == isForgotten)
      #expect(try await home.read(next.manifest) == image)
    }
  }

  private func packs(of result: PushSession.Result, _ home: Home) async throws -> Set<Digest> {
    let table = try await PackTable(of: result.manifest, repository: home.repository, state: nil)
    return Set(table.all.map(\.name))
  }
}
