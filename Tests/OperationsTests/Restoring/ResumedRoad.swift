import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// A database of 8 MiB at a target, and a machine that has seen nothing of it, which pulls it in waves of one frame each.
struct ResumedRoad {
  let road: Road
  let source: String
  let version: String
  /// Of the database, in bytes.
  let size: Int
  let machine: Scratch
  /// Bytes of packs that a whole pull fetches.
  let whole: Int

  /// - Parameter companion: bytes of a file that goes with the database.
  init(companion: Int = 0) async throws {
    let road = try await Road()
    let source = try road.database(rows: 8000)
    var database = DatabaseSource(name: "app", path: source)
    if companion > 0 {
      var random = SeededRandom(5)
      try writeFile(road.scratch.file("beside"), random.bytes(companion))
      database.companions = [Companion("beside")]
    }
    let pushed = try await road.push(database).pushed
    let summary = try #require(pushed.first).version
    let version = summary.id
    let line = CutLine(road.store, after: .max)
    let other = try Scratch()
    _ = try await Self.pull(road, on: other).run(
      .id(prefix: version), from: Self.target(road, line), to: .file(other.file("out.db")))
    (self.road, self.source, self.version) = (road, source, version)
    size = summary.size
    machine = try Scratch()
    whole = line.fetched
  }

  static func target(_ road: Road, _ store: any ObjectStore) -> TargetAccess {
    var target = road.target
    target.store = store
    return target
  }

  private static func pull(_ road: Road, on machine: Scratch) -> Pull {
    var pull = Pull(road.withoutState(machine))
    pull.keepsFrom = 1
    pull.waveLength = 1
    return pull
  }

  var pull: Pull { Self.pull(road, on: machine) }

  var path: String { machine.file("out.db") }

  @discardableResult
  func run(_ line: CutLine, _ version: String? = nil) async throws -> Pull.Outcome {
    try await pull.run(.id(prefix: version ?? self.version), from: Self.target(road, line), to: .file(path))
  }

  /// A pull whose line is cut for good when it has fetched more than half, and the file that it leaves.
  /// - Parameter code: of what packs answer from then on.
  func cut(by code: StoreError.Code = .unavailable) async throws -> (error: OperationError, kept: String) {
    let line = CutLine(road.store, after: whole * 6 / 10, code: code)
    let error = await #expect(throws: OperationError.self) { try await run(line) }
    return (try #require(error), machine.file(try #require(left.first)))
  }

  /// What is there beside the state.
  var left: [String] { road.files(in: machine.path).filter { $0 != "state" } }

  /// What the next pull fetches; it ends with the database and nothing beside it.
  func goOn(_ version: String? = nil) async throws -> Int {
    let line = CutLine(road.store, after: .max)
    try await run(line, version)
    #expect(try await dump(path) == dump(source))
    #expect(left.allSatisfy { $0.hasPrefix("out.db") })
    #expect(mode(of: path) == 0o600)
    return line.fetched
  }
}

/// A line that breaks for good after so many bytes of packs.
final class CutLine: ObjectStore {
  private let base: MemoryStore
  private let limit: Int
  private let waits: Bool
  private let code: StoreError.Code
  private let count = Locked(0)
  private let asked = Locked<[ObjectName]>([])
  private let isReleased = Locked(false)
  let traits: StoreTraits

  /// - Parameter waits: then nothing comes any more, until whoever asks is cancelled, or it goes on.
  init(_ base: MemoryStore, after limit: Int, waits: Bool = false, code: StoreError.Code = .unavailable) {
    self.base = base
    self.limit = limit
    self.waits = waits
    self.code = code
    traits = base.traits
  }

  /// Bytes of packs, so far.
  var fetched: Int { count.withLock { min($0, limit) } }
  var isCut: Bool { count.withLock { $0 > limit } }
  /// Packs of which something was fetched, the last one last.
  var packs: [ObjectName] { asked.withLock { $0 } }

  func goOn() { isReleased.withLock { $0 = true } }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    let bytes = try await base.get(name, range: range)
    guard name.text.hasPrefix("packs/") else { return bytes }
    let isCut = count.withLock { count in
      count += bytes.count
      return count > limit
    }
    asked.withLock { $0.append(name) }
    guard isCut else { return bytes }
    while waits, !Task.isCancelled {
      if isReleased.withLock({ $0 }) { return bytes }
      try? await Task.sleep(for: .milliseconds(10))
    }
    throw Task.isCancelled ? StoreError(.cancelled, "cancelled") : StoreError(code, "the line was cut")
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
