import Glibc
import Operations
import Storage
import Subprocess
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

func dump(_ path: String) async throws -> String {
  let result = try await run(
    .name("sqlite3"), arguments: ["-readonly", path, ".dump"], output: .string(limit: 256 << 20),
    error: .string(limit: 1 << 20))
  guard result.terminationStatus.isSuccess else { throw DumpError(text: result.standardError) }
  return result.standardOutput
}

struct DumpError: Error { let text: String }

/// A world of its own: a state folder, a clock, a repository in memory.
struct Road {
  let scratch: Scratch
  let world: World
  let target: TargetAccess
  let store = MemoryStore()
  let notices = Notices()

  init() async throws {
    scratch = try Scratch()
    world = World(
      stateFolder: scratch.file("state"), host: "host",
      now: { UInt64(time(nil)) * 1000 }, reporter: notices)
    let secret = UnlockSecret.keyFile([UInt8](repeating: 3, count: 64))
    target = TargetAccess(name: "memory", store: store, unlock: { secret })
    _ = try await Initialize(world).run(at: target, ifMissing: false)
  }

  func push(_ database: DatabaseSource) async throws -> Push.Outcome {
    try await Push(world).run(Push.Request(database: database, targets: [target]))
  }
}

final class Notices: Reporter {
  let said = Locked<[String]>([])
  func progress(_ progress: Progress) {}
  func notice(_ text: String) { said.withLock { $0.append(text) } }
}
