import Glibc
import Operations
import Storage
import TestKit
import Testing

/// What it costs to read a repository, and what a machine needs for it: no more requests than must be, and no place to write.
@Suite struct ReadingTests {
  /// A repository with so many versions, and the requests that reading it makes.
  private func chain(of count: Int) async throws -> (Road, TallyingStore, TargetAccess) {
    let road = try await Road()
    let source = try road.database(rows: 10)
    for _ in 0..<count {
      try await road.change(source)
      #expect(try await road.push(DatabaseSource(name: "app", path: source)).failures.isEmpty)
    }
    let store = TallyingStore(road.store)
    var target = road.target
    target.store = store
    return (road, store, target)
  }

  private func gets<Answer>(
    _ store: TallyingStore, _ work: () async throws -> Answer
  ) async throws -> (answer: Answer, gets: Int) {
    let before = store.tally.gets
    return (try await work(), store.tally.gets - before)
  }

  /// Repository file, slot, keyring, configuration.
  private let opening = 4

  @Test func `a second list fetches no manifest, a first one each once`() async throws {
    let (road, store, target) = try await chain(of: 12)
    let folder = try Scratch()
    let lister = ListVersions(road.withoutState(folder))
    let cold = try await gets(store) { try await lister.run(at: target).versions }
    #expect(cold.answer.count == 12)
    #expect(cold.gets == opening + 12)
    let lists = store.tally.lists
    let warm = try await gets(store) { try await lister.run(at: target).versions }
    #expect(warm.answer.map(\.id) == cold.answer.map(\.id))
    #expect(warm.gets == opening)
    // Four to open, and versions, tombstones, notes, however many chains there are.
    #expect(store.tally.lists - lists == 7)
  }

  @Test func `versions are restored where the configuration is gone, and nothing is pushed there`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 200))
    #expect(try await road.push(source).failures.isEmpty)
    for name in road.store.content.keys where name.text.hasPrefix("config/") { road.store.content[name] = nil }
    let before = road.store.content
    let path = road.scratch.file("restored.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(path))
    #expect(try await dump(path) == dump(source.path))
    let said = road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("no configuration of the repository can be read") }, "\(said)")
    #expect(said.contains { $0.contains("until `sealift repair` on this machine") }, "\(said)")
    let refused = await #expect(throws: OperationError.self) {
      try await StatusOfDatabases(road.world).run([source], at: road.target)
    }
    #expect(refused?.kind == .verificationFailed && refused?.hint?.contains("below config/") == true)
    try await road.change(source.path)
    let failures = try? await road.push(source).failures
    #expect(failures?.isEmpty != true)
    #expect(road.store.content == before)
  }

  @Test func `keys are listed where the configuration is gone, and none is added`() async throws {
    let road = try await Road()
    let keys = ManageKeys(road.world)
    let before = try await keys.list(at: road.target).map(\.id)
    for name in road.store.content.keys where name.text.hasPrefix("config/") { road.store.content[name] = nil }
    let lost = road.store.content
    #expect(try await keys.list(at: road.target).map(\.id) == before)
    let said = road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("no configuration of the repository can be read") }, "\(said)")
    let refused = await #expect(throws: OperationError.self) {
      try await keys.add(.keyFile([UInt8](repeating: 9, count: 64)), at: road.target)
    }
    #expect(refused?.hint?.contains("`sealift repair` on this machine") == true)
    #expect(road.store.content == lost)
  }

  @Test func `the latest is found by its own manifest alone`() async throws {
    let (road, store, target) = try await chain(of: 12)
    let newest = try #require(try await ListVersions(road.world).run(at: target).versions.last)
    for selector in [VersionSelector.latest(database: "app"), .latest(database: nil), .id(prefix: newest.id)] {
      let folder = try Scratch()
      let lister = ListVersions(road.withoutState(folder))
      let found = try await gets(store) { try await lister.show(selector, at: target).summary }
      #expect(found.answer.id == newest.id)
      #expect(found.gets == opening + 1)
    }
  }

  @Test func `a time is found from the end, and the first version too`() async throws {
    let (road, _, target) = try await chain(of: 12)
    let lister = ListVersions(road.world)
    let versions = try await lister.run(at: target).versions
    for version in versions {
      let folder = try Scratch()
      let found = try await ListVersions(road.withoutState(folder)).show(
        .notLater(database: "app", time: version.time), at: target)
      // Versions of one second have one time here: then the last of them is meant.
      #expect(found.summary.time == version.time)
      #expect(found.summary.id == versions.last { $0.time <= version.time }?.id)
    }
  }

  @Test func `a pull needs no state folder, and says what that means`() async throws {
    let (road, _, target) = try await chain(of: 3)
    var world = road.world
    world.stateFolder = "\(road.scratch.file("app.db"))/state"
    world.host = nil
    let notices = Notices()
    world.reporter = notices
    let list = try await ListVersions(world).run(at: target)
    #expect(list.versions.count == 3)
    #expect(list.problems.isEmpty)
    #expect(!list.freshnessProvable)
    let path = road.scratch.file("out.db")
    _ = try await Pull(world).run(.latest(database: "app"), from: target, to: .file(path))
    #expect(try await dump(path) == dump(road.scratch.file("app.db")))
    #expect(notices.said.withLock { $0 }.filter { $0.contains("cannot remember") }.count == 2)
  }

  /// A folder in the place of a file: what nobody can read, not even the super-user.
  @Test func `what was seen and cannot be read keeps nobody from reading, and a push from writing`() async throws {
    let (road, _, target) = try await chain(of: 1)
    let places = "\(road.world.stateFolder)/places"
    let place = "\(places)/\(try #require(road.files(in: places).first))"
    unlink(place)
    mkdir(place, 0o700)
    mkdir("\(place)/in the way", 0o700)
    let source = road.scratch.file("app.db")
    #expect(try await ListVersions(road.world).run(at: target).versions.count == 1)
    let path = road.scratch.file("out.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: target, to: .file(path))
    #expect(try await dump(path) == dump(source))
    #expect(road.notices.said.withLock { $0 }.filter { $0.contains("cannot be told") }.count == 2)
    try await road.change(source)
    let outcome = try await road.push(DatabaseSource(name: "app", path: source))
    #expect(outcome.failures.map(\.error.code) == ["stateFolder"])
    let error = await #expect(throws: OperationError.self) {
      try await ForgetVersions(road.world).plan(.init(.versions([.latest(database: "app")])), at: target)
    }
    #expect(error?.code == "stateFolder")
    #expect(road.files(in: place) == ["in the way"])
  }

  @Test func `a mark that cannot be raised still counts`() async throws {
    let (road, _, target) = try await chain(of: 3)
    let whole = road.store.content
    let source = road.scratch.file("app.db")
    let folder = try Scratch()
    var world = road.withoutState(folder)
    _ = try await ListVersions(world).run(at: target)
    let state = folder.file("state")
    for repository in road.files(in: state) where repository.utf8.count == 32 {
      for chain in road.files(in: "\(state)/\(repository)") where chain.utf8.count == 32 {
        // What nobody can open for writing, not even the super-user.
        let lock = "\(state)/\(repository)/\(chain)/lock"
        unlink(lock)
        #expect(mkdir(lock, 0o700) == 0)
      }
    }
    let notices = Notices()
    world.reporter = notices
    _ = try await ListVersions(world).run(at: target)
    #expect(notices.said.withLock { $0 } == [])
    try await road.change(source)
    #expect(try await road.push(DatabaseSource(name: "app", path: source)).failures.isEmpty)
    #expect(try await ListVersions(world).run(at: target).versions.count == 4)
    #expect(notices.said.withLock { $0 }.contains { $0.contains("cannot remember") })
    let newest = try #require(whole.keys.filter { $0.text.hasPrefix("versions/") }.max())
    road.store.content = whole.filter { $0.key != newest }
    #expect(try await ListVersions(world).run(at: target).problems.contains { $0.code == "rolledBack" })
    await #expect(throws: OperationError.self) {
      try await ListVersions(world).show(.latest(database: "app"), at: target)
    }
  }

  @Test func `nobody goes on with a keyring older than one that was seen`() async throws {
    let (road, _, target) = try await chain(of: 1)
    let source = road.scratch.file("app.db")
    try await road.change(source)
    for repository in road.files(in: road.world.stateFolder) where repository.utf8.count == 32 {
      let path = "\(road.world.stateFolder)/\(repository)/keyring.json"
      #expect(access(path, F_OK) == 0)
      let later = #"{"number": 4, "digest": "00", "epoch": 2, "cuts": 0}"#
      try writeFile(path, Array(later.utf8))
    }
    #expect(try await road.push(DatabaseSource(name: "app", path: source)).failures.first?.error.code == "rolledBack")
    let error = await #expect(throws: OperationError.self) { try await ListVersions(road.world).run(at: target) }
    #expect(error?.kind == .verificationFailed)
    #expect(error?.hint?.contains("keyring.json") == true)
  }
}
