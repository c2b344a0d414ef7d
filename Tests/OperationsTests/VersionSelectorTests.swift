import Operations
import Testing

@Suite struct VersionSelectorTests {
  @Test(
    arguments: [
      ("latest", .latest(database: nil)),
      ("app:latest", .latest(database: "app")),
      ("a:b:latest", .latest(database: "a:b")),
      ("latest:latest", .latest(database: "latest")),
      ("3f2a", .id(prefix: "3f2a")),
      ("3F2A91C0", .id(prefix: "3f2a91c0")),
      (String(repeating: "a", count: 64), .id(prefix: String(repeating: "a", count: 64))),
      ("app@2026-11-20T12:00:00.250Z", .notLater(database: "app", time: 1_795_176_000_250)),
      // Tables show whole seconds: the whole second is meant.
      ("app@2026-11-20T12:00:00Z", .notLater(database: "app", time: 1_795_176_000_999)),
      ("me@home@2026-11-20T14:00:00.000+02:00", .notLater(database: "me@home", time: 1_795_176_000_000)),
      ("dead:latest", .latest(database: "dead")),
    ] as [(String, VersionSelector)])
  func `a version is named in four ways`(text: String, selector: VersionSelector) throws {
    #expect(try VersionSelector(parsing: text) == selector)
  }

  @Test(arguments: [
    "", "app", "3f2", "3f2g", ":latest", "@2026-11-20T12:00:00Z", "app@", "app@yesterday", "app@2026-11-20",
    "app@2026-11-20T12:00:00", "app@2026-13-20T12:00:00Z", "Latest", "newest", String(repeating: "a", count: 65),
  ])
  func `anything else is refused with what a version looks like`(text: String) throws {
    let error = try #require(throws: OperationError.self) { try VersionSelector(parsing: text) }
    #expect(error.kind == .usage)
    #expect(error.code == "badVersion")
    #expect(error.hint?.contains("NAME:latest") == true)
    #expect(error.hint?.contains("'app:latest' is its newest version") == (text == "app"))
  }
}

@Suite struct TimesTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (1_795_176_000_123, "2026-11-20T12:00:00.123Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
    ] as [(UInt64, String)])
  func `a time is written and read back`(milliseconds: UInt64, text: String) {
    #expect(Times.text(milliseconds) == text)
    #expect(Times.milliseconds(text) == milliseconds)
  }

  @Test func `the days of four hundred years go there and back, one after the other`() {
    var previous = ""
    for day in stride(from: UInt64(0), through: 146_096, by: 8) {
      let text = Times.text(day * 86_400_000 + 3_723_004)
      guard text > previous, Times.milliseconds(text) == day * 86_400_000 + 3_723_004 else {
        Issue.record("\(text) after \(previous)")
        return
      }
      previous = text
    }
    #expect(previous.hasPrefix("2369-12-31T01:02:03.004Z"))
  }

  @Test(
    arguments: [
      ("2026-11-20t12:00:00z", 1_795_176_000_000), ("2026-11-20 12:00:00Z", 1_795_176_000_000),
      ("2026-11-20T12:00:00.5Z", 1_795_176_000_500), ("2026-11-20T12:00:00.123456789Z", 1_795_176_000_123),
      ("2026-11-20T14:30:00+02:30", 1_795_176_000_000), ("2026-11-19T23:00:00-13:00", 1_795_176_000_000),
      ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ] as [(String, UInt64)])
  func `RFC 3339 is read in all its forms`(text: String, milliseconds: UInt64) {
    #expect(Times.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "2026-02-29T12:00:00Z", "2100-02-29T12:00:00Z", "2026-00-10T12:00:00Z", "2026-11-31T12:00:00Z",
    "2026-11-20T24:00:00Z", "2026-11-20T12:60:00Z", "2026-11-20T12:00Z", "2026-11-20T12:00:00", "2026-11-20T12:00:00.Z",
    "26-11-20T12:00:00Z", "2026-11-20T12:00:00+2", "2026-11-20T12:00:00Z ", "1969-12-31T23:59:59Z",
    "２０26-11-20T12:00:00Z",
  ])
  func `what is no such time is refused`(text: String) { #expect(Times.milliseconds(text) == nil) }

  @Test func `tables and file names have their own forms`() {
    #expect(Times.seconds(1_795_176_000_999) == "2026-11-20T12:00:00Z")
    #expect(Times.compact(1_795_176_000_999) == "20261120T120000Z")
    #expect(Times.after(.milliseconds(2549)) == "in 2.5 s" && Times.after(.zero) == "at once")
  }
}
