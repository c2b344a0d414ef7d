import CSQLite
import Storage
import TestKit

// What the examples of the documentation stand in: an application, as short as can be.

let diary = Locked<[String]>([])

func log(_ text: String) { diary.withLock { $0.append(text) } }
func alarm(_ text: String) { log("ALARM: \(text)") }
func report(_ done: Int, of total: Int?) { log("\(done) of \(total.map(String.init) ?? "?")") }
func enoughSpaceIsLeft() -> Bool { true }

struct TooLittleSpace: Error {}

struct Vault: Sendable {
  func secret(named name: String) async throws -> String { "the secret named \(name)" }
}

/// As much of GRDB's `DatabaseQueue` as the examples use, under its names: connections are lent for the time of a closure.
final class DatabaseQueue {
  struct Database {
    let sqliteConnection: OpaquePointer?
    func clearSchemaCache() {}
  }

  private let database: TestDatabase
  private let lock = Locked(())

  init(_ path: String) throws { database = try TestDatabase(path) }

  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try lock.withLock { _ in
      try database.run("BEGIN DEFERRED; SELECT 1 FROM sqlite_schema")
      defer { try? database.run("COMMIT") }
      return try body(Database(sqliteConnection: database.handle))
    }
  }

  func writeWithoutTransaction<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try lock.withLock { _ in try body(Database(sqliteConnection: database.handle)) }
  }

  func run(_ sql: String) throws { try database.run(sql) }
  func number(_ sql: String) throws -> Int { try database.number(sql) }
}
