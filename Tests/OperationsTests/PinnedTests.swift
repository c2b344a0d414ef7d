import Repositories
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Sealing

/// A pin keeps a version, whatever goes wrong around it.
@Suite struct PinnedTests {
  @Test func `a note that cannot be read may be a pin: nothing of its chain is forgotten`() async throws {
    var shelf = try await Shelf()
    let versions = try await shelf.week(3)
    _ = try await shelf.week(2, database: "other")
    _ = try await shelf.say(.pin, of: versions[0])
    let note = try #require(shelf.road.store.content.keys.first { $0.text.hasPrefix("notes/") })
    shelf.road.store.content[note]?[100] ^= 1
    // What was kept of it here would still be true.
    try removeFile(shelf.world.stateFolder)
    shelf.useOtherState()
    for plan in [try await shelf.plan(RetentionRules(last: 1)), try await shelf.plan(forgetting: versions[0])] {
      #expect(plan.refusals.map(\.kind) == [.verificationFailed])
      #expect(plan.refusals.first?.message.contains(note.text) == true)
      #expect(plan.chains.map(\.database).allSatisfy { $0 == "other" })
    }
    // One that never was stored whole says nothing.
    shelf.road.store.content[note]?.removeLast()
    let plan = try await shelf.plan(RetentionRules(last: 1), named: ["app"])
    #expect(plan.refusals.isEmpty && plan.chains.first?.plan.going.map(\.version.sequence) == [1, 2])
  }
}
