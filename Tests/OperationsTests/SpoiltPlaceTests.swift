import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Sealing

/// What this machine remembered of the repositories at a place is spoilt: another disk, which the same key opens, may lie there.
@Suite struct SpoiltPlaceTests {
  /// A machine that has pushed two versions, and has a spoilt memory of the place since.
  private struct Machine {
    let road: Road
    let database: DatabaseSource
    let versions: [VersionSummary]
    /// What was spoilt.
    let path: String

    init() async throws {
      road = try await Road()
      database = DatabaseSource(name: "app", path: try road.database(rows: 50))
      let first = try #require(try await road.push(database).pushed.first).version
      try await road.change(database.path)
      let second = try #require(try await road.push(database).pushed.first).version
      versions = [first, second]
      path = try spoil(road.world.stateFolder, road)
    }

    func told(_ words: String) -> Int { road.notices.said.withLock { $0.count { $0.contains(words) } } }
  }

  enum Look: String, CaseIterable { case list, status, pull, pullAll, prune, keys }

  private func look(_ look: Look, _ machine: Machine) async throws {
    let (world, target) = (machine.road.world, machine.road.target)
    switch look {
    case .list: #expect(try await ListVersions(world).run(at: target).versions.count == 1)
    case .status:
      #expect(try await StatusOfDatabases(world).run([machine.database], at: target).databases.map(\.versions) == [1])
    case .pull:
      let path = machine.road.scratch.file("out.db")
      _ = try await Pull(world).run(.latest(database: "app"), from: target, to: .file(path))
    case .pullAll:
      let folder = try Scratch()
      let all = try await RestoreAll(Pull(world)).run(.pull(into: folder.path), from: target, host: nil)
      #expect(all.done.count == 1 && all.failures.isEmpty)
    case .keys: #expect(try await ManageKeys(world).list(at: target).map(\.current) == [true])
    case .prune:
      // It is to write there: no doubt may be left.
      var dry = PruneRepository.Request()
      dry.dryRun = true
      let request = dry
      let error = await #expect(throws: OperationError.self) {
        try await PruneRepository(world).run(request, at: target)
      }
      #expect(error?.code == "stateFolder")
    }
  }

  /// A mark would be the proof that it belongs there.
  @Test(arguments: Look.allCases)
  func `who looks at another disk does not let the next push in there`(_ kind: Look) async throws {
    let (machine, other) = (try await Machine(), try await Road())
    let theirs = DatabaseSource(name: "app", path: try other.database(rows: 50))
    #expect(try await other.push(theirs).failures.isEmpty)
    let (road, right) = (machine.road, machine.road.store.content)
    road.store.content = other.store.content
    try await look(kind, machine)
    let strange = try await other.target.open(other.world).id
    #expect(StateFolder(reading: road.world.stateFolder, repository: strange).markedChains().isEmpty)
    try await road.change(machine.database.path)
    #expect(try await road.push(machine.database).failures.map(\.error.code) == ["stateFolder"])
    #expect(road.store.content == other.store.content)
    #expect(try isKept(machine.path))
    road.store.content = right
    #expect(try await road.push(machine.database).failures.isEmpty)
  }

  /// It is used already; that it went back is to be noticed.
  @Test func `of a repository that was used before, what is seen is noted all the same`() async throws {
    let machine = try await Machine()
    let (road, folder) = (machine.road, try Scratch())
    let world = road.withoutState(folder)
    _ = try await ListVersions(world).run(at: road.target)
    let path = try spoil(world.stateFolder, road)
    let before = road.store.content
    try await road.change(machine.database.path)
    #expect(try await road.push(machine.database).failures.isEmpty)
    _ = try await ListVersions(world).run(at: road.target)
    #expect(try isKept(path))
    road.store.content = before
    #expect(try await ListVersions(world).run(at: road.target).problems.map(\.code).contains("rolledBack"))
  }

  enum DryRun: String, CaseIterable { case forget, forgetLost, prune, repair, push, drill, drillByName }

  private func run(_ kind: DryRun, _ machine: Machine, _ world: World) async throws {
    let target = machine.road.target
    switch kind {
    case .forget:
      var request = ForgetVersions.Request(.versions([.id(prefix: machine.versions[0].id)]))
      request.dryRun = true
      let plan = try await ForgetVersions(world).plan(request, at: target)
      #expect(plan.chains.count == 1 && plan.refusals.isEmpty)
    case .forgetLost:
      var request = ForgetLost.Request()
      request.dryRun = true
      #expect(try await ForgetLost(world).run(request, at: target).problems.isEmpty)
    case .prune:
      var request = PruneRepository.Request()
      request.dryRun = true
      #expect(try await PruneRepository(world).run(request, at: target).problems.isEmpty)
    case .repair:
      var request = RepairRepository.Request(databases: [])
      request.dryRun = true
      #expect(try await RepairRepository(world).run(request, at: target).failures.isEmpty)
    case .push:
      // Whoever asks for the passphrase opens it once more.
      var untried = target
      untried.isUntried = { true }
      var request = Push.Request(database: machine.database, targets: [untried])
      request.dryRun = true
      let outcome = try await Push(world).run(request)
      #expect(outcome.failures.isEmpty && outcome.pushed.map(\.unchanged) == [true])
    case .drill, .drillByName:
      var request = Drill.Request()
      request.records = false
      if kind == .drillByName { request.choice = .versions([.id(prefix: machine.versions[0].id)]) }
      #expect(try await Drill(world).run(request, at: target).drilled.map(\.hasPassed) == [true])
    }
  }

  @Test(arguments: DryRun.allCases)
  func `what promises to change nothing leaves the spoilt memory as it is, and tells`(_ kind: DryRun) async throws {
    let machine = try await Machine()
    try await run(kind, machine, machine.road.world)
    #expect(try isKept(machine.path))
    #expect(machine.told("remembered of the repositories there is spoilt") > 0)
    #expect(machine.told("it stays as it is") > 0 && machine.told("made anew, and what stood there") == 0)
  }

  /// Where nothing was used, nobody is kept out, and nothing else says which repository belongs there.
  @Test(arguments: DryRun.allCases)
  func `nor does it note what it has seen there, where nothing was used before`(_ kind: DryRun) async throws {
    let machine = try await Machine()
    let folder = try Scratch()
    let world = machine.road.withoutState(folder)
    let path = try spoil(world.stateFolder, machine.road)
    try await run(kind, machine, world)
    #expect(try isKept(path))
    let repository = try await machine.road.target.open(machine.road.world).id
    #expect(StateFolder(reading: world.stateFolder, repository: repository).markedChains().isEmpty)
  }

  @Test(arguments: [false, true])
  func `a drill that is noted makes it anew`(_ isByName: Bool) async throws {
    let machine = try await Machine()
    var request = Drill.Request()
    if isByName { request.choice = .versions([.id(prefix: machine.versions[0].id)]) }
    #expect(try await Drill(machine.road.world).run(request, at: machine.road.target).drilled.map(\.recorded) == [true])
    #expect(machine.told("made anew, and what stood there") == 1)
    #expect(try fileBytes("\(machine.path).bad") == junk)
  }
}

private let junk = Array("junk".utf8)

/// - Returns: the path of what a machine remembers of the road's place, with junk in it.
private func spoil(_ state: String, _ road: Road) throws -> String {
  let path = try KnownRepositories(at: road.store, in: state).path
  try StateFiles.makeFolder("\(state)/places")
  try writeFile(path, junk)
  return path
}

/// Neither made anew nor laid aside.
private func isKept(_ path: String) throws -> Bool {
  try fileBytes(path) == junk && !FileManager.default.fileExists(atPath: "\(path).bad")
}
