import Glibc
import Operations
import Storage
import TestKit
import Testing

/// A chain of pushes, as a database lives: every version comes back, whatever happened to this machine in between.
@Suite struct ChainTests {
  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `the state folder may be lost between any two pushes`(method: DatabaseSource.Method) async throws {
    let road = try await Road()
    let source = try road.database(rows: 200)
    var expected: [String: String] = [:]
    for step in 0..<8 {
      try await road.change(source)
      try SQLite.run("insert into t(body) select randomblob(900) from t limit \(step * 5 + 1)", on: source)
      // Another machine of the same name each time: nothing local is left of the last one.
      let folder = try Scratch()
      defer { withExtendedLifetime(folder) {} }
      let world = road.withoutState(folder)
      let outcome = try await Push(world).run(
        Push.Request(database: DatabaseSource(name: "app", path: source, method: method), targets: [road.target]))
      let version = try #require(outcome.pushed.first?.version)
      #expect(version.sequence == UInt64(step + 1))
      expected[version.id] = try await dump(source)
    }
    let list = try await ListVersions(road.world).run(at: road.target)
    #expect(list.versions.count == 8)
    #expect(list.problems.isEmpty)
    #expect(!list.freshnessProvable)
    for (id, content) in expected {
      let path = road.scratch.file(String(id.prefix(12)))
      _ = try await Pull(road.world).run(.id(prefix: id), from: road.target, to: .file(path))
      #expect(try await dump(path) == content)
    }
    #expect(try await ListVersions(road.world).run(at: road.target).freshnessProvable)
  }

  @Test func `a cut target is reported as such`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    let database = DatabaseSource(name: "app", path: source)
    for _ in 0..<3 {
      try await road.change(source)
      #expect(try await road.push(database).failures.isEmpty)
    }
    let manifests = road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.sorted()
    let whole = road.store.content

    road.store.content[manifests[1]] = nil
    let hole = try await ListVersions(road.world).run(at: road.target)
    #expect(hole.versions.map(\.sequence) == [1, 3])
    #expect(hole.problems.contains { $0.code == "hole" })

    road.store.content = whole
    road.store.content[manifests[2]] = nil
    let cut = try await ListVersions(road.world).run(at: road.target)
    #expect(cut.problems.contains { $0.code == "rolledBack" })
    let refused = await #expect(throws: OperationError.self) {
      try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(road.scratch.file("out")))
    }
    #expect(refused?.kind == .verificationFailed)
    try await road.change(source)
    #expect(try await road.push(database).failures.first?.error.code == "rolledBack")
    Fault.wentBack.met("end cut off")
  }
}
