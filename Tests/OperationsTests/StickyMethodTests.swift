import Glibc
import Operations
import Snapshots
import Storage
import TestKit
import Testing

/// A database that could not be vacuumed is copied page by page, until that may be otherwise.
@Suite struct StickyMethodTests {
  /// - Returns: the methods that a copy was asked for, and that of the version.
  private func push(
    _ road: Road, _ path: String, _ change: (inout Push.Request) -> Void = { _ in }
  ) async throws -> [String] {
    let asked = Locked<[String]>([])
    var push = Push(road.world)
    push.take = { request, progress in
      asked.withLock { $0.append(request.method.rawValue) }
      return try await takeSnapshot(request, progress: progress)
    }
    var request = Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target])
    request.force = true
    change(&request)
    let outcome = try await push.run(request)
    #expect(outcome.failures.isEmpty && outcome.damage == nil)
    return asked.withLock { $0 } + outcome.pushed.map(\.version.method)
  }

  /// A database whose application knows a collation that nobody else does.
  private func strange(_ road: Road) throws -> String {
    let path = road.scratch.file("strange.db")
    try SampleDatabase.applicationCollation.make(at: path)
    return path
  }

  private func run(_ sql: String, on path: String) throws {
    let database = try TestDatabase(path)
    try database.run(sql)
    database.close()
  }

  @Test func `it stays with its pages while the schema stays, and is vacuumed when that is another`() async throws {
    let road = try await Road()
    let path = try strange(road)
    #expect(try await push(road, path) == ["vacuum", "pages"])
    #expect(road.notices.details.withLock { $0 }.isEmpty)
    try run("INSERT INTO loud VALUES('more')", on: path)
    #expect(try await push(road, path) == ["pages", "pages"])
    #expect(road.notices.details.withLock { $0 }.contains { $0.contains("is copied page by page, as it could not") })
    #expect(road.notices.said.withLock { $0 }.filter { $0.contains("instead of vacuumed") }.count == 1)
    // Tried once for each change that did not help.
    try run("CREATE TABLE another(a)", on: path)
    #expect(try await push(road, path) == ["vacuum", "pages"])
    #expect(try await push(road, path) == ["pages", "pages"])
    try run("DROP TABLE loud", on: path)
    for _ in 0..<2 { #expect(try await push(road, path) == ["vacuum", "vacuum"]) }
    #expect(road.files(in: "\(road.world.stateFolder)/methods").isEmpty)
  }

  @Test func `so it is when its number is another, or the file`() async throws {
    let road = try await Road()
    let path = try strange(road)
    #expect(try await push(road, path) == ["vacuum", "pages"])
    try run("PRAGMA user_version = 12", on: path)
    #expect(try await push(road, path) == ["vacuum", "pages"])
    let bytes = try fileBytes(path)
    try writeFile(path + "-other", bytes)
    #expect(rename(path + "-other", path) == 0)
    #expect(try await push(road, path) == ["vacuum", "pages"])
    #expect(try await push(road, path) == ["pages", "pages"])
  }

  @Test func `a person who insists has it tried again, and a note of an earlier release is tried once`() async throws {
    let road = try await Road()
    let path = try strange(road)
    #expect(try await push(road, path) == ["vacuum", "pages"])
    let insisting = try await push(road, path) { $0.database.insistsOnMethod = true }
    let rebuilding = try await push(road, path) { $0.rebuildBase = true }
    #expect(insisting == ["vacuum", "pages"] && rebuilding == ["vacuum", "pages"])
    #expect(try await push(road, path) == ["pages", "pages"])
    let folder = "\(road.world.stateFolder)/methods"
    let note = "\(folder)/\(try #require(road.files(in: folder).first))"
    try writeFile(note, Array("pages: no such collation sequence: shouting\n".utf8))
    #expect(try await push(road, path) == ["vacuum", "pages"])
    #expect(try await push(road, path) == ["pages", "pages"])
  }
}
