import Sealing
import TestKit
import Testing

@testable import Repositories

/// Which packs nothing is referred to in any more, and where.
@Suite struct DamagedPacksTests {
  private let one = Digest.sha256(of: [1])
  private let other = Digest.sha256(of: [2])
  private let here = StorePlace(name: String(repeating: "a", count: 32))
  private let there = StorePlace(name: String(repeating: "b", count: 32))

  @Test func `a pack that is damaged at one place is whole at another`() async throws {
    let home = try await Home()
    let state = try home.state
    func known(at place: StorePlace?) throws -> [Bool] {
      let damaged = try DamagedPacks(of: home.chain, in: state, at: place)
      let known = [one, other].map(damaged.contains)
      #expect(damaged.names.count == known.count { $0 })
      return known
    }
    var damaged = try DamagedPacks(of: home.chain, in: state, at: here)
    try damaged.add([one], of: home.chain, in: state)
    #expect(try [here, there, nil].map(known) == [[true, false], [false, false], [true, false]])
    // Found there, too, and something else.
    var others = try DamagedPacks(of: home.chain, in: state, at: there)
    try others.add([one, other], of: home.chain, in: state)
    try others.raise(7, of: home.chain, in: state)
    #expect(try [here, there, nil].map(known) == [[true, false], [true, true], [true, true]])
    #expect(try DamagedPacks(of: home.chain, in: state, at: here).nextNumber == 7)
  }

  @Test func `what an earlier build found damaged is so everywhere`() async throws {
    let home = try await Home()
    let state = try home.state
    let path = try state.folder(of: home.chain) + "/damaged"
    try StateFiles.write(Array("\(one.hex)\nnext 5\n".utf8), to: path)
    for place in [here, there, nil] {
      let damaged = try DamagedPacks(of: home.chain, in: state, at: place)
      #expect(damaged.names == [one] && damaged.nextNumber == 5)
    }
    // It is as well behind what this one notes.
    var damaged = try DamagedPacks(of: home.chain, in: state, at: here)
    try damaged.add([one, other], of: home.chain, in: state)
    #expect(try DamagedPacks(of: home.chain, in: state, at: there).names == [one])
    #expect(try DamagedPacks(of: home.chain, in: state, at: here).names == [one, other])
    #expect(try DamagedPacks(of: home.chain, in: state, at: here).nextNumber == 5)
  }
}
