import FoundationEssentials
import TestKit
import Testing

@testable import Operations

/// What does not fit into a version is said before the database is read, as far as it is known then.
@Suite struct ManyCompanionsTests {
  private func write(_ road: Road, _ folder: String, files: Int) throws {
    try FileManager.default.createDirectory(atPath: road.scratch.file(folder), withIntermediateDirectories: true)
    for number in 0..<files { try writeFile(road.scratch.file("\(folder)/\(number)"), [1]) }
  }

  @Test func `more than a version can hold is refused before the snapshot`() async throws {
    let road = try await Road()
    var source = DatabaseSource(name: "app", path: try road.database(rows: 10))
    source.companions = [Companion("att")]
    try write(road, "att", files: 3)
    // The folder and three files.
    try await CompanionCapture(source, CompanionHooks(), mostBytes: 4 * 160 + 18).hold()
    let capture = try CompanionCapture(source, CompanionHooks(), mostBytes: 4 * 160 + 17)
    let error = await #expect(throws: OperationError.self) { try await capture.hold() }
    #expect(error?.kind == .failed && error?.code == "tooManyCompanions" && error?.hint != nil)
  }

  /// It stays behind where the database turns out to be no store of Core Data's.
  @Test func `a folder that nobody asked for is not counted yet`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 10))
    try write(road, ".app_SUPPORT/_EXTERNAL_DATA", files: 3)
    let capture = try CompanionCapture(source, CompanionHooks(), mostBytes: 100)
    #expect(capture.digest != nil)
    try await capture.hold()
  }
}
