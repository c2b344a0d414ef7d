import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// A manifest that the target spoilt, seen from the machine that pushed it and has kept a copy: what it lets go rests on
/// what stands at the target.
@Suite struct SpoiltManifestTests {
  /// Three versions, the newest of which only this machine can still read.
  private func shelf() async throws -> (Shelf, [VersionFacts]) {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    // What is asked for is kept.
    _ = try await ListVersions(shelf.road.world).run(at: shelf.road.target)
    return (shelf, versions)
  }

  private func spoil(_ version: VersionFacts, _ shelf: Shelf) {
    shelf.road.store.content[version.name.objectName]?[300] ^= 1
  }

  @Test func `nothing is forgotten because of it`() async throws {
    let (shelf, versions) = try await shelf()
    spoil(versions[2], shelf)
    let forget = ForgetVersions(shelf.road.world)
    var rules = RetentionRules()
    rules.last = 1
    let plan = try await forget.plan(.init(.rulesForAll(rules)), at: shelf.road.target)
    #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["damaged"])
    let named = VersionSelector.id(prefix: versions[1].id.hex)
    let other = try await forget.plan(.init(.versions([named])), at: shelf.road.target)
    #expect(other.chains.isEmpty && other.refusals.map(\.code) == ["damaged"])
    // Brought back, it goes on.
    spoil(versions[2], shelf)
    let whole = try await forget.plan(.init(.rulesForAll(rules)), at: shelf.road.target)
    #expect(whole.chains.first?.plan.going.count == 2)
  }

  @Test func `nothing is deleted because of it`() async throws {
    let (shelf, versions) = try await shelf()
    let forget = ForgetVersions(shelf.road.world)
    var rules = RetentionRules()
    rules.last = 1
    let plan = try await forget.plan(.init(.rulesForAll(rules)), at: shelf.road.target)
    #expect(try await forget.carryOut(try #require(plan.chains.first), of: plan).forgot == 2)
    spoil(versions[2], shelf)
    let before = shelf.road.store.content
    var request = PruneRepository.Request()
    request.runs = .one
    request.minAge = 0
    let refused = try await PruneRepository(shelf.road.world).run(request, at: shelf.road.target)
    #expect(refused.chains.isEmpty && refused.problems.map(\.kind) == [.verificationFailed])
    #expect(refused.problems.first?.message.contains("the manifest of version 3 cannot be read") == true)
    #expect(refused.problems.first?.hint?.contains("remove it by hand: \(versions[2].name.objectName).") == true)
    #expect(shelf.road.store.content == before)
    // Brought back, it goes on.
    spoil(versions[2], shelf)
    let pruned = try await PruneRepository(shelf.road.world).run(request, at: shelf.road.target)
    #expect(pruned.problems.isEmpty && pruned.chains.first?.freed.objects ?? 0 >= 4)
  }

  @Test func `a status tells of it`() async throws {
    let (shelf, versions) = try await shelf()
    let status = StatusOfDatabases(shelf.road.world)
    #expect(try await status.run(nil, at: shelf.road.target).problems.isEmpty)
    spoil(versions[2], shelf)
    let problems = try await status.run(nil, at: shelf.road.target).problems
    #expect(problems.map(\.kind) == [.verificationFailed] && problems.map(\.code) == ["damaged"])
  }

  @Test func `a status tells of one that the target does not give, and hides nothing because of it`() async throws {
    let (shelf, versions) = try await shelf()
    let manifest = versions[2].name.objectName
    var target = shelf.road.target
    target.store = HookedStore(
      shelf.road.store,
      beforeGet: { name async throws(StoreError) in
        if name == manifest { throw StoreError(.forbidden, "not this one") }
      })
    let outcome = try await StatusOfDatabases(shelf.road.world).run(nil, at: target)
    #expect(outcome.problems.map(\.code) == ["forbidden"] && outcome.databases.map(\.versions) == [3])
  }
}
