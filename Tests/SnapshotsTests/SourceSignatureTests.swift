import FoundationEssentials
import Glibc
import Snapshots
import TestKit
import Testing

@Suite struct SourceSignatureTests {
  @Test(arguments: [SampleDatabase.rollback, .walClosed, .walWithContent])
  func `what a snapshot noted is still so after it, and settled`(_ kind: SampleDatabase) async throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    for method in SnapshotMethod.allCases {
      // Root's SQLite touches the -wal each time it opens it; that must not count, but two times within two seconds do.
      try await Task.sleep(for: .seconds(2.1))
      let noted = try await desk.take(method).source
      #expect(noted.isSettled)
      #expect(try SourceSignature.read(desk.source) == noted)
    }
  }

  @Test(arguments: [SampleDatabase.rollback, .walClosed, .walWithContent])
  func `it changes with every commit`(_ kind: SampleDatabase) throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    let database = try TestDatabase(desk.source)
    var seen: Set<SourceSignature> = [try SourceSignature.read(desk.source)]
    for age in 0..<5 {
      // The grain of the file system's clock.
      usleep(20_000)
      try database.run("UPDATE people SET age = \(1000 + age)")
      #expect(seen.insert(try SourceSignature.read(desk.source)).inserted)
    }
  }

  @Test func `it is settled only when both files were left alone for two seconds`() throws {
    let desk = try Desk()
    try SampleDatabase.walWithContent.make(at: desk.source)
    #expect(try !isSettled(desk.source, afterSetting: ["", "-wal"], to: time(nil)))
    // Old times of modification alone prove nothing: anyone can set them.
    #expect(try !isSettled(desk.source, afterSetting: ["", "-wal"], to: 1_000_000_000))
    usleep(2_100_000)
    #expect(try SourceSignature.read(desk.source).isSettled)
    #expect(try !isSettled(desk.source, afterSetting: ["-wal"], to: 1_000_000_000))
  }

  @Test func `a time in the future proves as much as any other`() throws {
    let desk = try Desk()
    try SampleDatabase.walWithContent.make(at: desk.source)
    #expect(try !isSettled(desk.source, afterSetting: ["", "-wal"], to: 2_050_000_000))
    usleep(2_100_000)
    #expect(try SourceSignature.read(desk.source).isSettled)
  }

  /// Vacuuming it takes a second connection. Run by root, that one gives the -wal its owner, too.
  @Test func `what a snapshot noted of a database with CHECK constraints is still so after it`() async throws {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run("PRAGMA journal_mode=WAL; CREATE TABLE t(v CHECK(v > 0)); INSERT INTO t VALUES (1)")
    database.closeKeepingWal()
    try await Task.sleep(for: .seconds(2.1))
    let snapshot = try await desk.take(.vacuum)
    #expect(snapshot.method == .vacuum && snapshot.source.wal != nil && snapshot.source.isSettled)
    #expect(try SourceSignature.read(desk.source) == snapshot.source)
  }

  @Test func `nothing is opened: a pipe would hold the reader for ever`() throws {
    let scratch = try Scratch()
    mkfifo(scratch.file("app.db"), 0o600)
    mkfifo(scratch.file("app.db-wal"), 0o600)
    #expect(try SourceSignature.read(scratch.file("app.db")).database.size == 0)
  }

  @Test func `it survives being written down`() throws {
    let desk = try Desk()
    try SampleDatabase.walWithContent.make(at: desk.source)
    chmod(desk.source, 0o640)
    let signature = try SourceSignature.read(desk.source)
    let read = try JSONDecoder().decode(SourceSignature.self, from: JSONEncoder().encode(signature))
    #expect(read == signature)
    #expect(read.mode == 0o640)
    #expect(read.isSettled == signature.isSettled)
  }

  @Test func `an empty -wal is none`() throws {
    let desk = try Desk()
    try SampleDatabase.walClosed.make(at: desk.source)
    let before = try SourceSignature.read(desk.source)
    try writeFile(desk.source + "-wal", [])
    #expect(try SourceSignature.read(desk.source) == before)
    #expect(before.wal == nil)
  }

  @Test func `a file that is not there is missing`() {
    let error = #expect(throws: SnapshotError.self) { try SourceSignature.read("/nowhere/app.db") }
    #expect(error?.code == .missing)
  }

  /// Whether it is settled when times of modification were set just now; they are set again where this test had to wait
  /// before it could look.
  private func isSettled(_ path: String, afterSetting endings: [String], to seconds: Int) throws -> Bool {
    for _ in 0..<20 {
      let start = ContinuousClock.now
      for ending in endings { setModified(path + ending, seconds) }
      let signature = try SourceSignature.read(path)
      if ContinuousClock.now - start < .seconds(1) { return signature.isSettled }
    }
    Issue.record("it took a second each time")
    return false
  }

  private func setModified(_ path: String, _ seconds: Int) {
    var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
    utimensat(AT_FDCWD, path, &times, 0)
  }
}
