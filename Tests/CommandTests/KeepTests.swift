import FoundationEssentials
import TestKit
import Testing

@testable import SealiftTool

/// `forget`, `unforget`, `tag`, `note`, `pin` and `status`, as a person types them.
@Suite struct KeepTests {
  private struct Plans: Decodable {
    var chains: [Chain]
    var failures: [Failure]
    var dryRun: Bool
    struct Failure: Decodable {
      var target: String
      var code: String
    }
    struct Chain: Decodable {
      var target: String
      var database: String
      var host: String
      var forgottenNow: Int
      var forgottenBefore: Int
      var decisions: [Decision]
    }
    struct Decision: Decodable {
      var id: String
      var stays: Bool
      var reasons: [String]
    }
  }

  private struct States: Decodable {
    var databases: [Database]
    var targets: [Target]
    struct Database: Decodable {
      var database: String
      var newest: Version?
      var ageSeconds: Int?
      var change: String
      var count: Int
      var forgottenCount: Int
      var sound: Bool
    }
    struct Target: Decodable {
      var target: String
      var reached: Bool
    }
  }

  @Test func `forget --dry-run leaves a spoilt memory of the place alone, and forget makes it anew`() async throws {
    let (home, _) = try await home(versions: 2)
    let place = "state/places/\(try #require(home.program.files(below: "state/places").first))"
    try home.program.write("junk", to: place)
    for isDry in [true, false] {
      let last = isDry ? ["--dry-run"] : []
      let said = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "forget", "app", "--keep-last", "1"] + last)
      #expect(said.status == 0 && said.error.contains(isDry ? "it stays as it is" : "made anew"), "\(said.error)")
      #expect(try (home.bytes(place) == Array("junk".utf8)) == isDry)
      #expect(home.program.exists("\(place).bad") != isDry)
    }
  }

  /// A home with so many versions of `app`, oldest first.
  private func home(versions count: Int) async throws -> (Home, [Version]) {
    let home = try Home()
    try await home.must("init")
    var versions: [Version] = []
    for _ in 0..<count {
      try home.change()
      versions.append(try await home.push())
    }
    return (home, versions)
  }

  private func listed(_ home: Home) async throws -> [String] {
    try decoded(Versions.self, try await home.must("list", "--json")).versions.map(\.id)
  }

  @Test func `a dry run prints the plan that is carried out, and unforget takes it back`() async throws {
    let (home, versions) = try await home(versions: 4)
    let files = home.program.files(below: "target")
    let dry = try await home("forget", "app", "--keep-last", "1", "--dry-run")
    #expect(dry.status == 0 && home.program.files(below: "target") == files)
    let lines = dry.output.split(separator: "\n")
    #expect(lines[0] == "disk: app of web-1: 1 stays, 3 go" && lines.count == 5)
    #expect(lines[1].hasPrefix("  \(versions[0].id.prefix(8))  ") && lines[1].hasSuffix("  goes   no rule keeps it"))
    #expect(lines[4].hasSuffix("  stays  newest, last 1 of 1"))
    let done = try await home("forget", "app", "--keep-last", "1")
    #expect(done.status == 0 && done.output == dry.output)
    #expect(done.error.contains("forgot 3 versions of 'app'; `sealift unforget ID` takes that back"))
    #expect(try await listed(home) == [versions[3].id])
    let all = try await home.must("list", "--forgotten").split(separator: "\n")
    #expect(all.count == 5 && all[1...3].allSatisfy { $0.hasSuffix("  (forgotten)") } && !all[4].contains("("))
    #expect(try await home.must("show", versions[1].id).contains("forgotten  yes, until a prune\n"))
    let pulled = try await home("pull", String(versions[1].id.prefix(12)), "-o", home.program.file("second.db"))
    #expect(pulled.status == 0)

    let taken = try await home("unforget", String(versions[1].id.prefix(8)), versions[2].id)
    let back = taken.output
    #expect(
      taken.status == 0
        && taken.error.contains("rules may let it go again; `sealift pin \(versions[1].id.prefix(8))` keeps"))
    #expect(try await !home("unforget", versions[1].id).error.contains("let it go again"))
    #expect(back.contains("disk: version \(versions[1].id.prefix(8)) of 'app' counts again\n"))
    #expect(try await listed(home) == versions.dropFirst().map(\.id))
    let gone = try await home("unforget", "0123456789")
    #expect(gone.status == 14 && gone.error.contains("what was pruned does not come back"), "\(gone.error)")
    #expect(gone.error.contains("`sealift list --forgotten`"))
    let again = try decoded(Plans.self, try await home.must("forget", versions[1].id, "--json"))
    #expect(again.chains.map(\.forgottenNow) == [1] && again.chains.map(\.forgottenBefore) == [1] && !again.dryRun)
    #expect(again.chains[0].decisions.filter { !$0.stays }.map(\.id) == [versions[1].id])
    let known = try await home("forget", versions[1].id)
    #expect(known.status == 0 && known.error.contains("was forgotten before, and waits for a prune"), "\(known.error)")
    #expect(!known.error.contains("no versions to forget"), "\(known.error)")
    #expect(try await home("forget", versions[3].id).status == 2)
    #expect(try await listed(home) == versions.suffix(2).map(\.id))
    #expect(try await home.push().unchanged == true)
    try home.change()
    #expect(try await home.push().head.hasPrefix("5-"))
    // Where there are several targets, which one it is at.
    let two = try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(home.program.file("state"))",
       "targets": {"my disk": {"url": "\(home.target)", "keyFile": "\(home.program.file("key"))"},
                   "nas": {"url": "file:///nonexistent/nas"}}}
      """, to: "two.json")
    let named = try await home.program.start(
      Program.path, ["--config", two, "--target", "my disk", "forget", "app", "--keep-last", "1"])
    #expect(named.error.contains("`sealift --target 'my disk' unforget ID` takes that back"), "\(named.error)")
  }

  /// Other programs take the one for the other: six minutes would have let two of these go.
  @Test func `minutes that may be months keep nothing, and let nothing go`() async throws {
    let (home, versions) = try await home(versions: 3)
    for months in ["6m", "6 m", "6M"] {
      let refused = try await home("forget", "app", "--keep-within", months)
      #expect(refused.status == 2 && refused.error.contains("tell minutes and months apart"), "\(refused.error)")
      #expect(refused.error.contains("180d"))
    }
    #expect(try await listed(home) == versions.map(\.id))
    for span in ["3600s", "48h", "180d"] { try await home.must("forget", "app", "--keep-within", span) }
    #expect(try await listed(home) == versions.map(\.id))
  }

  @Test func `a version that a rule keeps and that lost packs stays, and ends forget with 13`() async throws {
    let home = try Home()
    try await home.must("init")
    // Less than 64 KiB would ride in the manifest.
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(200000))", on: home.program.file("app.db"))
    let first = try await home.push("--tag", "before-upgrade")
    let packs = try home.program.files(below: "target/packs").map { ($0, try home.bytes("target/packs/\($0)")) }
    try home.change()
    try await home.push("--rebuild-base")
    #expect(!packs.isEmpty)
    for (pack, _) in packs { try removeFile(home.program.file("target/packs/\(pack)")) }
    let quiet = try await home("-q", "forget", "app", "--keep-last", "1", "--keep-tag", "before-upgrade")
    #expect(quiet.status == 13, "\(quiet.error)")
    #expect(quiet.error.contains("\(first.id.prefix(12)) (tag 'before-upgrade')"), "\(quiet.error)")
    let dry = try await home("forget", "app", "--keep-last", "1", "--keep-tag", "before-upgrade", "-n", "--json")
    let plans = try decoded(Plans.self, dry.output)
    #expect(dry.status == 13 && plans.failures.map(\.code) == ["incomplete"])
    #expect(plans.chains.map { $0.decisions.map(\.stays) } == [[true, true]])
    for (pack, bytes) in packs { try writeFile(home.program.file("target/packs/\(pack)"), bytes) }
    try await home.must("forget", "app", "--keep-last", "1", "--keep-tag", "before-upgrade")
    try await home.must("pull", first.id, "-o", home.program.file("first.db"))
  }

  @Test func `a version whose manifest is gone is given up by word only`() async throws {
    struct Given: Decodable {
      struct Chain: Decodable {
        struct Place: Decodable { var first, last: UInt64 }
        var database: String
        var lost: [Place]
      }
      var chains: [Chain]
      var dryRun: Bool
      var notices: [String]
    }
    let (home, versions) = try await home(versions: 3)
    let nothing = try await home("forget", "--lost")
    #expect(nothing.status == 0 && nothing.output.isEmpty && nothing.error.contains("nothing is lost"))
    let manifest = try #require(home.program.files(below: "target/versions").first { $0.contains("/000000000002-") })
    try FileManager.default.removeItem(atPath: home.program.file("target/versions/\(manifest)"))
    let refused = try await home("forget", "app", "--keep-last", "1")
    #expect(refused.status == 13 && refused.error.contains("sealift forget --lost"))
    #expect(try await home("forget", "--lost", "--keep-last", "1").status == 2)
    let said = try decoded(Given.self, try await home.must("forget", "--lost", "-n", "--json"))
    #expect(said.dryRun && said.chains.map(\.database) == ["app"])
    // Before it is too late.
    #expect(said.notices.contains { $0.contains("`copy --versions`") })
    #expect(said.chains[0].lost.map(\.first) == [2] && said.chains[0].lost.map(\.last) == [2])
    #expect(try await home.must("forget", "--lost", "app") == "disk: app of web-1: gave up version 2\n")
    try await home.must("forget", "app", "--keep-last", "1")
    try await home.must("prune", "--min-age", "0s")
    #expect(try await listed(home) == [versions[2].id])
    try await home.must("pull", "latest", "-o", home.program.file("again.db"))
    #expect(try home.content("again.db") == home.content("app.db"))
  }

  @Test func `each database's own rules stand in the configuration`() async throws {
    let (home, versions) = try await home(versions: 3)
    let none = try await home("forget")
    #expect(none.status == 2 && none.error.contains("nothing says which versions to keep"))
    let text = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    try home.program.write(
      text.replacing(#"/app.db"}}"#, with: #"/app.db", "keep": {"last": 1, "tags": ["first"]}}}"#), to: "config.json")
    try await home.must("tag", versions[0].id, "--add", "first")
    let plan = try decoded(Plans.self, try await home.must("forget", "--json", "-n"))
    #expect(plan.dryRun && plan.chains[0].decisions.map(\.stays) == [true, false, true])
    #expect(plan.chains[0].decisions[0].reasons == ["tag 'first'"] && plan.chains[0].forgottenNow == 0)
    try await home.must("forget")
    #expect(try await listed(home) == [versions[0].id, versions[2].id])
    // Rules on the line take their place.
    try await home.must("forget", "app", "--keep-last", "1")
    #expect(try await listed(home) == [versions[2].id])
    #expect(try await home("forget", "mail", "--keep-last", "1").status == 14)
    #expect(try await home.must("config", "check").contains("databases.app.keep.last = 1  ("))
    for wrong in [#"{}"#, #"{"last": 0}"#, #"{"lsat": 1}"#, #"{"within": "48"}"#, #"{"tags": []}"#] {
      try home.program.write(text.replacing(#"/app.db"}}"#, with: #"/app.db", "keep": \#(wrong)}}"#), to: "config.json")
      #expect(try await home("config", "check").status == 2, "\(wrong)")
    }
  }

  /// As where a configuration was copied to another machine.
  @Test func `where only other hosts have versions, they are named`() async throws {
    let (home, versions) = try await home(versions: 2)
    let text = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    try home.program.write(
      text.replacing("web-1", with: "web-2").replacing(#"/app.db"}}"#, with: #"/app.db", "keep": {"last": 1}}}"#),
      to: "config.json")
    let nothing = try await home("forget")
    #expect(nothing.status == 0 && nothing.output.isEmpty)
    #expect(nothing.error.contains("no versions of this host to forget; web-1 has some: --all-hosts takes them in"))
    #expect(try await listed(home) == versions.map(\.id))
    let strange = try await home("forget", "app", "--keep-last", "1", "--host", "web-3")
    #expect(strange.status == 14 && strange.error.contains("web-1 has some"), "\(strange.error)")
    for words in [["--all-hosts"], [versions[0].id]] {
      let arguments = ["--config", home.program.file("config.json"), "forget", "--host", "web-1"] + words
      #expect(try await home.program.start(Program.path, arguments).status == 2, "\(words)")
    }
    #expect(try await home.must("forget", "--host", "web-1", "-n").contains("app of web-1: 1 stays, 1 goes\n"))
    #expect(try await home.must("forget", "--all-hosts").contains("app of web-1: 1 stays, 1 goes\n"))
  }

  @Test func `tags, notes and pins are shown`() async throws {
    let (home, versions) = try await home(versions: 2)
    #expect(try await home.must("tag", "app:latest", "--add", "x", "--add", "y").hasSuffix("has tags x, y\n"))
    #expect(try await home.must("tag", "app:latest", "--remove", "x", "--json").contains(#""tags":["y"]"#))
    for words in [["--remove", "nothere"], ["--add", "z", "--remove", "nothere"]] {
      let config = ["--config", home.program.file("config.json")]
      let absent = try await home.program.start(Program.path, config + ["tag", "app:latest"] + words)
      #expect(absent.status == 0 && absent.error.contains("of 'app' had no tag 'nothere'"), "\(absent.error)")
    }
    try await home.must("tag", "app:latest", "--remove", "z")
    try await home.must("note", "latest", "moved")
    #expect(try await home.must("pin", versions[0].id, versions[1].id).split(separator: "\n").count == 2)
    #expect(try await home.must("unpin", versions[0].id).contains("is not pinned any more"))
    #expect(try await home.must("list").contains("(pinned),y \"moved\"\n"))
    let shown = try await home.must("show", "latest")
    #expect(shown.contains("pinned     yes\n") && shown.contains("note       moved\n"))
    #expect(try await home.must("show", "latest", "--json").contains(#""pinned":true"#))
    #expect(try await home("forget", versions[1].id).status == 2)
    #expect(try await home("pin", versions[0].id, "0123456789").status == 3)
  }

  @Test func `a status is what a person wants to know in the morning`() async throws {
    let (home, versions) = try await home(versions: 2)
    try await home.must("forget", versions[0].id)
    let lines = try await home.must("status").split(separator: "\n")
    #expect(lines[0].hasPrefix("app -> disk: version \(versions[1].id.prefix(8)) of \(versions[1].time.prefix(19))"))
    #expect(lines[1] == "  1 version, 1 forgotten and not pruned, never drilled, head \(versions[1].head)")
    let state = try decoded(States.self, try await home.must("status", "app", "--json"))
    #expect(state.databases.map(\.newest?.id) == [versions[1].id] && state.targets.map(\.reached) == [true])
    #expect(state.databases[0].sound && state.databases[0].forgottenCount == 1 && state.databases[0].count == 1)
    // Without a configuration: what this host has there.
    let bare = try await home.program.start(
      Program.path,
      ["--target", home.target, "--key-file", home.program.file("key"), "status"])
    #expect(bare.status == 0)

    let both = try await home("--target", "disk", "--target", "file:///nonexistent/place", "status", "--json")
    #expect(both.status == 3)
    let reached = try decoded(States.self, both.output).targets.map { "\($0.target) \($0.reached)" }
    #expect(reached == ["disk true", "file:///nonexistent/place false"])
    let newest = try #require(
      home.program.files(below: "target").filter { $0.hasPrefix("versions/") }.max())
    try removeFile(home.program.file("target/\(newest)"))
    let rolledBack = try await home("status", "--json")
    #expect(rolledBack.status == 13)
    #expect(try rolledBack.errorDocument().code == "rolledBack")
  }
}
