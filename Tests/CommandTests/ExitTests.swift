import Glibc
import TestKit
import Testing

/// Each way to fail ends with its own number, for scripts, and with a way out, for people.
@Suite struct ExitTests {
  /// Swift would wait for one for ever, without a word, and no signal but the second would end it.
  @Test(.enabled(if: geteuid() == 0), arguments: [1, 3])
  func `1: no thread can be started`(most: Int) async throws {
    let program = try Program()
    // Of a user who runs nothing else. By a descriptor: that one need not get into the folder where the program lies.
    let user = 60_000 + Int(getpid()) % 1000 * 4 + most
    let limited =
      "timeout -s KILL 120 prlimit --nproc=\(most):\(most) setpriv --reuid=\(user) --regid=\(user) --clear-groups"
    let ending = try await program.shell(#"exec \#(limited) /proc/self/fd/9 --json list 9<"$0""#)
    #expect(ending.status == 1, "\(ending.error)")
    let told = try ending.errorDocument()
    #expect(told.code == "failed" && told.message.hasPrefix("no thread could be started: "), "\(told)")
    #expect(told.hint?.contains("TasksMax=") == true)
  }

  @Test(.enabled(if: geteuid() == 0))
  func `1: the system does not show what was typed`() async throws {
    let program = try Program()
    let hidden = "mount -t tmpfs none /proc"
    // Not every root may mount.
    guard try await Child.run(["unshare", "-m", "sh", "-c", hidden]).isSuccess else { return }
    let ending = try await program.start("unshare", ["-m", "sh", "-c", "\(hidden) && exec \"$0\" list", Program.path])
    #expect(ending.status == 1, "\(ending.error)")
    #expect(ending.error.contains("error: the arguments cannot be read: /proc/self/maps: no such file"))
  }

  @Test func `10: there is no repository`() async throws {
    let home = try Home()
    for arguments in [["list"], ["push"], ["show", "latest"], ["key", "list"]] {
      let ending = try await home.program.start(
        Program.path, ["--config", home.program.file("config.json")] + arguments)
      #expect(ending.status == 10, "\(arguments): \(ending.error)")
      #expect(ending.error.contains("sealift init"))
    }
    #expect(mkdir(home.program.file("target"), 0o700) == 0)
    #expect(try await home("list").status == 10)
    #expect(try await home("--json", "push").errorDocument().code == "noRepository")
  }

  @Test func `11: someone else is pushing this database`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    try home.change()
    let lock = try #require(
      home.program.files(below: "state").first {
        $0.hasSuffix("/lock") && !$0.hasPrefix("spool/") && !$0.hasPrefix("bases/")
      })
    let descriptor = open(home.program.file("state/\(lock)"), O_RDWR | O_CLOEXEC)
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    let ending = try await home("--json", "push")
    #expect(ending.status == 11)
    #expect(try ending.errorDocument().code == "locked")
    close(descriptor)
    try await home.push()
  }

  @Test func `12: the key does not open it`() async throws {
    let home = try Home()
    try await home.must("init")
    try home.program.write("not the key, but as long as a key has to be", to: "wrong")
    let ending = try await home("list", "--json", "--key-file", home.program.file("wrong"))
    #expect(ending.status == 12)
    #expect(try ending.errorDocument().code == "wrongKey")
    try home.program.write("no passphrase either\n", to: "passphrase")
    #expect(try await home("push", "--passphrase-file", home.program.file("passphrase")).status == 12)
  }

  @Test func `13: what is stored was damaged, and no file appears`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    for name in home.program.files(below: "target") where name.hasPrefix("packs/") || name.hasPrefix("versions/") {
      let path = home.program.file("target/\(name)")
      var bytes = try fileBytes(path)
      bytes[bytes.count / 2] ^= 1
      try writeFile(path, bytes)
    }
    try removeFile(home.program.file("state"))
    let ending = try await home("pull", "latest", "-o", home.program.file("out.db"))
    #expect(ending.status == 13, "\(ending.error)")
    // At 14 a container would start its application on an empty database.
    for version in ["app:latest", "app@2100-01-01T00:00:00Z"] {
      let start = try await home("restore", version, "--if-missing", "--to", home.program.file("out.db"))
      #expect(start.status == 13, "\(version): \(start.error)")
    }
    #expect(home.program.files(below: ".").allSatisfy { !$0.contains("out.db") })
    let list = try await home("list")
    #expect(list.status == 13, "\(list.error)")
    #expect(list.error.contains("error: "))
  }

  @Test func `13: a database that fails its check is pushed, flagged`() async throws {
    let home = try Home()
    try await home.must("init")
    try SQLite.run(
      """
      CREATE TABLE strict(a); INSERT INTO strict VALUES(NULL); PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE strict(a NOT NULL)' WHERE name = 'strict';
      """, on: home.program.file("app.db"))
    let ending = try await home("push")
    #expect(ending.status == 13, "\(ending.error)")
    #expect(ending.error.contains("is damaged: NULL value in strict.a"))
    #expect(ending.error.contains("It was pushed as it is and flagged"))
    let dry = try await home("push", "--dry-run")
    #expect(dry.status == 13 && dry.error.contains("It was not pushed"), "\(dry.error)")
    let list = try await home("list")
    #expect(list.status == 0 && list.output.contains("(damaged)"))
    // A damaged database is never taken for an unchanged one.
    #expect(try await home("push").status == 13)
    // That nobody reads what was pushed hides nothing of it.
    let config = home.program.file("config.json")
    for manner in ["", "--json"] {
      let unread = try await home.program.shell(#""$0" --config '\#(config)' \#(manner) push > /dev/full"#)
      #expect(unread.status == 13, "\(unread.error)")
      #expect(unread.error.contains("is damaged: NULL value in strict.a"), "\(manner)")
    }
    let other = "--target disk --target file:///nonexistent/place"
    let half = try await home.program.shell(#""$0" --config '\#(config)' \#(other) push app > /dev/full"#)
    #expect(half.error.contains("/nonexistent/place: there is no folder") && half.error.contains("is damaged"))
    #expect(half.error.contains("cannot write to standard output"))
  }

  @Test func `13: one damaged pack is enough`() async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(200000))", on: home.program.file("app.db"))
    try await home.must("init")
    try await home.push()
    let pack = try #require(home.program.files(below: "target").first { $0.hasPrefix("packs/") })
    var bytes = try fileBytes(home.program.file("target/\(pack)"))
    bytes[5000] ^= 1
    try writeFile(home.program.file("target/\(pack)"), bytes)
    let ending = try await home("pull", "latest", "-o", home.program.file("out.db"))
    #expect(ending.status == 13, "\(ending.error)")
    let name = try #require(pack.split(separator: "/").last)
    #expect(ending.error.contains("pack \(name.prefix(12)): "), "\(ending.error)")
    let streamed = try await home("pull", "latest", "-o", "-")
    #expect(streamed.status == 13)
    #expect(streamed.output.isEmpty)
    #expect(home.program.files(below: ".").allSatisfy { !$0.contains("out.db") })
  }

  @Test func `13: the chain does not contain the head that was noted`() async throws {
    let home = try Home()
    try await home.must("init")
    let pushed = try await home.push()
    for head in ["1-0123456789abcdef", "2-\(pushed.id.prefix(16))"] {
      // One that is there makes up for none that is not.
      let heads = ["--expect", head, "--expect", pushed.head]
      for arguments in [
        ["pull", "latest", "-o", "out.db"], ["pull", "latest", "-o", "-"], ["restore", "latest", "--to", "out.db"],
      ] {
        let ending = try await home.program.start(
          Program.path, ["--config", home.program.file("config.json"), "--json"] + arguments + heads)
        #expect(ending.status == 13, "\(arguments): \(ending.error)")
        #expect(try ending.errorDocument().code == "unexpectedHead")
        #expect(ending.output.isEmpty && !home.program.exists("out.db"))
      }
    }
    #expect(try await home("pull", "latest", "-o", "out.db", "--expect", "nonsense").status == 2)
  }

  @Test func `13: nothing is left of what this machine has pushed`() async throws {
    let home = try Home()
    try await home.must("init")
    try await home.push()
    for name in home.program.files(below: "target") where name.hasPrefix("versions/") {
      try removeFile(home.program.file("target/\(name)"))
    }
    for version in ["app:latest", "app@2100-01-01T00:00:00Z", "latest"] {
      let ending = try await home("--json", "restore", version, "--if-missing", "--to", home.program.file("new.db"))
      #expect(ending.status == 13, "\(version): \(ending.error)")
      #expect(try ending.errorDocument().code == "rolledBack")
    }
    #expect(try await home("restore", "other:latest", "--to", home.program.file("new.db")).status == 14)
    #expect(!home.program.exists("new.db"))
  }

  @Test func `14: no such version`() async throws {
    let home = try Home()
    try await home.must("init")
    #expect(try await home("show", "latest").status == 14)
    try await home.push()
    for version in ["00000000", "other:latest", "app@2001-01-01T00:00:00Z"] {
      let ending = try await home("pull", version, "-o", home.program.file("out.db"))
      #expect(ending.status == 14, "\(version): \(ending.error)")
    }
    #expect(!home.program.exists("out.db"))
  }

  @Test func `15: the database cannot be read`() async throws {
    let home = try Home()
    try await home.must("init")
    try home.program.write("this is a letter, not a database", to: "letter.txt")
    for path in ["./letter.txt", "./nowhere.db", "./target/"] {
      let ending = try await home("push", path)
      #expect(ending.status == 15, "\(path): \(ending.error)")
    }
  }

  @Test func `3: one of several targets fails, the others are safe`() async throws {
    let home = try Home()
    try await home.must("init")
    let ending = try await home("--target", "disk", "--target", "file:///nonexistent/place", "--json", "push", "app")
    #expect(ending.status == 3)
    #expect(try ending.errorDocument().code == "partlyDone")
    let document = try decoded(Versions.self, ending.output)
    #expect(document.versions.map(\.target) == ["disk"])
    #expect(document.failures?.map(\.target) == ["file:///nonexistent/place"])
    #expect(try decoded(Versions.self, try await home.must("list", "--json")).versions.count == 1)
    let list = try await home("--target", "file:///nonexistent/place", "--target", "disk", "list")
    #expect(list.status == 3)
    #expect(list.output.contains("app"))
    #expect(list.error.contains("error: opening file:///nonexistent/place: there is no folder"))
    let push = try await home("--target", "disk", "--target", "file:///nonexistent/place", "push", "app")
    #expect(push.error.contains("error: pushing 'app' to file:///nonexistent/place: there is no folder"))
    // One of several databases: the same.
    #expect(try await home("push", "app", "./nowhere.db").status == 3)
    // All of them for the same reason: that reason.
    #expect(try await home("push", "./nowhere.db", "./neither.db").status == 15)
  }

  /// Nobody hears of it otherwise, from a job that only speaks of errors. Only root can make another user's database.
  @Test(.enabled(if: geteuid() == 0))
  func `3: files of ours keep another user out of the database, and -q does not hide it`() async throws {
    let home = try Home()
    try await home.must("init")
    #expect(chown(home.program.file("app.db"), 65534, 65534) == 0)
    // A file touched less than two seconds ago proves nothing by its times.
    try await Task.sleep(for: .milliseconds(2200))
    try await home.must("push")
    // Of an earlier push: this one only looks.
    for ending in ["-wal", "-shm"] { try home.program.write("", to: "app.db\(ending)") }
    let ending = try await home("-q", "push")
    #expect(ending.status == 3)
    #expect(ending.error.contains("error: 'app': SQLite made ") && ending.error.contains("app.db-wal"))
    #expect(try await home("--json", "push").errorDocument().code == "sideFilesLeft")
    for ending in ["-wal", "-shm"] { try removeFile(home.program.file("app.db\(ending)")) }
    try await home.must("push")
  }

  @Test(arguments: [(SIGHUP, 129), (SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `129, 130 and 143: a signal ends it cleanly`(signal: Int32, status: Int32) async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(500000))", on: home.program.file("app.db"))
    try await home.must("init")
    let before = try fileBytes(home.program.file("app.db"))
    // As slow as it may be: the first pack goes, everything after it would wait for minutes.
    let child = try Child(
      [
        "env", "HOME=\(home.program.file("home"))", Program.path, "--config", home.program.file("config.json"),
        "--limit-upload", "1KiB", "push",
      ], output: home.program.file("output"))
    let started = try await eventually { home.program.files(below: "target").contains { $0.hasPrefix("packs/") } }
    #expect(started)
    child.signal(signal)
    #expect(await child.end() == status)
    #expect(!home.program.files(below: "target").contains { $0.hasPrefix("versions/") || $0.hasPrefix("tmp/") })
    // The lock of the hall of spools stays, the spools themselves do not.
    #expect(home.program.files(below: "state/spool") == ["lock"])
    #expect(try fileBytes(home.program.file("app.db")) == before)
    // And the next push goes on from there.
    try await home.push()
    try await home.must("pull", "latest", "-o", home.program.file("out.db"))
  }

  /// Nobody else could tell what is safe by then.
  @Test func `the document of a run that a signal ended says what was done`() async throws {
    let home = try Home()
    let great = home.program.file("great.db")
    try SQLite.run("CREATE TABLE t(b); INSERT INTO t VALUES (randomblob(500000))", on: great)
    try await home.must("init")
    let child = try Child(
      [
        "env", "HOME=\(home.program.file("home"))", Program.path, "--config", home.program.file("config.json"),
        "--json", "--limit-upload", "1KiB", "push", "app", great,
      ], output: home.program.file("output"))
    // What became of the first one is noted before the second one's chain is locked.
    let isNoted = try await eventually {
      let locks = home.program.files(below: "state").filter { $0.hasSuffix("/lock") }
      return locks.count { !$0.hasPrefix("spool/") && !$0.hasPrefix("bases/") } == 2
    }
    #expect(isNoted)
    child.signal(SIGTERM)
    #expect(await child.end() == 143)
    let told = String(decoding: try home.bytes("output"), as: UTF8.self)
    #expect(told.contains(#""database":"app""#) && !told.contains(#""database":"great""#), "\(told)")
  }

  @Test func `the document of a copy that a signal ended says what arrived`() async throws {
    let home = try Home()
    let (great, key) = (home.program.file("great.db"), home.program.file("key"))
    let other = "file://\(home.program.file("copy"))"
    try SQLite.run("CREATE TABLE t(b); INSERT INTO t VALUES (randomblob(5000000))", on: great)
    try await home.must("init")
    try await home.must("--target", other, "init", "--key-file", key)
    try await home.push()
    try await home.must("push", great)
    let child = try Child(
      [
        "env", "HOME=\(home.program.file("home"))", Program.path, "--config", home.program.file("config.json"),
        "--json", "--limit-upload", "32KiB", "copy", "--from", "disk", "--from-key-file", key, "--to", other,
        "--key-file", key,
      ], output: home.program.file("output"))
    // All of the first one is in its manifest. The pack of the second one is there, and what comes after it would wait for
    // minutes.
    let isHalfDone = try await eventually {
      let copied = home.program.files(below: "copy")
      return copied.contains { $0.hasPrefix("packs/") } && copied.contains { $0.hasPrefix("versions/") }
    }
    #expect(isHalfDone)
    child.signal(SIGTERM)
    #expect(await child.end() == 143)
    let told = String(decoding: try home.bytes("output"), as: UTF8.self)
    #expect(told.contains(#""database":"app""#) && !told.contains(#""database":"great""#), "\(told)")
  }

  /// What was found is told all the same, and is how it ends.
  @Test func `a full standard output hides no damage`() async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(200000))", on: home.program.file("app.db"))
    try await home.must("init")
    try await home.push()
    let config = home.program.file("config.json")
    let sound = try await home.program.shell(#""$0" --config '\#(config)' check > /dev/full"#)
    #expect(sound.status == 1 && sound.error.contains("cannot write to standard output"), "\(sound.error)")
    let copied = try await home.program.shell(#""$0" --config '\#(config)' drill > /dev/full"#)
    #expect(copied.status == 1 && copied.error.contains("cannot write to standard output"), "\(copied.error)")
    let pack = try #require(home.program.files(below: "target").first { $0.hasPrefix("packs/") })
    var bytes = try fileBytes(home.program.file("target/\(pack)"))
    bytes[5000] ^= 1
    try writeFile(home.program.file("target/\(pack)"), bytes)
    for command in ["check --read-data", "--json check --read-data", "drill", "--json drill"] {
      let ending = try await home.program.shell(#""$0" --config '\#(config)' \#(command) > /dev/full"#)
      #expect(ending.status == 13, "\(command): \(ending.error)")
      #expect(command.contains("json") || ending.error.contains("cannot write to standard output"), "\(ending.error)")
    }
  }

  @Test func `a limit on the size of files is an error, not a death by signal`() async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(5000000))", on: home.program.file("app.db"))
    try await home.must("init")
    let ending = try await home.program.shell(
      #"ulimit -f 2000; "$0" --config '\#(home.program.file("config.json"))' push"#)
    #expect(ending.status == 1, "\(ending.error)")
    #expect(ending.error.contains("cannot be written") && ending.error.contains("limit on the size of files"))
    #expect(home.program.files(below: "state/spool") == ["lock"])
    try await home.push()
  }

  @Test func `who was started by nohup goes on when the line drops`() async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(500000))", on: home.program.file("app.db"))
    try await home.must("init")
    let line = #"trap '' HUP; exec "$@""#
    let child = try Child(
      [
        "env", "HOME=\(home.program.file("home"))", "sh", "-c", line, "sh", Program.path, "--config",
        home.program.file("config.json"), "--limit-upload", "1KiB", "push",
      ], output: home.program.file("output"))
    #expect(try await eventually { home.program.files(below: "target").contains { $0.hasPrefix("packs/") } })
    child.signal(SIGHUP)
    try await Task.sleep(for: .milliseconds(500))
    child.signal(SIGTERM)
    #expect(await child.end() == 143)
    // Ended at once, as by a second signal, it could not have tidied up.
    #expect(home.program.files(below: "state/spool") == ["lock"])
  }

  /// As a shell without job control starts what a script puts into the background.
  @Test func `who was started in the background is not interrupted with the foreground`() async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(500000))", on: home.program.file("app.db"))
    try await home.must("init")
    let line = #"trap '' INT QUIT; exec "$@""#
    let child = try Child(
      [
        "env", "HOME=\(home.program.file("home"))", "sh", "-c", line, "sh", Program.path, "--config",
        home.program.file("config.json"), "--limit-upload", "1KiB", "push",
      ], output: home.program.file("output"))
    #expect(try await eventually { home.program.files(below: "target").contains { $0.hasPrefix("packs/") } })
    for number in [SIGINT, SIGQUIT] { child.signal(number) }
    try await Task.sleep(for: .milliseconds(500))
    child.signal(SIGTERM)
    // The first that was heard.
    #expect(await child.end() == 143)
    #expect(home.program.files(below: "state/spool") == ["lock"])
  }

  @Test func `a terminal that is closed hangs up twice, and what it ran tidies up`() async throws {
    let home = try Home()
    try SQLite.run("INSERT INTO t(b) VALUES (randomblob(500000))", on: home.program.file("app.db"))
    try await home.must("init")
    let child = try Child(
      [
        "env", "HOME=\(home.program.file("home"))", Program.path, "--config", home.program.file("config.json"),
        "--limit-upload", "1KiB", "push",
      ], output: home.program.file("output"))
    #expect(try await eventually { home.program.files(below: "target").contains { $0.hasPrefix("packs/") } })
    for _ in 0..<3 {
      child.signal(SIGHUP)
      try await Task.sleep(for: .milliseconds(2))
    }
    #expect(await child.end() == 129)
    #expect(home.program.files(below: "state/spool") == ["lock"])
  }

  /// As a program, and as one that a shell runs, which would leave it behind.
  @Test(arguments: ["exec sh", "sh"])
  func `a signal ends the command that prints a secret, too`(shell: String) async throws {
    let home = try Home()
    let place = home.program.file("number")
    try home.program.write(
      "{\"targets\":{\"t\":{\"url\":\"\(home.target)\",\"passphraseCommand\":\"\(shell) -c 'echo $$ > \(place).new; mv \(place).new \(place); exec sleep 600'; true\"}}}",
      to: "slow.json")
    #expect(mkdir(home.program.file("target"), 0o700) == 0)
    let child = try Child(
      ["env", "HOME=\(home.program.file("home"))", Program.path, "--config", home.program.file("slow.json"), "init"])
    #expect(try await eventually { home.program.exists("number") })
    let text = String(decoding: try fileBytes(place), as: UTF8.self)
    let number = try #require(pid_t(text.filter(\.isNumber)))
    #expect(kill(number, 0) == 0)
    child.signal(SIGTERM)
    #expect(await child.end() == 143)
    // Whoever takes in orphans may be slow to take note of their end.
    let left = try await home.program.shell("cat /proc/\(number)/stat").output
    #expect(left.isEmpty || left.contains(") Z "), "\(left)")
  }

  @Test func `a second signal ends it at once`() async throws {
    let home = try Home()
    // One that does not end when it is asked to.
    try home.program.write(
      "{\"targets\":{\"t\":{\"url\":\"\(home.target)\",\"passphraseCommand\":\"trap '' TERM; touch \(home.program.file("started")); while [ -e \(home.program.file("started")) ]; do sleep 0.1; done\"}}}",
      to: "slow.json")
    #expect(mkdir(home.program.file("target"), 0o700) == 0)
    let child = try Child(
      ["env", "HOME=\(home.program.file("home"))", Program.path, "--config", home.program.file("slow.json"), "init"])
    // The command's own end is not waited for here: nobody sees its secret.
    #expect(try await eventually { home.program.exists("started") })
    child.signal(SIGTERM)
    // No task's sleep, which lasts long among a thousand tests: the command is waited for as long as five seconds.
    usleep(300_000)
    child.signal(SIGINT)
    // The second one's number: nobody waited for the command.
    #expect(await child.end() == 130)
    unlink(home.program.file("started"))
  }
}
