import CSQLite
import FoundationEssentials
import Glibc
import Sealift
import Storage
import TestKit
import Testing

/// Where a test works: a database, a folder for copies, a repository's target and state.
struct Bench {
  let scratch: Scratch
  let database: String
  /// Copies are made in here, and must be gone from here.
  let copies: String
  let target: Repository.Target
  let key = Repository.Key.keyFile(content: [UInt8](repeating: 7, count: 64))

  init() throws {
    scratch = try Scratch()
    database = scratch.file("app.db")
    copies = scratch.file("copies")
    mkdir(copies, 0o700)
    target = .folder(scratch.file("target"))
  }

  var state: String { scratch.file("state") }
  var folder: Snapshot.Folder { .folder(copies) }

  /// A database of `rows` rows, each about a page of 4096 bytes.
  @discardableResult
  func makeDatabase(rows: Int = 60, journal: String = "delete", word: String = "old") throws -> String {
    try Self.makeDatabase(at: database, rows: rows, journal: journal, word: word)
    return database
  }

  static func makeDatabase(
    at path: String, rows: Int, journal: String = "delete", word: String = "old", pageSize: Int = 4096
  ) throws {
    try SQLite.run(
      """
      PRAGMA page_size=\(pageSize); PRAGMA journal_mode=\(journal); PRAGMA synchronous=OFF;
      CREATE TABLE t(id INTEGER PRIMARY KEY, word TEXT, body BLOB);
      WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO t(word, body) SELECT '\(word)', randomblob(3500) FROM n
      """, on: path)
  }

  func makeRepository(_ options: Repository.Options = .init()) async throws -> Repository {
    try await Repository.create(at: target, key: key, state: state, options: options)
  }

  /// Folders of copies that are still there.
  func copiesLeft() throws -> [String] {
    let spools = (try? names(in: "\(copies)/spool")) ?? []
    return spools.filter { $0 != "lock" }
  }

  /// Copies that a push took and left in the state folder.
  func spoolsLeft() throws -> [String] {
    let spools = (try? names(in: "\(state)/spool")) ?? []
    return spools.filter { $0 != "lock" }
  }

  /// Objects at the target whose names begin so.
  func objects(below prefix: String) -> [String] { allFiles(in: scratch.file("target/\(prefix)")) }
}

func allFiles(in folder: String) -> [String] {
  guard let found = try? FileManager.default.subpathsOfDirectory(atPath: folder) else { return [] }
  return found.filter { name in
    var status = stat()
    return lstat("\(folder)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }
}

/// The words of table t with how many rows have them, as a new connection sees them.
func words(_ path: String) throws -> [[String]] {
  try TestDatabase(path).rows("SELECT word, count(*) FROM t GROUP BY word ORDER BY word")
}

func words(_ database: TestDatabase) throws -> [[String]] {
  try database.rows("SELECT word, count(*) FROM t GROUP BY word ORDER BY word")
}

/// What an application's callback was told.
final class Told<Value: Sendable>: Sendable {
  private let all = Locked<[Value]>([])
  var values: [Value] { all.withLock { $0 } }
  func append(_ value: Value) { all.withLock { $0.append(value) } }
}

struct Enough: Error, Equatable {}

/// A task that its own work can cancel.
final class Fuse<Value: Sendable>: Sendable {
  private let task = Locked<Task<Value, any Error>?>(nil)

  /// Begins when it can be cancelled.
  func run(_ work: @escaping @Sendable (Fuse) async throws -> Value) async throws -> Value {
    let task = self.task.withLock { held in
      let task = Task { [self] in
        // The lock is free when the task is known to us.
        self.task.withLock { _ in }
        return try await work(self)
      }
      held = task
      return task
    }
    return try await task.value
  }

  func blow() { task.withLock { $0 }?.cancel() }
}
