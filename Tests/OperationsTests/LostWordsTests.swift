import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Sealing

/// What was said of versions, and is lost at a target or cannot be read there: it leaves no gap, and nobody may take it for
/// never said.
@Suite struct LostWordsTests {
  private func holdBack(_ store: MemoryStore) {
    for name in store.content.keys where name.text.hasPrefix("notes/") { store.content[name] = nil }
  }

  private func spoil(_ store: MemoryStore) {
    for name in store.content.keys where name.text.hasPrefix("notes/") { store.content[name]?[100] ^= 1 }
  }

  /// One that has seen nothing yet.
  private func machine(_ road: Road, _ name: String = "fresh", like world: World? = nil) -> World {
    var world = world ?? road.world
    world.stateFolder = road.scratch.file(name)
    return world
  }

  // MARK: copies

  /// A version, and a copy of it that a drill found damaged.
  private func spoiltCopy() async throws -> (road: Road, other: TargetAccess, store: MemoryStore) {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    #expect(try await road.push(database).failures.isEmpty)
    let store = MemoryStore(location: "memory:other")
    let other = TargetAccess(name: "other", store: store, unlock: { .keyFile([UInt8](repeating: 9, count: 64)) })
    _ = try await Initialize(road.world).run(at: other, ifMissing: false)
    #expect(try await copy(road.world, road, to: other).copied.map(\.wasThere) == [false])
    let packs = store.content.filter { $0.key.text.hasPrefix("packs/") }
    let pack = try #require(packs.max { $0.value.count < $1.value.count }?.key)
    store.content[pack]?[5000] ^= 1
    #expect(try await Drill(road.world).run(Drill.Request(), at: other).drilled.first?.hasPassed == false)
    return (road, other, store)
  }

  private func copy(_ world: World, _ road: Road, to target: TargetAccess) async throws -> CopyVersions.Outcome {
    try await CopyVersions(world).run(CopyVersions.Request(), from: road.target, to: target)
  }

  @Test(arguments: [false, true])
  func `a copy that was found damaged is none where the word for it is held back, also where that was only read`(
    isOnlyRead: Bool
  ) async throws {
    let (road, other, store) = try await spoiltCopy()
    let world = isOnlyRead ? machine(road, "reader") : road.world
    let known = try await ListVersions(world).run(at: other).versions
    #expect(known.count == 1 && known.first?.foundDamaged != nil)
    holdBack(store)
    for wasThere in [false, true] {
      let outcome = try await copy(world, road, to: other)
      #expect(outcome.failures.map(\.error.code) == ["hole"], "\(outcome.failures)")
      #expect(outcome.failures.first?.error.kind == .verificationFailed)
      #expect(outcome.copied.map(\.wasThere) == [wasThere])
    }
    // It rests on nothing of what was damaged.
    let drilled = try await Drill(machine(road)).run(Drill.Request(), at: other).drilled
    #expect(drilled.map(\.hasPassed) == [true] && drilled.first?.version.sequence == 2)
  }

  @Test func `a copy tells of words at its destination that cannot be read`() async throws {
    let (road, other, store) = try await spoiltCopy()
    spoil(store)
    let outcome = try await copy(machine(road), road, to: other)
    #expect(outcome.failures.map(\.error.code) == ["damaged"], "\(outcome.failures)")
    #expect(outcome.failures.first?.error.message.contains("may say that a version is pinned") == true)
  }

  // MARK: alarms

  /// One that is pinned, and one that was found damaged; this machine has said the one and read the other.
  private func said() async throws -> (shelf: Shelf, versions: [VersionFacts]) {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    #expect(try await shelf.say(.pin, of: versions[0]).changed)
    try await shelf.annotate(versions[1], Annotation.Item(.foundDamaged, "a pack is gone"))
    let status = try await shelf.status()
    #expect(status.problems.isEmpty && status.databases.first?.foundDamaged == 1, "\(status.problems)")
    #expect(try await check(shelf).problems.isEmpty)
    return (shelf, versions)
  }

  private func check(_ shelf: Shelf, _ world: World? = nil) async throws -> CheckRepository.Outcome {
    try await CheckRepository(world ?? shelf.world).run(at: shelf.road.target, databases: [], .structure)
  }

  private func told(_ shelf: Shelf, _ text: String) -> Int {
    shelf.road.notices.said.withLock { $0 }.count { $0.contains(text) }
  }

  @Test func `words that are gone are an alarm, and no version is kept from who wants it`() async throws {
    let (shelf, versions) = try await said()
    holdBack(shelf.road.store)
    let target = shelf.road.target
    let status = try await shelf.status()
    #expect(status.problems.map(\.code) == ["hole"] && status.problems.first?.kind == .verificationFailed)
    #expect(status.problems.first?.hint?.contains("accept the loss of the old words: rm ") == true)
    #expect(try await ListVersions(shelf.world).run(at: target).problems.map(\.code) == ["hole"])
    let checked = try await check(shelf)
    #expect(!checked.isSound && checked.problems.map(\.code) == ["hole"])
    #expect(checked.lostWords.map(\.message) == checked.problems.map(\.message))
    #expect(try await check(shelf, machine(shelf.road, like: shelf.world)).isSound)
    for word in [AnnotateVersions.Word.unpin, .tags(add: [], remove: ["keep"])] {
      let error = await #expect(throws: OperationError.self) { _ = try await shelf.say(word, of: versions[0]) }
      #expect(error?.code == "hole", "\(word)")
    }
    let before = told(shelf, "is not listed")
    let shown = try await ListVersions(shelf.world).show(.latest(database: "app"), at: target)
    #expect(shown.summary.id == versions[1].id.hex && told(shelf, "is not listed") == before + 1)
    let path = shelf.road.scratch.file("out")
    let pulled = try await Pull(shelf.world).run(.latest(database: "app"), from: target, to: .file(path))
    #expect(pulled.version.id == versions[1].id.hex && told(shelf, "is not listed") == before + 2)
    let folder = shelf.road.scratch.file("all")
    try StateFiles.makeFolder(folder)
    let all = try await RestoreAll(Pull(shelf.world)).run(.pull(into: folder), from: target, host: nil)
    #expect(all.done.map(\.database) == ["app"] && told(shelf, "is not listed") == before + 3)
  }

  @Test func `words that cannot be read are an alarm, and what they may say is not told to be otherwise`() async throws
  {
    let (shelf, versions) = try await said()
    spoil(shelf.road.store)
    let (target, world) = (shelf.road.target, machine(shelf.road, like: shelf.world))
    let status = try await StatusOfDatabases(world).run(nil, at: target)
    #expect(status.problems.map(\.code) == ["damaged"] && status.problems.first?.kind == .verificationFailed)
    #expect(status.problems.first?.message.contains(", and 1 more, cannot be read") == true)
    #expect(status.problems.first?.hint?.contains("from a copy of the target") == true)
    let list = try await ListVersions(world).run(at: target)
    #expect(list.problems.map(\.code) == ["damaged"] && list.versions.count == 2)
    #expect(list.versions.allSatisfy { $0.wordsUnread == true && !$0.pinned && $0.foundDamaged == nil })
    let id = VersionSelector.id(prefix: versions[0].id.hex)
    for word in [AnnotateVersions.Word.unpin, .tags(add: [], remove: ["keep"])] {
      let error = await #expect(throws: OperationError.self) {
        _ = try await AnnotateVersions(world).run(word, of: id, at: target)
      }
      #expect(error?.code == "damaged", "\(word)")
    }
    #expect(told(shelf, "cannot be read, and may say") == 0)
    #expect(try await ListVersions(world).show(id, at: target).summary.id == versions[0].id.hex)
    #expect(told(shelf, "cannot be read, and may say") == 1)
    // What is said goes on.
    #expect(try await AnnotateVersions(world).run(.pin, of: id, at: target).changed)
    #expect(try await AnnotateVersions(world).run(.unpin, of: id, at: target).changed)
  }

  @Test func `words that were cut, or are of a later format, are no alarm`() async throws {
    let (shelf, versions) = try await said()
    let (store, prefix) = (shelf.road.store, Layout.annotations(of: shelf.chain()))
    for name in store.content.keys where name.text.hasPrefix("notes/") { store.content[name]?.removeLast() }
    // Of a type that nobody knows here, and of another format by its header.
    let pin = Annotation(
      chain: shelf.chain(), sequence: 1, coreHash: versions[0].id, time: 1, items: [.init(kind: .pin, bytes: [])])
    var meta = pin.encode()
    meta[67] = 99
    try await shelf.repository.putRecord(.annotation, meta, below: prefix)
    var bytes = try ObjectBuilder(kind: .annotation, keys: shelf.repository.keys, random: systemRandom)
      .finish(meta: pin.encode()).bytes
    bytes[8] += 1
    store.content[Layout.known("\(prefix)\(bytes.count)-\(Digest.sha256(of: bytes).hex)")] = bytes
    let world = machine(shelf.road, like: shelf.world)
    let status = try await StatusOfDatabases(world).run(nil, at: shelf.road.target)
    #expect(status.problems.isEmpty, "\(status.problems)")
    let list = try await ListVersions(world).run(at: shelf.road.target)
    #expect(list.problems.isEmpty && list.versions.allSatisfy { $0.wordsUnread == nil }, "\(list.problems)")
  }
}
