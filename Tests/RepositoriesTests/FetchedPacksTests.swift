import TestKit
import Testing

@testable import Repositories
@testable import Sealing

@Suite struct FetchedPacksTests {
  private let scratch: Scratch
  private let packs: [(name: Digest, bytes: [UInt8])]

  init() throws {
    scratch = try Scratch()
    var random = SeededRandom(7)
    packs = [5000, 7000, 3000, 6000].map { count in
      let bytes = random.bytes(count)
      return (Digest.sha256(of: bytes), bytes)
    }
  }

  @Test func `any part of what is kept comes back`() throws {
    let fetched = FetchedPacks(in: scratch.path)
    for pack in packs { #expect(try fetched.keep(pack.bytes, of: pack.name)) }
    for pack in packs {
      for range in [0..<pack.bytes.count, 0..<1, 10..<2500, pack.bytes.count - 1..<pack.bytes.count] {
        #expect(try fetched.part(range, of: pack.name) == Array(pack.bytes[range]))
      }
      #expect(try fetched.part(0..<pack.bytes.count + 1, of: pack.name) == nil)
    }
    #expect(try fetched.part(0..<1, of: .sha256(of: [])) == nil)
  }

  @Test func `the oldest make room, and what is larger than all of it is not kept`() throws {
    let fetched = FetchedPacks(in: scratch.path, room: 15_000)
    for pack in packs { #expect(try fetched.keep(pack.bytes, of: pack.name)) }
    #expect(packs.map { fetched.holds($0.name) } == [false, false, true, true])
    #expect(try fetched.part(0..<1, of: packs[0].name) == nil)
    for pack in packs[2...] { #expect(try fetched.part(0..<pack.bytes.count, of: pack.name) == pack.bytes) }
    let large = [UInt8](repeating: 1, count: 15_001)
    #expect(try !fetched.keep(large, of: .sha256(of: large)))
    #expect(fetched.holds(packs[3].name))
  }

  @Test func `what is given up is gone, and nothing is kept any more`() throws {
    let fetched = FetchedPacks(in: scratch.path)
    #expect(!fetched.giveUp())
    let other = FetchedPacks(in: scratch.path)
    #expect(try other.keep(packs[0].bytes, of: packs[0].name))
    #expect(other.giveUp() && !other.giveUp())
    #expect(!other.holds(packs[0].name))
    #expect(try other.part(0..<1, of: packs[0].name) == nil)
    #expect(try !other.keep(packs[1].bytes, of: packs[1].name))
  }

  @Test func `what is not what its name says is not kept`() throws {
    let fetched = FetchedPacks(in: scratch.path)
    #expect(try !fetched.keep(packs[0].bytes, of: packs[1].name))
    #expect(try !fetched.keep([], of: packs[1].name))
    #expect(!fetched.holds(packs[1].name))
  }
}
