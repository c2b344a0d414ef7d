import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Operations

/// What does not fit into a version is said before the database is read, as far as it is known then.
@Suite struct ManyCompanionsTests {
  private func write(_ scratch: Scratch, _ folder: String, files: Int) throws {
    try FileManager.default.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: true)
    for number in 0..<files { try writeFile(scratch.file("\(folder)/\(number)"), [1]) }
  }

  private func makeCapture(_ source: DatabaseSource, mostBytes: Int) throws -> CompanionCapture {
    var hooks = CompanionHooks()
    hooks.mostBytes = mostBytes
    return try CompanionCapture(source, hooks)
  }

  @Test func `more than a version can hold is refused before the snapshot`() async throws {
    let road = try await Road()
    var source = DatabaseSource(name: "app", path: try road.database(rows: 10))
    source.companions = [Companion("att")]
    try write(road.scratch, "att", files: 3)
    // The folder and three files.
    try await makeCapture(source, mostBytes: 4 * 160 + 18).hold()
    let capture = try makeCapture(source, mostBytes: 4 * 160 + 17)
    let error = await #expect(throws: OperationError.self) { try await capture.hold() }
    #expect(error?.kind == .failed && error?.code == "tooManyCompanions" && error?.hint != nil)
  }

  /// XFS has no longer ones.
  @Test func `where links lead is counted as well`() async throws {
    let road = try await Road()
    var source = DatabaseSource(name: "app", path: try road.database(rows: 10))
    source.companions = [Companion("att")]
    try write(road.scratch, "att", files: 0)
    let target = String(repeating: "t", count: 1000)
    for number in 0..<3 { try #require(symlink(target, road.scratch.file("att/\(number)")) == 0) }
    try await makeCapture(source, mostBytes: 4 * 160 + 18 + 3000).hold()
    let capture = try makeCapture(source, mostBytes: 4 * 160 + 17 + 3000)
    let error = await #expect(throws: OperationError.self) { try await capture.hold() }
    #expect(error?.code == "tooManyCompanions")
  }

  private func entry(_ path: String, _ kind: CompanionEntry.Kind, size: Int) -> CompanionEntry {
    var status = stat()
    status.st_size = off_t(size)
    return CompanionEntry(path: path, kind: kind, status: FileStatus(status), root: 0)
  }

  /// Of 2^32 blocks, nearly all of them holes: to read it takes days.
  private let tooLong = ((1 << 32) - 1) * 65_536 + 1

  @Test func `a file with more blocks than a version can count is refused by its name`() throws {
    let others = [entry("att", .folder, size: .max), entry("att/a", .file, size: tooLong - 1)]
    try CompanionCapture.demandFitting(others, mostBytes: 1000)
    for size in [tooLong, .max] {
      let error = #expect(throws: OperationError.self) {
        try CompanionCapture.demandFitting(others + [entry("att/hole", .file, size: size)], mostBytes: 1000)
      }
      #expect(error?.kind == .failed && error?.code == "companionTooLong" && error?.hint != nil)
      #expect(error?.message.contains("'att/hole'") == true)
    }
  }

  @Test func `such a file is refused before the snapshot`() async throws {
    // Not every file system has files as long as that; one in memory has.
    let memory = "/dev/shm"
    let scratch = try access(memory, W_OK | X_OK) == 0 ? Scratch(in: memory) : Scratch()
    var source = DatabaseSource(name: "app", path: scratch.file("app.db"))
    try SQLite.run("create table t(a)", on: source.path)
    source.companions = [Companion("att")]
    try write(scratch, "att", files: 1)
    let isLong = truncate(scratch.file("att/0"), off_t(tooLong)) == 0
    try #require(isLong || !Environment.isWhole)
    guard isLong else { return }
    let capture = try CompanionCapture(source, CompanionHooks())
    let error = await #expect(throws: OperationError.self) { try await capture.hold() }
    #expect(error?.code == "companionTooLong")
  }

  /// On a file system that has files as long as that.
  @Test(.enabled(if: access("/dev/shm", W_OK | X_OK) == 0))
  func `a file that grows as long before it is read is refused as well`() throws {
    let scratch = try Scratch(in: "/dev/shm")
    let path = scratch.file("hole")
    try writeFile(path, [1])
    let held = HeldFiles.Held(open(path, O_RDONLY | O_CLOEXEC))
    try #require(truncate(path, off_t(tooLong)) == 0)
    let error = #expect(throws: OperationError.self) {
      _ = try CapturedFile(held, path: "att/hole", CompanionHooks(), CaptureEvents())
    }
    #expect(error?.code == "companionTooLong")
  }

  @Test func `what holes come to together is as much as can be, not the end of us`() {
    var captured = CompanionCapture.Captured()
    captured.count(.max, isExternal: true)
    captured.count(5, isExternal: false)
    captured.count(.max, isExternal: true)
    #expect(captured.files == 3 && captured.bytes == .max)
    #expect(captured.externalFiles == 2 && captured.externalBytes == .max)
  }

  /// It stays behind where the database turns out to be no store of Core Data's.
  @Test func `a folder that nobody asked for is not counted yet`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 10))
    try write(road.scratch, ".app_SUPPORT/_EXTERNAL_DATA", files: 3)
    let capture = try makeCapture(source, mostBytes: 100)
    #expect(capture.digest != nil)
    try await capture.hold()
  }
}
