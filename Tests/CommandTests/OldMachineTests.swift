import TestKit
import Testing

/// A new machine that has taken the name of an old one, and the old one that comes back.
@Suite struct OldMachineTests {
  /// The same place with another state folder; of that name.
  private func newMachine(_ home: Home, host: String = "web-1", databases: Bool = true) throws {
    let program = home.program
    let app = databases ? #", "databases": {"app": {"path": "\#(program.file("app.db"))"}}"# : ""
    try program.write(
      """
      {"host": "\(host)", "stateFolder": "\(program.file("other-state"))",
       "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(program.file("key"))"}}\(app)}
      """, to: "other.json")
  }

  private func onNewMachine(_ home: Home, _ arguments: String...) async throws -> ProgramEnd {
    try await home.program.start(Program.path, ["--config", home.program.file("other.json")] + arguments)
  }

  @Test func `both are told, with status 3, and what they push is safe`() async throws {
    let home = try Home()
    try newMachine(home)
    try await home.must("init")
    try await home.push()
    try home.change()
    let taken = try await onNewMachine(home, "push")
    #expect(taken.status == 0, "\(taken.error)")
    try home.change()
    let old = try await home("push", "--json")
    #expect(try old.status == 3 && old.errorDocument().code == "pushedElsewhere", "\(old.error)")
    #expect(old.output.contains(#""pushedElsewhere":2"#) && old.output.contains(#""sequence":3"#), "\(old.output)")
    try home.change()
    let new = try await onNewMachine(home, "push")
    #expect(new.status == 3 && new.output.contains("head 4-"), "\(new.output)")
    #expect(
      new.error.contains(
        "disk: version 3 of 'app' was pushed by another machine, or with another state"),
      "\(new.error)")
    #expect(new.error.contains("hint: If that was a restore to another machine and back"))
    // It is said once, and the next push that finds nothing new says nothing.
    try await home.must("check")
    #expect(try await onNewMachine(home, "push").status == 0)
  }

  @Test func `a status under another name names the hosts that have versions`() async throws {
    let home = try Home()
    try newMachine(home, host: "web-9", databases: false)
    try await home.must("init")
    let empty = try await onNewMachine(home, "status")
    #expect(empty.output == "disk: no versions\n", "\(empty.error)")
    try await home.push()
    let status = try await onNewMachine(home, "status")
    #expect(status.output == "disk: no versions of host web-9; web-1 has some: see `sealift list`\n", "\(status.error)")
    let document = try await onNewMachine(home, "status", "--json")
    #expect(document.output.contains(#""otherHosts":["web-1"]"#), "\(document.output)")
  }

  @Test func `a status of a database that another host pushed says so before a first push`() async throws {
    let home = try Home()
    try newMachine(home, host: "web-9")
    try await home.must("init")
    let empty = try await onNewMachine(home, "status")
    #expect(empty.status == 13 && empty.output == "app -> disk: no versions\n", "\(empty.error)")
    #expect(empty.error.contains("hint: Push it: `sealift push app`."), "\(empty.error)")
    try await home.push()
    let status = try await onNewMachine(home, "status")
    #expect(status.output == "app -> disk: no versions of host web-9; web-1 has some\n", "\(status.output)")
    #expect(status.status == 13 && status.error.contains(#"takes the place of web-1, set "host": "web-1" before"#))
    let document = try await onNewMachine(home, "status", "--json")
    #expect(document.output.contains(#""sound":false,"otherHosts":["web-1"]"#), "\(document.output)")
  }

  @Test func `a target whose manifests are gone is not told as one that never had any`() async throws {
    let home = try Home()
    try newMachine(home)
    try await home.must("init")
    // So that it needs a pack.
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(300000))", on: home.program.file("app.db"))
    try await home.push()
    #expect(try await home.program.shell("mv target/versions away && mkdir saved").status == 0)
    let check = try await onNewMachine(home, "check")
    #expect(check.status == 0 && check.output.contains(" of 1 chain without any manifest: "), "\(check.output)")
    #expect(try await onNewMachine(home, "check", "--json").output.contains(#""bareChains":1,"barePacks":"#))
    let saved = home.program.file("saved")
    for ending in [try await onNewMachine(home, "pull", "--all", saved), try await onNewMachine(home, "drill")] {
      #expect(ending.status == 14 && ending.error.contains("the objects below versions/ are gone"), "\(ending.error)")
    }
    #expect(try await home.program.shell("mv away target/versions").status == 0)
    let sound = try await onNewMachine(home, "check")
    #expect(sound.status == 0 && !sound.output.contains("without any manifest"), "\(sound.output)")
    // That something newer may be gone is told where nobody can know.
    let all = try await onNewMachine(home, "pull", "--all", saved)
    #expect(all.status == 0 && all.error.contains("cannot prove that nothing newer was taken away"), "\(all.error)")
    let known = try await home("pull", "--all", saved)
    #expect(known.status == 0 && !known.error.contains("cannot prove"), "\(known.error)")
  }

  @Test func `of many other hosts five are named, in one line`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    for number in 1...6 {
      try newMachine(home, host: "old-\(number)")
      let state = home.program.file("other-state")
      #expect(try await onNewMachine(home, "push").status == 0)
      #expect(try await home.program.shell("rm -r '\(state)'").status == 0)
    }
    let own = try await home("restore", "--all", "--replace", "--dry-run")
    let others = own.error.split(separator: "\n").filter { $0.contains("also there") }
    let line =
      "sealift: disk: also there, and not restored: databases of old-1, old-2, old-3, old-4, old-5 and 1 more (--host HOST)"
    #expect(own.status == 0 && others == [Substring(line)] && !own.error.contains("cannot prove"), "\(own.error)")
  }

  @Test func `who restores all after a first push is told what the old machine has there`() async throws {
    let home = try Home()
    try newMachine(home, host: "web-9")
    try await home.must("init")
    try await home.push()
    #expect(try await onNewMachine(home, "push").status == 0)
    let others = "disk: also there, and not restored: app of web-1 (--host web-1)"
    let own = try await onNewMachine(home, "restore", "--all", "--replace", "--dry-run")
    #expect(own.status == 0 && own.error.contains(others), "\(own.error)")
    let document = try await onNewMachine(home, "restore", "--all", "--replace", "--dry-run", "--json")
    #expect(document.output.contains(#""others":[{"host":"web-1","databases":["app"]}]"#), "\(document.output)")
    let old = try await onNewMachine(home, "restore", "--all", "--replace", "--dry-run", "--host", "web-1")
    #expect(old.status == 0 && !old.error.contains("also there"), "\(old.error)")
    let file = home.program.file("new.db")
    let one = try await onNewMachine(home, "restore", "app:latest", "--to", file, "--dry-run")
    #expect(one.output.hasPrefix("would restore 'app' of web-9, 20"), "\(one.output)")
  }
}
