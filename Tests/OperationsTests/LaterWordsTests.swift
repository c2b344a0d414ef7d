import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// What this machine says, or reads, while another command of it has listed the target: nothing was lost.
@Suite struct LaterWordsTests {
  /// Right after annotations were listed first, something happens.
  private func target(_ shelf: Shelf, _ deed: @escaping @Sendable () async throws -> Void) -> TargetAccess {
    let (base, hasListed) = (shelf.road.store, Locked(false))
    let store = ListingStore(base: base) { (prefix) async throws(StoreError) in
      let listed = try await base.list(prefix: prefix)
      guard prefix.hasPrefix(Layout.allAnnotations) else { return listed }
      let isFirst = hasListed.withLock { known in
        defer { known = true }
        return !known
      }
      guard isFirst else { return listed }
      do { try await deed() } catch { throw StoreError(.unavailable, "\(error)") }
      return listed
    }
    return TargetAccess(name: "memory", store: store, unlock: shelf.road.target.unlock)
  }

  /// What this machine says, or another one, and this one reads it.
  private func says(
    _ isOnlyRead: Bool, _ shelf: Shelf, _ word: @escaping @Sendable (World) async throws -> Void
  ) -> @Sendable () async throws -> Void {
    let (world, target) = (shelf.world, shelf.road.target)
    var other = world
    other.stateFolder = shelf.road.scratch.file("other")
    return { [other] in
      try await word(isOnlyRead ? other : world)
      if isOnlyRead { _ = try await ListVersions(world).run(at: target) }
    }
  }

  private let keepOne = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))

  @Test(arguments: [false, true])
  func `who lets go of versions goes by a pin that came while the target was listed`(isOnlyRead: Bool) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    let (id, there) = (versions[0].id.hex, shelf.road.target)
    let pins = says(isOnlyRead, shelf) { world in
      _ = try await AnnotateVersions(world).run(.pin, of: .id(prefix: id), at: there)
    }
    let plan = try await ForgetVersions(shelf.world).plan(keepOne, at: target(shelf, pins))
    #expect(plan.refusals.isEmpty, "\(plan.refusals)")
    #expect(plan.chains.first?.plan.going.map(\.version.sequence) == [2])
  }

  @Test(arguments: [false, true])
  func `what was taken back while the target was listed counts for who looks it up, and nothing is let go`(
    isOnlyRead: Bool
  ) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[1]))
    let (id, there) = (versions[1].id.hex, shelf.road.target)
    let takesBack = says(isOnlyRead, shelf) { world in
      _ = try await UnforgetVersions(world).run(.id(prefix: id), at: there)
    }
    let before = shelf.road.store.content
    let asked = VersionSelector.notLater(database: "app", time: versions[1].version?.time ?? 0)
    for (selector, found) in [(asked, versions[1]), (VersionSelector.latest(database: "app"), versions[2])] {
      let shown = try await ListVersions(shelf.world).show(selector, at: target(shelf, takesBack))
      #expect(shown.summary.id == found.id.hex)
      try forget(before, shelf)
    }
    var request = Drill.Request()
    request.databases = ["app"]
    let drilled = try await Drill(shelf.world).run(request, at: target(shelf, takesBack))
    #expect(drilled.failures.allSatisfy { !["hole", "conflict"].contains($0.error.code) }, "\(drilled.failures)")
    try forget(before, shelf)

    let refused = try await ForgetVersions(shelf.world).plan(keepOne, at: target(shelf, takesBack)).refusals
    #expect(refused.map(\.code) == ["conflict"])
    let plan = try await ForgetVersions(shelf.world).plan(keepOne, at: there)
    #expect(plan.refusals.isEmpty && plan.chains.first?.plan.going.map(\.version.sequence) == [1, 2])
  }

  @Test(arguments: [false, true])
  func `what was taken back while the target was listed counts for who names it by its id`(
    isOnlyRead: Bool
  ) async throws {
    for isPinned in [false, true] {
      let shelf = try await Shelf()
      let versions = try await shelf.week(3)
      try await shelf.carryOut(try await shelf.plan(forgetting: versions[1]))
      let (id, there) = (versions[1].id.hex, shelf.road.target)
      let takesBack = says(isOnlyRead, shelf) { world in
        _ = try await UnforgetVersions(world).run(.id(prefix: id), at: there)
      }
      let target = target(shelf, takesBack)
      if isPinned {
        let outcome = try await AnnotateVersions(shelf.world).run(.pin, of: .id(prefix: id), at: target)
        #expect(outcome.changed && !outcome.version.forgotten)
      } else {
        #expect(try await !ListVersions(shelf.world).show(.id(prefix: id), at: target).summary.forgotten)
      }
      #expect(!shelf.road.notices.said.withLock { $0 }.contains { $0.contains("taken back") })
    }
  }

  @Test func `a copy of what is named goes by the listing that was taken last`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[1]))
    let (id, there) = (versions[1].id.hex, shelf.road.target)
    let takesBack = says(false, shelf) { world in
      _ = try await UnforgetVersions(world).run(.id(prefix: id), at: there)
    }
    var request = CopyVersions.Request()
    request.choice = .versions([.id(prefix: id)])
    let plan = try await CopyPlan(request, VersionLookup(at: target(shelf, takesBack), shelf.world))
    #expect(plan.failures.isEmpty, "\(plan.failures)")
    #expect(plan.chains.flatMap(\.versions).map(\.id) == [versions[1].id])
  }

  /// As it was before that was taken back.
  private func forget(_ before: [ObjectName: [UInt8]], _ shelf: Shelf) throws {
    shelf.road.store.content = before
    try removeFile(shelf.world.stateFolder)
  }
}
