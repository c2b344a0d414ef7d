import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// What a later program wrote, met by this one: it cannot be judged, so nothing rests on it and nothing goes because of it.
@Suite struct LaterFormatTests {
  /// The manifest of a version as a later program might have written it: whole, authentic, and in a state that nobody
  /// knows here.
  private func makeLater(_ version: VersionFacts, _ shelf: Shelf) async throws -> VersionName {
    let manifest = try await shelf.repository.readManifest(version.name)
    var meta = manifest.body.encode()
    meta[1] = 9
    let sealed = try ObjectBuilder(kind: .manifest, keys: shelf.repository.keys, random: systemRandom).finish(
      meta: meta)
    let name = VersionName(
      chain: version.chain, sequence: version.sequence, revision: version.revision, length: sealed.bytes.count,
      digest: sealed.name)
    shelf.road.store.content[version.name.objectName] = nil
    shelf.road.store.content[name.objectName] = sealed.bytes
    return name
  }

  @Test func `a manifest is neither lost nor spoilt`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(5)
    let later = try await makeLater(versions[1], shelf)
    let before = shelf.road.store.content
    let outcome = try await ForgetLost(shelf.road.world).run(.init(), at: shelf.road.target)
    #expect(outcome.chains.isEmpty)
    #expect(outcome.problems.map(\.code) == ["unsupported"])
    #expect(outcome.problems.first?.hint?.contains("newer sealift") == true)
    #expect(shelf.road.store.content == before && before[later.objectName] != nil)
    // One that is really gone can be given up all the same.
    shelf.road.store.content[versions[3].name.objectName] = nil
    let other = try await ForgetLost(shelf.road.world).run(.init(), at: shelf.road.target)
    #expect(other.chains.map(\.lost) == [[4...4]])
  }

  @Test func `nothing is forgotten or deleted beside it`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    _ = try await makeLater(versions[1], shelf)
    let before = shelf.road.store.content
    var rules = RetentionRules()
    rules.last = 1
    let plan = try await ForgetVersions(shelf.road.world).plan(.init(.rulesForAll(rules)), at: shelf.road.target)
    #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["unsupported"])
    var request = PruneRepository.Request()
    request.runs = .one
    request.minAge = 0
    let pruned = try await PruneRepository(shelf.road.world).run(request, at: shelf.road.target)
    #expect(pruned.chains.isEmpty && !pruned.problems.isEmpty)
    #expect(shelf.road.store.content == before)
  }

  /// The only tombstone, as a later program might have written it.
  private func makeTombstoneLater(_ shelf: Shelf) throws -> ObjectName {
    let prefix = Layout.tombstones(of: shelf.chain())
    let object = try #require(shelf.road.store.content.first { $0.key.text.hasPrefix(prefix) })
    let name = try #require(RecordName(object.key, prefix: prefix))
    var meta = try OpenedObject.open(
      object.value, kind: .tombstone, name: name.digest, keys: shelf.repository.keys
    ).directory.meta
    meta[0] = 1
    let sealed = try ObjectBuilder(kind: .tombstone, keys: shelf.repository.keys, random: systemRandom).finish(
      meta: meta)
    let later = Layout.known("\(prefix)\(sealed.bytes.count)-\(sealed.name.hex)")
    shelf.road.store.content[object.key] = nil
    shelf.road.store.content[later] = sealed.bytes
    return later
  }

  @Test(arguments: [true, false])
  func `what a tombstone may explain is neither lost nor missing`(isKnown: Bool) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    try await shelf.carryOut(shelf.plan(forgetting: versions[0], versions[1]))
    var request = PruneRepository.Request()
    (request.minAge, request.runs) = (0, .one)
    #expect(try await PruneRepository(shelf.world).run(request, at: shelf.road.target).problems.isEmpty)
    #expect(versions.map { shelf.road.store.content[$0.name.objectName] != nil } == [false, false, true, true])
    let later = try makeTombstoneLater(shelf)
    let before = shelf.road.store.content
    let folder = try Scratch()
    let world = isKnown ? shelf.world : shelf.road.withoutState(folder)

    let checked = try await CheckRepository(world).run(at: shelf.road.target, databases: [], .all)
    #expect(checked.isSound && !checked.isJudged && checked.harmed.isEmpty)
    #expect(checked.whole.map(\.sequence) == [3, 4] && checked.unjudged.map(\.sequence) == [1, 2])
    let listed = try await ListVersions(world).run(at: shelf.road.target)
    #expect(listed.versions.map(\.sequence) == [3, 4] && listed.problems.map(\.code) == ["unsupported"])
    if !isKnown {
      // Whoever has seen nothing yet takes no version behind a gap for seen.
      let state = try StateFolder(world.stateFolder, repository: shelf.repository.id)
      #expect(try HighWaterMark.read(shelf.chain(), in: state) == nil)
    }
    let lost = try await ForgetLost(world).run(.init(), at: shelf.road.target)
    #expect(lost.chains.isEmpty && lost.problems.allSatisfy { $0.code == "unsupported" })
    #expect(lost.problems.contains { $0.message.contains(later.text) })
    let repaired = try await RepairRepository(world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.isWhole && repaired.saved.isEmpty && repaired.elsewhere.isEmpty && repaired.lost.isEmpty)
    let plan = try await ForgetVersions(world).plan(.init(.rulesForAll(RetentionRules(last: 1))), at: shelf.road.target)
    #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["unsupported"])
    let pruned = try await PruneRepository(world).run(request, at: shelf.road.target)
    #expect(pruned.chains.isEmpty && pruned.problems.map(\.code) == ["unsupported"])
    #expect(shelf.road.store.content == before)
  }

  /// A push, and whoever reads a chain from its end only, does not read what was forgotten unless something is missing.
  @Test(arguments: [false, true])
  func `nor is it to who has seen what stood before it`(isTakenBack: Bool) async throws {
    let shelf = try await Shelf()
    var versions = [try await shelf.push(1, at: Shelf.monday)]
    var world = shelf.world
    world.stateFolder = shelf.road.scratch.file("seen")
    _ = try await ListVersions(world).run(at: shelf.road.target)
    for day in UInt64(1)...3 {
      versions.append(try await shelf.push(day + 1, at: Shelf.monday + day * Shelf.day))
    }
    try await shelf.carryOut(shelf.plan(forgetting: versions[1], versions[2]))
    var request = PruneRepository.Request()
    (request.minAge, request.runs) = (0, .one)
    #expect(try await PruneRepository(shelf.world).run(request, at: shelf.road.target).problems.isEmpty)
    #expect(versions.map { shelf.road.store.content[$0.name.objectName] != nil } == [true, false, false, true])
    _ = try makeTombstoneLater(shelf)
    // What was forgotten once more by a later program.
    if isTakenBack { try await shelf.annotate(versions[2], .init(unforget: [.sha256(of: [1])])) }
    let before = shelf.road.store.content

    let database = DatabaseSource(name: "app", path: try shelf.road.database(rows: 50))
    let push = try await Push(world).run(Push.Request(database: database, targets: [shelf.road.target]))
    let pull = await #expect(throws: OperationError.self) {
      try await Pull(world).run(
        .latest(database: "app"), from: shelf.road.target, to: .file(shelf.road.scratch.file("out.db")))
    }
    let listed = try await ListVersions(world).run(at: shelf.road.target)
    let pruned = try await PruneRepository(world).run(request, at: shelf.road.target)
    let told = [push.failures.map(\.error), [pull].compactMap { $0 }, listed.problems, pruned.problems]
    #expect(told.allSatisfy { !$0.isEmpty })
    for problem in told.joined() {
      #expect(problem.code == "unsupported" && problem.hint?.contains("newer sealift") == true, "\(problem.message)")
    }
    #expect(isTakenBack == listed.problems.contains { $0.message.contains("version 3, ") })
    #expect(shelf.road.store.content == before)
  }

  /// That takes no key: else whoever may write there could delete versions and call them forgotten.
  @Test func `what only calls itself a later tombstone explains nothing`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    let middle = versions[1].name.objectName
    var planted = try #require(shelf.road.store.content[middle])
    planted[8] = 2
    let prefix = Layout.tombstones(of: shelf.chain())
    let name = Layout.known("\(prefix)\(planted.count)-\(Digest.sha256(of: planted).hex)")
    shelf.road.store.content[name] = planted
    shelf.road.store.content[middle] = nil
    let checked = try await CheckRepository(shelf.world).run(at: shelf.road.target, databases: [], .all)
    #expect(!checked.isSound && checked.harmed.map(\.sequence) == [2] && checked.unjudged.isEmpty)
    let listed = try await ListVersions(shelf.world).run(at: shelf.road.target)
    #expect(listed.versions.map(\.sequence) == [1, 3] && listed.problems.map(\.code) == ["hole"])
    let lost = try await ForgetLost(shelf.world).run(.init(), at: shelf.road.target)
    #expect(lost.chains.map(\.lost) == [[2...2]])
  }

  @Test func `a database of which a later program wrote everything is not told as never there`() async throws {
    let shelf = try await Shelf()
    let version = try await shelf.push(1, at: Shelf.monday)
    _ = try await makeLater(version, shelf)
    let folder = try Scratch()
    let lister = ListVersions(shelf.road.withoutState(folder))
    for selector in [VersionSelector.latest(database: "app"), .notLater(database: "app", time: Shelf.monday)] {
      let error = await #expect(throws: OperationError.self) {
        try await lister.show(selector, at: shelf.road.target)
      }
      #expect(error?.code == "unsupported" && error?.kind == .failed)
      #expect(error?.hint?.contains("newer sealift") == true)
    }
  }
}
