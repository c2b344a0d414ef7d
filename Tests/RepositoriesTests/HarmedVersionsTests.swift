import Sealing
import Testing

@testable import Repositories

/// What a check found is remembered until it is proved to be whole.
@Suite struct HarmedVersionsTests {
  @Test func `what only reading shows is not taken back by a look at the structure`() async throws {
    let home = try await Home()
    let state = try home.state
    let (one, other) = (Digest.sha256(of: [1]), Digest.sha256(of: [2]))
    func known() throws -> [Bool] {
      let harmed = try HarmedVersions(of: home.chain, in: state)
      return [harmed.contains(one), harmed.contains(other)]
    }
    #expect(try known() == [false, false])
    var harmed = try HarmedVersions(of: home.chain, in: state)
    try harmed.add([one: .init(.structure), other: .init(.content)], of: home.chain, in: state)
    #expect(try known() == [true, true])
    // Another look finds less.
    try harmed.add([other: .init(.structure)], of: home.chain, in: state)
    harmed.remove([one, other], seen: .structure)
    #expect(try known() == [false, true])
    // By another run.
    var again = try HarmedVersions(of: home.chain, in: state)
    again.remove([one, other], seen: .structure)
    #expect(try known() == [false, true])
    again.remove([other])
    #expect(try known() == [false, false])
    #expect(!StateFiles.names(in: "\(state.path)/\(home.chain.hex)").contains("harmed"))
  }

  @Test func `the packs that harm a version are known where they are all that does`() async throws {
    let home = try await Home()
    let state = try home.state
    let version = Digest.sha256(of: [0])
    let packs = (1...17).map { Digest.sha256(of: [UInt8($0)]) }
    func known(after harms: [HarmedVersions.Harm]) throws -> Set<Digest>? {
      var harmed = try HarmedVersions(of: home.chain, in: state)
      harmed.remove([version])
      for harm in harms { try harmed.add([version: harm], of: home.chain, in: state) }
      let again = try HarmedVersions(of: home.chain, in: state)
      #expect(again.packs(harming: version) == harmed.packs(harming: version))
      return again.packs(harming: version)
    }
    #expect(try known(after: [.init(.content, by: [packs[0]])]) == [packs[0]])
    #expect(try known(after: [.init(.content, by: [packs[0]]), .init(.structure)]) == [packs[0]])
    #expect(try known(after: [.init(.structure), .init(.content, by: [packs[0]])]) == [packs[0]])
    #expect(
      try known(after: [.init(.content, by: [packs[0]]), .init(.content, by: [packs[1]])]) == [packs[0], packs[1]])
    // Something else harms it, too, or nobody knows what did.
    #expect(try known(after: [.init(.content), .init(.content, by: [packs[0]])]) == nil)
    #expect(try known(after: [.init(.content, by: [packs[0]]), .init(.content)]) == nil)
    #expect(try known(after: [.init(.content, by: Set(packs))]) == nil)
    #expect(try known(after: [.init(.content, by: Set(packs.dropLast()))])?.count == 16)
  }
}
