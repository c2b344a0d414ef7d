import FoundationEssentials
import TestKit
import Testing

@testable import Operations
@testable import SealiftTool

/// What `status` says of drills that failed.
@Suite struct StatusTests {
  private func version(_ id: String) -> VersionSummary {
    VersionSummary(
      id: id, database: "app", host: "h", target: "t", time: 1_795_521_103_516, size: 4096, pageSize: 4096, pages: 1,
      method: "vacuum", bytesNew: 1, sequence: 12, tags: [], note: "", damaged: false, notCheckable: false,
      sha256: "00", formatVersion: 1)
  }

  private func outcome(_ databases: StatusOfDatabases.Database...) -> StatusOfDatabases.Outcome {
    StatusOfDatabases.Outcome(target: "nas", databases: databases, freshnessProvable: true)
  }

  /// Its newest version is `0123456789abcdef`, and the last drill was that of an older one, and failed.
  private var failed: StatusOfDatabases.Database {
    var database = StatusOfDatabases.Database(name: "app", host: "h")
    (database.newest, database.age, database.versions) = (version("0123456789abcdef"), 0, 2)
    database.lastDrill = StatusOfDatabases.LastDrill(
      version: "fedcba9876543210", time: 0, passed: false, text: "no rows\n")
    return database
  }

  @Test func `an alarm because of a drill alone says which, why, and what to do`() throws {
    let alarm = try #require(StatusLines.alarm([outcome(failed)]))
    #expect(alarm.kind == .verificationFailed && alarm.code == "unsound")
    #expect(alarm.message == "the drill of version fedcba98 of 'app' at nas failed: no rows\n")
    #expect(alarm.hint?.contains("`sealift drill app`") == true)
    let lines = StatusLines.lines(outcome(failed))
    #expect(lines.count == 3 && lines[1].contains("drilled 1970-01-01T00:00:00Z: FAILED"), "\(lines)")
    #expect(lines[2] == "  the drill of version fedcba98 failed: no rows\\n")
  }

  @Test func `what could not be judged does not hide what is wrong`() {
    let later = OperationError(.failed, code: "unsupported", "a later format")
    let hole = OperationError(.verificationFailed, code: "hole", "a hole")
    var sound = outcome()
    sound.problems = [later]
    #expect(StatusLines.alarm([sound])?.code == "unsupported")
    #expect(StatusLines.alarm([sound, outcome(failed)])?.code == "unsound")
    sound.problems = [later, hole]
    #expect(StatusLines.alarm([sound])?.code == "hole")
  }

  @Test func `what is worse is not hidden by it`() throws {
    var database = failed
    database.foundDamaged = 1
    let alarm = try #require(StatusLines.alarm([outcome(database)]))
    #expect(alarm.message.contains("something is wrong with versions") && alarm.hint?.contains("sealift list") == true)
    #expect(StatusLines.lines(outcome(database)).last?.hasSuffix("version fedcba98 failed: no rows\\n") == true)
  }

  @Test func `of how many versions companions alone were lost is told, and what ends that`() throws {
    var database = failed
    (database.lastDrill, database.foundDamaged) = (nil, 2)
    #expect(StatusLines.lines(outcome(database)).last?.contains(", 2 FOUND DAMAGED, head ") == true)
    #expect(try #require(StatusLines.alarm([outcome(database)])).hint?.contains("sealift forget") == false)
    database.losingCompanions = 1
    #expect(
      StatusLines.lines(outcome(database)).last?
        .contains(", 2 FOUND DAMAGED, 1 of them in companions alone, head ") == true)
    database.losingCompanions = 2
    #expect(StatusLines.lines(outcome(database)).last?.contains(", 2 FOUND DAMAGED in companions alone, head ") == true)
    #expect(
      try #require(StatusLines.alarm([outcome(database)])).hint?.hasSuffix("`sealift forget ID` lets it go.") == true)
  }

  @Test func `an age that nobody knows is not told as none`() {
    var database = failed
    (database.age, database.lastDrill) = (nil, nil)
    var ahead = outcome(database)
    ahead.problems = [OperationError(.partlyDone, code: "clockAhead", "ahead of this clock")]
    #expect(StatusLines.alarm([ahead])?.code == "clockAhead")
    #expect(StatusLines.lines(ahead).first?.contains(", age unknown: ahead of this clock, ") == true)
    #expect(StatusLines.alarm([ahead, outcome(failed)])?.code == "unsound")
  }

  @Test func `every database that something is wrong with is told, beside the problems`() {
    var ahead = failed
    (ahead.age, ahead.lastDrill) = (nil, nil)
    var both = outcome(ahead, StatusOfDatabases.Database(name: "never", host: "h"), failed)
    both.problems = [OperationError(.partlyDone, code: "clockAhead", "ahead of this clock")]
    var other = outcome(StatusOfDatabases.Database(name: "neither", host: "h"))
    other.target = "cloud"
    let told = StatusLines.unsound([both, other])
    #expect(told.map(\.code) == ["neverPushed", "unsound", "neverPushed"])
    #expect(told.first?.message == "there is no version of 'never' at nas")
    #expect(told.last?.message == "there is no version of 'neither' at cloud")
    // What went back was pushed: a problem says so.
    other.databases[0].isMissed = true
    #expect(StatusLines.unsound([other]).isEmpty)
    var harmed = failed
    harmed.isMissed = true
    #expect(StatusLines.unsound([outcome(harmed)]).map(\.code) == ["unsound"])
  }

  @Test func `the newest version's failure is told, whatever was drilled after it`() {
    var database = failed
    database.lastDrill?.passed = true
    var newest = version("0123456789abcdef")
    (newest.drilledAt, newest.drillPassed, newest.drillText) = (86_400_000, false, "why")
    database.newest = newest
    let lines = StatusLines.lines(outcome(database))
    #expect(lines.count == 3 && lines[1].contains("drilled 1970-01-02T00:00:00Z: FAILED"), "\(lines)")
    #expect(lines.last == "  the drill of version 01234567 failed: why")
    // A clock that ran ahead noted that it passed.
    database.lastDrill?.passed = false
    newest.drillPassed = true
    database.newest = newest
    let well = StatusLines.lines(outcome(database))
    #expect(well.count == 2 && well[1].contains("drilled 1970-01-02T00:00:00Z: passed"), "\(well)")
  }

  @Test func `what a check found on this machine is told, with its version and what to do`() throws {
    var database = failed
    database.lastDrill = nil
    #expect(database.isSound)
    database.harmed = [version("fedcba9876543210")]
    let alarm = try #require(StatusLines.alarm([outcome(database)]))
    #expect(alarm.kind == .verificationFailed && alarm.code == "unsound")
    #expect(
      alarm.message
        == "'app' at nas: version fedcba98 of 2026-11-24T11:51:43Z was found damaged by a check or a drill on this machine"
    )
    #expect(alarm.hint?.contains("`sealift repair` saves") == true)
    #expect(StatusLines.lines(outcome(database))[1].contains(", 1 FOUND HARMED by a check or a drill, head "))
    // It is told before a drill that failed: a repair may mend both.
    database.lastDrill = failed.lastDrill
    #expect(StatusLines.alarm([outcome(database)])?.message == alarm.message)
    database.harmed.append(version("0123456789abcdef"))
    database.foundDamaged = 1
    let worse = try #require(StatusLines.alarm([outcome(database)]))
    #expect(
      worse.message.contains("; 2 versions were found damaged by checks or drills on this machine, the newest of them"))
    #expect(worse.message.contains("version 01234567 of ") && worse.hint?.contains("`sealift repair` saves") == true)
  }

  @Test func `from the outside: 13 after a check that found damage, until a repair`() async throws {
    let home = try Home()
    try await home.must("init")
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(400000))", on: home.program.file("app.db"))
    let pushed = try await home.push()
    for pack in home.program.files(below: "target") where pack.hasPrefix("packs/") {
      var bytes = try home.bytes("target/\(pack)")
      bytes[bytes.count / 2] ^= 1
      try writeFile(home.program.file("target/\(pack)"), bytes)
    }
    try await home.must("status")
    #expect(try await home("check", "--read-data").status == 13)
    let ending = try await home("status")
    #expect(ending.status == 13 && ending.error.contains("version \(pushed.id.prefix(8)) of "), "\(ending.error)")
    let document = try await home("status", "--json")
    #expect(document.output.contains(#""harmed":["\#(pushed.id)"]"#), "\(document.output)")
    #expect(ending.error.contains("`sealift check --read-data` says what they need"), "\(ending.error)")
    let glance = try await home.must("check")
    #expect(glance.contains("1 of them was found harmed by an earlier check or drill on this machine"), "\(glance)")
    try await home.must("repair")
    #expect(try await !home.must("check").contains("found harmed by an earlier check"))
    try await home.must("status")
  }

  @Test func `lost companions of the newest version are told, and are no alarm`() {
    var database = failed
    database.lastDrill = nil
    #expect(!StatusLines.lines(outcome(database))[1].contains("companions"))
    database.newest?.lacksCompanions = true
    #expect(StatusLines.lines(outcome(database))[1].hasPrefix("  2 versions, never drilled, companions lost, head "))
    #expect(StatusLines.alarm([outcome(database)]) == nil)
  }

  private struct Document: Decodable {
    struct Database: Decodable {
      var count: Int
      var foundDamagedCount: Int
      var sound: Bool
    }
    var databases: [Database]
  }

  private struct Listed: Decodable {
    struct Version: Decodable { var foundDamaged: String? }
    var versions: [Version]
  }

  @Test func `from the outside: 13 while a version is found damaged`() async throws {
    let home = try Home()
    try await home.must("init")
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(400000))", on: home.program.file("app.db"))
    try await home.push()
    let packs = home.program.files(below: "target").filter { $0.hasPrefix("packs/") }
    try SQLite.run("DELETE FROM t; INSERT INTO t(b) VALUES (randomblob(300000))", on: home.program.file("app.db"))
    try await home.push()
    let well = try #require(try decoded(Document.self, try await home.must("status", "--json")).databases.first)
    #expect(well.count == 2 && well.foundDamagedCount == 0 && well.sound)
    // What the first version holds is nowhere else.
    try removeFile(home.program.file("state"))
    for pack in packs {
      var bytes = try home.bytes("target/\(pack)")
      bytes[bytes.count / 2] ^= 1
      try writeFile(home.program.file("target/\(pack)"), bytes)
    }
    #expect(try await home("repair").status == 13)
    let ending = try await home("status", "--json")
    #expect(ending.status == 13, "\(ending.error)")
    #expect(try ending.errorDocument().code == "unsound")
    let listed = try decoded(Listed.self, try await home("list", "--json").output).versions
    let found = listed.count { $0.foundDamaged != nil }
    let harmed = try #require(try decoded(Document.self, ending.output).databases.first)
    #expect(found > 0 && harmed.foundDamagedCount == found && !harmed.sound)
    #expect(try await home("status").output.contains("\(found) FOUND DAMAGED"))
  }

  @Test func `from the outside: 13 until a drill passes`() async throws {
    let home = try Home()
    try await home.must("init")
    let pushed = try await home.push()
    #expect(try await home("drill", "--query", "SELECT 1 WHERE 0").status == 13)
    let ending = try await home("status")
    #expect(ending.status == 13)
    let words = "the drill of version \(pushed.id.prefix(8))"
    #expect(ending.output.contains("  \(words) failed: the query returned no row\n"), "\(ending.output)")
    #expect(ending.error.contains("\(words) of 'app' at disk failed: the query returned no row"), "\(ending.error)")
    #expect(ending.error.contains("`sealift drill app`"))
    try await home.must("drill")
    let well = try await home.must("status")
    #expect(well.contains(": passed") && !well.contains("failed"), "\(well)")
  }

  @Test func `from the outside: 1 where what was seen cannot be read, and -q does not hide it`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try await home.must("-q", "status")
    let files = try FileManager.default.subpathsOfDirectory(atPath: home.program.file("state"))
    let mark = "\(home.program.file("state"))/\(try #require(files.first { $0.hasSuffix("/mark.json") }))"
    try writeFile(mark, Array("{".utf8))
    let ending = try await home("-q", "status")
    #expect(ending.status == 1 && ending.error.contains("rm '\(mark)'"), "\(ending.error)")
    try await home.must("list")
  }
}
