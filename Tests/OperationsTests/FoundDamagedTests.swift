import Backends
import FoundationEssentials
import Repositories
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Sealing
@testable import Snapshots

/// A version that was found not to be restorable takes no other's place, whoever found it.
@Suite struct FoundDamagedTests {
  /// Two versions that share nothing; a byte of the newer one's largest pack is flipped.
  private struct Spoilt {
    let road: Road
    let database: DatabaseSource
    let versions: [VersionSummary]
    let pack: ObjectName

    init() async throws {
      road = try await Road()
      database = DatabaseSource(name: "app", path: try road.database(rows: 200))
      let older = try #require(try await road.push(database).pushed.first?.version)
      let before = Set(road.store.content.keys)
      try SQLite.run("update t set body = randomblob(900)", on: database.path)
      let newer = try #require(try await road.push(database).pushed.first?.version)
      versions = [older, newer]
      let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") && !before.contains($0.key) }
      pack = try #require(packs.max { $0.value.count < $1.value.count }?.key)
      flip()
    }

    func flip() { road.store.content[pack]?[5000] ^= 1 }

    /// Another machine, which pushes nothing.
    var elsewhere: World {
      var world = road.world
      world.stateFolder = road.scratch.file("elsewhere")
      return world
    }

    /// The numbers of the versions that a plan with `--keep-last 1`, or so many, for all hosts lets go.
    /// - Parameter world: of another machine.
    func going(last: Int = 1, in world: World? = nil) async throws -> [UInt64] {
      var request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: last)))
      request.allHosts = true
      let plan = try await ForgetVersions(world ?? road.world).plan(request, at: road.target)
      #expect(plan.refusals.isEmpty)
      return plan.chains.flatMap { $0.plan.going.map(\.version.sequence) }
    }

    func drill(_ trial: Drill.Trial = Drill.Trial(), at target: TargetAccess? = nil) async throws -> Drill.Outcome {
      var request = Drill.Request()
      request.otherwise = trial
      return try await Drill(road.world).run(request, at: target ?? road.target)
    }

    /// As a push notes it two seconds after the last change: the file is as it was when the newest version was taken.
    func remember() async throws {
      let repository = try await road.target.open(road.world).id.hex
      let object = try #require(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.max())
      let memory = SourceMemory(
        source: .init(database), signature: try SourceSignature.read(database.path), companions: nil,
        repository: repository, chain: String(object.text.split(separator: "/")[1]), object: object.text,
        version: versions[1], seenAt: road.world.now())
      memory.write(SourceMemory.path(road.world, database, host: "host", store: road.store.traits.identity))
    }

    /// Pushes the database as it is, and restores what comes of it without what was there before.
    func demandWholePush() async throws {
      let before = road.store.content.keys
      let pushed = try #require(try await road.push(database).pushed.first)
      #expect(!pushed.unchanged && pushed.version.sequence == 3)
      #expect(try await drill().drilled.first?.hasPassed == true)
      for pack in before where pack.text.hasPrefix("packs/") { road.store.content[pack] = nil }
      #expect(try await drill().drilled.map(\.hasPassed) == [true])
    }

    /// The ids of the versions that a check finds harmed.
    func check(_ reading: CheckRepository.Reading = .all, in world: World? = nil) async throws -> [String?] {
      try await CheckRepository(world ?? road.world).run(at: road.target, databases: [], reading).harmed.map(\.id)
    }

    /// The ids of those that a check finds whole, and that an earlier one found harmed.
    func harmedEarlier(_ reading: CheckRepository.Reading) async throws -> [String?] {
      try await CheckRepository(road.world).run(at: road.target, databases: [], reading).harmedEarlier.map(\.id)
    }

    /// Flips a byte of the newer version's largest pack that a look at the structure reads.
    func flipDirectory() throws {
      let end = try #require(road.store.content[pack]).count
      road.store.content[pack]?[end - 20] ^= 1
    }

    /// The ids of those that a status tells of; it is no sound one as long as there are some.
    func told() async throws -> [String] {
      let outcome = try await StatusOfDatabases(road.world).run([database], at: road.target)
      let status = try #require(outcome.databases.first)
      #expect(status.isSound == status.harmed.isEmpty)
      return status.harmed.map(\.id)
    }

    /// Whether the next push builds on nothing of what is there.
    func isDoubted(in world: World? = nil) async throws -> Bool {
      let repository = try await road.target.open(road.world)
      let state = try StateFolder((world ?? road.world).stateFolder, repository: repository.id)
      let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
      return try !DoubtedVersions(of: chain, in: state).isEmpty
    }

    /// What a drill of an earlier release left that said nothing at the target.
    func doubtNewest(in world: World? = nil) async throws {
      let repository = try await road.target.open(world ?? road.world)
      let state = try StateFolder((world ?? road.world).stateFolder, repository: repository.id)
      let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
      let newest = try #require(Hex.decode(versions[1].id).flatMap { Digest($0) })
      var doubted = try DoubtedVersions(of: chain, in: state, at: repository.place)
      try doubted.add(newest, of: chain, in: state)
    }

    /// Pushes after a change of one row.
    func pushChange() async throws -> VersionSummary {
      try await road.change(database.path)
      return try #require(try await road.push(database).pushed.first?.version)
    }

    /// Whether a version comes back as the database is.
    func comesBack(_ version: VersionSummary) async throws -> Bool {
      let folder = try Scratch()
      let path = folder.file("out.db")
      _ = try await Pull(road.world).run(.id(prefix: version.id), from: road.target, to: .file(path))
      return try await dump(path) == dump(database.path)
    }

    func newest() async throws -> VersionSummary {
      try #require(try await ListVersions(road.world).run(at: road.target).versions.last)
    }
  }

  @Test func `what a drill could not restore takes no place, until a drill restores it`() async throws {
    let spoilt = try await Spoilt()
    let drilled = try #require(try await spoilt.drill().drilled.first)
    #expect(!drilled.hasPassed && drilled.version.foundDamaged?.hasPrefix("restore: ") == true)
    #expect(try await spoilt.newest().foundDamaged == drilled.version.foundDamaged)
    #expect(try await spoilt.going() == [])
    spoilt.flip()
    // A query that finds nothing is no damage, and nothing is said of it.
    let query = Drill.Trial(query: "SELECT 1 FROM t WHERE id > 200")
    #expect(try await spoilt.drill(query).drilled.first?.hasPassed == false)
    #expect(try await spoilt.newest().foundDamaged == nil)
    #expect(try await spoilt.going() == [1])
  }

  @Test func `what a repair far from the database found takes no place`() async throws {
    let spoilt = try await Spoilt()
    let scratch = try Scratch()
    var request = RepairRepository.Request(databases: [])
    request.dryRun = true
    let before = spoilt.road.store.content
    _ = try await RepairRepository(spoilt.road.withoutState(scratch)).run(request, at: spoilt.road.target)
    #expect(spoilt.road.store.content == before)
    request.dryRun = false
    let outcome = try await RepairRepository(spoilt.road.withoutState(scratch)).run(request, at: spoilt.road.target)
    #expect(outcome.elsewhere.map(\.id) == [spoilt.versions[1].id])
    let newest = try await spoilt.newest()
    #expect(newest.foundDamaged?.contains(spoilt.pack.text) == true && !newest.losesCompanionsAlone)
    #expect(try await spoilt.going() == [])
  }

  @Test func `a push after a drill that failed builds on nothing of that version, though nothing changed`() async throws
  {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
    #expect(try await spoilt.drill().drilled.map(\.hasPassed) == [false])
    try await spoilt.demandWholePush()
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
  }

  @Test func `a push builds on nothing that a drill on another machine could not restore`() async throws {
    let spoilt = try await Spoilt()
    let scratch = try Scratch()
    try await spoilt.remember()
    let elsewhere = Drill(spoilt.road.withoutState(scratch))
    #expect(try await elsewhere.run(Drill.Request(), at: spoilt.road.target).drilled.map(\.hasPassed) == [false])
    // Nothing changed here, and the target was asked a while ago.
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
    var request = Push.Request(database: spoilt.database, targets: [spoilt.road.target])
    request.verifyRemoteEvery = 0
    let pushed = try #require(try await Push(spoilt.road.world).run(request).pushed.first)
    #expect(!pushed.unchanged && pushed.version.sequence == 3)
    spoilt.road.store.content[spoilt.pack] = nil
    #expect(try await spoilt.drill().drilled.map(\.hasPassed) == [true])
  }

  @Test func `a drill that another machine passed lets an unchanged database be`() async throws {
    let spoilt = try await Spoilt()
    let scratch = try Scratch()
    spoilt.flip()
    try await spoilt.remember()
    let elsewhere = Drill(spoilt.road.withoutState(scratch))
    #expect(try await elsewhere.run(Drill.Request(), at: spoilt.road.target).drilled.map(\.hasPassed) == [true])
    var request = Push.Request(database: spoilt.database, targets: [spoilt.road.target])
    request.verifyRemoteEvery = 0
    #expect(try await Push(spoilt.road.world).run(request).pushed.map(\.unchanged) == [true])
    // What was read once is not read again: no key is needed.
    let locked = TargetAccess(
      name: "memory", store: spoilt.road.store, unlock: { throw OperationError(.wrongKey, "asked for a key") })
    request.targets = [locked]
    #expect(try await Push(spoilt.road.world).run(request).pushed.map(\.unchanged) == [true])
    // Nobody deletes an annotation: where some were and none is, nobody knows what was said.
    for name in spoilt.road.store.content.keys where name.text.hasPrefix("notes/") {
      spoilt.road.store.content[name] = nil
    }
    let refused = try await Push(spoilt.road.world).run(request)
    #expect(refused.pushed.isEmpty && refused.failures.count == 1)
  }

  /// The drill began when the first version was the newest, and ended after the second was pushed: on the same packs, perhaps.
  @Test func `a push builds on nothing that came after what a drill could not restore`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    let repository = try await spoilt.road.target.open(spoilt.road.world)
    let state = try StateFolder(spoilt.road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let older = try #require(Hex.decode(spoilt.versions[0].id).flatMap { Digest($0) })
    var doubted = try DoubtedVersions(of: chain, in: state)
    try doubted.add(older, of: chain, in: state)
    try await spoilt.demandWholePush()
    #expect(try DoubtedVersions(of: chain, in: state).isEmpty)
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
  }

  /// A folder in the place of the file: what nobody can read, not even the super-user.
  @Test func `a database whose doubts cannot be read is not taken for unchanged, and is not pushed`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    let repository = try await spoilt.road.target.open(spoilt.road.world)
    let state = try StateFolder(spoilt.road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let doubted = "\(state.path)/\(chain.hex)/doubted"
    try FileManager.default.createDirectory(atPath: "\(doubted)/in the way", withIntermediateDirectories: true)
    let outcome = try await spoilt.road.push(spoilt.database)
    #expect(outcome.pushed.isEmpty && outcome.failures.map(\.error.code) == ["stateFolder"])
    // Whoever drills says that the next push may build on it.
    #expect(try await spoilt.drill().drilled.map(\.hasPassed) == [false])
    #expect(spoilt.road.notices.said.withLock { $0 }.contains { $0.hasPrefix("the next push may build on") })
    #expect(spoilt.road.files(in: doubted) == ["in the way"])
    let status = try await StatusOfDatabases(spoilt.road.world).run([spoilt.database], at: spoilt.road.target)
    #expect(status.problems.map(\.code) == ["stateFolder"])
  }

  @Test func `a push that cannot tell which packs are damaged stores nothing, and a status says so`() async throws {
    let spoilt = try await Spoilt()
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    let repository = try await spoilt.road.target.open(spoilt.road.world)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let state = try StateFolder(spoilt.road.world.stateFolder, repository: repository.id)
    let path = "\(state.path)/\(chain.hex)/damaged"
    var bytes = try fileBytes(path)
    bytes[0] ^= 1
    try writeFile(path, bytes)
    let before = spoilt.road.store.content
    let refused = try await spoilt.road.push(spoilt.database)
    #expect(refused.pushed.isEmpty && refused.failures.map(\.error.code) == ["stateFolder"])
    #expect(spoilt.road.store.content == before)
    let status = try await StatusOfDatabases(spoilt.road.world).run([spoilt.database], at: spoilt.road.target)
    #expect(status.problems.map(\.code) == ["stateFolder"])
    // The way out.
    try FileManager.default.moveItem(atPath: path, toPath: "\(path).bad")
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    #expect(try await spoilt.pushChange().bytesNew > 180_000)
    #expect(try fileBytes(path) != bytes)
  }

  @Test(arguments: [true, false])
  func `a repair that cannot tell which packs are damaged saves nothing, and its dry run says so`(dryRun: Bool)
    async throws
  {
    let spoilt = try await Spoilt()
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    let repository = try await spoilt.road.target.open(spoilt.road.world)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let state = try StateFolder(spoilt.road.world.stateFolder, repository: repository.id)
    let path = "\(state.path)/\(chain.hex)/damaged"
    var bytes = try fileBytes(path)
    bytes[0] ^= 1
    try writeFile(path, bytes)
    let before = spoilt.road.store.content
    var request = RepairRepository.Request(databases: [spoilt.database])
    request.dryRun = dryRun
    func repair() async throws -> RepairRepository.Outcome {
      try await RepairRepository(spoilt.road.world).run(request, at: spoilt.road.target)
    }
    let refused = try await repair()
    #expect(refused.failures.map(\.code) == ["stateFolder"] && refused.saved.isEmpty && refused.lost.isEmpty)
    #expect(refused.failures.first?.hint?.contains("mv '\(path)'") == true)
    #expect(spoilt.road.store.content == before)
    #expect(try fileBytes(path) == bytes)
    // The way out.
    try FileManager.default.moveItem(atPath: path, toPath: "\(path).bad")
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    #expect(try await repair().saved.map(\.id) == [spoilt.versions[1].id])
  }

  /// The drill was killed before it could say so at the target, or was told to say nothing there.
  @Test func `who forgets believes the drill of this machine, said or not`() async throws {
    let spoilt = try await Spoilt()
    var request = Drill.Request()
    request.records = false
    #expect(try await Drill(spoilt.road.world).run(request, at: spoilt.road.target).drilled.map(\.hasPassed) == [false])
    #expect(try await spoilt.going().isEmpty)
  }

  @Test func `a status tells of what a drill of this machine could not restore, said or not`() async throws {
    let spoilt = try await Spoilt()
    var request = Drill.Request()
    request.records = false
    func passes() async throws -> [Bool] {
      try await Drill(spoilt.road.world).run(request, at: spoilt.road.target).drilled.map(\.hasPassed)
    }
    #expect(try await passes() == [false])
    #expect(try await spoilt.told() == [spoilt.versions[1].id])
    spoilt.flip()
    #expect(try await passes() == [true])
    #expect(try await spoilt.told() == [])
    // Where it was said, no list says it twice.
    spoilt.flip()
    #expect(try await spoilt.drill().drilled.map(\.recorded) == [true])
    let status = try await StatusOfDatabases(spoilt.road.world).run([spoilt.database], at: spoilt.road.target)
    #expect(status.databases.map(\.foundDamaged) == [1] && status.databases.map(\.harmed.count) == [0])
  }

  @Test func `what an earlier release could not restore and said nowhere is an alarm`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.doubtNewest()
    #expect(try await spoilt.told() == [spoilt.versions[1].id])
  }

  /// A push rests on nothing of it, which makes it no better.
  @Test(arguments: [true, false])
  func `no push ends the alarm of a drill that was not noted`(mayBeNoted: Bool) async throws {
    let spoilt = try await Spoilt()
    let (road, id) = (spoilt.road, spoilt.versions[1].id)
    var request = Drill.Request()
    request.records = mayBeNoted
    let reading = TargetAccess(name: "memory", store: ReadOnlyStore(road.store), unlock: road.target.unlock)
    let drilled = try await Drill(road.world).run(request, at: reading).drilled
    #expect(drilled.map(\.hasPassed) == [false] && drilled.map(\.recorded) == [false])
    #expect(try await spoilt.pushChange().sequence == 3)
    #expect(try await !spoilt.isDoubted())
    #expect(try await spoilt.told() == [id])
    #expect(try await spoilt.going(last: 2) == [])
    spoilt.flip()
    #expect(try await spoilt.check() == [])
    #expect(try await spoilt.told() == [])
    #expect(try await spoilt.going(last: 2) == [1])
  }

  @Test func `what a drill of an older version could not restore says nothing of the newest`() async throws {
    let spoilt = try await Spoilt()
    let road = spoilt.road
    spoilt.flip()
    let older = road.store.content.filter { $0.key.text.hasPrefix("packs/") && $0.key != spoilt.pack }
    let pack = try #require(older.max { $0.value.count < $1.value.count }?.key)
    road.store.content[pack]?[5000] ^= 1
    var request = Drill.Request()
    request.choice = .versions([.id(prefix: spoilt.versions[0].id)])
    #expect(try await Drill(road.world).run(request, at: road.target).drilled.map(\.hasPassed) == [false])
    #expect(try await road.push(spoilt.database).pushed.map(\.unchanged) == [true])
  }

  @Test func `what a later drill restores is built on again`() async throws {
    let spoilt = try await Spoilt()
    _ = try await spoilt.drill()
    spoilt.flip()
    #expect(try await spoilt.drill().drilled.map(\.hasPassed) == [true])
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
  }

  @Test func `a push after a repair that knew no databases builds on nothing damaged`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    _ = try await RepairRepository(spoilt.road.world).run(.init(databases: []), at: spoilt.road.target)
    let pushed = try #require(try await spoilt.road.push(spoilt.database).pushed.first)
    #expect(!pushed.unchanged)
    #expect(try await spoilt.drill().drilled.map(\.hasPassed) == [true])
  }

  @Test func `a target that does not answer says nothing of a version`() async throws {
    let spoilt = try await Spoilt()
    spoilt.flip()
    for error in [StoreError(.unavailable, "no route"), StoreError(.forbidden, "not allowed")] {
      let store = SilentPacks(spoilt.road.store, error: error)
      let outcome = try await spoilt.drill(
        at: TargetAccess(name: "memory", store: store, unlock: spoilt.road.target.unlock))
      #expect(outcome.drilled.isEmpty && outcome.failures.map(\.error.kind) == [.failed])
    }
    // A disk that was taken away shows neither packs nor manifests.
    let gone = SilentPacks(spoilt.road.store, error: StoreError(.notFound, "not there"), hidesManifests: true)
    let outcome = try await spoilt.drill(
      at: TargetAccess(name: "memory", store: gone, unlock: spoilt.road.target.unlock))
    #expect(outcome.drilled.isEmpty && outcome.failures.count == 1)
    let newest = try await spoilt.newest()
    #expect(newest.foundDamaged == nil && newest.drilledAt == nil)
  }

  @Test func `a pack that the target shows and cannot read is damage, and no push builds on it`() async throws {
    let spoilt = try await Spoilt()
    spoilt.flip()
    try await spoilt.remember()
    let pack = spoilt.pack
    let store = HookedStore(
      spoilt.road.store,
      beforeGet: { name async throws(StoreError) in
        if name == pack { throw StoreError(.unreadable, "input/output error") }
      })
    let disk = TargetAccess(name: "memory", store: store, unlock: spoilt.road.target.unlock)
    let drilled = try #require(try await spoilt.drill(at: disk).drilled.first)
    #expect(!drilled.hasPassed && drilled.version.foundDamaged?.contains("input/output error") == true)
    #expect(try await spoilt.newest().foundDamaged == drilled.version.foundDamaged)
    try await spoilt.demandWholePush()
  }

  /// A version that nobody found damaged when it was pushed, and that is no sound database.
  private func unsound() async throws -> (Road, DatabaseSource) {
    let road = try await Road()
    let path = try road.database(rows: 20)
    let database = DatabaseSource(name: "app", path: path)
    _ = try await road.push(database)
    try SQLite.run("update t set body = null where id = 7", on: path)
    try SQLite.run(
      """
      PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id integer primary key, body blob NOT NULL)' WHERE name = 't';
      """, on: path)
    var push = Push(road.world)
    push.check = { _ in .ok }
    let pushed = try await push.run(Push.Request(database: database, targets: [road.target]))
    #expect(pushed.damage == nil)
    return (road, database)
  }

  @Test func `a database that fails its check after it was restored takes no place, and repair does not change that`()
    async throws
  {
    let (road, database) = try await unsound()
    #expect(try await Drill(road.world).run(Drill.Request(), at: road.target).drilled.first?.hasPassed == false)
    func isFlagged() async throws -> Bool {
      let newest = try await ListVersions(road.world).run(at: road.target).versions.last
      return newest?.foundDamaged?.contains("integrity_check") == true
    }
    #expect(try await isFlagged())
    _ = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(try await isFlagged())
  }

  /// Somebody had found that it could not be had, and it was brought back since.
  @Test func `that what comes back is no sound database outlasts what was found before`() async throws {
    let (road, database) = try await unsound()
    let lookup = try await VersionLookup(at: road.target, road.world)
    let facts = try #require(try await lookup.histories().first?.newest)
    try await lookup.repository.annotate(
      facts, [.init(.foundDamaged, "damaged or missing: packs/x")], now: road.world.now(), state: lookup.state)
    let drilled = try #require(try await Drill(road.world).run(Drill.Request(), at: road.target).drilled.first)
    #expect(drilled.version.foundDamaged?.contains("integrity_check") == true)
    for _ in 0..<2 {
      let newest = try await ListVersions(road.world).run(at: road.target).versions.last
      #expect(newest?.foundDamaged?.contains("integrity_check") == true)
      _ = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    }
  }

  /// A later SQLite on another machine could check it, or one that has what the application has.
  @Test(arguments: [true, false])
  func `a drill that cannot check an image does not take back that it is no sound database`(isOfImage: Bool)
    async throws
  {
    let road = try await Road()
    let path = road.scratch.file("strange.db")
    try SampleDatabase.applicationCollation.make(at: path)
    _ = try await road.push(DatabaseSource(name: "app", path: path))
    let found = isOfImage ? "what was restored is no sound database: x" : "damaged or missing: packs/x"
    let lookup = try await VersionLookup(at: road.target, road.world)
    let facts = try #require(try await lookup.histories().first?.newest)
    try await lookup.repository.annotate(
      facts, [.init(.foundDamaged, found)], now: road.world.now(), state: lookup.state)
    let drilled = try #require(try await Drill(road.world).run(Drill.Request(), at: road.target).drilled.first)
    #expect(drilled.hasPassed && drilled.recorded)
    // That it came back is proved here, too.
    #expect(drilled.version.foundDamaged == (isOfImage ? found : nil))
    let newest = try await ListVersions(road.world).run(at: road.target).versions.last
    #expect(newest?.foundDamaged == drilled.version.foundDamaged && newest?.drillPassed == true)
  }

  /// A listing that comes late, or a target that hides it.
  @Test func `a pack that is not listed is read all the same`() async throws {
    let spoilt = try await Spoilt()
    let store = spoilt.road.store
    let hiding = ListingStore(base: store) { [pack = spoilt.pack] (prefix) async throws(StoreError) in
      try await store.list(prefix: prefix).filter { $0.name != pack }
    }
    let target = TargetAccess(name: "memory", store: hiding, unlock: spoilt.road.target.unlock)
    let check = CheckRepository(spoilt.road.world)
    #expect(try await !check.run(at: target, databases: [], .all).isSound)
    spoilt.flip()
    #expect(try await check.run(at: target, databases: [], .all).isSound)
  }

  @Test func `a pack that was moved into a folder is not there`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    _ = try await road.push(database)
    for (name, bytes) in road.store.content where name.text.hasPrefix("packs/") {
      let parts = name.text.split(separator: "/")
      road.store.content[try #require(ObjectName("packs/\(parts[1])/old/\(parts[2])"))] = bytes
      road.store.content[name] = nil
    }
    try await road.change(database.path)
    let pushed = try #require(try await road.push(database).pushed.first)
    let path = road.scratch.file("out.db")
    _ = try await Pull(road.world).run(.id(prefix: pushed.version.id), from: road.target, to: .file(path))
    #expect(try await dump(path) == dump(database.path))
  }

  @Test func `indexes that only their application agrees with fail a drill, and take no place away`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20), method: .pages)
    _ = try await road.push(database)
    let application = try TestDatabase(database.path)
    application.replaceLower()
    try application.run("CREATE INDEX i ON t(lower(body))")
    application.close()
    #expect(try await road.push(database).damage == nil)
    let drilled = try #require(try await Drill(road.world).run(Drill.Request(), at: road.target).drilled.first)
    #expect(!drilled.hasPassed && drilled.text.contains("REINDEX"))
    #expect(drilled.version.foundDamaged == nil && drilled.version.drillPassed == false)
    #expect(try await ListVersions(road.world).run(at: road.target).versions.last?.foundDamaged == nil)
    // The newest is one that others may go for.
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let plan = try await ForgetVersions(road.world).plan(request, at: road.target)
    #expect(plan.chains.flatMap { $0.plan.going.map(\.version.sequence) } == [1])
  }
}

/// What a check found is remembered by the machine that it ran on.
extension FoundDamagedTests {
  @Test func `what a check found is not built on, and is told until it is whole again`() async throws {
    let spoilt = try await Spoilt()
    let harmed = spoilt.versions[1].id
    #expect(try await spoilt.told() == [])
    #expect(try await spoilt.check() == [harmed])
    #expect(try await spoilt.told() == [harmed])
    #expect(try await spoilt.isDoubted())
    let third = try await spoilt.pushChange()
    #expect(third.sequence == 3 && third.bytesNew > 180_000)
    #expect(try await spoilt.comesBack(third))
    // That nothing rests on it makes it no better; and what is older is no doubt.
    #expect(try await spoilt.told() == [harmed])
    #expect(try await spoilt.check() == [harmed])
    #expect(try await !spoilt.isDoubted())
    let fourth = try await spoilt.pushChange()
    #expect(fourth.sequence == 4 && fourth.bytesNew < 90_000)
    #expect(try await spoilt.comesBack(fourth))
    // Who does not read it finds nothing, and is told what was found before.
    spoilt.flip()
    #expect(try await spoilt.check(.structure) == [])
    #expect(try await spoilt.told() == [harmed])
    #expect(try await spoilt.harmedEarlier(.structure) == [harmed])
    #expect(try await spoilt.check(.part(1, of: 1)) == [])
    #expect(try await spoilt.told() == [])
    #expect(try await spoilt.harmedEarlier(.structure) == [])
  }

  @Test func `a database whose newest version a check found harmed is not unchanged`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    try await spoilt.demandWholePush()
  }

  @Test func `what a later check of everything finds whole is built on again`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    spoilt.flip()
    #expect(try await spoilt.check() == [])
    #expect(try await spoilt.told() == [])
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
  }

  @Test(arguments: [true, false]) func `a repair or a drill takes back what a check found`(isRepair: Bool) async throws
  {
    let spoilt = try await Spoilt()
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    if isRepair {
      let repair = RepairRepository(spoilt.road.world)
      let saved = try await repair.run(.init(databases: [spoilt.database]), at: spoilt.road.target).saved
      #expect(saved.map(\.id) == [spoilt.versions[1].id])
    } else {
      spoilt.flip()
      #expect(try await spoilt.drill().drilled.map(\.hasPassed) == [true])
    }
    #expect(try await spoilt.told() == [])
  }

  /// The next push sees by a listing what it has to store anew.
  @Test func `a pack that a check missed is asked for by the next push, and not once it is back`() async throws {
    let spoilt = try await Spoilt()
    spoilt.flip()
    try await spoilt.remember()
    let (store, harmed) = (spoilt.road.store, spoilt.versions[1].id)
    let pack = try #require(store.content[spoilt.pack])
    store.content[spoilt.pack] = nil
    #expect(try await spoilt.check(.structure) == [harmed])
    #expect(try await spoilt.told() == [harmed])
    store.content[spoilt.pack] = pack
    #expect(try await spoilt.check(.structure) == [])
    #expect(try await spoilt.told() == [])
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
    #expect(try await spoilt.pushChange().bytesNew < 90_000)
  }

  @Test func `a database of which a check missed a pack is not unchanged`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    spoilt.road.store.content[spoilt.pack] = nil
    #expect(try await spoilt.check(.structure) == [spoilt.versions[1].id])
    let pushed = try #require(try await spoilt.road.push(spoilt.database).pushed.first)
    #expect(!pushed.unchanged && pushed.version.sequence == 3)
    #expect(try await spoilt.comesBack(pushed.version))
  }

  @Test func `a manifest that a check could not read is not taken for a version that is there`() async throws {
    let spoilt = try await Spoilt()
    spoilt.flip()
    try await spoilt.remember()
    #expect(try await spoilt.told() == [])
    let store = spoilt.road.store
    let manifests = store.content.keys.filter { $0.text.hasPrefix("versions/") }.sorted { $0.text < $1.text }
    for (manifest, version) in zip(manifests, spoilt.versions) {
      store.content[manifest]?[200] ^= 1
      #expect(try await spoilt.check(.structure) == [version.id])
      guard version.sequence == 1 else { continue }
      // What was read of it before is kept on this machine.
      let outcome = try await StatusOfDatabases(spoilt.road.world).run([spoilt.database], at: spoilt.road.target)
      #expect(outcome.databases.map { $0.harmed.map(\.id) } == [[version.id]])
      store.content[manifest]?[200] ^= 1
      #expect(try await spoilt.check(.structure) == [])
      #expect(try await spoilt.told() == [])
    }
    let pushed = try #require(try await spoilt.road.push(spoilt.database).pushed.first)
    #expect(!pushed.unchanged && pushed.version.sequence == 3)
    #expect(try await spoilt.comesBack(pushed.version))
  }

  /// What that version alone needs nobody looked at, and this machine keeps the manifest.
  @Test(arguments: [CheckRepository.Reading.structure, .all])
  func `a push rests on nothing of a version whose manifest a check could not read`(_ reading: CheckRepository.Reading)
    async throws
  {
    let spoilt = try await Spoilt()
    spoilt.flip()
    let store = spoilt.road.store
    let before = Set(store.content.keys)
    try SQLite.run("update t set body = randomblob(900) where id % 2 = 0", on: spoilt.database.path)
    let third = try #require(try await spoilt.road.push(spoilt.database).pushed.first?.version)
    let new = store.content.keys.filter { !before.contains($0) }
    let manifest = try #require(new.first { $0.text.hasPrefix("versions/") })
    let packs = new.filter { $0.text.hasPrefix("packs/") }
    store.content[manifest]?[200] ^= 1
    for pack in packs { store.content[pack]?[200] ^= 1 }
    #expect(!packs.isEmpty)
    #expect(try await spoilt.check(reading) == [third.id])
    #expect(try await spoilt.isDoubted())
    let fourth = try await spoilt.pushChange()
    #expect(fourth.sequence == 4)
    #expect(try await spoilt.comesBack(fourth))
    #expect(try await spoilt.told() == [third.id])
    for name in [manifest] + packs { store.content[name]?[200] ^= 1 }
    #expect(try await spoilt.check(.structure) == [])
    #expect(try await spoilt.told() == [])
  }

  /// A copy of all objects of the target, which shows the same repository.
  @Test func `what a check of a copy finds is not told of the target`() async throws {
    let spoilt = try await Spoilt()
    spoilt.flip()
    try await spoilt.remember()
    let (store, copy) = (spoilt.road.store, MemoryStore(location: "copy"))
    for (name, bytes) in store.content { copy.content[name] = bytes }
    let mirror = TargetAccess(name: "mirror", store: copy, unlock: spoilt.road.target.unlock)
    // One push behind.
    let newest = try #require(
      copy.content.keys.filter { $0.text.hasPrefix("versions/") }.max { $0.text < $1.text })
    copy.content[newest] = nil
    let check = CheckRepository(spoilt.road.world)
    let behind = try await check.run(at: mirror, databases: [], .structure)
    #expect(behind.harmed.map(\.id) == [spoilt.versions[1].id])
    #expect(try await spoilt.told() == [])
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
    // It lacks a pack.
    copy.content[newest] = store.content[newest]
    copy.content[spoilt.pack] = nil
    var request = Drill.Request()
    request.records = false
    let drilled = try await Drill(spoilt.road.world).run(request, at: mirror).drilled
    #expect(drilled.map(\.hasPassed) == [false])
    let unlocked = Counter()
    let counted = TargetAccess(name: "target", store: store) {
      _ = unlocked.add(1)
      return try await spoilt.road.target.unlock()
    }
    var wish = Push.Request(database: spoilt.database, targets: [counted])
    #expect(try await Push(spoilt.road.world).run(wish).pushed.map(\.unchanged) == [true])
    #expect(unlocked.add(0) == 0)
    try await spoilt.road.change(spoilt.database.path)
    wish.dryRun = true
    let rehearsed = try #require(try await Push(spoilt.road.world).run(wish).pushed.first)
    #expect(!rehearsed.unchanged && rehearsed.version.bytesNew < 90_000)
    // A directory that nobody can read, which a look at the target finds whole.
    copy.content[spoilt.pack] = store.content[spoilt.pack]
    let end = try #require(copy.content[spoilt.pack]).count
    copy.content[spoilt.pack]?[end - 20] ^= 1
    #expect(try await check.run(at: mirror, databases: [], .structure).harmed.count == 1)
    #expect(try await spoilt.told() == [])
    let repository = try await spoilt.road.target.open(spoilt.road.world)
    let state = try StateFolder(spoilt.road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    #expect(try DoubtedVersions(of: chain, in: state, at: repository.place).isEmpty)
    #expect(try await spoilt.isDoubted())
    let found = try await StatusOfDatabases(spoilt.road.world).run([spoilt.database], at: mirror)
    #expect(found.databases.map { $0.harmed.map(\.id) } == [[spoilt.versions[1].id]])
  }

  @Test func `what is damaged in a copy is built on at the target`() async throws {
    let spoilt = try await Spoilt()
    let (store, copy) = (spoilt.road.store, MemoryStore(location: "copy"))
    for (name, bytes) in store.content { copy.content[name] = bytes }
    spoilt.flip()
    let mirror = TargetAccess(name: "mirror", store: copy, unlock: spoilt.road.target.unlock)
    let found = try await CheckRepository(spoilt.road.world).run(at: mirror, databases: [], .all)
    #expect(found.harmed.map(\.id) == [spoilt.versions[1].id])
    let pushed = try await spoilt.pushChange()
    #expect(pushed.bytesNew < 90_000)
    #expect(try await spoilt.comesBack(pushed))
  }

  @Test func `what a check of a folder finds is told by whatever link it is reached`() async throws {
    let road = try await Road()
    let (path, link) = (road.scratch.file("repo"), road.scratch.file("alias"))
    let unlock = road.target.unlock
    let own = TargetAccess(name: "own", store: try FolderStore(path: path, create: true), unlock: unlock)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    let alias = TargetAccess(name: "alias", store: try FolderStore(path: link), unlock: unlock)
    #expect(own.store.place.name == alias.store.place.name)
    #expect(own.store.traits.identity != alias.store.traits.identity)
    // By which an earlier build noted what it found there.
    #expect(own.store.place.formerName == nil && alias.store.place.formerName != nil)

    _ = try await Initialize(road.world).run(at: own, ifMissing: false)
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    let pushed = try await Push(road.world).run(Push.Request(database: database, targets: [own]))
    let version = try #require(pushed.pushed.first?.version)
    let packs = try await own.store.list(prefix: "packs/")
    let largest = try #require(packs.max { $0.size < $1.size })
    let pack = "\(path)/\(largest.name.text)"
    let whole = try fileBytes(pack)
    var spoilt = whole
    spoilt[5000] ^= 1
    func told() async throws -> [[String]] {
      var told: [[String]] = []
      for target in [own, alias] {
        let status = try await StatusOfDatabases(road.world).run([database], at: target)
        told.append(status.databases.flatMap(\.harmed).map(\.id))
      }
      return told
    }
    for (target, bytes) in [(alias, spoilt), (own, whole), (own, spoilt), (alias, whole)] {
      try writeFile(pack, bytes)
      let harmed = bytes == whole ? [] : [version.id]
      let found = try await CheckRepository(road.world).run(at: target, databases: [], .all)
      #expect(found.harmed.compactMap(\.id) == harmed)
      #expect(try await told() == [harmed, harmed])
    }
  }

  /// What was found damaged is no part of it any more, which needs no reading to be seen.
  @Test func `a version that another machine wrote anew is no alarm`() async throws {
    let spoilt = try await Spoilt()
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    let repair = RepairRepository(spoilt.elsewhere)
    let saved = try await repair.run(.init(databases: [spoilt.database]), at: spoilt.road.target).saved
    #expect(saved.map(\.id) == [spoilt.versions[1].id])
    #expect(try await spoilt.told() == [spoilt.versions[1].id])
    #expect(try await spoilt.check(.structure) == [])
    #expect(try await spoilt.told() == [])
    #expect(try await !spoilt.isDoubted())
    #expect(try await spoilt.road.push(spoilt.database).pushed.map(\.unchanged) == [true])
  }

  /// A drill ends at the first thing that it cannot have: that need not be what a check found.
  @Test(arguments: [true, false], [true, false])
  func `what a drill could not restore is doubted until it is read, though it was written anew`(
    isDrillFirst: Bool, isNoted: Bool
  ) async throws {
    let spoilt = try await Spoilt()
    var request = Drill.Request()
    request.records = isNoted
    if !isDrillFirst { #expect(try await spoilt.check() == [spoilt.versions[1].id]) }
    let drilled = try await Drill(spoilt.road.world).run(request, at: spoilt.road.target).drilled
    #expect(drilled.map(\.hasPassed) == [false])
    if isDrillFirst { #expect(try await spoilt.check() == [spoilt.versions[1].id]) }
    let repair = RepairRepository(spoilt.elsewhere)
    let saved = try await repair.run(.init(databases: [spoilt.database]), at: spoilt.road.target).saved
    #expect(saved.map(\.id) == [spoilt.versions[1].id])
    #expect(try await spoilt.check(.structure) == [])
    #expect(try await spoilt.isDoubted())
    #expect(try await spoilt.told() == [spoilt.versions[1].id])
    #expect(try await spoilt.check() == [])
    #expect(try await !spoilt.isDoubted())
    // A failed drill that was noted is an alarm of its own, which another one ends.
    if isNoted { #expect(try await spoilt.drill().drilled.map(\.hasPassed) == [true]) }
    #expect(try await spoilt.told() == [])
  }

  @Test func `a version without packs is remembered by its manifest`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    let first = try #require(try await road.push(database).pushed.first?.version)
    #expect(!road.store.content.keys.contains { $0.text.hasPrefix("packs/") })
    try await road.change(database.path)
    let second = try #require(try await road.push(database).pushed.first?.version)
    #expect(try await ListVersions(road.world).run(at: road.target).versions.count == 2)
    let manifest = try #require(
      road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.min { $0.text < $1.text })
    func harmed(_ reading: CheckRepository.Reading) async throws -> [String] {
      let found = try await CheckRepository(road.world).run(at: road.target, databases: [], reading)
      let status = try await StatusOfDatabases(road.world).run([database], at: road.target)
      let told = try #require(status.databases.first).harmed.map(\.id)
      #expect(Set(found.harmed.compactMap(\.id)) == Set(told))
      return told
    }
    road.store.content[manifest]?[200] ^= 1
    #expect(try await harmed(.all).contains(first.id))
    road.store.content[manifest]?[200] ^= 1
    #expect(try await harmed(.all) == [])
    #expect(second.sequence == 2)
  }

  /// A check says nothing at the target; a repair may save what it found.
  @Test(arguments: [true, false])
  func `who forgets rests on nothing that a check found harmed, and lets it stay where a rule keeps it`(isGone: Bool)
    async throws
  {
    let spoilt = try await Spoilt()
    if isGone { spoilt.road.store.content[spoilt.pack] = nil }
    #expect(try await spoilt.check(isGone ? .structure : .all) == [spoilt.versions[1].id])
    if !isGone { #expect(try await spoilt.going() == []) }
    #expect(try await spoilt.pushChange().sequence == 3)
    #expect(try await spoilt.going(last: 2) == [])
    #expect(try await spoilt.going() == [1, 2])
  }

  /// A machine that checks and forgets for others never pushes: no push settles what it found.
  @Test func `what a check finds whole again is neither doubted nor let go`() async throws {
    let spoilt = try await Spoilt()
    spoilt.flip()
    let elsewhere = spoilt.elsewhere
    try spoilt.flipDirectory()
    #expect(try await spoilt.check(.structure, in: elsewhere) == [spoilt.versions[1].id])
    #expect(try await spoilt.isDoubted(in: elsewhere))
    try spoilt.flipDirectory()
    #expect(try await spoilt.check(.structure, in: elsewhere) == [])
    #expect(try await !spoilt.isDoubted(in: elsewhere))
    #expect(try await spoilt.pushChange().sequence == 3)
    #expect(try await spoilt.going(last: 5, in: elsewhere) == [])
    #expect(try await spoilt.going(in: elsewhere) == [1, 2])
  }

  @Test(arguments: [true, false])
  func `a version whose manifest a check could read again is not let go`(isKnown: Bool) async throws {
    let spoilt = try await Spoilt()
    spoilt.flip()
    let (store, elsewhere) = (spoilt.road.store, spoilt.elsewhere)
    if isKnown { _ = try await ListVersions(elsewhere).run(at: spoilt.road.target) }
    let manifest = try #require(
      store.content.keys.filter { $0.text.hasPrefix("versions/") }.max { $0.text < $1.text })
    store.content[manifest]?[200] ^= 1
    #expect(try await spoilt.check(.structure, in: elsewhere) == [isKnown ? spoilt.versions[1].id : nil])
    #expect(try await spoilt.isDoubted(in: elsewhere))
    store.content[manifest]?[200] ^= 1
    #expect(try await spoilt.check(.structure, in: elsewhere) == [])
    #expect(try await !spoilt.isDoubted(in: elsewhere))
    #expect(try await spoilt.pushChange().sequence == 3)
    #expect(try await spoilt.going(last: 5, in: elsewhere) == [])
  }

  /// A drill that says nothing at the target, and what an earlier check left behind.
  @Test(arguments: [true, false])
  func `what a machine only doubts takes no place, and stays where a rule keeps it`(isOfEarlierRelease: Bool)
    async throws
  {
    let spoilt = try await Spoilt()
    let elsewhere = spoilt.elsewhere
    if isOfEarlierRelease {
      try await spoilt.doubtNewest(in: elsewhere)
    } else {
      var request = Drill.Request()
      request.records = false
      let outcome = try await Drill(elsewhere).run(request, at: spoilt.road.target)
      #expect(outcome.drilled.map(\.hasPassed) == [false])
    }
    #expect(try await spoilt.pushChange().sequence == 3)
    #expect(try await spoilt.going(last: 2, in: elsewhere) == [])
    #expect(try await spoilt.going(in: elsewhere) == [1, 2])
  }

  @Test func `what a check cannot remember is told, and a status says that it is not known`() async throws {
    let spoilt = try await Spoilt()
    try await spoilt.remember()
    let repository = try await spoilt.road.target.open(spoilt.road.world)
    let state = try StateFolder(spoilt.road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let path = "\(state.path)/\(chain.hex)/harmed"
    try FileManager.default.createDirectory(atPath: "\(path)/in the way", withIntermediateDirectories: true)
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    #expect(spoilt.road.notices.said.withLock { $0 }.contains { $0.contains("what was found cannot be remembered") })
    let status = try await StatusOfDatabases(spoilt.road.world).run([spoilt.database], at: spoilt.road.target)
    #expect(status.problems.map(\.code) == ["stateFolder"])
    #expect(spoilt.road.files(in: path) == ["in the way"])
  }

  @Test(arguments: ["harmed", "doubted", "damaged"])
  func `a push does not build on what a check found, whichever file cannot take it`(_ file: String) async throws {
    let spoilt = try await Spoilt()
    let repository = try await spoilt.road.target.open(spoilt.road.world)
    let state = try StateFolder(spoilt.road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let folder = "\(state.path)/\(chain.hex)"
    try writeFile("\(folder)/\(file)", Array("no line\n".utf8))
    #expect(try await spoilt.check() == [spoilt.versions[1].id])
    let notices = spoilt.road.notices.said.withLock { $0 }
    let told = notices.filter { $0.contains("what was found cannot be remembered") }
    #expect(told.count == 1 && told.allSatisfy { $0.contains("mv '\(folder)/\(file)'") })
    // The others are written, and nothing else is.
    #expect(try fileBytes("\(folder)/\(file)") == Array("no line\n".utf8))
    for other in ["harmed", "doubted", "damaged"] where other != file {
      #expect(FileManager.default.fileExists(atPath: "\(folder)/\(other)"), "\(other)")
    }
    try await spoilt.road.change(spoilt.database.path)
    let outcome = try await spoilt.road.push(spoilt.database)
    guard file == "harmed" else {
      #expect(outcome.pushed.isEmpty && outcome.failures.map(\.error.code) == ["stateFolder"])
      return
    }
    let pushed = try #require(outcome.pushed.first?.version)
    #expect(try await spoilt.comesBack(pushed))
  }
}

/// Packs cannot be had.
private final class SilentPacks: ObjectStore {
  private let base: MemoryStore
  private let error: StoreError
  private let hidesManifests: Bool
  private let hasAsked = Locked(false)

  init(_ base: MemoryStore, error: StoreError, hidesManifests: Bool = false) {
    self.base = base
    self.error = error
    self.hidesManifests = hidesManifests
  }

  var traits: StoreTraits { base.traits }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    guard !name.text.hasPrefix("packs/") else {
      hasAsked.withLock { $0 = true }
      throw error
    }
    return try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    let listed = try await base.list(prefix: prefix)
    return hidesManifests && hasAsked.withLock { $0 } ? listed.filter { !$0.name.text.hasPrefix("versions/") } : listed
  }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
