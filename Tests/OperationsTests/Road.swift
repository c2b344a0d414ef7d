import FoundationEssentials
import Glibc
import Operations
import Storage
import TestKit

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
      stateFolder: scratch.file("state"), host: "host", now: { UInt64(time(nil)) * 1000 }, reporter: notices)
    let secret = UnlockSecret.keyFile([UInt8](repeating: 3, count: 64))
    target = TargetAccess(name: "memory", store: store, unlock: { secret })
    _ = try await Initialize(world).run(at: target, ifMissing: false)
  }

  /// The same world on a machine that has never seen it.
  func withoutState(_ folder: Scratch) -> World {
    var world = world
    world.stateFolder = folder.file("state")
    return world
  }

  func push(_ database: DatabaseSource) async throws -> Push.Outcome {
    try await Push(world).run(Push.Request(database: database, targets: [target]))
  }

  /// Makes a database of random rows.
  func database(rows: Int) throws -> String {
    let path = scratch.file("app.db")
    try SQLite.run("create table t(id integer primary key, body blob)", on: path)
    try SQLite.run(
      "with n(i) as (select 1 union all select i + 1 from n where i < \(rows)) insert into t(body) select randomblob(900) from n",
      on: path)
    return path
  }

  /// Rows in order, and an index in random order: a vacuumed copy of it after an update has most of its pages new.
  func orders(rows: Int, index: String = "tag, body") throws -> String {
    let path = scratch.file("orders.db")
    try SQLite.run(
      "create table t(id integer primary key, body text, tag integer); create index by_tag on t(\(index))", on: path)
    try SQLite.run(
      "with n(i) as (select 1 union all select i + 1 from n where i < \(rows)) insert into t(body, tag) select hex(randomblob(20)), abs(random()) % 100000 from n",
      on: path)
    return path
  }

  func change(_ path: String) async throws {
    try SQLite.run("update t set body = randomblob(900) where id = 7", on: path)
  }

  /// A companion that makes a version too dear at its first attempt, when it is written again: most of its pack is needed
  /// no more. Then all of what comes with the database is read anew.
  func writeDear(_ name: String, again: Bool) throws {
    var random = SeededRandom(5)
    let first = random.bytes(7 << 20)
    try writeFile(scratch.file(name), again ? Array(first.prefix(1 << 20)) + random.bytes(4 << 20) : first)
  }

  func files(in folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }
}

final class Notices: Reporter {
  let said = Locked<[String]>([])
  func progress(_ progress: Progress) {}
  func notice(_ text: String) { said.withLock { $0.append(text) } }
  let details = Locked<[String]>([])
  func detail(_ text: String) { details.withLock { $0.append(text) } }
}

/// Leaves a database as a writer does that died in the middle of its transaction.
func leaveHotJournal(of update: String, at path: String) throws {
  let database = try TestDatabase(path)
  try database.run("PRAGMA cache_size=2; PRAGMA synchronous=NORMAL; BEGIN; \(update)")
  let (journal, content) = (try fileBytes(path + "-journal"), try fileBytes(path))
  try database.run("ROLLBACK")
  database.close()
  try writeFile(path, content)
  try writeFile(path + "-journal", journal)
}

/// The whole content of a database as text, by the sqlite3 program.
func dump(_ path: String) async throws -> String {
  let result = try await Child.run(["sqlite3", "-readonly", path, ".dump"])
  guard result.isSuccess else { throw DumpError(text: result.error) }
  return result.output
}

struct DumpError: Error { let text: String }

/// As `CompanionHooks.failing`: a disk that answers with an error the first time it is read, and then no more.
func failingOnce() -> @Sendable (String) -> Int32 {
  let fails = Locked(true)
  return { _ in
    fails.withLock { fails -> Int32 in
      defer { fails = false }
      return fails ? EIO : 0
    }
  }
}
