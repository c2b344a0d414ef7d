import Glibc
import Snapshots
import TestKit
import Testing

/// Where a test works: a folder for the source, and a private one for the spool.
struct Desk {
  let scratch: Scratch
  let source: String
  let spool: String

  init(_ name: String = "app.db") throws {
    scratch = try Scratch()
    spool = scratch.file("spool")
    mkdir(spool, 0o700)
    mkdir(scratch.file("live"), 0o755)
    source = scratch.file("live/\(name)")
  }

  func request(_ method: SnapshotMethod) -> SnapshotRequest {
    SnapshotRequest(source: source, method: method, spoolFolder: spool, busyTimeout: .seconds(300))
  }

  func take(_ method: SnapshotMethod) async throws -> Snapshot { try await takeSnapshot(request(method)) }

  /// The error that a snapshot ends with. Nothing may be left in the spool then.
  func refusal(_ request: SnapshotRequest) async throws -> SnapshotError? {
    let error = await #expect(throws: SnapshotError.self) { try await takeSnapshot(request) }
    #expect(try names(in: spool).isEmpty)
    return error
  }

  /// What an application would see: a dump of copies of the files, so that reading disturbs nothing.
  func contents() throws -> [String] {
    let copy = try copyOfSource()
    return try TestDatabase(copy.file("copy")).dump()
  }

  /// The database as one file: its -wal is merged into it, in a copy.
  func mergedBytes() throws -> [UInt8] {
    let copy = try copyOfSource()
    let database = try TestDatabase(copy.file("copy"))
    _ = try database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return try fileBytes(copy.file("copy"))
  }

  private func copyOfSource() throws -> Scratch {
    let copy = try Scratch()
    for (ending, bytes) in try SourceBytes(source).files { try writeFile(copy.file("copy") + ending, bytes) }
    return copy
  }
}

/// What an application sees when it opens an image. Side files may appear; the image must not be needed after.
func contents(ofImage path: String) throws -> [String] { try TestDatabase(path).dump() }

func pages(_ bytes: [UInt8], size: Int) -> [ArraySlice<UInt8>] {
  stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
}
