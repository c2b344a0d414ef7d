import Repositories
import Storage
import TestKit
import Testing

@testable import Operations

/// A target whose disk shows an object and cannot read it: the trouble of what needs that object, and of nothing else.
@Suite struct BadSectorTests {
  /// Two databases; what cannot be read is the manifest of the first one's second and newest version.
  private struct Disk {
    let road: Road
    let app: DatabaseSource
    let target: TargetAccess
    let manifest: ObjectName

    init() async throws {
      road = try await Road()
      app = DatabaseSource(name: "app", path: try road.database(rows: 30))
      let other = DatabaseSource(name: "other", path: road.scratch.file("other.db"))
      try SQLite.run("create table t(a); insert into t values(1)", on: other.path)
      for source in [other, app] { _ = try await road.push(source) }
      try await road.change(app.path)
      _ = try await road.push(app)
      let second = road.store.content.keys.compactMap { VersionName($0) }.first { $0.sequence == 2 }
      manifest = try #require(second).objectName
      target = BadSectorTests.target(of: road, unreadable: manifest)
    }

    /// Restores the newest version on a machine that has seen nothing.
    func restored(_ database: String) async throws -> String {
      let machine = try Scratch()
      let file = machine.file("out.db")
      _ = try await Pull(road.withoutState(machine)).run(.latest(database: database), from: target, to: .file(file))
      return try await dump(file)
    }
  }

  /// - Parameter object: what lies in the bad sector.
  private static func target(of road: Road, unreadable object: ObjectName) -> TargetAccess {
    let store = HookedStore(
      road.store,
      beforeGet: { name async throws(StoreError) in
        if name == object { throw StoreError(.unreadable, "input/output error", hint: "Look at the disk.") }
      })
    return TargetAccess(name: "memory", store: store, unlock: road.target.unlock)
  }

  @Test func `it stands in the way of no other database`() async throws {
    let disk = try await Disk()
    #expect(try await disk.restored("other").contains("INSERT INTO t VALUES(1)"))
    let error = await #expect(throws: OperationError.self) { try await disk.restored("app") }
    #expect(error?.kind == .verificationFailed && error?.code == "damaged")

    let machine = try Scratch()
    let world = disk.road.withoutState(machine)
    let list = try await ListVersions(world).run(at: disk.target)
    #expect(list.versions.map(\.database).sorted() == ["app", "other"])
    let problem = try #require(list.problems.first)
    #expect(problem.code == "damaged" && problem.message.contains("version 2 cannot be read: input/output error"))
    #expect(problem.hint?.hasPrefix("Look at the disk. ") == true)
    let drilled = try await Drill(world).run(Drill.Request(), at: disk.target)
    #expect(drilled.drilled.map(\.version.database) == ["other"])
    #expect(drilled.failures.map { $0.database } == ["app"])
  }

  @Test func `a check names it and goes on`() async throws {
    let disk = try await Disk()
    let outcome = try await CheckRepository(disk.road.world).run(at: disk.target, databases: [], .all)
    #expect(outcome.findings.filter(\.isDamage).map(\.object) == [disk.manifest.text])
    #expect(outcome.whole.compactMap(\.database).sorted() == ["app", "other"])
  }

  @Test func `a pack in it is one finding of a check that reads everything`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 200)))
    let pack = try #require(road.store.content.keys.first { $0.text.hasPrefix("packs/") })
    let target = Self.target(of: road, unreadable: pack)
    let outcome = try await CheckRepository(road.world).run(at: target, databases: [], .all)
    let findings = outcome.findings.filter(\.isDamage)
    #expect(findings.map(\.object) == [pack.text] && outcome.harmed.count == 1)
    #expect(findings.first?.what == "a pack cannot be read: input/output error")
    #expect(findings.first?.hint == "Look at the disk.")
  }

  @Test func `a repair writes the version anew`() async throws {
    let disk = try await Disk()
    let repaired = try await RepairRepository(disk.road.world).run(.init(databases: [disk.app]), at: disk.target)
    #expect(repaired.saved.map(\.sequence) == [2] && repaired.failures.isEmpty)
    #expect(try await disk.restored("app") == dump(disk.app.path))
  }

  @Test func `it can be given up when a newer version is there`() async throws {
    let disk = try await Disk()
    try await disk.road.change(disk.app.path)
    _ = try await disk.road.push(disk.app)
    let outcome = try await ForgetLost(disk.road.world).run(.init(), at: disk.target)
    #expect(outcome.chains.map(\.lost) == [[2...2]] && outcome.problems.isEmpty)
  }
}
