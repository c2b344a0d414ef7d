import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Operations
@testable import SealiftTool

/// `restore` and `pull --all`, from the outside.
@Suite struct RestoreCommandTests {
  private func home() async throws -> Home {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try home.change()
    return home
  }

  private func size(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  @Test func `into the place it came from, refused, replaced and taken back`() async throws {
    let home = try await home()
    let (old, path) = (try home.content("app.db"), home.program.file("app.db"))
    let refused = try await home("restore", "app:latest")
    #expect(refused.status == 2 && refused.error.contains("--replace") && refused.error.contains("--live"))
    let plan = try await home.must("restore", "app:latest", "--replace", "--dry-run")
    #expect(plan.contains("would restore 'app'") && plan.contains("\(path) would become \(path).before-"))
    let rehearsed = try await home("restore", "app:latest", "-n", "--json")
    #expect(rehearsed.status == 2 && rehearsed.output.contains(#""code":"destinationExists""#))
    #expect(try home.content("app.db") == old)

    let replaced = try await home("restore", "app:latest", "--replace")
    #expect(replaced.status == 0 && replaced.output == "\(path)\n", "\(replaced.error)")
    #expect(try home.content("app.db") != old)
    let line = try #require(replaced.error.split(separator: "\n").first { $0.contains("to take this back: ") })
    let undo = try #require(line.split(separator: "to take this back: ").last)
    #expect(try await home.program.shell(String(undo)).status == 0)
    #expect(try home.content("app.db") == old)
  }

  /// What is shown in place of them would be about another file, and do nothing to it.
  @Test(arguments: [("nl\nx.db", "--replace"), ("tab\t.db", "--live"), ("c\u{85}.db", "--replace")])
  func `of a path with control characters no line is shown that takes a restore back`(_ name: String, _ mode: String)
    async throws
  {
    let home = try await home()
    let path = home.program.file(name)
    try writeFile(path, try home.bytes("app.db"))
    let restored = try await home("restore", "app:latest", mode, "--to", path)
    #expect(restored.status == 0, "\(restored.error)")
    #expect(!restored.error.contains("to take this back: ") && !restored.error.contains("mv -nT"), "\(restored.error)")
    #expect(!restored.error.contains(".restore "), "\(restored.error)")
    #expect(restored.error.contains("no line is shown that takes this back"), "\(restored.error)")
  }

  @Test func `a rehearsal says of a version that was pushed damaged that it is`() async throws {
    let home = try await home()
    let sound = try await home.must("pull", "app:latest", "-o", home.program.file("out.db"), "-n")
    #expect(!sound.contains("damaged"))
    var bytes = try home.bytes("app.db")
    for index in 4096..<4196 { bytes[index] = 0x5A }
    try writeFile(home.program.file("app.db"), bytes)
    #expect(try await home("push", "app").status == 13)
    for words in [["pull", "-o", home.program.file("out.db")], ["restore", "--replace"]] {
      let plan = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), words[0], "app:latest", "-n"] + words.dropFirst())
      #expect(plan.status == 0 && plan.output.contains("found it damaged when it was pushed"), "\(plan.error)")
    }
    let all = try await home("restore", "--all", "--replace", "-n")
    let line = "sealift: 'app': SQLite's check found it damaged when it was pushed\n"
    #expect(all.status == 0 && all.error.contains(line), "\(all.error)")
  }

  @Test func `a rehearsal says of a version that was forgotten that it is`() async throws {
    let home = try Home()
    try await home.must("init")
    let older = try await home.push()
    try home.change()
    try await home.push()
    try await home.must("forget", older.id)
    let words = "it is forgotten: `sealift unforget \(older.id.prefix(12))`"
    #expect(try await home.must("pull", older.id, "-o", home.program.file("out.db"), "-n").contains(words))
    let pulled = try await home("pull", older.id, "-o", home.program.file("out.db"))
    #expect(pulled.status == 0 && pulled.error.contains(words), "\(pulled.error)")
    #expect(try await !home.must("pull", "app:latest", "-o", home.program.file("new.db"), "-n").contains("forgotten"))
  }

  /// It may be all that is left, so it comes back; but not even `-q` lets it pass for sound.
  @Test func `what was pushed damaged comes back, and with status 13`() async throws {
    let home = try await home()
    let older = try await home.push()
    let sound = try home.bytes("app.db")
    var damaged = sound
    for index in 4096..<4196 { damaged[index] = 0x5A }
    try writeFile(home.program.file("app.db"), damaged)
    #expect(try await home("push", "app").status == 13)
    let folder = home.program.file("all")
    #expect(mkdir(folder, 0o700) == 0)
    for words in [
      ["pull", "app:latest", "-o", home.program.file("out.db")], ["pull", "--all", folder],
      ["restore", "app:latest", "--to", home.program.file("new.db")], ["restore", "app:latest", "--replace"],
    ] {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "-q"] + words)
      #expect(ending.status == 13 && ending.error.contains("came back damaged: "), "\(words): \(ending.error)")
      let message = ending.error.split(separator: "\n").first { $0.contains("came back damaged: ") } ?? ""
      #expect(message.utf8.count < 300 && !message.contains("\\n"), "\(message)")
      guard !words.contains("--all") else { continue }
      #expect(ending.error.contains("Version \(older.id.prefix(12)) of "), "\(words): \(ending.error)")
    }
    let told = try await home("pull", "app:latest", "-o", home.program.file("again.db"))
    #expect(told.error.contains(", check: damaged\n"), "The finding is told once: \(told.error)")
    for name in ["out.db", "all/app.sqlite", "new.db", "app.db"] { #expect(try home.bytes(name) == damaged, "\(name)") }
    try writeFile(home.program.file("app.db"), sound)
    let live = try await home("restore", "app:latest", "--live", "--json")
    #expect(try live.status == 13 && live.errorDocument().code == "restoredDamaged", "\(live.error)")
    #expect(live.error.contains("To take this back: "))
    let stream = try await home.program.shell(
      #""$0" --config '\#(home.program.file("config.json"))' pull app:latest -o - > '\#(home.program.file("piped.db"))'"#
    )
    #expect(try stream.status == 13 && home.bytes("piped.db") == damaged, "\(stream.error)")
  }

  @Test func `damage of one database is not hidden by another that came back, or was copied`() async throws {
    let home = try await home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(200000))", on: home.program.file("app.db"))
    let before = Set(home.program.files(below: "target"))
    try await home.must("push", "./app.db", "--name", "other")
    let packs = home.program.files(below: "target").filter { $0.hasPrefix("packs/") && !before.contains($0) }
    let pack = try #require(packs.first)
    var bytes = try home.bytes("target/\(pack)")
    bytes[5000] ^= 1
    try writeFile(home.program.file("target/\(pack)"), bytes)
    try removeFile(home.program.file("state"))
    let (key, copy) = (home.program.file("key"), "file://\(home.program.file("copy"))")
    let folder = home.program.file("all")
    #expect(mkdir(folder, 0o700) == 0)
    try await home.must("--target", copy, "init", "--key-file", key)
    let commands: [[String]] = [
      ["pull", "--all", folder],
      ["copy", "--from", "disk", "--from-key-file", key, "--to", copy, "--key-file", key],
    ]
    for words in commands {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "--json"] + words)
      #expect(try ending.status == 13 && ending.errorDocument().code != "partlyDone", "\(words): \(ending.error)")
    }
    #expect(home.program.exists("all/app.sqlite") && !home.program.exists("all/other.sqlite"))
  }

  @Test func `what came back damaged is told before a name that is taken`() async throws {
    let home = try await home()
    try await home.must("push", "./app.db", "--name", "other")
    var bytes = try home.bytes("app.db")
    for index in 4096..<4196 { bytes[index] = 0x5A }
    try writeFile(home.program.file("app.db"), bytes)
    #expect(try await home("push", "app").status == 13)
    let folder = home.program.file("all")
    #expect(mkdir(folder, 0o700) == 0)
    try home.program.write("somebody's", to: "all/other.sqlite")
    let ending = try await home("pull", "--all", folder, "--json")
    #expect(try ending.status == 13 && ending.errorDocument().code == "restoredDamaged", "\(ending.error)")
    #expect(ending.output.contains(#""code":"destinationExists""#), "\(ending.output)")
  }

  @Test(arguments: [
    ["pull", "latest", "-o", "out.db"], ["restore", "latest", "--to", "./out.db"],
    ["restore", "latest", "--to", "out.db", "--dry-run"], ["pull", "--all", "."],
  ])
  func `paths in documents are absolute, however they were given`(words: [String]) async throws {
    let home = try await home()
    let ending = try await home.program.start(
      Program.path, ["--config", home.program.file("config.json"), "--json"] + words)
    #expect(ending.status == 0 && ending.output.contains(#""path":"/"#), "\(ending.output)\(ending.error)")
  }

  /// Only its applications may checkpoint it: two that do it at once may lose pages, and one that waits keeps writers out.
  @Test(arguments: ["--no-undo --live --to", "--table t --into"])
  func `a write that fails checkpoints nothing that others have open, and says what the -wal keeps`(
    words: String
  ) async throws {
    let home = try Home()
    try await home.must("init")
    try SQLite.run("INSERT INTO t(b) VALUES (zeroblob(2000000))", on: home.program.file("app.db"))
    try await home.push()
    let live = home.program.file("live.db")
    // An application has it open, and is idle.
    let database = try TestDatabase(live)
    _ = try database.rows("PRAGMA journal_mode=wal")
    try database.run("CREATE TABLE other(b)")
    // Whoever opens and closes the database or its -shm here gives back the application's locks: neither is read before.
    let (before, header) = (size(of: live), try home.bytes("live.db-wal").prefix(32))
    let blocks = (try home.bytes("app.db").count + 4096) / 512
    let command = #""$0" --config "\#(home.program.file("config.json"))" restore latest \#(words) "\#(live)""#
    let ending = try await home.program.shell("ulimit -f \(blocks); \(command)")
    #expect(ending.status == 1 && ending.error.contains("the disk failed while"), "\(ending.error)")
    #expect(ending.error.contains("The -wal beside it has grown by 1 MiB"), "\(ending.error)")
    // Its salts, and how many of its frames are in the database.
    let wal = try home.bytes("live.db-wal")
    #expect(wal.count > 1 << 20 && wal.prefix(32) == header)
    #expect(before > 0 && size(of: live) == before)
    #expect(try database.number("SELECT count(*) FROM other") == 0)
    #expect(try home.bytes("live.db-shm")[96..<100] == [0, 0, 0, 0])
  }

  /// SQLite itself leaves what it began to whoever opens the database next: a full disk would stay full until then.
  @Test(arguments: [("delete", "--table t --into"), ("wal", "--table t --into"), ("wal", "--no-undo --live --to")])
  func `a write that fails leaves the old content, and nothing beside it`(journal: String, words: String) async throws {
    let home = try Home()
    try await home.must("init")
    try SQLite.run("INSERT INTO t(b) VALUES (zeroblob(2000000))", on: home.program.file("app.db"))
    try await home.push()
    let live = home.program.file("live.db")
    do {
      let database = try TestDatabase(live)
      _ = try database.rows("PRAGMA journal_mode=\(journal)")
      try database.run("CREATE TABLE other(b)")
      if journal == "delete" { try database.run("INSERT INTO other VALUES (zeroblob(3000000))") }
    }
    let before = try home.bytes("live.db")
    // No file may have more than so many 512 bytes: the version has room, what it is to be put into has not.
    let blocks = journal == "delete" ? 7000 : (try home.bytes("app.db").count + 4096) / 512
    let command = #""$0" --config "\#(home.program.file("config.json"))" restore latest \#(words) "\#(live)""#
    let ending = try await home.program.shell("ulimit -f \(blocks); \(command)")
    #expect(ending.status == 1, "\(ending.error)")
    let deed = words.contains("--table") ? "tables were restored into \(live)" : "\(live) was restored"
    #expect(ending.error.contains("the disk failed while \(deed) ("), "\(ending.error)")
    #expect(ending.error.contains("the limit on the size of files"))
    #expect(!home.program.exists("live.db-journal"))
    // An empty one stays with an application's database that nobody has open.
    #expect(try !home.program.exists("live.db-wal") || home.bytes("live.db-wal").isEmpty)
    #expect(try home.bytes("live.db") == before)
  }

  @Test func `live, while a process has it open, and taken back`() async throws {
    let home = try await home()
    let old = try home.content("app.db")
    let reader = try Child.python(
      "import sqlite3, sys, time; db = sqlite3.connect(sys.argv[1]); db.execute('select * from t').fetchall(); time.sleep(600)",
      home.program.file("app.db"))
    let ready = try await eventually {
      DatabaseUse(of: home.program.file("app.db")).holders.contains { $0.pid == reader.pid }
    }
    #expect(ready)
    let refused = try await home("restore", "app:latest", "--replace", "--json")
    #expect(try refused.errorDocument().code == "databaseInUse" && refused.status == 1)
    #expect(try refused.errorDocument().message.contains("process \(reader.pid)"))
    let live = try await home.must("restore", "app:latest", "--live", "--json")
    struct Document: Decodable {
      var mode: String
      var undo: String
      var undoCopy: String
      var identical: Bool
    }
    let document = try decoded(Document.self, live)
    #expect(document.mode == "live" && !document.identical)
    #expect(try home.content("app.db") != old)
    #expect(try await home.program.shell(document.undo).status == 0)
    #expect(try home.content("app.db") == old)
    try await home.must("restore", "app:latest", "--live", "--no-undo")
    #expect(try names(in: home.program.scratch.path).filter { $0.hasPrefix("app.db.before") }.count == 1)
  }

  @Test func `a version of another host, or of a database that is not configured, has no place`() async throws {
    let home = try await home()
    try await home.must("push", "./app.db", "--name", "other")
    let other = try await home("restore", "other:latest", "--json")
    #expect(other.status == 2)
    #expect(try other.errorDocument().code == "noPlace" && other.errorDocument().hint?.contains("--to") == true)
    let key = ["--key-file", home.program.file("key"), "--target", home.target]
    let without = try await home.program.start(Program.path, key + ["restore", "app:latest", "--json"])
    #expect(try without.errorDocument().code == "otherHost")
    try await home.must("restore", "other:latest", "--to", home.program.file("other.db"))
    #expect(try home.content("other.db") == home.content("app.db"))
  }

  @Test func `with --if-missing what is there is left alone, and the target is not asked`() async throws {
    let home = try await home()
    let path = home.program.file("app.db")
    #expect(try await home.program.shell("mv target gone").status == 0)
    let old = try home.bytes("app.db")
    for words in [["app:latest"], ["app@2026-11-20T12:00:00Z"], ["latest", "--to", path], ["app:latest", "-n"]] {
      let there = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "restore", "--if-missing"] + words)
      #expect(there.status == 0 && there.output.isEmpty, "\(words): \(there.error)")
      #expect(there.error.contains("\(path) is already there"), "\(words): \(there.error)")
    }
    struct Document: Decodable {
      var alreadyThere: Bool
      var path: String
      var dryRun: Bool?
    }
    let json = try decoded(Document.self, try await home.must("restore", "app:latest", "--if-missing", "--json"))
    #expect(json.alreadyThere && json.path == path && json.dryRun == false)
    let relative = try await home.must("restore", "app:latest", "--if-missing", "--to", "app.db", "--json")
    let place = try decoded(Document.self, relative).path
    #expect(place.hasPrefix("/") && place.hasSuffix("/app.db"))
    #expect(try home.bytes("app.db") == old)
    // Where it is missing, the target is needed.
    try removeFile(path)
    #expect(try await home("restore", "app:latest", "--if-missing").status != 0)
    #expect(try await home.program.shell("mv gone target").status == 0)
    for ending in ["-wal", "-journal"] {
      try home.program.write("", to: "app.db\(ending)")
      let beside = try await home("restore", "app:latest", "--if-missing")
      #expect(beside.status == 0 && beside.error.contains("\(path)\(ending) is already there"), "\(beside.error)")
      try removeFile(path + ending)
    }
    // What is empty is none, and is replaced by nobody.
    try home.program.write("", to: "app.db")
    let empty = try await home("restore", "app:latest", "--if-missing", "--json")
    #expect(try empty.status == 2 && empty.errorDocument().code == "destinationExists")
    #expect(try empty.errorDocument().hint?.contains("--replace") == false)
    try removeFile(path)
    #expect(try await home.program.shell("ln -s nowhere link.db").status == 0)
    let link = try await home("restore", "app:latest", "--if-missing", "--to", home.program.file("link.db"), "--json")
    #expect(try link.status == 2 && link.errorDocument().code == "destinationExists")
    #expect(try link.errorDocument().hint?.contains("--replace") == false)
    // Nor is a folder, whatever is in it.
    #expect(try await home.program.shell("mkdir app.db; echo it > app.db/file").status == 0)
    let folder = try await home("restore", "app:latest", "--if-missing", "--json")
    #expect(try folder.status == 2 && folder.errorDocument().code == "destinationExists")
    #expect(try await home.program.shell("rm -r app.db").status == 0)
    // One that was cut has no name yet.
    try home.program.write("half", to: ".app.db.sealift-1-2")
    let restored = try decoded(Document.self, try await home.must("restore", "app:latest", "--if-missing", "--json"))
    #expect(!restored.alreadyThere && restored.path == path)
    #expect(try home.content("app.db").count > 1)
    #expect(try await home("restore", "other:latest", "--if-missing", "--to", home.program.file("new.db")).status == 14)
    for words in [["latest"], ["latest", "--to", home.program.scratch.path], ["0123abcd"]] {
      let unknown = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json"), "restore", "--if-missing"] + words)
      #expect(unknown.status == 2 && unknown.error.contains("--if-missing"), "\(words): \(unknown.error)")
    }
  }

  @Test func `single tables, made over files, and all of a lost machine`() async throws {
    let home = try await home()
    try SQLite.run("CREATE TABLE mine(a)", on: home.program.file("into.db"))
    let copied = try await home.must("restore", "latest", "--table", "t", "--into", home.program.file("into.db"))
    #expect(copied.contains("copied t to ") && copied.contains(": 3 rows"))
    try SQLite.run("CREATE TABLE u(a); CREATE TABLE v(a)", on: home.program.file("app.db"))
    let pushed = try await home.push()
    try SQLite.run("DROP TABLE t", on: home.program.file("into.db"))
    let three = try await home.must(
      "restore", pushed.id, "--table", "u,t", "--table", "v", "--into", home.program.file("into.db"))
    #expect(["copied t to ", "copied u to ", "copied v to "].allSatisfy(three.contains), "\(three)")
    let twice = try await home("restore", "latest", "--table", "t", "--into", home.program.file("into.db"), "--json")
    #expect(try twice.status == 2 && twice.errorDocument().code == "table")

    let made = try await home.must(
      "restore", "latest", "--to", home.program.file("wal.db"), "--journal", "wal", "--vacuum", "--json")
    #expect(made.contains(#""identical":false"#) && made.contains(#""mode":"new""#))
    #expect(try TestDatabase(home.program.file("wal.db")).text("PRAGMA journal_mode") == "wal")

    // A bare machine: no state, no configuration, another name.
    #expect(mkdir(home.program.file("saved"), 0o700) == 0)
    let bare = try await home.program.start(
      Program.path,
      ["--target", home.target, "--key-file", home.program.file("key"), "pull", "--all", home.program.file("saved")])
    #expect(bare.status == 0, "\(bare.error)")
    #expect(bare.output.contains("DATABASE") && bare.output.contains("app"))
    #expect(home.program.exists("saved/app.sqlite"))
    let again = try await home("pull", "--all", home.program.file("saved"), "--json")
    #expect(again.status == 0 && again.output.contains(#""alreadyThere":true"#), "\(again.error)")
    let all = try await home("restore", "--all", "--replace", "--json")
    #expect(all.status == 0 && all.output.contains(#""restored":[{"#), "\(all.error)")
    try await home.must("restore", "--all", "--live", "--dry-run")
  }

  /// Where the old database is, only this run knows.
  @Test(arguments: [false, true])
  func `an output that nobody takes hides no way back`(json: Bool) async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try home.change()
    let before = try home.bytes("app.db")
    let config = home.program.file("config.json")
    let ending = try await home.program.shell(
      #""$0" --config '\#(config)' \#(json ? "--json" : "") restore app:latest --replace > /dev/full"#)
    #expect(ending.status == 1)
    #expect(ending.error.contains("was restored") && ending.error.contains("cannot write to standard output"))
    let aside = try #require(home.program.files(below: "").first { $0.hasPrefix("app.db.before-") })
    #expect(ending.error.contains(aside), "\(ending.error)")
    #expect(try home.bytes(aside) == before)
    // The same of all of them.
    try home.change()
    let all = try await home.program.shell(
      #""$0" --config '\#(config)' \#(json ? "--json" : "") restore --all --replace > /dev/full"#)
    #expect(all.status == 1 && all.error.contains("cannot write to standard output"))
    let asides = home.program.files(below: "").filter { $0.hasPrefix("app.db.before-") && $0 != aside }
    #expect(asides.count == 1 && asides.allSatisfy(all.error.contains), "\(all.error)")
  }

  @Test func `a database that is left out for another one fails by itself, and is part of a run`() async throws {
    let home = try Home()
    try FileManager.default.createDirectory(atPath: home.program.file("data"), withIntermediateDirectories: true)
    try SQLite.run("CREATE TABLE t(a)", on: home.program.file("data/inner.db"))
    func configure(_ inner: String) throws {
      try home.program.write(
        """
        {"host": "web-1", "stateFolder": "\(home.program.file("state"))",
         "targets": {"disk": {"url": "\(home.target)", "keyFile": "\(home.program.file("key"))"},
                     "cloud": {"url": "file://\(home.program.file("cloud"))", "keyFile": "\(home.program.file("key"))"}},
         "databases": {"app": {"path": "\(home.program.file("app.db"))", "companions": ["data"], "targets": ["disk"]},
                       "inner": {"path": "\(home.program.file("data/inner.db"))", "targets": ["\(inner)"]}}}
        """, to: "config.json")
    }
    try configure("cloud")
    try await home.must("--target", "disk", "init")
    try await home.must("push", "app")
    let alone = try await home("--target", "disk", "restore", "--all", "--replace")
    #expect(alone.status == 2 && alone.error.contains("'app' is left out"), "\(alone.error)")
    try configure("disk")
    try await home.must("push", "inner")
    let part = try await home("--target", "disk", "restore", "--all", "--replace")
    #expect(part.status == 3 && part.output.contains("FAILED (placesCollide)"), "\(part.output)\(part.error)")
    #expect(part.error.contains("'app' is left out") && part.error.contains("--no-companions"), "\(part.error)")
  }

  @Test(arguments: ["> /dev/full", ">&-", "| true"])
  func `a stream that nobody takes is no fault of a file`(place: String) async throws {
    let home = try Home()
    // More than any pipe holds for a reader that is gone.
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(200000))", on: home.program.file("app.db"))
    try await home.must("init")
    try await home.push()
    let ending = try await home.program.shell(#""$0" --config config.json --json pull latest -o - \#(place)"#)
    let error = try ending.errorDocument()
    #expect(error.code == "outputFailed" && error.message.contains("cannot write to standard output"), "\(error)")
    #expect((error.hint != nil) == place.contains("full"))
    #expect(place.hasPrefix("|") || ending.status == 1)
  }

  @Test func `what a signal ended says how things stand`() {
    let plain = Session.ended(by: SIGINT, OperationError(.cancelled, "interrupted"))
    #expect(plain.message == "interrupted (SIGINT)" && plain.hint == nil)
    let cut = OperationError(.cancelled, "interrupted").leaving("; the old database is /srv/old", hint: "Move it back.")
    #expect(cut.kind == .failed && cut.code == "cutShort")
    let told = Session.ended(by: SIGTERM, cut)
    #expect(told.message == "terminated (SIGTERM): interrupted; the old database is /srv/old")
    #expect(told.kind == .cancelled && told.hint == "Move it back.")
  }

  @Test(arguments: [
    ["restore"], ["restore", "latest", "--all"], ["restore", "latest", "--live", "--replace"],
    ["restore", "latest", "--no-undo"], ["restore", "latest", "--live", "--vacuum"],
    ["restore", "latest", "--live", "--journal", "wal"], ["restore", "latest", "--journal", "memory"],
    ["restore", "latest", "--table", "t"], ["restore", "latest", "--into", "x.db"],
    ["restore", "latest", "--table", "t,,u", "--into", "x.db"], ["restore", "--all", "--to", "x"],
    ["restore", "latest", "--table", "t", "--into", "x.db", "--replace"], ["restore", "latest", "--host", "h"],
    ["restore", "latest", "--table", "t", "--into", "x.db", "--no-companions"],
    ["restore", "latest", "--busy-timeout", "3s"], ["restore", "latest", "--live", "--busy-timeout", "soon"],
    ["pull", "--all", "/tmp", "latest"], ["pull", "--all", "/nonexistent", "--target", "/tmp"],
    ["pull", "latest", "-o", "x", "--host", "h"], ["pull", "latest", "-o", "-", "--dry-run"],
    ["restore", "--all", "--target", "/tmp"], ["restore", "--all", "--if-missing"],
    ["restore", "latest", "--if-missing", "--replace"], ["restore", "latest", "--if-missing", "--live"],
    ["restore", "latest", "--if-missing", "--table", "t", "--into", "x.db"],
  ])
  func `what does not go together is a mistake, and never passed over`(arguments: [String]) async throws {
    let ending = try await Program().start(Program.path, arguments)
    #expect(ending.status == 2, "\(ending.error)")
    #expect(ending.error.contains("hint: "))
  }

  @Test func `every member of the documents is described`() throws {
    let documentation = String(decoding: try fileBytes("\(SourceTree.root)/Docs/Json.md"), as: UTF8.self)
    let version = VersionSummary(
      id: "00", database: "d", host: "h", target: "t", time: 0, size: 1, pageSize: 1, pages: 1, method: "pages",
      bytesNew: 1, sequence: 1, tags: [], note: "", damaged: false, notCheckable: false, sha256: "", formatVersion: 1)
    let pulled = Pull.Outcome(version: version, path: "p", check: "ok", checkedAt: .push, companionsFolder: nil)
    let restored = Restore.Outcome(pulled: pulled, mode: .replace, moved: [.init(from: "a", to: "b")])
    var all = RestoreAll.Outcome(host: "h")
    all.done = [.init(database: "d", outcome: restored)]
    all.failures = [("d", OperationError(.failed, "m"))]
    let tables = RestoreTables.Outcome(
      version: version, path: "p", tables: [.init(name: "t", rows: 1, indexes: [], triggers: [])], dryRun: true)
    let documents = [
      Documents.restore(restored, notices: []), Documents.tables(tables, notices: []),
      Documents.restoredAll(all, dryRun: false, notices: []),
    ]
    let keys = documents.reduce(into: Set<String>()) { $0.formUnion($1.keys) }
    for key in keys.union(["permissions", "free", "doubt", "openedBy", "unseen", "pid", "files", "refusal", "command"])
    {
      #expect(documentation.contains("`\(key)`"), "Docs/Json.md does not describe `\(key)`")
    }
  }
}
