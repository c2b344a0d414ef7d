import FoundationEssentials
import TestKit
import Testing

@testable import Operations
@testable import SealiftTool

/// `check` and `repair`, from the outside.
@Suite struct CheckCommandTests {
  private struct Checked: Decodable {
    struct Target: Decodable {
      var sound: Bool
      var packsRead: Int
      var harmedVersions: [Version]
      var wholeVersions: [Version]
      var objects: [Object]
    }
    struct Version: Decodable {
      var id: String?
      var damaged: Bool?
    }
    struct Object: Decodable {
      var object: String
      var damage: Bool
    }
    var targets: [Target]
  }

  @Test func `damage is found, told with 13, and repaired`() async throws {
    let home = try Home()
    try await home.must("init")
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(400000))", on: home.program.file("app.db"))
    let version = try await home.push()
    #expect(try await home.must("check").contains("1 version whole, 0 harmed"))
    let sound = try decoded(Checked.self, try await home.must("check", "--read-data", "--json")).targets[0]
    #expect(sound.sound && sound.packsRead > 0 && sound.wholeVersions.map(\.id) == [version.id])
    try await home.must("check", "app", "--read-data", "--subset", "1/1", "-q")

    let slot = try #require(home.program.files(below: "target").first { $0.hasPrefix("keys/2-") })
    try FileManager.default.removeItem(atPath: home.program.file("target/\(slot)"))
    let broken = try await home("check", "--json")
    #expect(broken.status == 13)
    #expect(try broken.errorDocument().code == "damageFound")
    let found = try decoded(Checked.self, broken.output).targets[0]
    #expect(!found.sound && found.objects.filter(\.damage).map(\.object).allSatisfy { $0.hasPrefix("keys/2-") })
    #expect(found.harmedVersions.isEmpty)
    let told = try await home("check")
    #expect(told.status == 13 && told.output.contains("MISSING  keys/2-") && told.error.contains("hint: "))

    #expect(try await home.must("repair", "--dry-run").contains("nothing to repair"))
    #expect(try await home.must("repair").contains("stored anew  keys/"))
    try await home.must("check", "--read-data")
    #expect(try await home.must("repair", "--json").contains(#""whole":true"#))
  }

  @Test func `versions that were pushed damaged are whole, and told apart`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    var bytes = try home.bytes("app.db")
    for index in 4096..<4196 { bytes[index] = 0x5A }
    try writeFile(home.program.file("app.db"), bytes)
    #expect(try await home("push").status == 13)
    let told = try await home.must("check")
    #expect(told.contains("2 versions whole (1 was damaged when it was pushed), 0 harmed"), "\(told)")
    let versions = try decoded(Checked.self, try await home.must("check", "--json")).targets[0].wholeVersions
    #expect(Set(versions.map(\.damaged)) == [false, true])

    var outcome = CheckRepository.Outcome(target: "t")
    outcome.harmed = [.init(id: nil, database: nil, host: nil, sequence: 3, time: nil, objects: ["o"])]
    for number: UInt64 in 1...2 {
      outcome.whole.append(
        .init(id: nil, database: "d", host: "h", sequence: number, time: nil, objects: [], damaged: number == 2))
    }
    let named = CheckLines.lines(outcome).filter { $0.hasPrefix("  whole  ") }
    #expect(named == ["  whole  number 2 of 'd', damaged when it was pushed", "  whole  number 1 of 'd'"])
    outcome.whole.append(outcome.whole[1])
    let last = CheckLines.lines(outcome).last
    #expect(last?.hasPrefix("  3 versions whole (2 were damaged when they were pushed), 1 harmed") == true)
  }

  /// A repair says that there is nothing to do.
  @Test func `of a lost word a check says the way out, and leads to a repair only where something is damaged`() {
    let lost = OperationError(.verificationFailed, code: "hole", "a word is gone", hint: "Say it again.")
    var outcome = CheckRepository.Outcome(target: "t")
    (outcome.problems, outcome.lostWords, outcome.isSound) = ([lost], [lost], false)
    #expect(CheckLines.lines(outcome).contains("    Say it again."))
    #expect(CheckLines.summary(outcome) == "a word is gone" && Check.hint(outcome) == "Say it again.")
    let fork = OperationError(.verificationFailed, code: "forked", "a fork", hint: "Look.")
    outcome.problems = [fork, lost]
    #expect(!CheckLines.lines(outcome).contains("    Look.") && Check.hint(outcome).contains("`sealift repair`"))
    outcome.problems = [lost]
    outcome.findings = [.init(object: "o", kind: "missing", what: "w", hint: nil, isDamage: true)]
    #expect(CheckLines.lines(outcome).contains("    Say it again."))
    #expect(Check.hint(outcome).contains("`sealift repair`"))
  }

  /// No link is followed, and none that is not in our way is met.
  @Test func `what others keep beside a repository ends no check`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try FileManager.default.createSymbolicLink(
      atPath: home.program.file("target/zz"), withDestinationPath: home.program.file("elsewhere"))
    try writeFile(home.program.file("target/notice"), Array("not ours".utf8))
    let checked = try await home.must("check", "--read-data")
    #expect(checked.contains("1 version whole, 0 harmed") && !checked.contains("objects of other programs"))
    #expect(try await home.must("repair").contains("nothing to repair"))
  }

  /// Nothing says whose such a chain is: not that there is no version of the database that somebody asks for.
  @Test func `a database of which no manifest opens is damaged, not absent`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    #expect(try await home("check", "other").status == 14)
    let manifests = home.program.files(below: "target").filter { $0.hasPrefix("versions/") }
    for manifest in manifests {
      var bytes = try home.bytes("target/\(manifest)")
      bytes[bytes.count / 2] ^= 1
      try writeFile(home.program.file("target/\(manifest)"), bytes)
    }
    try FileManager.default.removeItem(atPath: home.program.file("state"))
    let checked = try await home("check", "app")
    #expect(checked.status == 13 && checked.output.contains("DAMAGED"), "\(checked.error)")
    let repaired = try await home("repair", "app")
    #expect(repaired.status == 13 && repaired.output.contains("LOST  number 1"), "\(repaired.error)")
    #expect(repaired.output.contains("pushed  "), "What the database holds now is there again.")
  }

  /// Before they are forgotten.
  @Test func `versions that are lost at one target are copied anew from another, as repair says`() async throws {
    let home = try Home()
    let (folder, key) = (home.program.file("nas"), home.program.file("key"))
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(home.program.file("state"))",
       "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(key)"},
                   "nas": {"url": "file://\(folder)", "keyFile": "\(key)"},
                   "others": {"url": "file://\(folder)-of-others", "keyFile": "\(key)"}},
       "databases": {"app": {"path": "\(home.program.file("app.db"))", "targets": ["disk", "nas"]}}}
      """, to: "config.json")
    try await home.must("init")
    try SQLite.run("INSERT INTO t(a, b) VALUES (99, randomblob(400000))", on: home.program.file("app.db"))
    try await home.push()
    let packs = home.program.files(below: "target").filter { $0.hasPrefix("packs/") }
    #expect(!packs.isEmpty)
    try SQLite.run("UPDATE t SET b = randomblob(400000) WHERE a = 99; VACUUM", on: home.program.file("app.db"))
    try await home.push()
    for pack in packs { try FileManager.default.removeItem(atPath: home.program.file("target/\(pack)")) }
    // With the images that the lost version could be saved from.
    try FileManager.default.removeItem(atPath: home.program.file("state"))
    let repaired = try await home("repair", "--target", "disk", "--json")
    let hint = try #require(try repaired.errorDocument().hint)
    let line = "`sealift copy --from nas --to disk 'app'`, if nas has them"
    #expect(repaired.status == 13 && hint.contains(line) && !hint.contains("others"), "\(hint)")
    let copied = try await home.must("copy", "--from", "nas", "--to", "disk", "app")
    #expect(copied.contains(" new, head "), "\(copied)")

    var outcome = RepairRepository.Outcome(target: "t", check: CheckRepository.Outcome(target: "t"))
    outcome.elsewhere = [.init(id: nil, database: "d", host: "h", sequence: 3, time: nil, objects: ["o"])]
    outcome.dryRun = true
    #expect(Repair.hint(outcome, others: ["nas"])?.contains("once a repair without --dry-run has flagged them") == true)
    #expect(Repair.hint(outcome, others: [])?.contains("copy") == false)
    let spaced = "`sealift copy --from 'my nas' --to t 'd'`, if my nas has them"
    #expect(Repair.hint(outcome, others: ["my nas"])?.contains(spaced) == true)
    outcome.target = "o'clock"
    #expect(Repair.hint(outcome, others: ["nas"])?.contains("--from nas --to 'o'\\''clock' 'd'`") == true)
  }

  @Test func `where the configuration is lost, check sends to what helps, and to no repair`() async throws {
    let home = try Home()
    let key = home.program.file("key")
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(home.program.file("state"))",
       "targets": {"my disk": {"url": "\(home.target)", "keyFile": "\(key)"},
                   "new": {"url": "file://\(home.program.file("new"))", "keyFile": "\(key)"}},
       "databases": {"app": {"path": "\(home.program.file("app.db"))"}}}
      """, to: "config.json")
    try await home.must("init")
    try await home.push("--target", "my disk")
    try FileManager.default.removeItem(atPath: home.program.file("target/config"))
    // As on a machine that has not seen it.
    for file in home.program.files(below: "state") where file.hasSuffix("/configuration.json") {
      try FileManager.default.removeItem(atPath: home.program.file("state/\(file)"))
    }
    let checked = try await home("check", "--target", "my disk", "--json")
    let hint = try #require(try checked.errorDocument().hint)
    #expect(checked.status == 13 && hint.contains("below config/") && !hint.contains("repair` stores"), "\(hint)")
    #expect(hint.contains("`sealift copy --from 'my disk' --to NEW`"), "\(hint)")
    let several = try await home("show", "latest")
    #expect(several.status == 2 && several.error.contains("--target 'my disk'."), "\(several.error)")
    let refused = try await home("repair", "--target", "my disk")
    #expect(refused.status == 13 && refused.error.contains("`sealift copy`"), "\(refused.error)")
    let copied = try await home.must("copy", "--from", "my disk", "--to", "new")
    #expect(copied.contains(" new, head "), "\(copied)")
    try await home.must("check", "--target", "new", "--read-data")
  }

  @Test func `where this machine remembers the lost configuration, check sends to a repair, which writes it back`()
    async throws
  {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try FileManager.default.removeItem(atPath: home.program.file("target/config"))
    let checked = try await home("check", "--json")
    let hint = try #require(try checked.errorDocument().hint)
    #expect(checked.status == 13 && hint.hasPrefix("`sealift repair` on this machine"), "\(hint)")
    #expect(try await home.must("repair", "--dry-run").contains("would be stored anew  config/"))
    #expect(try await home("check", "-q").status == 13)
    #expect(try await home.must("repair").contains("  stored anew  config/"))
    try await home.must("check", "--read-data")
  }

  @Test func `what a repair cannot mend is told once`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    let folders = [home.program.file("state"), home.program.file("target")]
    for folder in folders { try FileManager.default.copyItem(atPath: folder, toPath: "\(folder)-then") }
    func manifests() -> Set<String> {
      Set(home.program.files(below: "target").filter { $0.hasPrefix("versions/") })
    }
    let first = manifests()
    try home.change()
    try await home.push()
    let mine = try #require(manifests().subtracting(first).first)
    let bytes = try home.bytes("target/\(mine)")
    // A machine that was put back pushes twice, and of that the first version goes.
    for folder in folders {
      try removeFile(folder)
      try FileManager.default.moveItem(atPath: "\(folder)-then", toPath: folder)
    }
    try home.change()
    try await home.push()
    let theirs = try #require(manifests().subtracting(first).first)
    try home.change()
    try await home.push()
    try removeFile(home.program.file("target/\(theirs)"))
    try writeFile(home.program.file("target/\(mine)"), bytes)
    let told = try await home("repair")
    let lines = told.error.split(separator: "\n").map(String.init)
    let forks = lines.count { $0.contains("version 3 of 'app' does not continue version 2") }
    #expect(told.status == 13 && forks == 1, "\(told.error)")
  }

  @Test func `a repair of packs that were named says nothing of what it did not read`() {
    var outcome = RepairRepository.Outcome(target: "t", check: CheckRepository.Outcome(target: "t"))
    #expect(Repair.lines(outcome).last == "  nothing to repair: 0 versions are whole")
    outcome.readAll = false
    let lines = Repair.lines(outcome)
    #expect(lines.count == 2 && !lines.contains { $0.contains("whole") }, "\(lines)")
  }

  @Test func `a version that is whole and was found damaged earlier is told, with what takes that back`() {
    var outcome = CheckRepository.Outcome(target: "t")
    for number: UInt64 in 1...2 {
      outcome.whole.append(
        .init(
          id: nil, database: "d", host: "h", sequence: number, time: nil, objects: [],
          foundDamaged: number == 1 ? nil : "a pack"))
    }
    let line = "  1 of them was found damaged earlier: `sealift repair` takes that back where it is whole;"
    #expect(CheckLines.lines(outcome).last?.hasPrefix(line) == true)
    outcome.whole[0].foundDamaged = "what was restored is no sound database: a row"
    #expect(CheckLines.lines(outcome).last?.hasPrefix(line) == true, "Only a drill takes that back.")
    var repaired = RepairRepository.Outcome(target: "t", check: outcome)
    repaired.cleared = [outcome.whole[1]]
    #expect(Repair.lines(repaired).last == "  taken back  number 2 of 'd' is whole, and was found damaged earlier")
    repaired.dryRun = true
    #expect(Repair.lines(repaired).last?.hasPrefix("  would be taken back  number 2 of 'd'") == true)
  }

  @Test func `a repair says which versions lost companions alone`() {
    var outcome = RepairRepository.Outcome(target: "t", check: CheckRepository.Outcome(target: "t"))
    outcome.lost = [.init(id: nil, database: "d", host: "h", sequence: 1, time: nil, objects: ["packs/x"])]
    #expect(Repair.lines(outcome).last == "  LOST  number 1 of 'd'")
    outcome.lost[0].sparesDatabase = true
    #expect(Repair.lines(outcome).last == "  LOST  number 1 of 'd': companions alone; its database is whole")
  }

  @Test func `a version that an earlier check found harmed is told, with what takes that back`() {
    var outcome = CheckRepository.Outcome(target: "t")
    for number: UInt64 in 1...3 {
      outcome.whole.append(
        .init(id: nil, database: "d", host: "h", sequence: number, time: nil, objects: []))
    }
    #expect(CheckLines.lines(outcome).last?.hasPrefix("  3 versions whole, 0 harmed") == true)
    outcome.harmedEarlier = [outcome.whole[1]]
    let last = CheckLines.lines(outcome).last ?? ""
    #expect(last.hasPrefix("  1 of them was found harmed by an earlier check or drill on this machine"), "\(last)")
    #expect(last.contains("`sealift check --read-data` or `sealift repair` takes that back"), "\(last)")
  }

  @Test func `where a version is harmed those that are whole are named`() async throws {
    let home = try Home()
    try await home.must("init")
    var whole: [String] = []
    for _ in 0..<12 {
      whole.append(try await home.push().id)
      try home.change()
    }
    let packs = Set(home.program.files(below: "target").filter { $0.hasPrefix("packs/") })
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(300000))", on: home.program.file("app.db"))
    let harmed = try await home.push().id
    for pack in home.program.files(below: "target") where pack.hasPrefix("packs/") && !packs.contains(pack) {
      try FileManager.default.removeItem(atPath: home.program.file("target/\(pack)"))
    }
    let told = try await home("check")
    #expect(told.status == 13 && told.output.contains("HARMED  \(harmed.prefix(8)) of 'app'"))
    let named = told.output.split(separator: "\n").filter { $0.hasPrefix("  whole  ") }
    #expect(named.count == 11 && named.last?.contains("2 older ones of 'app'") == true)
    for (line, id) in zip(named, whole.reversed()).prefix(10) { #expect(line.contains("\(id.prefix(8)) of 'app'")) }
  }

  @Test(
    arguments: [
      ("5%", .share(0.05)), ("3/7", .part(3, of: 7)), ("2GiB", .bytes(2 << 30)), ("0%", nil), ("8/7", nil),
      ("0/7", nil), ("101%", nil), ("some", nil), ("1/2/3", nil),
    ] as [(String, CheckRepository.Reading?)])
  func `a subset is a share, a part or a size`(text: String, reading: CheckRepository.Reading?) {
    #expect(Check.reading(text) == reading)
  }

  @Test(arguments: [["check", "--subset", "5%"], ["check", "--read-data", "--subset", "much"], ["repair", "--pack"]])
  func `a mistake ends with 2`(arguments: [String]) async throws {
    #expect(try await Program().start(Program.path, arguments + ["--target", "/tmp"]).status == 2)
  }
}
