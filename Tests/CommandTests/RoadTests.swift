import FoundationEssentials
import Glibc
import TestKit
import Testing

/// The whole road, from the outside.
@Suite struct RoadTests {
  @Test func `the path of a configured database is another way to name it`() async throws {
    let home = try Home()
    try home.program.write("beside", to: "attached")
    try home.program.write(
      """
      {"host": "web-1", "stateFolder": "\(home.program.file("state"))",
       "targets": {"a": {"url": "\(home.target)", "keyFile": "\(home.program.file("key"))"},
                   "b": {"url": "file://\(home.program.file("other"))", "keyFile": "\(home.program.file("key"))"}},
       "databases": {"vault": {"path": "\(home.program.file("app.db"))", "targets": ["a"], "delta": false,
                               "companions": ["attached"]}}}
      """, to: "config.json")
    try await home.must("init")
    for path in [home.program.file("app.db"), "./app.db"] {
      let version = try await home.push(path, "--tag", "t")
      #expect(version.database == "vault")
    }
    #expect(home.program.files(below: "other").filter { $0.contains("versions/") }.isEmpty)
    #expect(home.program.files(below: "state").filter { $0.contains("bases/") && $0.hasSuffix(".image") }.isEmpty)
    #expect(try await home.must("show", "vault:latest", "--target", "a").contains("attached"))
    let other = try await home.push(home.program.file("app.db"), "--name", "alone", "--target", "b")
    #expect(other.database == "alone")
  }

  @Test(arguments: [">&- 2>&-", "<&- >&-", "<&- >&- 2>&-", "2>&-"])
  func `a standard stream that is closed takes none of our files`(closed: String) async throws {
    let home = try Home()
    try await home.must("init")
    // SQLite makes a -shm beside it: that is remarked upon.
    try SQLite.run("PRAGMA journal_mode=WAL; INSERT INTO t(b) VALUES ('w')", on: home.program.file("app.db"))
    for round in 0..<2 {
      try SQLite.run("INSERT INTO t(b) VALUES (\(round))", on: home.program.file("app.db"))
      let line = #""$0" --config '\#(home.program.file("config.json"))' push app \#(closed)"#
      let ending = try await home.program.shell(line)
      // Where nothing can be said of it the push may end as failed, but by itself.
      #expect([0, 1, 3].contains(ending.status), "\(closed): \(ending.status)")
      #expect(try await home.must("list").split(separator: "\n").count == round + 2)
    }
    #expect(home.program.files(below: "state/spool") == ["lock"])
  }

  @Test func `init, push, list, show, pull and restore`() async throws {
    let home = try Home()
    #expect(try await home.must("init").contains("disk: made repository "))
    #expect(try await home.must("init", "--if-missing").contains("disk: found repository "))
    let again = try await home("init")
    #expect(again.status == 2)
    #expect(again.error.contains("--if-missing"))

    let first = try await home.push("--tag", "one", "--note", "the first")
    #expect(first.database == "app" && first.target == "disk" && first.unchanged == false && first.dryRun == false)
    #expect(first.tags == ["one"] && first.note == "the first" && first.size == first.bytesTotal && first.pages > 2)
    #expect(first.time.hasSuffix("Z") && first.id.count == 64)
    try home.change()
    let line = try await home.must("push", "app")
    #expect(line.hasPrefix("app -> disk: version "))

    let table = try await home.must("list").split(separator: "\n")
    #expect(table.count == 3)
    #expect(table[0].hasPrefix("ID ") && table[1].hasPrefix(first.id.prefix(8)))
    #expect(table[1].hasSuffix("  one \"the first\""))
    #expect(table.allSatisfy { $0.count <= 80 })
    let listed = try decoded(Versions.self, try await home.must("list", "--json")).versions
    #expect(listed.count == 2 && listed[0].id == first.id)
    #expect(try decoded(Versions.self, try await home.must("list", "--json", "--tag", "one")).versions.count == 1)
    let other = try await home("list", "other", "--json")
    #expect(try other.status == 14 && other.errorDocument().code == "noSuchDatabase", "\(other.error)")
    #expect(try decoded(Versions.self, other.output).versions.isEmpty)

    let shown = try await home.must("show", String(first.id.prefix(10)))
    #expect(shown.contains(first.id) && shown.contains("the first") && shown.contains(first.head))

    let pulled = try await home("pull", "latest", "-o", home.program.file("latest.db"))
    #expect(pulled.status == 0 && pulled.error.contains("check: ok (at push; content proved identical)"))
    for command in [["pull", "-o"], ["restore", "--to"]] {
      let path = home.program.file("checked-by-\(command[0]).db")
      let checked = try await home(command[0], "latest", command[1], path, "--check", "--json")
      #expect(checked.output.contains(#""check":"ok","checkedAt":"restore""#))
    }
    #expect(try home.content("latest.db") == home.content("app.db"))
    let latest = try await home.program.shell(#""$0" --config config.json pull app:latest -o - > piped.db"#)
    #expect(latest.status == 0)
    #expect(try home.bytes("piped.db") == home.bytes("latest.db"))
    try await home.must(
      "restore", String(first.id.prefix(12)), "--to", home.program.file("first.db"), "--expect", first.head)
    let sums = try await home.program.shell("sha256sum first.db")
    #expect(sums.output.hasPrefix(first.sha256))

    // What the table shows finds the version it stands beside.
    let time = String(table[1].split(separator: " ")[1])
    let folder = home.program.file("here")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let made = try await home.must("pull", "app@\(time)", "-o", folder + "/")
    #expect(made.contains(#/\/here\/app-\d{8}T\d{6}Z\.sqlite\n$/#))
    #expect(home.program.files(below: "here").count == 1)
  }

  @Test func `-v tells every request, and no secret`() async throws {
    let home = try Home()
    try await home.must("init")
    let ending = try await home("-v", "push", "app")
    #expect(ending.status == 0)
    #expect(ending.error.contains(#/disk: put versions\/[0-9a-f]{32}\/000000000001-0000-\S+, .*: \d+\.\d s/#))
    #expect(ending.error.contains("disk: list packs/"))
    #expect(!ending.error.contains("a key of at least"))
    #expect(try await !home("push", "app").error.contains("list packs/"))
  }

  @Test func `-v tells what an error came of, and not the error again`() async throws {
    let home = try Home()
    try await home.must("init")
    let path = home.program.file("app.db")
    let configuration = String(decoding: try home.bytes("config.json"), as: UTF8.self)
    try home.program.write(
      configuration.replacing("\"\(path)\"}", with: "\"\(path)\", \"busyTimeout\": \"1s\"}"), to: "config.json")
    let holder = try TestDatabase(path)
    try holder.run("BEGIN EXCLUSIVE")
    let ending = try await home("-v", "push", "app")
    try holder.run("ROLLBACK")
    #expect(ending.status == 15, "\(ending.error)")
    let lines = ending.error.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("sealift: error: ") && $0.contains("stayed locked by another process") })
    let causes = lines.filter { $0.hasPrefix("sealift: cause: ") }
    #expect(causes == ["sealift: cause: database is locked (SQLite code 5)"], "\(ending.error)")
  }

  @Test func `without any configuration`() async throws {
    let home = try Home()
    let key = ["--key-file", home.program.file("key"), "--target", home.target]
    for arguments in [
      ["init"], ["push", "./app.db"], ["pull", "app:latest", "-o", "out.db"], ["push", "./app.db", "--name", "other"],
    ] {
      let ending = try await home.program.start(Program.path, key + arguments)
      #expect(ending.status == 0, "\(arguments): \(ending.error)")
    }
    #expect(try home.content("out.db") == home.content("app.db"))
    let list = try await home.program.start(Program.path, key + ["--json", "list"])
    #expect(Set(try decoded(Versions.self, list.output).versions.map(\.database)) == ["app", "other"])
    #expect(home.program.exists("home/.local/state/sealift"))
    #expect(mode(of: home.program.file("home/.local/state/sealift")) == 0o700)
  }

  @Test func `two databases never share a name`() async throws {
    let home = try Home()
    try await home.must("init")
    let copied = try await home.program.shell("mkdir a; cp app.db a/app.db; ln -s . here")
    #expect(copied.status == 0)
    for arguments in [["./a/app.db"], ["app", "./a/app.db"], ["./a/app.db", "./app.db"]] {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "push"] + arguments)
      #expect(ending.status == 2, "\(arguments): \(ending.error)")
      #expect(ending.error.contains("/a/app.db") && ending.error.contains("--name"))
    }
    try await home.must("push", "./a/app.db", "--name", "other")
    try await home.must("push", "app", "./here/here/app.db")
    #expect(try decoded(Versions.self, try await home.must("list", "--json", "app")).versions.count == 1)
  }

  @Test func `a dry run stores nothing, and nothing new is told as unchanged`() async throws {
    let home = try Home()
    try await home.must("init")
    let before = home.program.files(below: "target")
    #expect(try await home.push("--dry-run").dryRun == true)
    #expect(home.program.files(below: "target") == before)
    let first = try await home.push()
    let second = try await home.push()
    #expect(second.unchanged == true && second.id == first.id)
    let dry = try await home.must("push", "--dry-run")
    #expect(dry.hasPrefix("app -> disk: unchanged since ") && dry.hasSuffix(", would store nothing\n"), "\(dry)")
    try home.change()
    #expect(try await home.must("push", "--dry-run").hasPrefix("app -> disk: would store "))
  }

  @Test func `keys are added, listed, used and removed`() async throws {
    let home = try Home()
    try await home.must("init")
    try home.program.write("another key of at least thirty-two bytes", to: "key2")
    #expect(try await home.must("key", "add", "--new-key-file", home.program.file("key2")).contains("added key file "))
    let recovery = try await home.must("key", "recovery")
    try home.program.write(recovery, to: "recovery")
    let table = try await home.must("key", "list").split(separator: "\n")
    #expect(table.count == 4 && table.filter { $0.contains("in use now") }.count == 1)
    for option in [["--key-file", "key2"], ["--recovery-key-file", "recovery"]] {
      let ending = try await home.program.start(Program.path, ["--target", home.target, "list"] + option)
      #expect(ending.status == 0, "\(ending.error)")
    }
    let used = try #require(table.first { $0.contains("in use now") }?.split(separator: " ").first)
    #expect(try await home("key", "remove", String(used)).status != 0)
    let other = try #require(
      table.dropFirst().first { !$0.contains("in use") && $0.contains("key file") }?.split(separator: " ").first)
    #expect(try await home.must("key", "remove", String(other)).contains("removed key file"))
    #expect(
      try await home.program("--target", home.target, "list", "--key-file", home.program.file("key2")).status == 12)
  }
}
