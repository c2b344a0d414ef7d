import FoundationEssentials
import Repositories
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// The name that chains belong to is remembered beside the state, and is this machine's.
@Suite struct HostNameTests {
  private func world(_ scratch: Scratch, called name: String, on kind: FileSystemKind) -> World {
    var world = World(stateFolder: scratch.file("state"), now: { 1_800_000_000_000 }, reporter: Notices())
    world.systemName = { name }
    world.fileSystem = { _ in kind }
    return world
  }

  @Test(arguments: [FileSystemKind.nfs, .smb, .fuse("sshfs"), .shared("virtiofs"), .cluster("ceph")])
  func `two machines with one state folder on a network are not one`(_ kind: FileSystemKind) throws {
    let scratch = try Scratch()
    let (one, two) = (world(scratch, called: "one", on: kind), world(scratch, called: "two", on: kind))
    #expect(try HostName.known(one) == "one")
    #expect(try HostName.current(one) == "one")
    #expect(try HostName.current(one) == "one")
    let refused = #expect(throws: OperationError.self) { try HostName.current(two) }
    #expect(refused?.kind == .usage && refused?.code == "sharedState")
    #expect(refused?.message.contains("'one'") == true && refused?.message.contains("'two'") == true)
    #expect(refused?.message.contains(kind.name) == true && refused?.hint?.contains("\"host\"") == true)
    // What only reads takes nobody else's versions for its own.
    #expect(try HostName.known(two) == "two")
    #expect(try HostName.current(one) == "one", "it was not renamed")
  }

  @Test(arguments: [FileSystemKind.local("ext4"), .local(nil), .overlay, .fuse("gocryptfs")])
  func `a machine that is called otherwise goes on by its first name`(_ kind: FileSystemKind) throws {
    let scratch = try Scratch()
    #expect(try HostName.current(world(scratch, called: "first", on: kind)) == "first")
    let renamed = world(scratch, called: "second", on: kind)
    #expect(try HostName.current(renamed) == "first")
    #expect(try HostName.known(renamed) == "first")
  }

  /// Another name would begin a new chain of each database.
  @Test func `a name that is spoilt is refused, and one that a person wrote is not`() throws {
    let scratch = try Scratch()
    #expect(try HostName.current(world(scratch, called: "first", on: .local("ext4"))) == "first")
    let machine = world(scratch, called: "second", on: .local("ext4"))
    #expect(try HostName.current(machine) == "first")
    let path = scratch.file("state/host")
    let good = try fileBytes(path)
    for place in good.indices {
      for change: UInt8 in [1, 2, 4, 0x20, 0x40, 0x80] {
        var bytes = good
        bytes[place] ^= change
        try writeFile(path, bytes)
        let name = try? HostName.current(machine)
        #expect(name == nil || name == "first", "byte \(place)")
        #expect(try fileBytes(path) == bytes)
      }
    }
    for bytes in [[], [10], [32, 32, 10], [0xFF, 10], [0x61, 1, 0x62, 10], Array("one\ntwo\n".utf8)] as [[UInt8]] {
      try writeFile(path, bytes)
      let refused = #expect(throws: RepositoryError.self) { try HostName.current(machine) }
      #expect(refused?.code == .stateFolder && refused?.hint?.contains("> '\(path)'") == true)
      // Who reads takes no name for its own that may be another one's.
      let unknown = #expect(throws: RepositoryError.self) { try HostName.known(machine) }
      #expect(unknown?.code == .stateFolder && unknown?.hint?.contains("\"host\"") == true)
      #expect(try fileBytes(path) == bytes)
    }
    for text in ["mine", "mine\n", "mine\r\n"] {
      try writeFile(path, Array(text.utf8))
      #expect(try HostName.current(machine) == "mine")
    }
  }

  @Test func `who says its name, or has kept it, is not asked where it lives`() throws {
    let scratch = try Scratch()
    let asked = Locked(0)
    var own = world(scratch, called: "one", on: .nfs)
    own.fileSystem = { _ in
      asked.withLock { $0 += 1 }
      return .nfs
    }
    for _ in 0..<2 { #expect(try HostName.current(own) == "one") }
    var other = own
    other.systemName = { "two" }
    other.host = "two-by-configuration"
    #expect(try HostName.current(other) == "two-by-configuration")
    #expect(asked.withLock { $0 } == 0)
  }

  @Test func `a push of the second machine is refused, and a restore finds no place`() async throws {
    let road = try await Road()
    let one = world(road.scratch, called: "one", on: .nfs)
    let two = world(road.scratch, called: "two", on: .nfs)
    let database = DatabaseSource(name: "app", path: try road.database(rows: 5))
    let request = Push.Request(database: database, targets: [road.target])
    #expect(try await Push(one).run(request).pushed.map(\.version.host) == ["one"])
    let before = road.store.content
    let refused = await #expect(throws: OperationError.self) { try await Push(two).run(request) }
    #expect(refused?.code == "sharedState" && road.store.content == before)
    let restore = Restore.Request(place: .origin(["app": road.scratch.file("other.db")]))
    let elsewhere = await #expect(throws: OperationError.self) {
      try await Restore(Pull(two)).run(.latest(database: "app"), from: road.target, restore)
    }
    #expect(elsewhere?.code == "otherHost")
  }

  /// A machine that is called as another one that pushed a database of the same name, and whose own name is spoilt.
  private struct Spoilt {
    let road: Road
    let machine: World
    let notices = Notices()
    let first: VersionSummary
    let second: VersionSummary
    /// The manifests of its own chain.
    let own: Set<ObjectName>
    let source: DatabaseSource

    init(_ world: (Scratch, String) -> World) async throws {
      let road = try await Road()
      let one = world(road.scratch, "first")
      var two = world(road.scratch, "second")
      two.stateFolder = road.scratch.file("state-of-second")
      let path = try road.database(rows: 5)
      let other = road.scratch.file("second.db")
      try SQLite.run("create table t(id integer primary key); insert into t values (42)", on: other)
      func push(_ name: String, _ path: String, _ world: World) async throws -> VersionSummary {
        let request = Push.Request(database: DatabaseSource(name: name, path: path), targets: [road.target])
        let pushed = try await Push(world).run(request).pushed
        return try #require(pushed.first).version
      }
      first = try await push("app", path, one)
      own = Set(road.store.content.keys.filter { $0.text.hasPrefix(Layout.versions) })
      second = try await push("app", other, two)
      _ = try await push("w", other, two)
      try writeFile(road.scratch.file("state/host"), [0x66, 0xFF, 0x74, 10])
      var machine = world(road.scratch, "second")
      machine.reporter = notices
      self.machine = machine
      self.road = road
      source = DatabaseSource(name: "app", path: path)
    }

    func loseOwn() { for name in own { road.store.content[name] = nil } }
  }

  private func spoiltName() async throws -> Spoilt {
    try await Spoilt { scratch, name in world(scratch, called: name, on: .local("ext4")) }
  }

  @Test func `where the name is spoilt no other host's version is restored as this one's`() async throws {
    let spoilt = try await spoiltName()
    let (road, machine) = (spoilt.road, spoilt.machine)
    let refused = await #expect(throws: OperationError.self) {
      try await ListVersions(machine).show(.latest(database: "app"), at: road.target)
    }
    // 14 would say that this machine has none.
    #expect(refused?.kind == .failed && refused?.code == "stateFolder")
    #expect(refused?.hint?.contains("\"host\"") == true)
    #expect(refused?.causes.contains { $0.contains(road.scratch.file("state/host")) } == true)
    for version in [spoilt.first, spoilt.second] {
      #expect(refused?.hint?.contains(version.id.prefix(12)) == true)
      let place = road.scratch.file("in-place.db")
      let restore = Restore.Request(place: .origin(["app": place]))
      let unknown = await #expect(throws: OperationError.self) {
        try await Restore(Pull(machine)).run(.id(prefix: version.id), from: road.target, restore)
      }
      #expect(unknown?.kind == .failed && unknown?.code == "stateFolder")
      #expect(unknown?.hint?.contains("\"host\"") == true && unknown?.hint?.contains("--to FILE") == true)
      #expect(!road.files(in: road.scratch.path).contains("in-place.db"))
      // Whoever names both gets it.
      let named = Restore.Request(place: .file(road.scratch.file("copy-of-\(version.host).db")))
      _ = try await Restore(Pull(machine)).run(.id(prefix: version.id), from: road.target, named)
    }
    let only = try await ListVersions(machine).show(.latest(database: "w"), at: road.target)
    #expect(only.summary.host == "second")
    for work in [
      .pull(into: road.scratch.file("all")),
      .restore(Restore.Request(place: .origin([:])), paths: ["app": road.scratch.file("in-place.db")]),
    ] as [RestoreAll.Work] {
      let several = await #expect(throws: OperationError.self) {
        try await RestoreAll(Pull(machine)).run(work, from: road.target, host: nil)
      }
      #expect(several?.code == "severalHosts" && several?.causes.isEmpty == false)
    }
    let folder = road.scratch.file("all")
    try StateFiles.makeFolder(folder)
    let all = try await RestoreAll(Pull(machine)).run(.pull(into: folder), from: road.target, host: "first")
    #expect(all.host == "first" && all.done.map(\.database) == ["app"])
    var drill = Drill.Request()
    (drill.choice, drill.records) = (.versions([.latest(database: "app")]), false)
    let drilled = try await Drill(machine).run(drill, at: road.target)
    #expect(drilled.drilled.isEmpty && drilled.failures.count == 1)
  }

  @Test func `where the name is spoilt nothing is let go of without a host`() async throws {
    let spoilt = try await spoiltName()
    let (road, machine) = (spoilt.road, spoilt.machine)
    var rules = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let unsaid = rules
    let refused = await #expect(throws: OperationError.self) {
      try await ForgetVersions(machine).plan(unsaid, at: road.target)
    }
    #expect(refused?.code == "stateFolder" && refused?.hint?.contains("\"host\"") == true)
    rules.host = "first"
    let ofFirst = try await ForgetVersions(machine).plan(rules, at: road.target)
    #expect(ofFirst.chains.map(\.host) == ["first"])
    (rules.host, rules.allHosts) = (nil, true)
    let ofAll = try await ForgetVersions(machine).plan(rules, at: road.target)
    #expect(ofAll.chains.count == 3)
    let byID = ForgetVersions.Request(.versions([.id(prefix: spoilt.second.id)]))
    let named = try await ForgetVersions(machine).plan(byID, at: road.target)
    #expect(named.chains.count + named.refusals.count == 1)

    var lost = ForgetLost.Request()
    let unsaidLost = lost
    let refusedLost = await #expect(throws: OperationError.self) {
      try await ForgetLost(machine).run(unsaidLost, at: road.target)
    }
    #expect(refusedLost?.code == "stateFolder")
    lost.host = "first"
    let lostOfFirst = try await ForgetLost(machine).run(lost, at: road.target)
    (lost.host, lost.allHosts) = (nil, true)
    let lostOfAll = try await ForgetLost(machine).run(lost, at: road.target)
    #expect(lostOfFirst.problems.isEmpty && lostOfAll.problems.isEmpty)

    var prune = PruneRepository.Request()
    (prune.databases, prune.dryRun, prune.runs) = (["app"], true, .one)
    let pruned = try await PruneRepository(machine).run(prune, at: road.target)
    #expect(pruned.problems.isEmpty)
    // Of a chain of which nothing can be read, its number says whose it is to who knows the names.
    let name = try #require(spoilt.own.first)
    var parts = name.text.split(separator: "/").map(String.init)
    parts[1] = String(repeating: "a", count: parts[1].count)
    let planted = try #require(ObjectName(parts.joined(separator: "/")))
    road.store.content[planted] = [UInt8](repeating: 1, count: road.store.content[name]?.count ?? 0)
    let unsaidPrune = prune
    let refusedPrune = await #expect(throws: OperationError.self) {
      try await PruneRepository(machine).run(unsaidPrune, at: road.target)
    }
    #expect(refusedPrune?.code == "stateFolder")
    prune.host = "first"
    _ = try await PruneRepository(machine).run(prune, at: road.target)
  }

  @Test func `where the name is spoilt a status has a problem`() async throws {
    let spoilt = try await spoiltName()
    let (road, machine) = (spoilt.road, spoilt.machine)
    for databases in [nil, [spoilt.source]] as [[DatabaseSource]?] {
      let problems = try await StatusOfDatabases(machine).run(databases, at: road.target).problems
      #expect(problems.contains { $0.code == "stateFolder" && $0.hint?.contains("\"host\"") == true })
    }
    // A repair that has nothing to do asks for no name.
    let repaired = try await RepairRepository(machine).run(.init(databases: [spoilt.source]), at: road.target)
    #expect(repaired.isWhole && !spoilt.notices.said.withLock { $0 }.contains { $0.contains("of no help") })
    var named = machine
    named.host = "first"
    let problems = try await StatusOfDatabases(named).run(nil, at: road.target).problems
    #expect(!problems.contains { $0.code == "stateFolder" })
    #expect(try await ListVersions(named).show(.latest(database: "app"), at: road.target).summary.host == "first")
  }

  /// Where one host has versions, that is taken by who asks for a database or for all, as by a machine that was made anew. Of
  /// the place of one version nobody is sure.
  @Test(arguments: [1, 2])
  func `where the name is spoilt a person hears of each command what a number of hosts means`(hosts: Int) async throws {
    let road = try await Road()
    let first = world(road.scratch, called: "first", on: .local("ext4"))
    var second = world(road.scratch, called: "second", on: .local("ext4"))
    second.stateFolder = road.scratch.file("state-of-second")
    let database = DatabaseSource(name: "app", path: try road.database(rows: 5))
    for world in [first, second].prefix(hosts) {
      let pushed = try await Push(world).run(Push.Request(database: database, targets: [road.target]))
      #expect(pushed.failures.isEmpty)
    }
    try writeFile(road.scratch.file("state/host"), [0x66, 0xFF, 0x74, 10])
    let machine = world(road.scratch, called: "second", on: .local("ext4"))
    let place = road.scratch.file("in-place.db")
    func code(_ work: () async throws -> Void) async throws -> String? {
      do { try await work() } catch let error as OperationError { return error.code }
      return nil
    }
    let show = try await code { _ = try await ListVersions(machine).show(.latest(database: "app"), at: road.target) }
    let restore = try await code {
      let request = Restore.Request(place: .origin(["app": place]))
      _ = try await Restore(Pull(machine)).run(.latest(database: "app"), from: road.target, request)
    }
    let restoreAll = try await code {
      let work = RestoreAll.Work.restore(Restore.Request(place: .origin([:])), paths: ["app": place])
      _ = try await RestoreAll(Pull(machine)).run(work, from: road.target, host: nil)
    }
    let drill = try await code {
      var request = Drill.Request()
      (request.databases, request.records) = (["app"], false)
      let outcome = try await Drill(machine).run(request, at: road.target)
      #expect(outcome.failures.isEmpty)
    }
    let forget = try await code {
      _ = try await ForgetVersions(machine).plan(.init(.rulesForAll(RetentionRules(last: 1))), at: road.target)
    }
    let prune = try await code {
      var request = PruneRepository.Request()
      (request.databases, request.dryRun, request.runs) = (["app"], true, .one)
      _ = try await PruneRepository(machine).run(request, at: road.target)
    }
    #expect(restore == "stateFolder" && forget == "stateFolder" && prune == nil)
    let several: [String?] = hosts == 1 ? [nil, nil, nil] : ["stateFolder", "severalHosts", "severalHosts"]
    #expect([show, restoreAll, drill] == several)
    #expect(road.files(in: road.scratch.path).contains("in-place.db") == (hosts == 1))
  }

  /// What is had from here is what was pushed, by its hash, whatever this machine is called.
  @Test(arguments: [true, false])
  func `where the name is spoilt a repair saves what is here, and pushes nothing`(hasBases: Bool) async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 400))
    let first = world(road.scratch, called: "first", on: .local("ext4"))
    let push = Push.Request(database: database, targets: [road.target])
    let version = try #require(try await Push(first).run(push).pushed.first).version
    let content = try await dump(database.path)
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") }
    let pack = try #require(packs.max { $0.value.count < $1.value.count }?.key)
    road.store.content[pack]?[5000] ^= 1
    try writeFile(road.scratch.file("state/host"), [0x66, 0xFF, 0x74, 10])
    // What it held is in the bases, and nowhere else on this machine.
    try SQLite.run("update t set body = randomblob(900)", on: database.path)
    if !hasBases { try FileManager.default.removeItem(atPath: road.scratch.file("state/bases")) }
    let machine = world(road.scratch, called: "second", on: .local("ext4"))
    let repaired = try await RepairRepository(machine).run(.init(databases: [database]), at: road.target)
    #expect(repaired.pushed.isEmpty)
    guard hasBases else {
      // Whose it is nobody can say.
      #expect(repaired.elsewhere.map(\.id) == [version.id] && repaired.lost.isEmpty)
      #expect(repaired.failures.map(\.code) == ["stateFolder"])
      #expect(repaired.failures.first?.hint?.contains("\"host\"") == true)
      // With a name it is said as ever.
      var named = machine
      named.host = "first"
      var request = RepairRepository.Request(databases: [database])
      request.dryRun = true
      let judged = try await RepairRepository(named).run(request, at: road.target)
      #expect(judged.lost.map(\.id) == [version.id] && judged.elsewhere.isEmpty && judged.failures.isEmpty)
      return
    }
    #expect(repaired.isWhole && repaired.elsewhere.isEmpty && repaired.saved.map(\.id) == [version.id])
    let copy = road.scratch.file("restored.db")
    _ = try await Pull(machine).run(.id(prefix: version.id), from: road.target, to: .file(copy))
    #expect(try await dump(copy) == content)
  }

  /// That one may have what it needs, and would be told to forget it.
  @Test(arguments: [true, false])
  func `where the name is spoilt a repair calls nothing of another host lost`(dryRun: Bool) async throws {
    let road = try await Road()
    let first = world(road.scratch, called: "first", on: .local("ext4"))
    var second = world(road.scratch, called: "second", on: .local("ext4"))
    second.stateFolder = road.scratch.file("state-of-second")
    let database = DatabaseSource(name: "app", path: try road.database(rows: 400))
    _ = try await Push(first).run(Push.Request(database: database, targets: [road.target]))
    let before = Set(road.store.content.keys)
    let path = road.scratch.file("second.db")
    var versions: [VersionSummary] = []
    for change in ["create table t(id integer primary key, body blob)", "create table u(id integer primary key)"] {
      try SQLite.run(change, on: path)
      try SQLite.run(
        "with n(i) as (select 1 union all select i + 1 from n where i < 400) insert into t(body) select randomblob(900) from n",
        on: path)
      let push = Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target])
      versions.append(try #require(try await Push(second).run(push).pushed.first).version)
    }
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") && !before.contains($0.key) }
    for (name, bytes) in packs where bytes.count > 5000 { road.store.content[name]?[5000] ^= 1 }
    try writeFile(road.scratch.file("state/host"), [0x66, 0xFF, 0x74, 10])
    let machine = world(road.scratch, called: "first", on: .local("ext4"))
    var request = RepairRepository.Request(databases: [database])
    request.dryRun = dryRun
    let manifests = road.store.content.keys.filter { $0.text.hasPrefix("versions/") }
    let repaired = try await RepairRepository(machine).run(request, at: road.target)
    #expect(repaired.elsewhere.map(\.id) == versions.reversed().map(\.id))
    #expect(repaired.lost.isEmpty && repaired.saved.isEmpty && repaired.pushed.isEmpty)
    // Once, and no push was tried.
    #expect(repaired.failures.map(\.code) == ["stateFolder"])
    #expect(repaired.failures.first?.hint?.contains("\"host\"") == true)
    #expect(Set(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }) == Set(manifests))
  }

  /// What this machine has seen, and is not shown any more, may be its own.
  @Test func `where the name is spoilt another host's version stands in for none that is gone`() async throws {
    let spoilt = try await spoiltName()
    let (road, machine) = (spoilt.road, spoilt.machine)
    spoilt.loseOwn()
    await #expect(throws: OperationError.self) {
      try await ListVersions(machine).show(.latest(database: "app"), at: road.target)
    }
    let folder = road.scratch.file("all")
    try StateFiles.makeFolder(folder)
    await #expect(throws: OperationError.self) {
      try await RestoreAll(Pull(machine)).run(.pull(into: folder), from: road.target, host: nil)
    }
    #expect(road.files(in: folder).isEmpty)
    var drill = Drill.Request()
    (drill.databases, drill.records) = (["app"], false)
    let drilled = try await Drill(machine).run(drill, at: road.target)
    #expect(drilled.failures.count == 1)
    // It is no other database, either.
    drill.databases = ["w"]
    let other = try await Drill(machine).run(drill, at: road.target)
    #expect(other.failures.isEmpty && other.drilled.map(\.version.host) == ["second"])
    let all = try await RestoreAll(Pull(machine)).run(.pull(into: folder), from: road.target, host: "second")
    #expect(all.done.map(\.database).sorted() == ["app", "w"])
  }
}
