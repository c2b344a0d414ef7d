import FoundationEssentials
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// Damage at a target, as a person meets it: found, repaired as far as it can be, and the rest named.
@Suite struct CheckAndRepairTests {
  /// Four versions on one anchor; what changes is little.
  private func pushed() async throws -> (
    road: Road, database: DatabaseSource, versions: [VersionSummary], dumps: [String]
  ) {
    let road = try await Road()
    let path = try road.database(rows: 400)
    let database = DatabaseSource(name: "app", path: path)
    var versions: [VersionSummary] = []
    var dumps: [String] = []
    for round in 0..<4 {
      if round > 0 { try SQLite.run("update t set body = randomblob(900) where id = \(round * 90)", on: path) }
      versions.append(try #require(try await road.push(database).pushed.first?.version))
      dumps.append(try await dump(path))
    }
    return (road, database, versions, dumps)
  }

  private func largestPack(_ road: Road) throws -> ObjectName {
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") }
    return try #require(packs.max { $0.value.count < $1.value.count }?.key)
  }

  private func restores(_ version: VersionSummary, _ road: Road) async throws -> String {
    let folder = try Scratch()
    let file = folder.file("restored.db")
    _ = try await Pull(road.world).run(.id(prefix: version.id), from: road.target, to: .file(file))
    return try await dump(file)
  }

  private func check(_ road: Road, _ reading: CheckRepository.Reading = .all) async throws -> CheckRepository.Outcome {
    try await CheckRepository(road.world).run(at: road.target, databases: [], reading)
  }

  @Test func `what is lost a second time is said a second time, whatever the clock says`() async throws {
    let (road, database, versions, _) = try await pushed()
    var world = road.world
    let now = Locked(road.world.now() + 86_400_000)
    world.now = { now.withLock { $0 } }
    let pack = try largestPack(road)
    let whole = try #require(road.store.content[pack])
    func isFlagged() async throws -> Bool {
      let list = try await ListVersions(world).run(at: road.target)
      return list.versions.contains { $0.id == versions[0].id && $0.foundDamaged != nil }
    }
    // The rows of the first version are nowhere else any more.
    try SQLite.run("update t set body = randomblob(900)", on: database.path)
    try FileManager.default.removeItem(atPath: "\(road.world.stateFolder)/bases")
    for damaged in [true, false, true] {
      road.store.content[pack] = whole
      if damaged { road.store.content[pack]?[400] ^= 1 }
      _ = try await RepairRepository(world).run(.init(databases: [database]), at: road.target)
      #expect(try await isFlagged() == damaged)
      now.withLock { $0 -= 60_000_000 }
    }
  }

  /// 64 bytes that cost nothing to make again must not stand between a new machine and its versions.
  @Test(arguments: [true, false]) func `a lost repository file hides nothing, and no second repository is made`(
    isCut: Bool
  ) async throws {
    let (road, _, versions, dumps) = try await pushed()
    let file = try #require(road.store.content.keys.first { $0.text.hasPrefix("repo/") })
    if isCut { road.store.content[file]?.removeLast() } else { road.store.content[file] = nil }
    let error = await #expect(throws: OperationError.self) {
      try await Initialize(road.world).run(at: road.target, ifMissing: false)
    }
    #expect(error?.code == "repositoryExists")
    #expect(try await Initialize(road.world).run(at: road.target, ifMissing: true).created == false)
    let elsewhere = try Scratch()
    let list = try await ListVersions(road.withoutState(elsewhere)).run(at: road.target)
    #expect(list.versions.map(\.id) == versions.map(\.id))
    #expect(try await restores(versions[3], road) == dumps[3])
    #expect(road.notices.said.withLock { $0.contains { $0.contains("the repository file was lost") } })
    #expect(try await !check(road, .structure).isSound)
    _ = try await RepairRepository(road.world).run(.init(databases: []), at: road.target)
    #expect(try await check(road).isSound)
  }

  @Test(arguments: [true, false]) func `a lost configuration is written back by a machine that remembers it`(
    isDamaged: Bool
  ) async throws {
    let (road, database, _, _) = try await pushed()
    let whole = road.store.content
    for name in whole.keys where name.text.hasPrefix("config/") {
      if isDamaged { road.store.content[name]?[200] ^= 1 } else { road.store.content[name] = nil }
    }
    let lost = road.store.content
    let elsewhere = try Scratch()
    let stranger = road.withoutState(elsewhere)
    let refused = await #expect(throws: OperationError.self) {
      try await RepairRepository(stranger).run(.init(databases: []), at: road.target)
    }
    #expect(refused?.kind == .verificationFailed && refused?.hint?.contains("another machine") == true)
    #expect(road.store.content == lost)

    let checked = try await check(road, .structure)
    #expect(checked.lacksConfiguration && checked.remembersConfiguration && !checked.isSound)
    var request = RepairRepository.Request(databases: [database])
    request.dryRun = true
    let planned = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(planned.copies.count == 2 && planned.isWhole && road.store.content == lost)
    request.dryRun = false
    let outcome = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(outcome.copies == planned.copies && outcome.isWhole)
    for (name, bytes) in whole { #expect(road.store.content[name] == bytes) }
    #expect(try await check(road).isSound)
    try await road.change(database.path)
    #expect(try await road.push(database).failures.isEmpty)
  }

  @Test func `with the bases that are kept here every version is saved, bit for bit`() async throws {
    let (road, database, versions, dumps) = try await pushed()
    #expect(try await check(road).isSound)
    let pack = try largestPack(road)
    road.store.content[pack]?[5000] ^= 1
    let found = try await check(road)
    #expect(found.findings.filter(\.isDamage).map(\.object) == [pack.text])
    #expect(found.harmed.count == 4 && found.whole.isEmpty)
    #expect(try await check(road, .structure).isSound)

    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(repaired.isWhole && repaired.saved.count == 4 && repaired.pushed.isEmpty && repaired.copies.isEmpty)
    road.store.content[pack] = nil
    for (version, content) in zip(versions, dumps) { #expect(try await restores(version, road) == content) }
    #expect(try await check(road).isSound)
    let list = try await ListVersions(road.world).run(at: road.target)
    #expect(list.versions.map(\.id) == versions.map(\.id) && list.versions.allSatisfy { $0.foundDamaged == nil })
  }

  @Test func `what chains of a hostile listing add up to ends nothing`() throws {
    var report = CheckReport()
    for number in 0..<2 as Range<UInt8> {
      var chain = CheckedChain(try #require(ChainID([UInt8](repeating: number, count: 16))))
      chain.unreferencedBytes = .max
      report.chains.append(chain)
    }
    #expect(CheckRepository.Outcome(report, target: "memory").unreferencedBytes == .max)
  }

  /// The push that takes the place of the newest has bases of its own; those that are here are what saves the others.
  @Test func `a newest version that nothing saves costs no other one`() async throws {
    let (road, database, versions, dumps) = try await pushed()
    let state = road.world.stateFolder
    for path in try FileManager.default.subpathsOfDirectory(atPath: state) where path.hasSuffix("/objects") {
      try FileManager.default.removeItem(atPath: "\(state)/\(path)")
    }
    let newest = try #require(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.max())
    road.store.content[newest]?[200] ^= 1
    let pack = try largestPack(road)
    road.store.content[pack]?[5000] ^= 1
    // What it holds is in the bases, and nowhere else on this machine.
    try SQLite.run("update t set body = randomblob(900)", on: database.path)
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(repaired.saved.count == 3 && repaired.lost.count == 1 && repaired.pushed.count == 1)
    for (version, content) in zip(versions, dumps).dropLast() {
      #expect(try await restores(version, road) == content)
    }
    let now = try await dump(database.path)
    #expect(try await restores(try #require(repaired.pushed.first), road) == now)
  }

  /// Else the pack stays for as long as they do, and every check finds it.
  @Test(arguments: [true, false])
  func `a whole version leaves a pack of which another one's frames are damaged`(isOfThisMachine: Bool) async throws {
    let road = try await Road()
    let path = try road.database(rows: 1200)
    let database = DatabaseSource(name: "app", path: path, delta: false)
    var versions: [VersionSummary] = []
    var dumps: [String] = []
    for round in 0..<2 {
      if round > 0 { try SQLite.run("update t set body = randomblob(900) where id > 900", on: path) }
      versions.append(try #require(try await road.push(database).pushed.first?.version))
      dumps.append(try await dump(path))
    }
    // Of the first version alone: its last rows, in the middle of the frames of its pack.
    let pack = try largestPack(road)
    let length = try #require(road.store.content[pack]?.count)
    road.store.content[pack]?[length * 9 / 10] ^= 1
    let found = try await check(road)
    #expect(found.harmed.map(\.id) == [versions[0].id] && found.whole.map(\.id) == [versions[1].id])

    // Of the second version nothing is needed but what stands at the target.
    let empty = try Scratch()
    let world = isOfThisMachine ? road.world : road.withoutState(empty)
    let repaired = try await RepairRepository(world).run(
      .init(databases: isOfThisMachine ? [database] : []), at: road.target)
    #expect((repaired.lost + repaired.elsewhere).map(\.id) == [versions[0].id])
    #expect(repaired.saved.map(\.id) == [versions[1].id])
    let again = try await RepairRepository(world).run(.init(databases: []), at: road.target)
    #expect(again.saved.isEmpty)
    road.store.content[pack] = nil
    #expect(try await restores(versions[1], road) == dumps[1])
    #expect(try await check(road).harmed.map(\.id) == [versions[0].id])
  }

  /// Of the first version the last rows are damaged, and the second one, which is whole, needs the rest of that pack.
  @Test func `a push finds nothing again in a pack of which a check found a part damaged`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 1200)
    let database = DatabaseSource(name: "app", path: path, delta: false)
    let before = road.scratch.file("before.db")
    var versions: [VersionSummary] = []
    for round in 0..<2 {
      if round > 0 {
        try FileManager.default.copyItem(atPath: path, toPath: before)
        try SQLite.run("update t set body = randomblob(900) where id > 900", on: path)
      }
      versions.append(try #require(try await road.push(database).pushed.first?.version))
    }
    let pack = try largestPack(road)
    let length = try #require(road.store.content[pack]?.count)
    road.store.content[pack]?[length * 9 / 10] ^= 1
    #expect(try await check(road).harmed.map(\.id) == [versions[0].id])
    // The rows are there once more.
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: before, toPath: path)
    let third = try #require(try await road.push(database).pushed.first?.version)
    let content = try await dump(path)
    #expect(try await restores(third, road) == content)
    #expect(try await check(road).harmed.map(\.id) == [versions[0].id])
  }

  /// Who pushes by the clock never asks for a list.
  @Test(arguments: [1, 2, 3]) func `a manifest that the target lost is had from the machine that stored it`(
    index: Int
  ) async throws {
    let (road, database, versions, dumps) = try await pushed()
    let manifests = road.store.content.keys.filter {
      $0.text.hasPrefix("versions/") && $0.text.contains("/00000000000\(index + 1)-")
    }
    #expect(manifests.count == 1)
    for name in manifests { road.store.content[name] = nil }
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(repaired.isWhole && repaired.lost.isEmpty && repaired.pushed.isEmpty)
    #expect(repaired.saved.map(\.id) == [versions[index].id])
    for (version, content) in zip(versions, dumps) { #expect(try await restores(version, road) == content) }
    #expect(try await check(road).isSound)
  }

  /// As of a target that was put back: which version stood at each place only the one behind it says, and that is kept here.
  @Test func `manifests that the target lost one behind the other are had in one run`() async throws {
    let (road, database, versions, dumps) = try await pushed()
    for name in road.store.content.keys
    where name.text.hasPrefix("versions/") && !name.text.contains("/000000000001-") {
      road.store.content[name] = nil
    }
    var request = RepairRepository.Request(databases: [database])
    for isDry in [true, false] {
      request.dryRun = isDry
      let repaired = try await RepairRepository(road.world).run(request, at: road.target)
      #expect(repaired.isWhole && repaired.lost.isEmpty)
      #expect(repaired.saved.map(\.id) == versions.dropFirst().reversed().map(\.id))
    }
    for (version, content) in zip(versions, dumps) { #expect(try await restores(version, road) == content) }
    #expect(try await check(road).isSound)
  }

  @Test func `a version that is forgotten while it is repaired stops nothing`() async throws {
    let (road, database, versions, dumps) = try await pushed()
    road.store.content[try largestPack(road)]?[5000] ^= 1
    var target = road.target
    target.store = HookedStore(
      road.store,
      beforePut: { [world = road.world, target = road.target] name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), name.text.contains("/000000000003-") else { return }
        let forget = ForgetVersions(world)
        let plan = try? await forget.plan(.init(.versions([.id(prefix: versions[2].id)])), at: target)
        guard let plan, let chain = plan.chains.first else { return }
        _ = try? await forget.carryOut(chain, of: plan)
      })
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: target)
    #expect(repaired.saved.map(\.id) == [versions[3], versions[1], versions[0]].map(\.id))
    #expect(repaired.failures.map(\.code) == ["conflict"] && repaired.failures[0].message.contains("was forgotten"))
    #expect(try await ListVersions(road.world).run(at: road.target).versions.count == 3)
    for index in [0, 1, 3] { #expect(try await restores(versions[index], road) == dumps[index]) }
  }

  @Test func `a version that is pruned while it is repaired stops nothing`() async throws {
    let (road, database, _, _) = try await pushed()
    road.store.content[try largestPack(road)]?[5000] ^= 1
    var target = road.target
    target.store = HookedStore(
      road.store,
      beforePut: { [store = road.store] name async throws(StoreError) in
        guard name.text.hasPrefix("versions/") || name.text.hasPrefix("notes/") else { return }
        for gone in store.content.keys where gone.text.contains("/000000000003-") { store.content[gone] = nil }
      })
    // This machine has kept nothing of it.
    let scratch = try Scratch()
    let repaired = try await RepairRepository(road.withoutState(scratch)).run(
      .init(databases: [database]), at: target)
    #expect(repaired.failures.map(\.code) == ["notFound"])
    #expect((repaired.saved + repaired.lost).map(\.sequence).sorted() == [1, 2, 4])
  }

  /// A database that is being pushed, a network that goes away late, or a signal.
  @Test(arguments: [StoreError.Code.unavailable, .cancelled])
  func `what stands in the way of one chain hides nothing of the others`(_ code: StoreError.Code) async throws {
    let (road, database, _, _) = try await pushed()
    let other = DatabaseSource(name: "other", path: road.scratch.file("other.db"))
    try SQLite.run("create table t(a); insert into t values (randomblob(300000))", on: other.path)
    _ = try await road.push(other)
    for name in road.store.content.keys where name.text.hasPrefix("packs/") { road.store.content[name]?[5000] ^= 1 }
    let keyring = try await road.target.open(road.world).keys.keyring
    let spoilt = road.store.content
    var told: [Set<String>] = []
    for name in ["app", "other"] {
      road.store.content = spoilt
      let chain = keyring.chainID(host: "host", database: name, fork: 0).hex
      var target = road.target
      target.store = HookedStore(
        road.store,
        beforePut: { name async throws(StoreError) in
          if name.text.contains(chain) { throw StoreError(code, "the line was cut") }
        })
      let outcome: RepairRepository.Outcome
      do {
        outcome = try await RepairRepository(road.world).run(.init(databases: [database, other]), at: target)
      } catch let error as OperationError {
        // It came first: nothing was done by then that could be told.
        #expect(error.code == code.rawValue, "\(error)")
        continue
      }
      let inTheWay = outcome.failures + [outcome.interruption].compactMap { $0 }
      #expect(inTheWay.map(\.code) == [code.rawValue] && !outcome.isWhole)
      #expect((outcome.interruption != nil) == (code == .cancelled))
      told.append(Set((outcome.saved + outcome.lost).compactMap(\.database)))
    }
    // Whichever comes last: what became of the other one is told.
    #expect(!told.isEmpty && told.allSatisfy { !$0.isEmpty }, "\(told)")
  }

  @Test func `with nothing but the database what is lost is named and flagged, and the newest version is whole`()
    async throws
  {
    let (road, database, versions, dumps) = try await pushed()
    // Nothing is left on this machine, and the database has changed since.
    try FileManager.default.removeItem(atPath: road.world.stateFolder)
    try await road.change(database.path)
    let pack = try largestPack(road)
    road.store.content[pack]?[5000] ^= 1
    let dry = RepairRepository.Request(databases: [database])
    var request = dry
    request.dryRun = true
    let before = road.store.content
    let told = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(told.dryRun && road.store.content == before)

    let repaired = try await RepairRepository(road.world).run(dry, at: road.target)
    #expect(repaired.lost.map(\.id) == told.lost.map(\.id) && repaired.saved.map(\.id) == told.saved.map(\.id))
    #expect(!repaired.isWhole && repaired.failures.isEmpty)
    #expect(repaired.lost.contains { $0.id == versions[3].id })
    let fresh = try #require(repaired.pushed.first)
    road.store.content[pack] = nil
    #expect(try await restores(fresh, road) == dump(database.path))
    for (version, content) in zip(versions, dumps) {
      if repaired.saved.contains(where: { $0.id == version.id }) {
        #expect(try await restores(version, road) == content)
      } else {
        await #expect(throws: OperationError.self) { try await restores(version, road) }
      }
    }
    let list = try await ListVersions(road.world).run(at: road.target).versions
    #expect(Set(list.filter { $0.foundDamaged != nil }.map(\.id)) == Set(repaired.lost.compactMap(\.id)))
    #expect(list.last?.id == fresh.id)
  }

  @Test func `what the database of today holds saves versions, also where nothing else is left`() async throws {
    let (road, database, versions, dumps) = try await pushed()
    try FileManager.default.removeItem(atPath: road.world.stateFolder)
    let pack = try largestPack(road)
    road.store.content[pack]?[5000] ^= 1
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(repaired.saved.contains { $0.id == versions[3].id } && repaired.pushed.isEmpty)
    #expect(repaired.lost.contains { $0.id == versions[0].id })
    for (version, content) in zip(versions, dumps) where repaired.saved.contains(where: { $0.id == version.id }) {
      #expect(try await restores(version, road) == content)
    }
    let found = try await check(road)
    #expect(Set(found.harmed.compactMap(\.id)) == Set(repaired.lost.compactMap(\.id)))
  }

  /// Its settings say that a push may roll that back; a dry run changes nothing.
  @Test func `a database that was left in the middle of a transaction saves what it holds`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 400)
    let database = DatabaseSource(name: "app", path: path, allowRecovery: true, delta: false)
    let version = try #require(try await road.push(database).pushed.first?.version)
    let content = try await dump(path)
    road.store.content[try largestPack(road)]?[5000] ^= 1
    try leaveHotJournal(of: "UPDATE t SET body = randomblob(900)", at: path)
    let files = [path, path + "-journal"]
    func bytes() throws -> [[UInt8]] { try files.map { try fileBytes($0) } }
    let before = try bytes()
    var request = RepairRepository.Request(databases: [database])
    request.dryRun = true
    let told = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(told.lost.map(\.id) == [version.id])
    #expect(try bytes() == before)
    #expect(road.notices.said.withLock { $0.contains { $0.hasSuffix("a repair rolls that back, a dry run does not") } })
    request.dryRun = false
    let repaired = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(repaired.isWhole && repaired.lost.isEmpty && repaired.saved.map(\.id) == [version.id])
    #expect(try await restores(version, road) == content)
  }

  @Test func `a version that was flagged and is whole again loses its flag`() async throws {
    let (road, database, versions, _) = try await pushed()
    let pack = try largestPack(road)
    let bytes = try #require(road.store.content[pack])
    road.store.content[pack]?[5000] ^= 1
    let empty = try Scratch()
    let elsewhere = road.withoutState(empty)
    try await road.change(database.path)
    let lost = try await RepairRepository(elsewhere).run(.init(databases: [database]), at: road.target).lost
    #expect(!lost.isEmpty)
    road.store.content[pack] = bytes
    let found = try await check(road, .structure)
    #expect(found.isSound && Set(found.foundEarlier.map(\.id)) == Set(lost.map(\.id)))
    var request = RepairRepository.Request(databases: [database])
    request.dryRun = true
    let content = road.store.content
    let told = try await RepairRepository(elsewhere).run(request, at: road.target)
    #expect(told.isWhole && Set(told.cleared.map(\.id)) == Set(lost.map(\.id)) && road.store.content == content)
    let again = try await RepairRepository(elsewhere).run(.init(databases: [database]), at: road.target)
    #expect(again.isWhole && again.lost.isEmpty && again.cleared.map(\.id) == told.cleared.map(\.id))
    #expect(try await check(road, .structure).foundEarlier.isEmpty)
    let list = try await ListVersions(elsewhere).run(at: road.target).versions
    #expect(list.count == versions.count + 1 && list.allSatisfy { $0.foundDamaged == nil })
  }

  @Test func `a database of another machine is left as it is, flagged and told`() async throws {
    let (road, _, versions, _) = try await pushed()
    let pack = try largestPack(road)
    road.store.content[pack]?[5000] ^= 1
    let before = road.store.content
    let empty = try Scratch()
    let outcome = try await RepairRepository(road.withoutState(empty)).run(.init(databases: []), at: road.target)
    #expect(outcome.elsewhere.count == versions.count && outcome.lost.isEmpty && !outcome.isWhole)
    // Nothing but a word of each: what cannot be restored takes no other's place.
    let new = road.store.content.filter { before[$0.key] != $0.value }
    #expect(new.count == versions.count && new.keys.allSatisfy { $0.text.hasPrefix("notes/") })
    let list = try await ListVersions(road.world).run(at: road.target).versions
    #expect(list.allSatisfy { $0.foundDamaged?.contains(pack.text) == true })
  }

  @Test func `a pack that is named is taken for damaged without a look`() async throws {
    let (road, database, versions, dumps) = try await pushed()
    let pack = try largestPack(road)
    var request = RepairRepository.Request(databases: [database])
    request.packs = [pack.text]
    let outcome = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(outcome.saved.count == 4 && outcome.isWhole)
    road.store.content[pack] = nil
    for (version, content) in zip(versions, dumps) { #expect(try await restores(version, road) == content) }
    request.packs = [String(repeating: "0", count: 64)]
    let absent = await #expect(throws: OperationError.self) {
      try await RepairRepository(road.world).run(request, at: road.target)
    }
    #expect(absent?.kind == .usage && absent?.code == "noPack" && absent?.message.contains("is at memory") == true)
    request.packs = ["nonsense"]
    let error = await #expect(throws: OperationError.self) {
      try await RepairRepository(road.world).run(request, at: road.target)
    }
    #expect(error?.kind == .usage)
  }

  /// Nobody named the other pack of the same disk: the first version is taken for whole, and needs it.
  @Test func `a pack that a repair finds spoilt on the way is told as long as a version needs it`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 400))
    _ = try await road.push(database)
    let older = try largestPack(road)
    let before = Set(road.store.content.keys)
    try SQLite.run("update t set body = randomblob(900) where id > 200", on: database.path)
    let version = try #require(try await road.push(database).pushed.first?.version)
    let content = try await dump(database.path)
    let new = road.store.content.filter { $0.key.text.hasPrefix("packs/") && !before.contains($0.key) }
    let newer = try #require(new.max { $0.value.count < $1.value.count }?.key)
    for pack in [older, newer] { road.store.content[pack]?[5000] ^= 1 }
    var request = RepairRepository.Request(databases: [database])
    request.packs = [newer.text]
    let outcome = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(outcome.saved.map(\.id) == [version.id] && outcome.lost.isEmpty && !outcome.isWhole)
    #expect(outcome.failures.map(\.code) == ["damaged"])
    #expect(outcome.failures.first?.message.hasPrefix("\(older.text) is damaged, too") == true)
    #expect(outcome.failures.first?.hint?.contains("repair --pack \(older.text)`") == true)
    #expect(try await restores(version, road) == content)
    request.packs = [older.text]
    #expect(try await RepairRepository(road.world).run(request, at: road.target).failures.isEmpty)
    #expect(try await restores(version, road) == content)
  }

  /// Three versions, and the largest pack of each. What the newest one needs of the second pack is whole, what the one
  /// before it needs is not.
  private func overlapping() async throws -> (road: Road, versions: [VersionSummary], packs: [ObjectName]) {
    let road = try await Road()
    var database = DatabaseSource(name: "app", path: try road.database(rows: 1600))
    database.delta = false
    var versions: [VersionSummary] = []
    var packs: [ObjectName] = []
    for change in ["", "id > 800", "id > 800 and id <= 1120"] {
      let before = Set(road.store.content.keys)
      if !change.isEmpty { try SQLite.run("update t set body = randomblob(900) where \(change)", on: database.path) }
      versions.append(try #require(try await road.push(database).pushed.first?.version))
      let new = road.store.content.filter { $0.key.text.hasPrefix("packs/") && !before.contains($0.key) }
      packs.append(try #require(new.max { $0.value.count < $1.value.count }?.key))
    }
    road.store.content[packs[1]]?[5000] ^= 1
    return (road, versions, packs)
  }

  @Test func `who needs a pack still that a repair found spoilt is not said to be saved`() async throws {
    let (road, versions, packs) = try await overlapping()
    var request = RepairRepository.Request(databases: [])
    request.packs = [packs[0].text]
    let outcome = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(outcome.saved.map(\.id) == [versions[0].id] && outcome.elsewhere.map(\.id) == [versions[1].id])
    #expect(outcome.failures.map(\.code) == ["damaged"])
    let id = versions[2].id
    #expect(outcome.failures.first?.message.hasSuffix("version \(id.prefix(8)) needs it still") == true)
    // This machine goes by it until that is mended.
    let repository = try await road.target.open(road.world)
    let state = try StateFolder(road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let newest = try #require(Hex.decode(id).flatMap { Digest($0) })
    #expect(try HarmedVersions(of: chain, in: state).contains(newest))
    request.packs = [packs[1].text]
    let again = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(again.saved.map(\.id) == [id] && again.failures.isEmpty)
    #expect(try !HarmedVersions(of: chain, in: state).contains(newest))
  }

  /// The oldest version comes last.
  @Test func `what a repair that is cut has found spoilt is remembered, and takes back no word`() async throws {
    let (road, versions, packs) = try await overlapping()
    let lookup = try await VersionLookup(at: road.target, road.world)
    let history = try #require(try await lookup.histories().first)
    let newest = try #require(history.versions.first { $0.id.hex == versions[2].id })
    let said = try await lookup.repository.annotations(of: newest.chain, state: lookup.state)
    let now = said.time(for: newest, now: road.world.now())
    let items = [Annotation.Item(.foundDamaged, "found earlier")]
    try await lookup.repository.annotate(newest, items, now: now, state: lookup.state)
    let repository = try await road.target.open(road.world)
    let state = try StateFolder(road.world.stateFolder, repository: repository.id)
    let (chain, id) = (newest.chain, newest.id)
    var doubted = try DoubtedVersions(of: chain, in: state, at: repository.place)
    try doubted.add(id, of: chain, in: state)
    let isKnownBefore = Locked(false)
    var target = road.target
    target.store = HookedStore(
      road.store,
      beforePut: { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), name.text.contains("/000000000001-") else { return }
        let isKnown = (try? HarmedVersions(of: chain, in: state).contains(id)) ?? false
        isKnownBefore.withLock { $0 = isKnown }
        throw StoreError(.forbidden, "no more")
      })
    // A word that is put back counts whatever the clock says.
    var world = road.world
    let clock = Locked(road.world.now() + 86_400_000)
    world.now = {
      clock.withLock { time -> UInt64 in
        time -= 1000
        return time
      }
    }
    var request = RepairRepository.Request(databases: [])
    request.packs = [packs[0].text]
    let outcome = try await RepairRepository(world).run(request, at: target)
    #expect(isKnownBefore.withLock { $0 })
    #expect(outcome.saved.isEmpty && outcome.elsewhere.map(\.id) == [versions[1].id])
    // What ended it comes before what was found until then.
    #expect(outcome.failures.map(\.code) == ["forbidden", "damaged"])
    #expect(outcome.failures.last?.message.hasSuffix("version \(versions[2].id.prefix(8)) needs it still") == true)
    #expect(try HarmedVersions(of: chain, in: state).contains(id))
    #expect(try DoubtedVersions(of: chain, in: state).contains(id))
    let listed = try await ListVersions(road.world).run(at: road.target).versions
    #expect(listed.first { $0.id == versions[2].id }?.foundDamaged == "found earlier")
    // Once it is written anew without that pack, nothing of it holds any more.
    request.packs = [packs[1].text]
    #expect(try await RepairRepository(road.world).run(request, at: road.target).saved.map(\.id) == [versions[2].id])
    #expect(try !HarmedVersions(of: chain, in: state).contains(id))
    let after = try await ListVersions(road.world).run(at: road.target).versions
    #expect(after.first { $0.id == versions[2].id }?.foundDamaged == nil)
  }

  /// What was found damaged `forget` lets go.
  @Test func `a repair that is cut has taken back what was said of what it saved`() async throws {
    let (road, database, versions, _) = try await pushed()
    let lookup = try await VersionLookup(at: road.target, road.world)
    let history = try #require(try await lookup.histories().first)
    let said = try await lookup.repository.annotations(of: history.chain, state: lookup.state)
    for version in history.versions {
      let now = said.time(for: version, now: road.world.now())
      let item = Annotation.Item(.foundDamaged, "found earlier")
      try await lookup.repository.annotate(version, [item], now: now, state: lookup.state)
    }
    let pack = try largestPack(road)
    road.store.content[pack]?[5000] ^= 1
    // From the third manifest on nothing can be stored any more.
    let isCut = Locked(false)
    var target = road.target
    target.store = HookedStore(
      road.store,
      beforePut: { name async throws(StoreError) in
        let isThird = name.text.hasPrefix("versions/") && name.text.contains("/000000000002-")
        if isThird { isCut.withLock { $0 = true } }
        if isCut.withLock({ $0 }) { throw StoreError(.forbidden, "no more") }
      })
    var request = RepairRepository.Request(databases: [database])
    request.packs = [pack.text]
    let outcome = try await RepairRepository(road.world).run(request, at: target)
    #expect(isCut.withLock { $0 } && !outcome.isWhole)
    #expect(outcome.saved.map(\.id) == [versions[3].id, versions[2].id])
    let listed = try await ListVersions(road.world).run(at: road.target).versions
    let flagged = listed.filter { $0.foundDamaged != nil }
    #expect(Set(flagged.map(\.id)) == [versions[0].id, versions[1].id])
    let plan = try await ForgetVersions(road.world).plan(.init(.rulesForAll(RetentionRules(last: 2))), at: road.target)
    #expect(plan.chains.flatMap { $0.plan.going.map(\.version.sequence) }.allSatisfy { $0 < 3 })
  }

  @Test func `a repair that cannot remember what is harmed names the damaged pack, and says what is whole`()
    async throws
  {
    let (road, versions, packs) = try await overlapping()
    let lookup = try await VersionLookup(at: road.target, road.world)
    let history = try #require(try await lookup.histories().first)
    let oldest = try #require(history.versions.first { $0.id.hex == versions[0].id })
    let item = Annotation.Item(.foundDamaged, "found earlier")
    try await lookup.repository.annotate(oldest, [item], now: road.world.now(), state: lookup.state)
    let state = try StateFolder(road.world.stateFolder, repository: lookup.repository.id)
    let path = "\(state.path)/\(oldest.chain.hex)/harmed"
    let spoilt = Array("no line\n".utf8)
    try writeFile(path, spoilt)
    var request = RepairRepository.Request(databases: [])
    request.packs = [packs[0].text]
    let outcome = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(outcome.saved.map(\.id) == [versions[0].id])
    #expect(outcome.failures.map(\.code) == ["damaged", "stateFolder"])
    #expect(outcome.failures.first?.message.contains(packs[1].text) == true)
    #expect(outcome.failures.last?.hint?.contains("mv '\(path)'") == true)
    #expect(try fileBytes(path) == spoilt)
    let listed = try await ListVersions(road.world).run(at: road.target).versions
    #expect(listed.first { $0.id == versions[0].id }?.foundDamaged == nil)
  }

  /// The leaves of all of them lie in it.
  @Test func `a damaged frame of maps is not asked for again for each small companion`() async throws {
    let road = try await Road()
    var database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    database.companions = [Companion("att")]
    try FileManager.default.createDirectory(atPath: road.scratch.file("att"), withIntermediateDirectories: true)
    var random = SeededRandom(11)
    // Nodes of less than 24 KiB ride in the manifest.
    for number in 0..<2000 { try writeFile(road.scratch.file("att/\(number)"), random.bytes(100)) }
    let version = try #require(try await road.push(database).pushed.first?.version)
    let content = try await dump(database.path)
    let lookup = try await VersionLookup(at: road.target, road.world)
    let facts = try #require(try await lookup.histories().first?.versions.first)
    let manifest = try await lookup.repository.readManifest(facts.name)
    let table = try await PackTable(of: manifest, repository: lookup.repository, state: nil)
    let packs = try OpenPacks(table, repository: lookup.repository, chain: facts.chain, state: nil)
    var lying: (entry: PackEntry, node: FrameRecord)?
    for entry in table.all {
      let frames = try await packs.open(entry.number).directory.frames
      for frame in frames where frame.type == .node && frame.unitLengths.count > lying?.node.unitLengths.count ?? 0 {
        lying = (entry, frame)
      }
    }
    let (entry, node) = try #require(lying)
    #expect(node.unitLengths.count > 100)
    let pack = Layout.pack(entry.name, of: facts.chain)
    road.store.content[pack]?[node.sealedRange.lowerBound + 5] ^= 1
    let asked = Locked(0)
    var target = road.target
    target.store = HookedStore(
      road.store,
      beforeGet: { name async throws(StoreError) in
        if name == pack { asked.withLock { $0 += 1 } }
      })
    let outcome = try await RepairRepository(road.world).run(.init(databases: [database]), at: target)
    #expect(outcome.isWhole && outcome.saved.map(\.id) == [version.id])
    #expect(try await restores(version, road) == content)
    #expect(asked.withLock { $0 } < 40)
  }

  /// A page of a proxy in the place of one answer.
  private final class MaintainedStore: ObjectStore {
    let base: MemoryStore
    let prefix: String
    private let asked = Locked(0)
    var answers: Int { asked.withLock { $0 } }
    private let place: Int
    var isSpoilt: Bool { answers > place }
    var traits: StoreTraits { base.traits }

    /// - Parameter place: which answer, from 0.
    init(_ base: MemoryStore, spoiling prefix: String, place: Int = 0) {
      (self.base, self.prefix, self.place) = (base, prefix, place)
    }

    func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
      let bytes = try await base.get(name, range: range)
      guard name.text.hasPrefix(prefix) else { return bytes }
      let number = asked.withLock { asked in
        defer { asked += 1 }
        return asked
      }
      guard number == place else { return bytes }
      let page = Array("<html><body>Back in five minutes.</body></html>".utf8)
      return range == nil ? page : (0..<bytes.count).map { page[$0 % page.count] }
    }
    func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
      try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
    func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
    func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
    func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
  }

  @Test(arguments: ["packs/", "versions/", "notes/"]) func `one bad answer is no damage`(prefix: String) async throws {
    let (road, database, versions, _) = try await pushed()
    _ = try await AnnotateVersions(road.world).run(.note("n"), of: .id(prefix: versions[0].id), at: road.target)
    let before = road.store.content
    let counting = MaintainedStore(road.store, spoiling: prefix, place: .max)
    var counted = road.target
    counted.store = counting
    #expect(try await CheckRepository(road.world).run(at: counted, databases: [], .all).isSound)
    // The last answer that a check of everything gets of packs is a pack read whole.
    let places = [(CheckRepository.Reading.structure, 0), (.all, 0), (.all, counting.answers - 1)]
    for (reading, place) in places {
      let store = MaintainedStore(road.store, spoiling: prefix, place: place)
      var target = road.target
      target.store = store
      let found = try await CheckRepository(road.world).run(at: target, databases: [], reading)
      #expect(store.isSpoilt)
      #expect(found.isSound && found.findings.filter(\.isDamage).isEmpty && found.harmed.isEmpty, "\(found.findings)")
    }
    let store = MaintainedStore(road.store, spoiling: prefix)
    var target = road.target
    target.store = store
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: target)
    #expect(store.isSpoilt && repaired.isWhole && repaired.saved.isEmpty)
    #expect(road.store.content == before)
  }

  @Test(arguments: ["notes/", "tomb/"])
  func `what nothing else repeats is named as not mended, for as long as it is`(prefix: String) async throws {
    let (road, database, versions, _) = try await pushed()
    _ = try await AnnotateVersions(road.world).run(.pin, of: .id(prefix: versions[1].id), at: road.target)
    let plan = try await ForgetVersions(road.world).plan(
      .init(.versions([.id(prefix: versions[0].id)])), at: road.target)
    #expect(try await ForgetVersions(road.world).carryOut(try #require(plan.chains.first), of: plan).forgot == 1)
    let record = try #require(road.store.content.keys.first { $0.text.hasPrefix(prefix) })
    road.store.content[record]?[60] ^= 1
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(!repaired.isWhole && repaired.unmended.map(\.object) == [record.text])
    #expect(repaired.unmended.first?.hint?.contains("removed by hand") == true)
    // Only words can be said again.
    #expect(repaired.unmended.first?.hint?.contains("say again what it said") == (prefix == "notes/"))
    #expect(try await !check(road).isSound)
    road.store.content[record]?[60] ^= 1
    #expect(try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target).isWhole)
  }

  /// Of packs that are not read whole only what others rest on is fetched, and that has no hash of its own.
  @Test(arguments: [1, 2]) func `one bad answer to a part of a check is no damage`(part: Int) async throws {
    let (road, _, _, _) = try await pushed()
    var place = 0
    while true {
      let store = MaintainedStore(road.store, spoiling: "packs/", place: place)
      var target = road.target
      target.store = store
      let found = try await CheckRepository(road.world).run(at: target, databases: [], .part(part, of: 2))
      #expect(found.isSound, "\(found.findings)")
      guard store.isSpoilt else { break }
      place += 1
    }
  }

  @Test func `one bad answer fails no drill`() async throws {
    let (road, _, _, _) = try await pushed()
    let counting = MaintainedStore(road.store, spoiling: "packs/", place: .max)
    var counted = road.target
    counted.store = counting
    #expect(try await Drill(road.world).run(Drill.Request(), at: counted).drilled.map(\.findings) == [[]])
    for place in 0..<counting.answers {
      var target = road.target
      let store = MaintainedStore(road.store, spoiling: "packs/", place: place)
      target.store = store
      let outcome = try await Drill(road.world).run(Drill.Request(), at: target)
      #expect(store.isSpoilt && outcome.failures.isEmpty && outcome.drilled.map(\.findings) == [[]])
    }
  }

  @Test func `a repository whose file is gone is opened by its slots, checked and repaired`() async throws {
    let (road, database, versions, _) = try await pushed()
    let file = try #require(road.store.content.keys.first { $0.text.hasPrefix("repo/") })
    road.store.content[file] = nil
    #expect(try await check(road).findings.contains { $0.object == file.text && $0.isDamage })
    let outcome = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(outcome.copies == [file.text] && outcome.isWhole)
    #expect(try await ListVersions(road.world).run(at: road.target).versions.count == versions.count)
  }

  @Test(arguments: [true, false]) func `a key slot without a whole copy is told by a repair, and can be removed`(
    isCut: Bool
  ) async throws {
    let road = try await Road()
    let keys = ManageKeys(road.world)
    let added = try await keys.addRecoveryKey(at: road.target).slot
    let names = road.store.content.keys.filter { $0.text.hasPrefix("keys/") && $0.text.contains("-176-\(added.id)") }
    #expect(names.count == 2)
    for name in names {
      if isCut { road.store.content[name]?.removeLast() } else { road.store.content[name]?[60] ^= 1 }
    }
    let objects = names.map(\.text).sorted()
    let damage = try await check(road, .structure).findings.filter(\.isDamage)
    #expect(damage.map(\.object).sorted() == objects)
    #expect(damage.allSatisfy { $0.hint?.contains("`sealift key remove \(added.id)`") == true })
    for dryRun in [true, false] {
      var request = RepairRepository.Request(databases: [])
      request.dryRun = dryRun
      let outcome = try await RepairRepository(road.world).run(request, at: road.target)
      #expect(!outcome.isWhole && outcome.copies.isEmpty && outcome.unmended.map(\.object).sorted() == objects)
    }
    let listed = try await keys.list(at: road.target)
    #expect(listed.map(\.kind) == ["key file", "damaged key"])
    #expect(listed.map(\.id).last == added.id && listed.map(\.current) == [true, false])
    #expect(try await keys.remove(added.id, at: road.target, force: false).kind == "damaged key")
    #expect(try await keys.list(at: road.target).count == 1)
    #expect(try await check(road, .structure).isSound)
    #expect(try await RepairRepository(road.world).run(.init(databases: []), at: road.target).isWhole)
  }

  @Test func `a database that the repository does not know is no version`() async throws {
    let (road, _, _, _) = try await pushed()
    let error = await #expect(throws: OperationError.self) {
      try await CheckRepository(road.world).run(at: road.target, databases: ["other"], .structure)
    }
    #expect(error?.kind == .noSuchVersion)
    #expect(try await CheckRepository(road.world).run(at: road.target, databases: ["app"], .structure).whole.count == 4)
  }
}
