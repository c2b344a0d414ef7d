import Sealing
import TestKit
import Testing

@testable import Operations
@testable import SealiftTool
@testable import Storage

/// Numbers, times, tables and documents, as people and scripts see them.
@Suite struct WordsTests {
  @Test(arguments: [
    (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_524, "1023.9 KiB"), (1_048_575, "1.0 MiB"),
    (8_808_038, "8.4 MiB"), (5 << 30, "5.0 GiB"), (Int.max, "8192.0 PiB"),
  ])
  func `bytes are shown short`(bytes: Int, text: String) { #expect(ByteCount.text(bytes) == text) }

  @Test(
    arguments: [
      ("4096", 4096), ("512KiB", 512 << 10), ("1 GiB", 1 << 30), ("5MB", 5_000_000), ("2m", 2 << 20), ("1T", 1 << 40),
      ("", nil), ("MiB", nil), ("5 parsecs", nil), ("-1", nil), ("1.5GiB", nil), ("99999999TiB", nil),
    ] as [(String, Int?)])
  func `bytes are read with their unit`(text: String, bytes: Int?) { #expect(ByteCount.parse(text) == bytes) }

  @Test func `a rate may say per second, and is not nothing`() {
    #expect(ByteCount.parseRate("5MiB/s") == 5 << 20)
    #expect(ByteCount.parseRate("5MiB") == 5 << 20)
    #expect(ByteCount.parseRate("1024") == 1024)
    #expect(ByteCount.parseRate("1023") == nil)
    #expect(ByteCount.parseRate("0") == nil)
    #expect(ByteCount.parseRate("/s") == nil)
  }

  @Test(
    arguments: [
      ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("24h", 86_400_000), ("7d", 604_800_000), ("30", nil),
      ("s", nil),
      ("1w", nil),
    ] as [(String, Int?)])
  func `spans of time need a unit`(text: String, milliseconds: Int?) { #expect(TimeSpan.parse(text) == milliseconds) }

  @Test func `how long versions are kept is not said in what may be months`() {
    for text in ["6m", "1 m", "12M"] { #expect(KeepRule.span(text) == nil && TimeSpan.mayMeanMonths(text)) }
    let spans: [(String, UInt64)] = [("90s", 90_000), ("48h", 172_800_000), ("30d", 2_592_000_000), ("500ms", 500)]
    for (text, milliseconds) in spans {
      #expect(KeepRule.span(text) == milliseconds && !TimeSpan.mayMeanMonths(text))
    }
  }

  @Test func `the nearest word is near`() {
    #expect(
      Nearest.match(for: "pasphraseFile", among: ["path", "passphraseFile", "passphraseCommand"]) == "passphraseFile")
    #expect(Nearest.match(for: "colour", among: ["path", "method"]) == nil)
    #expect(Nearest.distance("abcd", "acbd") == 1)
    #expect(Nearest.distance("", "abc") == 3)
  }

  @Test(
    arguments: [
      ("./app.db", "app"), ("/srv/x/My Data.sqlite3", "My Data"), ("./archive.tar.gz", "archive.tar"),
      ("./.hidden", ".hidden"), ("./plain", "plain"), ("./a/", "a"), ("/", nil),
      ("./we?rd#100%\n'\".db", "we?rd#100%\n'\""),
    ] as [(String, String?)])
  func `a database is named after its file`(path: String, name: String?) { #expect(Paths.databaseName(path) == name) }

  @Test func `paths become whole`() {
    #expect(Paths.absolute("/a/./b") == "/a/./b")
    #expect(Paths.absolute("./x.db") == Paths.absolute("x.db"))
    #expect(Paths.absolute(".//x.db").hasSuffix("/x.db"))
    #expect(!Paths.absolute("./x.db").contains("/./"))
  }

  @Test func `control characters are made visible`() {
    #expect(printable("a\u{1B}[31mb\nc\u{9B}d") == "a\\u{1B}[31mb\\nc\\u{009B}d")
    #expect(printable("~\u{7F}") == "~\\u{007F}")
    #expect(printable("grün 😀") == "grün 😀")
  }

  private func version(_ id: String, database: String = "app", tags: [String] = []) -> VersionSummary {
    VersionSummary(
      id: id, database: database, host: "h", target: "t", time: 1_795_521_103_516, size: 123_456_789_012,
      pageSize: 4096,
      pages: 3, method: "vacuum", bytesNew: 999_999_999, sequence: 12, tags: tags, note: "", damaged: true,
      notCheckable: false, sha256: "00", formatVersion: 0)
  }

  @Test func `who takes a version back hears that rules may let it go again, unless it is pinned`() {
    func warning(forgotten: Bool, pinned: Bool) -> String? {
      var version = self.version("0123456789abcdef")
      version.pinned = pinned
      return Unforget.warning(.init(version: version, wasForgotten: forgotten))
    }
    #expect(
      warning(forgotten: true, pinned: false)?.hasSuffix(": rules may let it go again; `sealift pin 01234567` keeps it")
        == true)
    #expect(warning(forgotten: true, pinned: true) == nil && warning(forgotten: false, pinned: false) == nil)
  }

  /// What a manifest says was sealed by a key holder, who may say anything.
  @Test func `numbers that are too large to be added are shown all the same`() {
    let store = Remarks.Store(
      uuid: "0", type: "SQLite", hasHistory: false, supportFolder: "", identifiers: [], hashes: [], references: .max,
      missing: 0, orphaned: .max, missingNames: [], orphanedNames: [])
    let member = ListVersions.Detail.Member(kind: "file", path: "f", size: .max)
    let detail = ListVersions.Detail(
      summary: version("0123456789abcdef"), revision: 0, packs: 1, bytesDecoded: 0, bytesFetched: 0,
      members: Array(repeating: member, count: 12), store: StoreFacts(store))
    let facts = Show.facts(detail)
    #expect(facts.contains { $0.0 == "external" && $0.1.hasPrefix("\(Int.max) references") })
    #expect(facts.contains { $0.0 == "members" && $0.1.hasSuffix("and 1 more, 8192.0 PiB in all") })
  }

  @Test func `the table of versions fits a terminal, whatever is in it`() {
    let long = String(repeating: "very-long-name-", count: 10)
    let versions = [
      version("0123456789abcdef", database: long, tags: [long, long]),
      version("0123456789abcdee", tags: ["x\u{1B}[0m"]),
      version("ff", database: "b"),
    ]
    let lines = VersionTable.lines(versions, within: 80)
    #expect(lines.count == 4)
    #expect(lines.allSatisfy { $0.count <= 80 })
    #expect(lines.allSatisfy { !$0.contains("\u{1B}") })
    // Ids that begin alike are shown as long as it takes.
    #expect(lines[1].hasPrefix("0123456789abcdef ") && lines[2].hasPrefix("0123456789abcdee "))
    #expect(VersionTable.lines([version("0123456789abcdef")], within: 80)[1].hasPrefix("01234567  2026-"))
    #expect(VersionTable.lines([], within: 80).isEmpty)
  }

  @Test func `a file in a folder is named after database and time`() {
    #expect(Retrieval.fileName(version("00", database: "My Data")) == "My Data-20261124T115143Z.sqlite")
    // A slash with an accent is one character to people, and a folder to the system.
    #expect(Retrieval.fileName(version("00", database: "a/\u{301}b")) == "a_\u{301}b-20261124T115143Z.sqlite")
    #expect(Retrieval.fileName(version("00", database: "a\u{1B}[2Jb")) == "a_[2Jb-20261124T115143Z.sqlite")
  }

  @Test func `JSON is written so that others can read it`() throws {
    let lines = "line \n other line \u{2028} paragraph \u{2029}"
    let hostile = "quote \" slash \\ tab \t bell \u{07} delete \u{7F} csi \u{9B}31m \(lines) ü 😀"
    let document = Json.object([
      ("text", .string(hostile)), ("none", .null), ("list", .array([.number(-1), .bool(true)])),
    ])
    struct Read: Decodable {
      var text: String
      var none: Int?
    }
    #expect(try decoded(Read.self, document.text).text == hostile)
    #expect(document.text.allSatisfy { !$0.isNewline })
    #expect(document.text.contains(#"other line \u2028 paragraph \u2029 "#))
    // Nothing in it drives a terminal.
    #expect(document.text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    #expect(document.keys == ["text", "none", "list"])
  }

  private func forgetDocument() -> Json {
    let version = RetentionPlan.Version(id: "00", sequence: 1, time: 0)
    var rules = RetentionRules()
    rules.last = 1
    let plan = RetentionPlan([version], rules: rules, now: 0)
    let chain = ForgetVersions.ChainPlan(
      database: "d", host: "h", versions: [self.version("00")], plan: plan, forgottenBefore: 0, going: [])
    var report = ForgetReport(isDryRun: true)
    report.add(chain, at: "t", forgot: 0)
    report.add(OperationError(.failed, "m"), at: "t")
    return Documents.forget(report, notices: ["n"])
  }

  @Test func `the plan of a forget fits 80 columns, and says why`() {
    let versions = (1...3).map { RetentionPlan.Version(id: "0\($0)ff", sequence: UInt64($0), time: UInt64($0)) }
    var rules = RetentionRules()
    (rules.last, rules.hourly, rules.daily, rules.weekly, rules.monthly) = (2, 1, 1, 1, 1)
    let chain = ForgetVersions.ChainPlan(
      database: "app", host: "h\n", versions: versions.map { version($0.id) },
      plan: RetentionPlan(versions, rules: rules, now: 9), forgottenBefore: 4, going: [])
    let lines = ForgetReport.lines(chain, at: "disk", within: 80)
    #expect(lines[0] == "disk: app of h\\n: 2 stay, 1 goes, 4 forgotten before")
    #expect(lines[1] == "  01ff  1970-01-01T00:00:00Z  goes   no rule keeps it")
    #expect(lines[2] == "  02ff  1970-01-01T00:00:00Z  stays  last 2 of 2")
    // No reason is cut.
    let indent = String(repeating: " ", count: 37)
    #expect(
      Array(lines[3...]) == [
        "  03ff  1970-01-01T00:00:00Z  stays  newest, last 1 of 2,", indent + "hourly 1970-01-01T00, daily 1970-01-01,",
        indent + "weekly 1970-01-01, monthly 1970-01",
      ])
    #expect(lines.allSatisfy { $0.count <= 80 })
  }

  @Test func `a pin that was read is told beside words that cannot be read, and else is not known`() {
    var one = version("00")
    #expect(Documents.version(one).text.contains(#""pinned":false"#))
    one.wordsUnread = true
    #expect(Documents.version(one).text.contains(#""pinned":null"#))
    one.pinned = true
    #expect(Documents.version(one).text.contains(#""pinned":true"#))
  }

  @Test func `marks stand before tags, and the note behind them`() {
    var one = version("00", tags: ["t"])
    (one.pinned, one.note, one.drilledAt, one.drillPassed) = (true, "n", 86_400_000, false)
    #expect(VersionTable.lines([one], within: 80)[1].hasSuffix("  (damaged),(drill fail…"))
    (one.damaged, one.drillPassed) = (false, true)
    #expect(VersionTable.lines([one], within: 80)[1].hasSuffix("  (pinned),t drilled 19…"))
    (one.pinned, one.tags) = (false, [])
    #expect(VersionTable.lines([one], within: 80)[1].hasSuffix("B  drilled 1970-01-02 \"n\""))
    one.drilledAt = nil
    one.tags = ["t"]
    #expect(VersionTable.lines([one], within: 80)[1].hasSuffix("  t \"n\""))
    one.foundDamaged = "gone"
    #expect(VersionTable.lines([one], within: 80)[1].contains("  (found damaged),"))
    one.lacksCompanions = true
    #expect(VersionTable.lines([one], within: nil)[1].contains("  (found damaged),(companions lost),t"))
    one.foundDamaged = CompanionLoss.text("a pack")
    #expect(VersionTable.lines([one], within: nil)[1].contains("  (companions found damaged),(companions lost),t"))
  }

  @Test func `ages are told in one unit`() {
    #expect(
      [0, 119_999, 120_000, 7_199_000, 7_200_000, 172_799_000, 172_800_000].map(StatusLines.ago)
        == ["0 s", "119 s", "2 m", "119 m", "2 h", "47 h", "2 d"])
  }

  @Test func `what was said of a version since it was pushed is told where it comes back`() {
    var one = version("0123456789abcdef")
    let terminal = silent
    Retrieval.Report.tell(Pull.Outcome(version: one, path: "p", check: "ok", checkedAt: .push), terminal)
    #expect(terminal.notices.count == 1)
    (one.drilledAt, one.drillPassed, one.drillText) = (86_400_000, false, "no rows\nand more")
    (one.foundDamaged, one.forgotten) = (String(repeating: "x", count: 9999), true)
    Retrieval.Report.tell(Pull.Outcome(version: one, path: "p", check: "ok", checkedAt: .push), terminal)
    let said = terminal.notices.dropFirst(2)
    #expect(said.first == "its drill of 1970-01-02T00:00:00Z failed: no rows, and more")
    #expect(said.dropFirst().first?.hasPrefix("it was found damaged at the target since it was pushed: xxx") == true)
    #expect(said.last == "it is forgotten: `sealift unforget 0123456789ab` keeps it from the next prune")
    #expect(said.count == 3 && said.allSatisfy { $0.utf8.count < 400 })
  }

  private let error = OperationError(.failed, "m", hint: "h")

  private var silent: Terminal {
    var manner = Terminal.Manner()
    manner.json = true
    return Terminal(manner)
  }

  /// Timers are told to pass over 11, and to look at 13 at once.
  @Test(
    arguments: [
      ([.pushInProgress, .sourceUnreadable], .sourceUnreadable), ([.pushInProgress], .pushInProgress),
      ([.pushInProgress, .failed, .verificationFailed], .verificationFailed), ([.failed, .wrongKey], .failed),
    ] as [([OperationError.Kind], SealiftTool.ExitStatus)])
  func `of pushes that all failed the worst is told`(kinds: [OperationError.Kind], status: SealiftTool.ExitStatus)
    throws
  {
    var report = PushReport()
    for (number, kind) in kinds.enumerated() { report.failed("d\(number)", nil, OperationError(kind, "m")) }
    #expect(try report.end(silent) == status)
  }

  @Test func `what cannot be verified at one of several targets is no network that is away`() async throws {
    for last in [true, false] {
      var tries = Tries<Int>()
      if last { await tries.attempt("disk", silent) { 1 } }
      await tries.attempt("away", silent) { throw OperationError(.failed, "no route") }
      #expect(try !last || tries.status("targets", silent) == .partlyDone)
      await tries.attempt("bucket", silent) { throw OperationError(.verificationFailed, "went back") }
      #expect(try tries.status("targets", silent) == .verificationFailed)
    }
  }

  @Test(arguments: [false, true])
  func `what cannot be verified goes before what was done and what is away`(away: Bool) async throws {
    var tries = Tries<Int>()
    await tries.attempt("disk", silent) { 1 }
    if away { await tries.attempt("away", silent) { throw OperationError(.failed, "no route") } }
    let (full, back) = (OperationError(.failed, "full"), OperationError(.verificationFailed, "went back"))
    func status(_ problems: [OperationError], _ isAnythingDone: Bool = true) throws -> SealiftTool.ExitStatus {
      try tries.status("targets", silent, problems: problems, isAnythingDone: isAnythingDone)
    }
    #expect(try status([full, back]) == .verificationFailed)
    #expect(try status([full]) == .partlyDone)
    let (none, alone): (SealiftTool.ExitStatus, SealiftTool.ExitStatus) =
      away ? (.partlyDone, .partlyDone) : (.success, .failed)
    #expect(try status([]) == none)
    #expect(try status([full], false) == alone)
    #expect(tries.worst == nil)
    await tries.attempt("bucket", silent) { throw back }
    #expect(tries.worst?.message == "went back")
  }

  @Test func `what was done until a signal is kept, and nothing more is begun`() async {
    struct Half {
      var interruption: OperationError?
    }
    var tries = Tries<Half>()
    for target in ["disk", "bucket"] {
      await tries.attempt(target, silent, interruption: \.interruption) {
        Half(interruption: OperationError(.cancelled, "interrupted"))
      }
    }
    #expect(tries.done.map(\.target) == ["disk"] && tries.failures.isEmpty)
    let ended = tries
    let error = #expect(throws: OperationError.self) { try ended.status("targets", silent) }
    #expect(error?.kind == .cancelled)
  }

  @Test func `an error of a layer below keeps its code`() async {
    var tries = Tries<Int>()
    await tries.attempt("away", silent) { throw StoreError(.noTarget, "there is no folder") }
    #expect(tries.failures.map(\.error.code) == ["noTarget"])
    #expect(tries.failures.map(\.error.kind) == [.noRepository])
  }

  /// One of every kind that a command writes to standard output, with the remark `n`.
  private func documents() -> [Json] {
    let summary = version("00")
    var report = PushReport()
    report.failed("app", "t", error)
    let slot = ManageKeys.Slot(id: "0", kind: "k", created: 0, current: true)
    var drills = DrillReport()
    drills.add(Drill.Drilled(version: summary, findings: ["f"], passed: [], unchecked: [], recorded: true))
    drills.failed("app", "t", error)
    let copies = CopyVersions.Outcome(
      copied: [.init(origin: summary, version: summary, wasThere: true)], failures: [("app", "00", error)])
    let detail = ListVersions.Detail(
      summary: summary, previous: nil, revision: 0, packs: 1, bytesDecoded: 1, bytesFetched: 1,
      members: [.init(kind: "database", path: "p", size: 1)])
    let pulled = Pull.Outcome(version: summary, path: "p", check: "ok", checkedAt: .push, companionsFolder: nil)
    var all = RestoreAll.Outcome(host: "h")
    all.failures = [("d", error)]
    let documents: [Json] = [
      Documents.push(report, notices: ["n"]), Documents.show(detail, notices: ["n"]),
      Documents.pull(pulled, notices: ["n"]),
      Documents.restore(Restore.Outcome(pulled: pulled, mode: .replace, moved: []), notices: ["n"]),
      Documents.tables(
        RestoreTables.Outcome(version: summary, path: "p", tables: [], dryRun: true), notices: ["n"]),
      Documents.restoredAll(all, dryRun: false, notices: ["n"]),
      Documents.keys([slot], notices: ["n"]), Documents.changed(slot, notices: ["n"]),
      Documents.recovery(slot, "text", notices: ["n"]),
      Documents.drill(drills, notices: ["n"]), Documents.copy(copies, notices: ["n"]),
      Documents.configuration("f", [SettingLine(key: "k", value: "v", from: "f")], notices: ["n"]),
      forgetDocument(), Documents.versions([summary], failures: [], notices: ["n"]),
      Documents.status(
        [
          .init(target: "t", databases: [.init(name: "d", host: "h")], freshnessProvable: true, problems: [error])
        ], unreachable: [("t", error)], notices: ["n"]),
    ]
    return documents + documentsOfTargets() + [Documents.error(error, notices: ["n"])]
  }

  /// Those that say of each target what was done there, here at `u`, and in `failures` where nothing was, here at `t`.
  private func documentsOfTargets() -> [Json] {
    let summary = version("00")
    let listing = Listing(
      target: "u",
      outcome: ListVersions.Outcome(versions: [summary], problems: [error], freshnessProvable: true, formatVersion: 0))
    let examination = Examination(target: "u", location: "l", findings: [.init(promise: "p", verdict: .kept)])
    var checked = CheckRepository.Outcome(target: "u")
    checked.findings = [.init(object: "o", kind: "missing", what: "w", hint: nil, isDamage: true)]
    checked.harmed = [.init(id: nil, database: nil, host: nil, sequence: 1, time: nil, objects: [])]
    let repaired = RepairRepository.Outcome(target: "u", check: checked)
    let pruning = Pruning(target: "u", outcome: .init(runs: .one, chains: [], problems: [error]))
    var lost = ForgetLost.Outcome(target: "u")
    lost.chains = [.init(database: "d", host: "h", lost: [2...3])]
    lost.problems = [error]
    let failures: [Documents.Failure] = [("t", error)]
    return [
      Documents.list([listing], failures: failures, notices: ["n"]),
      Documents.repositories(
        [("u", Initialize.Outcome(repository: "r", created: true))], failures: failures, notices: ["n"]),
      Documents.doctor([examination], SQLiteRelease("3.53.0"), failures: failures, notices: ["n"]),
      Documents.check([checked], failures: failures, notices: ["n"]),
      Documents.repair([repaired], failures: failures, notices: ["n"]),
      Documents.prune([pruning], dryRun: true, failures: failures, notices: ["n"]),
      Documents.lost([lost], dryRun: true, failures: failures, notices: ["n"]),
    ]
  }

  @Test func `every member of every document is described`() throws {
    let documentation = String(decoding: try fileBytes("\(SourceTree.root)/Docs/Json.md"), as: UTF8.self)
    let part = Documents.pushed(Push.Pushed(version: version("00"), unchanged: true, dryRun: true))
    let keys = (documents() + [part]).reduce(into: Set<String>()) { $0.formUnion($1.keys) }
    #expect(keys.count > 50)
    for key in keys { #expect(documentation.contains("`\(key)`"), "Docs/Json.md does not describe `\(key)`") }
  }

  @Test func `every document has the remarks of its run`() {
    for document in documents() {
      #expect(document.text.hasSuffix(#","notices":["n"]}"#), "\(document.text)")
    }
  }

  @Test func `a document names the target that failed, whatever was found at another`() {
    let failure = #"{"target":"t","code":"failed","message":"m","hint":"h"}"#
    for document in documentsOfTargets() {
      // Where chains were left alone, they stand before it.
      #expect(document.text.contains(#""failures":["#) && document.text.contains("\(failure)]"), "\(document.text)")
    }
  }
}

@Suite struct ProgressMeterTests {
  private func report(_ done: Int, of total: Int? = 100 << 20, _ stage: Progress.Stage = .sealing) -> Progress {
    Progress(stage, subject: "app", bytesDone: done, bytesTotal: total)
  }

  @Test func `a bar shows bytes, rate and time left, under 80 columns`() throws {
    var meter = ProgressMeter(.bar)
    #expect(meter.update(report(0), at: 10) != nil)
    #expect(meter.update(report(1 << 20), at: 10.05) == nil)
    #expect(
      meter.update(report(25 << 20), at: 15)
        == .bar("app: sealing  [####------------]  25 %  25.0 MiB  5.0 MiB/s  0:15 left"))
    let long = Progress(
      .fetching, subject: String(repeating: "n\n", count: 90), bytesDone: 1 << 40, bytesTotal: 1 << 50)
    _ = meter.update(long, at: 20)
    guard case .bar(let text) = meter.update(long, at: 900_000) else {
      Issue.record("no bar")
      return
    }
    #expect(text.count < 80)
    #expect(!text.contains("\n"))
  }

  /// What is wrapped is not drawn over: each report would leave a line.
  @Test(arguments: [40, 80, 200])
  func `a bar is narrower than its terminal, also with letters of two columns`(width: Int) {
    var meter = ProgressMeter(.bar)
    let wide = Progress(
      .sealing, subject: String(repeating: "數據庫", count: 9), bytesDone: 1 << 20, bytesTotal: 100 << 20)
    guard case .bar(let text) = meter.update(wide, at: 10, within: width) else {
      Issue.record("no bar")
      return
    }
    #expect(text.hasPrefix("數據庫數據庫…: sealing"))
    #expect(text.reduce(0) { $0 + ($1.isASCII ? 1 : 2) } <= min(79, width - 1), "\(text)")
  }

  @Test func `what has no known end shows no bar and no time left`() {
    var meter = ProgressMeter(.bar)
    _ = meter.update(report(0, of: nil), at: 0)
    #expect(meter.update(report(2 << 20, of: nil), at: 2) == .bar("app: sealing  2.0 MiB  1.0 MiB/s"))
  }

  @Test func `without a terminal there is a line every thirty seconds, and none for short work`() {
    var meter = ProgressMeter(.lines)
    var lines: [ProgressMeter.Output] = []
    for second in 0..<100 {
      if let line = meter.update(report(second << 20), at: Double(second)) { lines.append(line) }
    }
    #expect(lines.count == 3)
    #expect(lines.first == .line("app: sealing: 30 %, 30.0 MiB, 1.0 MiB/s, 1:10 left"))
  }

  @Test func `silence is silent`() {
    var meter = ProgressMeter(.silent)
    for second in 0..<100 { #expect(meter.update(report(second), at: Double(second)) == nil) }
  }
}
