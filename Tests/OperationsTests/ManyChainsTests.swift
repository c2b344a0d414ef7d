import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// A repository of many databases: who asks for one of them does not read what was said of all the others.
@Suite struct ManyChainsTests {
  @Test func `who names one database fetches no tombstones and notes of others`() async throws {
    let many = try await ManyChains()
    let (old, new) = many.versions[7]
    let selectors: [VersionSelector] = [
      .latest(database: "db7"), .notLater(database: "db7", time: .max), .id(prefix: new.id.hex),
      .id(prefix: old.id.hex),
    ]
    for (number, selector) in selectors.enumerated() {
      many.log.clear()
      let shown = try await ListVersions(many.machine("new-\(number)")).show(selector, at: many.target).summary
      #expect(shown.database == "db7" && shown.forgotten == (shown.id == old.id.hex))
      #expect(shown.tags.count == (shown.id == new.id.hex ? ManyChains.words : 0))
      let fetched = many.fetchedRecords(of: "db7")
      #expect(fetched.own == 2 * ManyChains.words && fetched.others == 0, "\(selector)")
      #expect(many.listedRecords == many.prefixes(of: "db7"), "\(selector)")
      #expect(many.log.listed(below: Layout.allTombstones).count == 1, "\(selector)")
      #expect(many.log.listed(below: Layout.allAnnotations).count == 1, "\(selector)")
    }
    // The newest of all may be any of them.
    many.log.clear()
    _ = try await ListVersions(many.machine("any")).show(.latest(database: nil), at: many.target)
    let fetched = many.fetchedRecords(of: "db7")
    #expect(fetched.own + fetched.others == 2 * ManyChains.words * ManyChains.databases)
    #expect(many.listedRecords == [Layout.allTombstones, Layout.allAnnotations])
  }

  @Test func `beside a fork that was left, the chain that is pushed to is not read whole`() async throws {
    let shelf = try await Shelf()
    let log = RequestLog(shelf.road.store)
    let target = TargetAccess(name: "memory", store: log, unlock: shelf.road.target.unlock)
    try await shelf.push(1, at: Shelf.monday - Shelf.day, fork: 1)
    var last: VersionFacts?
    for hour in 0..<UInt64(30) { last = try await shelf.push(2 + hour, at: Shelf.monday + hour * 3_600_000) }
    func machine(_ name: String) -> World {
      var world = shelf.world
      world.stateFolder = shelf.road.scratch.file(name)
      return world
    }
    log.clear()
    let drilled = try await Drill(machine("drill")).run(Drill.Request(), at: target)
    #expect(drilled.failures.isEmpty && drilled.drilled.map(\.version.id) == [last?.id.hex])
    #expect(log.fetched(below: Layout.versions(of: shelf.chain())).count < 10)
    log.clear()
    let found = try await VersionLookup(at: target, machine("find")).find(.latest(database: "app"))
    #expect(found.facts.id == last?.id)
    #expect(log.fetched(below: Layout.versions(of: shelf.chain())).count < 10)
  }

  @Test func `a fork that was left before the other's last version was taken is not read whole`() async throws {
    let shelf = try await Shelf()
    var times: [ObjectName: Int] = [:]
    for hour in 0..<UInt64(50) {
      let left = try await shelf.push(1 + hour, at: Shelf.monday + hour * 3_600_000)
      times[left.name.objectName] = Int((Shelf.monday + hour * 3_600_000) / 1000)
    }
    let last = try await shelf.push(51, at: Shelf.monday + 3 * Shelf.day, fork: 1)
    times[last.name.objectName] = Int((Shelf.monday + 3 * Shelf.day) / 1000)
    let log = RequestLog(ListingStore.telling(times, of: shelf.road.store))
    let target = TargetAccess(name: "memory", store: log, unlock: shelf.road.target.unlock)
    func machine(_ name: String) -> World {
      var world = shelf.world
      world.stateFolder = shelf.road.scratch.file(name)
      return world
    }
    log.clear()
    let found = try await VersionLookup(at: target, machine("find")).find(.latest(database: "app"))
    #expect(found.facts.id == last.id)
    #expect(log.fetched(below: Layout.versions).count <= 3)
    log.clear()
    let drilled = try await Drill(machine("drill")).run(Drill.Request(), at: target)
    #expect(drilled.failures.isEmpty && drilled.drilled.map(\.version.id) == [last.id.hex])
    #expect(log.fetched(below: Layout.versions(of: shelf.chain())).count <= 3)
  }

  /// Nobody deletes tombstones and annotations.
  @Test func `where those of all are too many to be listed, they are listed chain by chain`() async throws {
    let many = try await ManyChains(databases: 3)
    many.log.refuse([Layout.allTombstones, Layout.allAnnotations])
    let lister = ListVersions(many.machine("new"))
    let own = try await lister.show(.latest(database: "db1"), at: many.target).summary
    #expect(own.id == many.versions[1].new.id.hex && own.tags.count == ManyChains.words)
    #expect(try await lister.show(.latest(database: nil), at: many.target).summary.sequence == 2)
    let list = try await lister.run(at: many.target, forgotten: true)
    #expect(list.problems.isEmpty && list.versions.count == 6 && list.versions.count(where: \.forgotten) == 3)
    #expect(list.versions.allSatisfy { $0.forgotten == $0.tags.isEmpty })
    let status = try await StatusOfDatabases(many.machine("status")).run(nil, at: many.target)
    #expect(status.databases.map(\.forgotten) == [1, 1, 1])
    var request = Drill.Request()
    request.choice = .newest
    let drill = try await Drill(many.machine("drill")).run(request, at: many.target)
    #expect(drill.failures.isEmpty && drill.drilled.count == 3)
    // They are asked for together, and once.
    many.log.clear()
    _ = try await lister.run(at: many.target)
    let whole = many.listedRecords.intersection([Layout.allTombstones, Layout.allAnnotations])
    #expect(whole.count == 2 && many.log.listed(below: Layout.allTombstones).count == 4)
  }

  @Test func `what is pushed and forgotten while others are restored keeps no database from it`() async throws {
    let many = try await ManyChains(databases: 2)
    let store = many.shelf.road.store
    let before = store.content
    try await many.shelf.push(3, at: Shelf.monday + 2 * Shelf.day, database: "db1")
    try await many.shelf.repository.forget([many.versions[1].new], now: 99)
    let after = store.content
    store.content = before
    let folder = try Scratch()
    let all = try await RestoreAll(Pull(many.machine("new"))).run(
      .pull(into: folder.path), from: many.target, host: nil
    ) { _ in
      store.content = after
    }
    #expect(all.failures.isEmpty && all.done.map(\.database) == ["db0", "db1"])
  }

  @Test func `what was forgotten is not found, whatever else is not read`() async throws {
    let many = try await ManyChains(databases: 3)
    let shelf = many.shelf
    let late = try await shelf.push(9, at: Shelf.monday + 9 * Shelf.day, database: "late")
    try await shelf.repository.forget([late], now: 1)
    let lister = ListVersions(many.machine("new"))
    #expect(try await lister.show(.latest(database: nil), at: many.target).summary.id != late.id.hex)
    let error = await #expect(throws: OperationError.self) {
      try await lister.show(.latest(database: "late"), at: many.target)
    }
    #expect(error?.kind == .noSuchVersion)
    #expect(try await lister.show(.id(prefix: late.id.hex), at: many.target).summary.forgotten)
    // Also where the newest one is forgotten, the one before it counts.
    let (old, new) = try await many.add("both")
    let third = try await shelf.push(8, at: Shelf.monday + 2 * Shelf.day, database: "both")
    try await shelf.repository.forget([third], now: 1)
    #expect(try await lister.show(.latest(database: "both"), at: many.target).summary.id == new.id.hex)
    let early = VersionSelector.notLater(database: "both", time: Shelf.monday)
    let none = await #expect(throws: OperationError.self) { try await lister.show(early, at: many.target) }
    #expect(none?.kind == .noSuchVersion && old.id != new.id)
  }

  @Test func `a head code makes one chain be read whole`() async throws {
    let many = try await ManyChains()
    let lister = ListVersions(many.machine("other"))
    let head = try await lister.show(.latest(database: "db7"), at: many.target).summary.head
    many.log.clear()
    let pulled = try await Pull(many.machine("new")).run(
      .latest(database: "db7"), from: many.target, to: .file(many.shelf.road.scratch.file("out")), expect: [head])
    #expect(pulled.version.id == many.versions[7].new.id.hex)
    #expect(many.fetchedRecords(of: "db7").others == 0)
    // One manifest of each says whose it is.
    let own = Layout.versions(of: many.shelf.chain("db7"))
    #expect(many.log.fetched(below: Layout.versions).count { !$0.hasPrefix(own) } == ManyChains.databases - 1)
  }

  @Test func `who lists, forgets by rules or copies one database reads one manifest of each other`() async throws {
    let many = try await ManyChains()
    let own = Layout.versions(of: many.shelf.chain("db7"))
    func demandOneOfEach() {
      #expect(many.log.fetched(below: Layout.versions).count { !$0.hasPrefix(own) } == ManyChains.databases - 1)
      #expect(many.fetchedRecords(of: "db7").others == 0)
      #expect(many.listedRecords.isSubset(of: many.prefixes(of: "db7")))
      many.log.clear()
    }
    many.log.clear()
    let lister = ListVersions(many.machine("list"))
    let list = try await lister.run(at: many.target, database: "db7", forgotten: true)
    #expect(list.problems.isEmpty && list.holdsDatabase)
    #expect(list.versions.map(\.sequence) == [1, 2] && list.versions.map(\.forgotten) == [true, false])
    demandOneOfEach()

    let rules = RetentionRules(last: 1)
    var named = ForgetVersions.Request(.rulesForAll(rules))
    named.named = ["db7"]
    for (number, request) in [named, ForgetVersions.Request(.rules(["db7": rules]))].enumerated() {
      let plan = try await ForgetVersions(many.machine("forget \(number)")).plan(request, at: many.target)
      #expect(plan.refusals.isEmpty && plan.chains.map(\.database) == ["db7"])
      demandOneOfEach()
    }

    var request = CopyVersions.Request()
    request.databases = ["db7"]
    let origin = try await VersionLookup(at: many.target, many.machine("copy"))
    let copied = try await CopyPlan(request, origin)
    #expect(copied.failures.isEmpty && copied.chains.map(\.versions.count) == [1])
    demandOneOfEach()
  }

  @Test func `who forgets by rules on this host alone reads one manifest of another host's databases`() async throws {
    let many = try await ManyChains(databases: 2)
    try await many.add("far", host: "other")
    let far = Layout.versions(of: many.shelf.chain("far", host: "other"))
    many.log.clear()
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let plan = try await ForgetVersions(many.machine("new")).plan(request, at: many.target)
    #expect(plan.chains.map(\.database) == ["db0", "db1"] && plan.otherHosts == ["other"])
    #expect(many.log.fetched(below: far).count == 1)
  }

  /// It may be the one that is asked for.
  @Test func `a chain that does not say whose it is is told by who lists one database`() async throws {
    let many = try await ManyChains(databases: 2)
    let store = many.shelf.road.store
    for version in [many.versions[1].old, many.versions[1].new] {
      store.content[version.name.objectName]?[200] ^= 1
    }
    let list = try await ListVersions(many.machine("new")).run(at: many.target, database: "db0")
    #expect(list.versions.map(\.sequence) == [2] && !list.problems.isEmpty)
    let rules = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let plan = try await ForgetVersions(many.machine("forget")).plan(rules, at: many.target)
    #expect(plan.chains.map(\.database) == ["db0"] && plan.refusals.count == 1)
  }

  @Test func `a drill of one database fetches its words once, and no others`() async throws {
    let many = try await ManyChains()
    let machine = many.machine("new")
    let notes = Layout.annotations(of: many.shelf.chain("db7"))
    for choice in [Drill.Choice.newest, .random, .versions([.latest(database: "db7")])] {
      var request = Drill.Request()
      request.databases = ["db7"]
      request.choice = choice
      many.log.clear()
      let before = many.names(below: notes)
      let outcome = try await Drill(machine).run(request, at: many.target)
      #expect(outcome.failures.isEmpty && outcome.drilled.map(\.recorded) == [true])
      #expect(many.fetchedRecords(of: "db7").others == 0)
      #expect(many.log.fetched(below: notes).sorted() == before.sorted())
      #expect(many.listedRecords.isSubset(of: many.prefixes(of: "db7")))
      // Its own word need not be fetched by this machine.
      let own = many.names(below: notes).subtracting(before)
      many.log.clear()
      let list = try await ListVersions(machine).run(at: many.target, database: "db7")
      #expect(list.versions.map(\.drillPassed) == [true])
      #expect(own.count == 1 && own.isDisjoint(with: many.log.fetched(below: notes)))
    }
  }

  /// A drill of a thousand databases takes its time, and pushes of this machine go on.
  @Test func `what was first pushed while others are drilled has not vanished`() async throws {
    let many = try await ManyChains(databases: 2)
    let world = many.machine("drilling")
    let owner = ChainOwner(host: "host", database: "new")
    func look() async throws -> ChainsByDatabase {
      try await ChainsByDatabase(at: many.target, world, fresh: many.machine("fresh"))
    }
    let before = try await look()
    let state = try StateFolder(world.stateFolder, repository: many.shelf.repository.id)
    try HighWaterMark(sequence: 1, id: many.versions[0].new.id, of: owner).write(many.shelf.chain("new"), in: state)
    #expect(before.vanished(owner).isEmpty && before.vanished.isEmpty)
    let later = try await look()
    #expect(later.vanished(owner).map(\.code) == [.rolledBack] && later.vanished.count == 1)
    #expect(later.vanished(ChainOwner(host: "host", database: "db0")).isEmpty)
  }

  @Test func `who restores all of one host fetches what was said of its databases`() async throws {
    let many = try await ManyChains()
    try await many.add("far", host: "other")
    let folder = try Scratch()
    many.log.clear()
    let all = try await RestoreAll(Pull(many.machine("new"))).run(
      .pull(into: folder.path), from: many.target, host: "other")
    #expect(all.failures.isEmpty && all.done.map(\.database) == ["far"])
    let fetched = many.fetchedRecords(of: "far", host: "other")
    #expect(fetched.own == 2 * ManyChains.words && fetched.others == 0)
    #expect(many.listedRecords == many.prefixes(of: "far", host: "other"))
    // Of many, those of all are listed at once.
    let other = try Scratch()
    many.log.clear()
    let most = try await RestoreAll(Pull(many.machine("another"))).run(
      .pull(into: other.path), from: many.target, host: "host")
    #expect(most.failures.isEmpty && most.done.count == ManyChains.databases)
    #expect(many.listedRecords == [Layout.allTombstones, Layout.allAnnotations])
  }

  @Test func `a check of one database asks others for their names alone`() async throws {
    let many = try await ManyChains()
    let own = Layout.versions(of: many.shelf.chain("db7"))
    func check(_ world: World) async throws -> CheckRepository.Outcome {
      many.log.clear()
      let outcome = try await CheckRepository(world).run(at: many.target, databases: ["db7"], .structure)
      #expect(many.log.listed(below: Layout.versions).allSatisfy { [Layout.versions, own].contains($0) })
      #expect(many.fetchedRecords(of: "db7").others == 0)
      return outcome
    }
    func others() -> Int { many.log.fetched(below: Layout.versions).count { !$0.hasPrefix(own) } }

    let stranger = try await check(many.machine("new"))
    #expect(stranger.isSound && stranger.whole.count == 1 && stranger.forgotten == 1)
    #expect(others() == ManyChains.databases - 1)
    // A list keeps whose they are.
    let machine = many.machine("old")
    #expect(try await ListVersions(machine).run(at: many.target).versions.count == ManyChains.databases)
    let known = try await check(machine)
    #expect(known.isSound && others() == 0)
    // That is all that is believed of what is kept.
    let spoilt = many.versions[7].new
    many.shelf.road.store.content[spoilt.name.objectName]?[200] ^= 1
    let harmed = try await check(machine)
    #expect(!harmed.isSound && harmed.harmed.map(\.sequence) == [2] && others() == 0)
  }

  @Test func `a status has all databases in their order`() async throws {
    let many = try await ManyChains()
    let status = StatusOfDatabases(many.machine("new"))
    let all = try await status.run(nil, at: many.target).databases
    #expect(all.count == ManyChains.databases && all.map(\.name) == all.map(\.name).sorted())
    #expect(all.allSatisfy { $0.versions == 1 && $0.forgotten == 1 && $0.newest?.tags.count == ManyChains.words })
    let asked = ["db9", "db1", "none"].map { DatabaseSource(name: $0, path: "/nowhere/\($0)") }
    let some = try await status.run(asked, at: many.target).databases
    #expect(some.map(\.name) == ["db9", "db1", "none"] && some.map(\.versions) == [1, 1, 0])
  }
}

/// Databases that each have a version which was forgotten again and again, and a newer one of which much was said.
private struct ManyChains {
  static let databases = 20
  static let words = 10

  let shelf: Shelf
  let log: RequestLog
  let target: TargetAccess
  private(set) var versions: [(old: VersionFacts, new: VersionFacts)] = []

  init(databases: Int = Self.databases) async throws {
    shelf = try await Shelf()
    log = RequestLog(shelf.road.store)
    target = TargetAccess(name: "memory", store: log, unlock: shelf.road.target.unlock)
    for number in 0..<databases { versions.append(try await add("db\(number)")) }
  }

  @discardableResult
  func add(_ database: String, host: String = "host") async throws -> (old: VersionFacts, new: VersionFacts) {
    let old = try await shelf.push(1, at: Shelf.monday, host: host, database: database)
    let new = try await shelf.push(2, at: Shelf.monday + Shelf.day, host: host, database: database)
    for word in 0..<Self.words {
      try await shelf.repository.forget([old], now: UInt64(word))
      try await shelf.annotate(new, Annotation.Item(.addTag, "tag \(word)"))
    }
    return (old, new)
  }

  /// A machine that has seen nothing under that name.
  func machine(_ name: String) -> World {
    var world = shelf.world
    world.stateFolder = shelf.road.scratch.file(name)
    return world
  }

  /// How many tombstones and annotations were fetched, of a database and of all others.
  func fetchedRecords(of database: String, host: String = "host") -> (own: Int, others: Int) {
    let chain = shelf.chain(database, host: host).hex
    let all = log.fetched(below: Layout.allTombstones) + log.fetched(below: Layout.allAnnotations)
    let own = all.count { $0.contains("/\(chain)/") }
    return (own, all.count - own)
  }

  /// What was listed of tombstones and annotations.
  var listedRecords: Set<String> {
    Set(log.listed(below: Layout.allTombstones) + log.listed(below: Layout.allAnnotations))
  }

  /// Where those of one database lie.
  func prefixes(of database: String, host: String = "host") -> Set<String> {
    let chain = shelf.chain(database, host: host)
    return [Layout.tombstones(of: chain), Layout.annotations(of: chain)]
  }

  /// What is stored there.
  func names(below prefix: String) -> Set<String> {
    Set(shelf.road.store.content.keys.map(\.text).filter { $0.hasPrefix(prefix) })
  }
}

/// Writes down what is fetched from a store, and what is listed; refuses listings as one does that is too long.
private final class RequestLog: ObjectStore {
  let traits: StoreTraits
  private let base: any ObjectStore
  private let gets = Locked<[String]>([])
  private let lists = Locked<[String]>([])
  private let refused = Locked<Set<String>>([])

  init(_ base: any ObjectStore) {
    self.base = base
    traits = base.traits
  }

  func clear() {
    gets.withLock { $0 = [] }
    lists.withLock { $0 = [] }
  }

  func refuse(_ prefixes: Set<String>) { refused.withLock { $0 = prefixes } }

  func fetched(below prefix: String) -> [String] { gets.withLock { $0.filter { $0.hasPrefix(prefix) } } }
  func listed(below prefix: String) -> [String] { lists.withLock { $0.filter { $0.hasPrefix(prefix) } } }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    gets.withLock { $0.append(name.text) }
    return try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    lists.withLock { $0.append(prefix) }
    if refused.withLock({ $0.contains(prefix) }) { throw StoreError(.badAnswer, "it lists too many objects") }
    return try await base.list(prefix: prefix)
  }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
