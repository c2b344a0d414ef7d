import FoundationEssentials
import Operations
import Storage
import TestKit
import Testing

/// What is refused, with which exit status, and what a push must not believe.
@Suite struct RefusalTests {
  private func refusal(_ road: Road, _ change: (inout Push.Request) -> Void) async throws -> OperationError? {
    let source = road.scratch.file("app.db")
    var request = Push.Request(database: DatabaseSource(name: "app", path: source), targets: [road.target])
    change(&request)
    return await #expect(throws: OperationError.self) { try await Push(road.world).run(request) }
  }

  @Test func `texts that the format cannot hold are refused before anything is done`() async throws {
    let road = try await Road()
    _ = try road.database(rows: 5)
    let before = road.store.content
    let long = String(repeating: "x", count: 65_536)
    let changes: [(inout Push.Request) -> Void] = [
      { $0.note = long }, { $0.tags = [long] }, { $0.database.tags = [long] }, { $0.database.name = long },
      { $0.database.name = "" }, { $0.database.name = "a\0b" }, { $0.tags = (0..<70_000).map { "\($0)" } },
    ]
    for change in changes {
      #expect(try await refusal(road, change)?.kind == .usage)
    }
    #expect(road.store.content == before)
    var world = road.world
    world.host = long
    let error = await #expect(throws: OperationError.self) {
      let database = DatabaseSource(name: "app", path: road.scratch.file("app.db"))
      _ = try await Push(world).run(Push.Request(database: database, targets: [road.target]))
    }
    #expect(error?.kind == .usage)
  }

  @Test func `a repository made anew at the same place gets everything again`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    try await Task.sleep(for: .milliseconds(2200))
    let database = DatabaseSource(name: "app", path: source)
    _ = try await road.push(database)
    #expect(try await road.push(database).pushed[0].unchanged)
    road.store.content = [:]
    // As the refusal says it.
    try removeFile("\(road.world.stateFolder)/places")
    _ = try await Initialize(road.world).run(at: road.target, ifMissing: false)
    #expect(try await road.push(database).pushed[0].unchanged == false)
  }

  @Test func `a memory from the far future, or garbage, is no reason to crash or to believe it`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    try await Task.sleep(for: .milliseconds(2200))
    let database = DatabaseSource(name: "app", path: source)
    let first = try await road.push(database).pushed[0].version
    let folder = "\(road.world.stateFolder)/sources"
    let path = "\(folder)/\(try #require(road.files(in: folder).first))"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let parts = text.split(separator: ",").map { part in
      part.contains("\"seenAt\"")
        ? "\(part.prefix { $0 != ":" }):\(UInt64.max)\(part.hasSuffix("}") ? "}" : "")" : "\(part)"
    }
    for content in [parts.joined(separator: ","), "garbage", "", "{}"] {
      try Data(content.utf8).write(to: URL(fileURLWithPath: path))
      #expect(try await road.push(database).pushed[0].version.id == first.id)
    }
  }

  @Test func `a missing pack is a failed verification, and nothing is left behind`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 300)
    _ = try await road.push(DatabaseSource(name: "app", path: source))
    for name in road.store.content.keys where name.text.hasPrefix("packs/") { road.store.content[name] = nil }
    let out = try Scratch()
    for state in [road.world, road.withoutState(out)] {
      let error = await #expect(throws: OperationError.self) {
        try await Pull(state).run(.latest(database: "app"), from: road.target, to: .file(out.file("out.db")))
      }
      #expect(error?.kind == .verificationFailed)
    }
    #expect(road.files(in: out.path) == ["state"])
  }

  @Test func `a key file too short and a recovery key mistyped say so`() async throws {
    let road = try await Road()
    let short = TargetAccess(name: "memory", store: road.store, unlock: { .keyFile([1, 2, 3]) })
    let mistyped = TargetAccess(name: "memory", store: road.store, unlock: { .recoveryKey("ABCD-EFGH") })
    let empty = TargetAccess(name: "memory", store: MemoryStore(), unlock: { .keyFile([1, 2, 3]) })
    let lists = ListVersions(road.world)
    let first = await #expect(throws: OperationError.self) { try await lists.run(at: short) }
    #expect(first?.kind == .usage)
    let second = await #expect(throws: OperationError.self) { try await lists.run(at: mistyped) }
    #expect(second?.kind == .wrongKey)
    let other = TargetAccess(name: "memory", store: road.store, unlock: { .keyFile([UInt8](repeating: 4, count: 64)) })
    let wrong = await #expect(throws: OperationError.self) { try await lists.run(at: other) }
    #expect(wrong?.kind == .wrongKey && wrong?.hint?.contains("--recovery-key-file") == true)
    let third = await #expect(throws: OperationError.self) {
      try await Initialize(road.world).run(at: empty, ifMissing: false)
    }
    #expect(third?.kind == .usage)
  }

  @Test func `any file name that the folder can hold can be restored to`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 5)
    _ = try await road.push(DatabaseSource(name: "app", path: source))
    for name in [String(repeating: "€", count: 81) + ".db", String(repeating: "n", count: 240), "-rf", "a\nb"] {
      let path = road.scratch.file(name)
      _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(path))
      #expect(try await dump(path) == dump(source))
    }
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.contains(".sealift-") })
  }
}
