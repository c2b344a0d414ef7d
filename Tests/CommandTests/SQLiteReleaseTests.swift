import TestKit
import Testing

@testable import SealiftTool

/// What `doctor` says of the SQLite library of this machine.
@Suite struct SQLiteReleaseTests {
  @Test(arguments: [
    ("3.6.23", false), ("3.7.0", true), ("3.40.1", true), ("3.46.1", true), ("3.50.6", true), ("3.50.7", false),
    ("3.51.0", true), ("3.51.2", true), ("3.51.3", false), ("3.53.0", false), ("4.0", false),
  ])
  func `releases that may lose pages are known`(text: String, losesPages: Bool) throws {
    let release = try #require(SQLiteRelease(text))
    #expect(release.losesPages == losesPages)
    #expect((release.caution != nil) == losesPages)
    #expect(release.caution?.contains("SQLite \(text) ") ?? true)
  }

  @Test(arguments: ["", "3", "3.x.1", "3..1", "3.-4.1", "3.46.1.2", "release"])
  func `what is no release is none`(text: String) { #expect(SQLiteRelease(text) == nil) }

  @Test func `doctor says so where it is so, in words and in JSON`() async throws {
    let home = try Home()
    try await home.must("init")
    let spoken = try await home("doctor")
    let line = try await home.program("--version").output
    let version = try #require(line.split(separator: "SQLite ").last).prefix { $0 == "." || $0.isNumber }
    let ours = try #require(SQLiteRelease(version))
    #expect(spoken.error.contains("WAL-reset bug") == ours.losesPages, "\(spoken.error)")
    let document = try await home("doctor", "--json").output
    #expect(document.contains("\"sqlite\":\"\(ours)\""), "\(document)")
  }
}
