import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// A cloned machine: both pushed as one, and nobody can push to their chain any more.
@Suite struct ContestedChainTests {
  private let shelf: Shelf
  /// What both have seen, three versions.
  private let shared: [VersionFacts]
  private let mine: VersionFacts
  /// The clone's, as many as it pushed before it saw ours.
  private let theirs: [VersionFacts]

  init() async throws {
    shelf = try await Shelf()
    shared = try await shelf.week(3)
    let before = shelf.road.store.content
    mine = try await shelf.push(40, at: Shelf.monday + 3 * Shelf.day)
    let ours = shelf.road.store.content
    shelf.road.store.content = before
    var clone = shelf
    clone.useOtherState()
    var pushed: [VersionFacts] = []
    for day in 3..<5 as Range<UInt64> {
      pushed.append(try await clone.push(50 + day, at: Shelf.monday + day * Shelf.day))
    }
    theirs = pushed
    shelf.road.store.content.merge(ours) { first, _ in first }
  }

  private func demandRestores(_ versions: [VersionFacts]) async throws {
    for version in versions {
      let path = shelf.road.scratch.file("out-\(version.id.hex.prefix(12))")
      let pulled = try await Pull(shelf.world).run(
        .id(prefix: version.id.hex), from: shelf.road.target, to: .file(path))
      #expect(pulled.version.id == version.id.hex)
      try removeFile(path)
    }
  }

  @Test func `what came before may go, and both branches stay`() async throws {
    #expect(mine.sequence == 4 && theirs.map(\.sequence) == [4, 5])
    let plan = try await shelf.plan(RetentionRules(last: 1))
    #expect(plan.refusals.isEmpty)
    let chain = try #require(plan.chains.first)
    #expect(chain.plan.going.map(\.version.sequence) == [1, 2, 3])
    #expect(chain.plan.staying.allSatisfy { $0.reasons.contains("two machines pushed as one") })
    try await shelf.carryOut(plan)
    try await demandRestores([mine] + theirs)

    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    let pruned = try await PruneRepository(shelf.world).run(request, at: shelf.road.target)
    #expect(pruned.problems.isEmpty && (pruned.chains.first?.freed.objects ?? 0) >= 6)
    for version in shared { #expect(shelf.road.store.content[version.name.objectName] == nil) }
    try await demandRestores([mine] + theirs)
    // Nothing is left to let go, and no doubt has come of it.
    let again = try await shelf.plan(RetentionRules(last: 1))
    #expect(again.refusals.isEmpty && again.chains.first?.plan.going.isEmpty == true)
  }

  @Test func `what is contested cannot be named`() async throws {
    let newest = try #require(theirs.last)
    let plan = try await shelf.plan(forgetting: newest)
    #expect(plan.refusals.map(\.code) == ["contested"] && plan.chains.isEmpty)
    #expect(try await shelf.carryOut(shelf.plan(forgetting: shared[1])) == [2])
    try await demandRestores([shared[0], shared[2], mine] + theirs)
  }

  /// Which of both stands in front of the other is decided by their hashes: either is there, and counts.
  @Test func `both versions of a place are named, counted and shown`() async throws {
    for version in [mine, theirs[0]] {
      let named = try await shelf.plan(forgetting: version)
      #expect(named.refusals.map(\.code) == ["contested"] && named.chains.isEmpty)
    }
    let chain = try #require(try await shelf.plan(RetentionRules(last: 1)).chains.first)
    #expect(chain.plan.decisions.map(\.version.sequence) == [1, 2, 3, 4, 4, 5] && chain.versions.count == 6)
    #expect(Set(chain.plan.staying.map(\.version.id)) == Set(([mine] + theirs).map(\.id.hex)))
    let status = try #require(try await shelf.status().databases.first)
    #expect(status.versions == 6 && status.forgotten == 0 && status.newest?.id == theirs[1].id.hex)
  }

  /// A backup more is better than none, and no reader finds it by its database's name.
  @Test func `who was ahead when the other one's version came pushes on, and is told each time`() async throws {
    let path = try shelf.road.database(rows: 50)
    var clone = shelf.world
    clone.stateFolder = shelf.road.scratch.file("other-state")
    let request = Push.Request(database: DatabaseSource(name: "app", path: path), targets: [shelf.road.target])
    for sequence in [6, 7] as [UInt64] {
      let outcome = try await Push(clone).run(request)
      #expect(outcome.failures.isEmpty && outcome.pushed.map(\.version.sequence) == [sequence])
      #expect(outcome.shortfalls.map(\.code) == ["forked"])
      let told = try #require(outcome.shortfalls.first)
      #expect(told.kind == .partlyDone && told.message.contains("version 4 of 'app' exists twice"), "\(told)")
      #expect(told.hint?.contains("\"host\" of its own") == true, "\(told)")
      try await shelf.road.change(path)
    }
    // The other one goes on as little as ever.
    let refused = try await Push(shelf.world).run(request)
    #expect(refused.pushed.isEmpty && refused.failures.map(\.error.code) == ["forked"])
  }

  /// As a check does.
  @Test func `a repair tells of the fork, and has nothing to repair`() async throws {
    func repair(dryRun: Bool) async throws -> RepairRepository.Outcome {
      var request = RepairRepository.Request(databases: [])
      request.dryRun = dryRun
      return try await RepairRepository(shelf.world).run(request, at: shelf.road.target)
    }
    for dryRun in [true, false] {
      let repaired = try await repair(dryRun: dryRun)
      #expect(repaired.isWhole && repaired.failures.isEmpty && repaired.check.whole.count == 6)
    }
    let told = shelf.road.notices.said.withLock { $0.count { $0.contains("version 4 of 'app' exists twice") } }
    #expect(told == 2)
    // The version that the clone's second one continues is another's: more than a fork.
    shelf.road.store.content[theirs[0].name.objectName] = nil
    let doubted = try await repair(dryRun: true)
    #expect(!doubted.isWhole && doubted.failures.contains { $0.code == "forked" })
  }

  @Test(arguments: ["hole", "rolled back", "replaced"])
  func `any other doubt still stops it`(what: String) async throws {
    switch what {
    case "hole": shelf.road.store.content[shared[1].name.objectName] = nil
    case "rolled back":
      // This machine has seen more than is there.
      let state = try StateFolder(shelf.world.stateFolder, repository: shelf.repository.id)
      _ = HighWaterMark(sequence: 6, id: mine.id).raise(mine.chain, in: state)
    default:
      // The version that the clone's second one continues is another's.
      shelf.road.store.content[theirs[0].name.objectName] = nil
    }
    let content = shelf.road.store.content
    let plan = try await shelf.plan(RetentionRules(last: 1))
    #expect(plan.chains.isEmpty && plan.refusals.map(\.kind) == [.verificationFailed])
    #expect(shelf.road.store.content == content)
  }
}
