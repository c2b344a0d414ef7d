import FoundationEssentials
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Snapshots

/// A virtual machine that is put back to an earlier state has a database and a memory of it that fit each other, and a target
/// that has gone on.
@Suite struct RolledBackMachineTests {
  @Test func `what was pushed since by the machine that was put back is not called unchanged`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let first = try #require(try await road.push(database).pushed.first).version
    let (state, saved) = (road.world.stateFolder, road.scratch.file("state-then"))
    let content = try fileBytes(database.path)
    try FileManager.default.copyItem(atPath: state, toPath: saved)
    try await road.change(database.path)
    let second = try #require(try await road.push(database).pushed.first).version
    #expect(first.sequence == 1 && second.sequence == 2)

    try removeFile(state)
    try FileManager.default.moveItem(atPath: saved, toPath: state)
    try writeFile(database.path, content)
    try await remember(first, of: database, road)
    var request = Push.Request(database: database, targets: [road.target])
    // Nobody is asked yet.
    #expect(try await Push(road.world).run(request).pushed.map(\.version.id) == [first.id])
    request.verifyRemoteEvery = 0
    let third = try #require(try await Push(road.world).run(request).pushed.first)
    #expect(!third.unchanged && third.version.sequence == 3)
    // The newest has this content now.
    #expect(try await Push(road.world).run(request).pushed.map(\.version.id) == [third.version.id])
  }

  /// No backup at all would be worse; that nobody hears of it would be, too.
  @Test func `a spoilt memory of the newest version is told, and made anew`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    _ = try await road.push(database)
    let state = road.world.stateFolder
    let files = try FileManager.default.subpathsOfDirectory(atPath: state)
    let mark = try #require(files.first { $0.hasSuffix("/mark.json") })
    func told() -> Int { road.notices.said.withLock { $0.count { $0.contains("has lost none since is not proved") } } }
    try writeFile("\(state)/\(mark)", Array("{".utf8))
    try await road.change(database.path)
    let second = try #require(try await road.push(database).pushed.first)
    #expect(second.version.sequence == 2 && told() == 1)
    try await road.change(database.path)
    _ = try await road.push(database)
    let anew = String(decoding: try fileBytes("\(state)/\(mark)"), as: UTF8.self)
    #expect(anew.contains("\"sequence\":3") && told() == 1, "\(anew)")
  }

  /// Who took that for a loss, and pushed, would make a fork.
  @Test(arguments: [true, false])
  func `a version that is there and not listed is no way back`(isNoted: Bool) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    _ = try await road.push(database)
    try await road.change(database.path)
    _ = try await road.push(database)
    let name = try #require(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.max())
    if !isNoted {
      // A mark from before names of manifests were noted; a list of the chain has them.
      _ = try await ListVersions(road.world).run(at: road.target)
      let chain = try #require(VersionName(name)).chain
      let state = try StateFolder(road.world.stateFolder, repository: try await road.target.open(road.world).id)
      var mark = try #require(try HighWaterMark.read(chain, in: state))
      #expect(mark.manifest == name.text)
      mark.manifest = nil
      try mark.write(chain, in: state)
    }
    var target = road.target
    target.store = ShortStore(road.store, hiding: name)
    let before = road.store.content
    try await road.change(database.path)
    for error in try await errors(in: road.world, database, target) {
      #expect(error?.code == "conflict")
      #expect(error?.message.contains("version 2 is there and not listed") == true)
      #expect(error?.hint?.contains("mark.json") == false)
    }
    #expect(road.store.content == before)
    // Once it is gone indeed it is missed.
    road.store.content[name] = nil
    let gone = try await Push(road.world).run(Push.Request(database: database, targets: [target]))
    #expect(gone.failures.map(\.error.code) == ["rolledBack"])
    #expect(gone.failures.first?.error.hint?.contains("try again a while later") == true)
  }

  /// As it is typed it is about this chain; and what a repair brings back is not given up before.
  @Test func `who is told that versions are gone is told how to have them back, and how to accept it`() async throws {
    let shelf = try await Shelf()
    let newest = try #require(try await shelf.week(2).last).name.objectName
    let content = shelf.road.store.content
    shelf.road.store.content[newest] = nil
    let database = DatabaseSource(name: "app", path: try shelf.road.database(rows: 50))
    let state = try StateFolder(shelf.world.stateFolder, repository: shelf.repository.id)
    let command = "rm '\(state.path)/\(shelf.chain().hex)/mark.json'"
    let gone = try await errors(in: shelf.world, database, shelf.road.target)
    for error in gone {
      #expect(error?.code == "rolledBack")
      #expect(error?.hint?.contains("`sealift repair` brings back") == true, "\(error?.hint ?? "")")
      #expect(error?.hint?.contains(command) == true, "\(error?.hint ?? "")")
    }
    #expect(gone.last??.message.contains("'app' of host") == true)
    // Another version in the place of the one that was seen.
    shelf.road.store.content = content
    try HighWaterMark(sequence: 1, id: .sha256(of: [1])).write(shelf.chain(), in: state)
    for error in try await errors(in: shelf.world, database, shelf.road.target) {
      #expect(error?.code == "forked")
      #expect(error?.hint?.contains(command) == true, "\(error?.hint ?? "")")
    }
  }

  /// What a push, a pull and a prune end with.
  private func errors(
    in world: World, _ database: DatabaseSource, _ target: TargetAccess
  ) async throws -> [OperationError?] {
    let push = try await Push(world).run(Push.Request(database: database, targets: [target]))
    let scratch = try Scratch()
    let pull = await #expect(throws: OperationError.self) {
      try await Pull(world).run(.latest(database: "app"), from: target, to: .file(scratch.file("out.db")))
    }
    var request = PruneRepository.Request()
    (request.minAge, request.runs) = (0, .one)
    let prune = try await PruneRepository(world).run(request, at: target)
    return [push.failures.first?.error, pull, prune.problems.first]
  }

  /// They stand at the place of their version, and there are some of every long push. A repair may have written the version
  /// anew since, and what its mark names is gone.
  @Test(arguments: [false, true])
  func `nor is one of which only partial manifests are listed`(isRepaired: Bool) async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    try await shelf.push(1, at: Shelf.monday)
    let last = try await shelf.push(2, at: Shelf.monday + Shelf.day, packsPerPartial: 1)
    #expect(last.sequence == 2 && last.revision > 0)
    var name = last.name.objectName
    if isRepaired {
      let manifest = try await shelf.repository.readManifest(last.name)
      let anew = try await shelf.repository.republish(manifest, revision: last.revision + 1, state: nil)
      // A list of the chain has seen it.
      _ = try await ListVersions(shelf.world).run(at: road.target)
      road.store.content[name] = nil
      name = anew.name.objectName
    }
    var target = road.target
    target.store = ShortStore(road.store, hiding: name)
    let before = road.store.content
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    for error in try await errors(in: shelf.world, database, target) {
      #expect(error?.code == "conflict")
      #expect(error?.message.contains("version 2 is there and not listed") == true, "\(error?.message ?? "")")
    }
    #expect(road.store.content == before)
    road.store.content[name] = nil
    let gone = try await Push(shelf.world).run(Push.Request(database: database, targets: [target]))
    #expect(gone.failures.map(\.error.code) == ["rolledBack"])
  }

  @Test func `nor is one whose long push ended while the target was listed`() async throws {
    let shelf = try await Shelf()
    try await shelf.push(1, at: Shelf.monday)
    let last = try await shelf.push(2, at: Shelf.monday + Shelf.day, packsPerPartial: 1)
    let early = try await shelf.road.store.list(prefix: Layout.versions).filter { $0.name != last.name.objectName }
    #expect(early.count > 1)
    var target = shelf.road.target
    target.store = ListingStore.after(early, of: shelf.road.store)
    let listed = try await ListVersions(shelf.world).run(at: target)
    #expect(listed.problems.map(\.code) == ["conflict"])
    #expect(listed.problems.first?.message.contains("while the target was listed") == true)
  }

  /// What only looks like a mark is one to nobody.
  @Test(arguments: [
    "{", #"{"sequence":2,"id":"\#(String(repeating: "z", count: 64))"}"#,
    #"{"sequence":2,"id":"\#(String(repeating: "5", count: 62))"}"#,
    #"{"sequence":0,"id":"\#(String(repeating: "5", count: 64))"}"#,
    #"{"sequence":18446744073709551615,"id":"\#(String(repeating: "5", count: 64))"}"#,
    #"{"sequence":1,"id":"\#(String(repeating: "5", count: 64))","pushed":0}"#,
    #"{"sequence":0,"id":"\#(String(repeating: "5", count: 64))","pushed":1}"#,
  ])
  func `a spoilt memory of the newest version lets nothing go, and who reads leaves it to the next push`(
    _ content: String
  ) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    _ = try await road.push(database)
    let before = Set(road.store.content.keys)
    try await road.change(database.path)
    _ = try await road.push(database)
    for name in road.store.content.keys where name.text.hasPrefix("versions/") && !before.contains(name) {
      road.store.content[name] = nil
    }
    let state = road.world.stateFolder
    let files = try FileManager.default.subpathsOfDirectory(atPath: state)
    let mark = "\(state)/\(try #require(files.first { $0.hasSuffix("/mark.json") }))"
    let spoilt = Array(content.utf8)
    try writeFile(mark, spoilt)
    func told() -> Int { road.notices.said.withLock { $0.count { $0.contains("has lost none since is not proved") } } }
    let listed = try await ListVersions(road.world).run(at: road.target)
    #expect(listed.versions.map(\.sequence) == [1] && told() == 1)
    #expect(try fileBytes(mark) == spoilt)

    let pruned = try await PruneRepository(road.world).run(PruneRepository.Request(), at: road.target)
    #expect(pruned.chains.isEmpty && pruned.problems.map(\.code) == ["stateFolder"])
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let plan = try await ForgetVersions(road.world).plan(request, at: road.target)
    #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["stateFolder"])
    #expect(plan.refusals.first?.hint?.contains("rm '\(mark)'") == true)
    #expect(try fileBytes(mark) == spoilt)

    #expect(try await road.push(database).pushed.first?.version.sequence == 2)
    #expect(told() == 2)
    _ = try await ListVersions(road.world).run(at: road.target)
    #expect(told() == 2)
  }

  /// A folder in the place of the file, or a file in that of its folder: what nobody can read, not even the super-user.
  @Test(arguments: [false, true])
  func `a memory of the newest version that cannot be read lets nothing go, and keeps nobody from reading`(
    isFolder: Bool
  ) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    _ = try await road.push(database)
    let mark = try markFile(road)
    let obstacle = isFolder ? mark : String(mark.dropLast("/mark.json".count))
    try removeFile(obstacle)
    if isFolder {
      try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
    } else {
      try writeFile(obstacle, [1])
    }
    let wayOut = "mv '\(obstacle)' '\(obstacle).bad'"
    func told(_ words: String) -> Int { road.notices.said.withLock { $0.count { $0.contains(words) } } }
    let out = road.scratch.file("out.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(out))
    #expect(try await dump(out) == dump(database.path))
    #expect(told(wayOut) == 1 && told("cannot remember") == (isFolder ? 0 : 1))

    let pruned = try await PruneRepository(road.world).run(PruneRepository.Request(), at: road.target)
    #expect(pruned.chains.isEmpty && pruned.problems.map(\.code) == ["stateFolder"])
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let plan = try await ForgetVersions(road.world).plan(request, at: road.target)
    #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["stateFolder"])
    #expect(plan.refusals.first?.hint?.contains(wayOut) == true)
    let pin = await #expect(throws: OperationError.self) {
      try await AnnotateVersions(road.world).run(.pin, of: .latest(database: "app"), at: road.target)
    }
    #expect(pin?.code == "stateFolder" && pin?.hint?.contains(wayOut) == true)
    try await road.change(database.path)
    let failures = try await road.push(database).failures
    #expect(failures.map(\.error.code) == ["stateFolder"])
    #expect(failures.first?.error.hint?.contains(wayOut) == true, "\(failures.first?.error.hint ?? "")")
    if isFolder { try await readOtherwise(road, wayOut) }

    try FileManager.default.moveItem(atPath: obstacle, toPath: "\(obstacle).bad")
    #expect(try await road.push(database).pushed.map(\.version.sequence) == [2])
  }

  private func readOtherwise(_ road: Road, _ wayOut: String) async throws {
    func told() -> Int { road.notices.said.withLock { $0.count { $0.contains(wayOut) } } }
    let before = told()
    #expect(try await CheckRepository(road.world).run(at: road.target, databases: [], .structure).isSound)
    #expect(told() == before + 1)
    let drilled = try await Drill(road.world).run(Drill.Request(), at: road.target)
    #expect(drilled.drilled.map(\.hasPassed) == [true] && told() == before + 2)
  }

  /// What they say stays may be what a listing leaves out.
  @Test func `words in whose place a file stands let nothing go, and keep nobody from reading`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    _ = try await road.push(database)
    let words = String(try markFile(road).dropLast("mark.json".count)) + "words"
    try? removeFile(words)
    try writeFile(words, [1])
    let out = road.scratch.file("out.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(out))
    #expect(road.notices.said.withLock { $0.count { $0.contains("was taken back looks forgotten") } } == 1)
    let wayOut = "mv '\(words)' '\(words).bad'"
    let pruned = try await PruneRepository(road.world).run(PruneRepository.Request(), at: road.target)
    #expect(pruned.chains.isEmpty && pruned.problems.map(\.code) == ["stateFolder"])
    #expect(pruned.problems.first?.hint?.contains(wayOut) == true, "\(pruned.problems.first?.hint ?? "")")
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let refusals = try await ForgetVersions(road.world).plan(request, at: road.target).refusals
    #expect(refusals.map(\.code) == ["stateFolder"] && refusals.first?.hint?.contains(wayOut) == true)
    // What the hint says has them go on.
    try FileManager.default.moveItem(atPath: words, toPath: "\(words).bad")
    #expect(try await ForgetVersions(road.world).plan(request, at: road.target).refusals.isEmpty)
  }

  /// A timer asks for the status, and hears no notices.
  @Test(arguments: [("mark.json", true), ("mark.json", false), ("words", false)])
  func `a memory that cannot be read is a problem of the status, and told once`(
    _ name: String, isFolder: Bool
  ) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    _ = try await road.push(database)
    let status = StatusOfDatabases(road.world)
    #expect(try await status.run([database], at: road.target).problems.isEmpty)
    let path = String(try markFile(road).dropLast("mark.json".count)) + name
    try? removeFile(path)
    if isFolder {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    } else {
      try writeFile(path, [1])
    }
    road.notices.said.withLock { $0 = [] }
    let found = try await status.run([database], at: road.target)
    #expect(found.problems.map(\.code) == ["stateFolder"] && found.databases.map(\.versions) == [1])
    #expect(found.problems.allSatisfy { $0.kind == .failed && $0.hint?.contains(" '\(path)'") == true })
    #expect(road.notices.said.withLock { $0 } == [])
  }

  private func markFile(_ road: Road) throws -> String {
    let state = road.world.stateFolder
    let files = try FileManager.default.subpathsOfDirectory(atPath: state)
    return "\(state)/\(try #require(files.first { $0.hasSuffix("/mark.json") }))"
  }

  @Test func `a spoilt memory of the newest keyring is told, and made anew`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 50)))
    let state = road.world.stateFolder
    let files = try FileManager.default.subpathsOfDirectory(atPath: state)
    let memory = "\(state)/\(try #require(files.first { $0.hasSuffix("/keyring.json") }))"
    let good = try fileBytes(memory)
    try writeFile(memory, Array("{".utf8))
    for _ in 0..<2 { _ = try await ListVersions(road.world).run(at: road.target) }
    #expect(road.notices.said.withLock { $0.count { $0.contains("remembered of the newest keyring") } } == 1)
    #expect(try fileBytes(memory).count == good.count)
  }

  @Test func `a spoilt memory of the repositories at a place is told, and made anew by who writes`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    _ = try await road.push(database)
    let path = try KnownRepositories(at: road.store, in: road.world.stateFolder).path
    let junk = Array("junk".utf8)
    try writeFile(path, junk)
    func told() -> [String] {
      road.notices.said.withLock { $0.filter { $0.contains("remembered of the repositories there") } }
    }
    for _ in 0..<2 { _ = try await ListVersions(road.world).run(at: road.target) }
    #expect(told().count == 2 && told().allSatisfy { $0.hasSuffix(": mv '\(path)' '\(path).bad'") }, "\(told())")
    #expect(try fileBytes(path) == junk)
    try await road.change(database.path)
    #expect(try await road.push(database).failures.isEmpty)
    #expect(told().count == 3 && told().last?.hasSuffix("made anew, and what stood there is in '\(path).bad'") == true)
    #expect(try fileBytes("\(path).bad") == junk)
    _ = try await ListVersions(road.world).run(at: road.target)
    #expect(told().count == 3)
  }

  /// It looks at the target as one that has never seen it.
  @Test func `a drill of a version that was named tells of a spoilt memory of the place, too`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let version = try #require(try await road.push(database).pushed.first).version
    try writeFile(try KnownRepositories(at: road.store, in: road.world.stateFolder).path, Array("junk".utf8))
    var request = Drill.Request()
    request.choice = .versions([.id(prefix: version.id)])
    #expect(try await Drill(road.world).run(request, at: road.target).drilled.map(\.hasPassed) == [true])
    #expect(road.notices.said.withLock { $0.count { $0.contains("remembered of the repositories there") } } == 1)
  }

  /// As a push notes it two seconds after the last change; a file that is put back here has another time of change.
  private func remember(_ version: VersionSummary, of database: DatabaseSource, _ road: Road) async throws {
    let repository = try await road.target.open(road.world).id.hex
    let object = try #require(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.min())
    let memory = SourceMemory(
      source: .init(database), signature: try SourceSignature.read(database.path), companions: nil,
      repository: repository, chain: String(object.text.split(separator: "/")[1]), object: object.text,
      version: version, seenAt: road.world.now())
    memory.write(SourceMemory.path(road.world, database, host: "host", store: road.store.traits.identity))
  }
}
