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
