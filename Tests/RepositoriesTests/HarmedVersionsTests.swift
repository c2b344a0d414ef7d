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
    try harmed.add([one: .structure, other: .content], of: home.chain, in: state)
    #expect(try known() == [true, true])
    // Another look finds less.
    try harmed.add([other: .structure], of: home.chain, in: state)
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
}
