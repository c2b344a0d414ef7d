import Operations
import TestKit
import Testing

/// From a live database to a restored one, over a store in memory, with real databases.
@Suite struct RoadTests {
  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `a real database comes back`(method: DatabaseSource.Method) async throws {
    let road = try await Road()
    let source = "/usr/share/proj/proj.db"
    let outcome = try await road.push(DatabaseSource(name: "proj", path: source, method: method))
    #expect(outcome.failures.isEmpty)
    #expect(outcome.damage == nil)
    let restored = road.scratch.file("restored.db")
    let pulled = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(restored))
    #expect(pulled.check == "ok")
    #expect(pulled.version.id == outcome.pushed.first?.version.id)
    #expect(try await dump(restored) == dump(source))
  }
}
