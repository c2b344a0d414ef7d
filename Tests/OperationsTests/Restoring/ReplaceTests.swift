import FoundationEssentials
import Glibc
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// A database that takes the place of another: nothing of the old one is lost, nothing of it touches the new one.
@Suite struct ReplaceTests {
  @Test(arguments: [true, false]) func `the old database goes aside with its side files, and comes back by the undo`(
    wal: Bool
  ) async throws {
    let home = try await RestoreRoad(wal: wal)
    try #require(chmod(home.path, 0o640) == 0)
    let outcome = try await home.run(.replace)
    #expect(outcome.mode == .replace && outcome.pulled.identical)
    #expect(Digest.sha256(of: try fileBytes(home.path)).hex == home.version.sha256)
    #expect(mode(of: home.path) == 0o640)
    let aside = try #require(outcome.moved.first { $0.from == home.path }?.to)
    #expect(aside.hasPrefix("\(home.path).before-2"))
    #expect(outcome.moved.contains { $0.to == aside + "-wal" } == wal)
    // A -wal of the old database beside the new one would undo the restore, or worse.
    #expect(home.names.filter { $0.hasPrefix("app.db-") || $0.hasPrefix(".") }.isEmpty)
    #expect(try home.dump(home.path) == home.pushed)
    #expect(try home.dump(aside) == home.now)

    // An application has used the restored one meanwhile, and left a -wal of its own.
    let used = try TestDatabase(home.path)
    try used.run("INSERT INTO t(v) VALUES ('later')")
    used.closeKeepingWal()
    _ = try await RestoreRoad.shell(try #require(outcome.undo))
    #expect(try home.dump(home.path) == home.now)
    let undone = aside.replacing(".before-", with: ".undone-")
    #expect(try home.dump(undone).contains { $0.contains("later") })
    #expect(home.names.allSatisfy { !$0.contains(".before-") })
  }

  /// Whoever rolls back another one of its databases removes what decides: the journal that was moved is not in its place.
  @Test func `a transaction over several databases is rolled back aside, too`() async throws {
    let home = try await RestoreRoad(wal: false)
    let superJournal = home.path + "-mj01ABCD9EF"
    try leaveHotJournal(of: "UPDATE t SET v = 'torn'", at: home.path)
    try writeFile(superJournal, Array((home.path + "-journal").utf8) + [0])
    let journal = try fileBytes(home.path + "-journal")
    try endJournal(of: home.path, naming: superJournal)
    let outcome = try await home.run(.replace)
    #expect(try home.dump(home.path) == home.pushed)
    let aside = try #require(outcome.moved.first { $0.from == home.path }?.to)
    #expect(try fileBytes(aside + "-journal") == journal && FileIdentity(at: superJournal) != nil)
    try removeFile(superJournal)
    _ = try await RestoreRoad.shell(try #require(outcome.undo))
    #expect(try home.dump(home.path) == home.now)
  }

  @Test func `one that was committed stays so`() async throws {
    let home = try await RestoreRoad(wal: false)
    try leaveHotJournal(of: "UPDATE t SET v = 'done'", at: home.path)
    try endJournal(of: home.path, naming: home.path + "-mj01ABCD9EF")
    let before = try ["", "-journal"].map { try fileBytes(home.path + $0) }
    let outcome = try await home.run(.replace)
    _ = try await RestoreRoad.shell(try #require(outcome.undo))
    #expect(try ["", "-journal"].map { try fileBytes(home.path + $0) } == before)
    // SQLite removes the journal, and leaves the rest.
    let database = try TestDatabase(home.path)
    #expect(try database.number("SELECT count(*) FROM sqlite_schema") == 1)
    database.close()
    #expect(FileIdentity(at: home.path + "-journal") == nil)
    #expect(try fileBytes(home.path) == before[0])
  }

  @Test(arguments: [true, false]) func `where somebody takes the name meanwhile, the hint brings the old one back`(
    wal: Bool
  ) async throws {
    let home = try await RestoreRoad(wal: wal)
    var restore = home.restore
    restore.onReplace = { [path = home.path] in try writeFile(path, Array("an application's own".utf8)) }
    let request = Restore.Request(place: .file(home.path), mode: .replace)
    let error = await #expect(throws: OperationError.self) {
      try await restore.run(.latest(database: "app"), from: home.road.target, request)
    }
    #expect(error?.message.contains("the old database is \(home.path).before-") == true)
    let command = try #require(error?.hint?.split(separator: "put the old one back with: ").last)
    for _ in 0..<2 { _ = try await RestoreRoad.shell(String(command)) }
    #expect(try home.dump(home.path) == home.now)
    let undone = try #require(home.names.first { $0.hasPrefix("app.db.undone-") })
    #expect(try fileBytes(home.road.scratch.file(undone)) == Array("an application's own".utf8))
    #expect(home.names.allSatisfy { !$0.contains(".before-") })
    _ = try await home.run(.replace)
    #expect(try home.dump(home.path) == home.pushed)
  }

  /// The disk fails in the instant in which the new one has its name.
  @Test func `where the new name cannot be made durable, the old database is in its place again`() async throws {
    await #expect(processExitsWith: .success) {
      let home = try await RestoreRoad(wal: true)
      var restore = home.restore
      restore.onReplace = {
        guard FailingCalls.fail(.openFolder, with: EIO) else { fatalError("this kernel takes no filters") }
      }
      let request = Restore.Request(place: .file(home.path), mode: .replace)
      let error = await #expect(throws: OperationError.self) {
        try await restore.run(.latest(database: "app"), from: home.road.target, request)
      }
      #expect(error?.kind == .failed && error?.message.contains("the old database is") == false)
      #expect(try home.dump(home.path) == home.now)
      #expect(home.names.allSatisfy { !$0.contains(".before-") })
    }
  }

  @Test func `a folder that another program has locked is waited for, not without end`() async throws {
    let home = try await RestoreRoad(wal: false)
    let folder = open(home.road.scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(folder) }
    try #require(flock(folder, LOCK_SH) == 0)
    let error = await home.refusal(.replace) { $0.busyTimeout = .seconds(3) }
    #expect(error?.code == "folderLocked" && error?.message.contains(home.road.scratch.path) == true)
    #expect(home.road.notices.said.withLock { $0.contains { $0.contains("waiting for") } })
    #expect(try home.dump(home.path) == home.now)
    // Whoever gives up while it waits is heard.
    let restore = Task { try await home.run(.replace) }
    try await Task.sleep(for: .milliseconds(300))
    restore.cancel()
    let ended = await restore.result
    let cause = #expect(throws: OperationError.self) { try ended.get() }
    #expect(cause?.kind == .cancelled)
    #expect(try home.dump(home.path) == home.now)
    flock(folder, LOCK_UN)
    _ = try await home.run(.replace)
    #expect(try home.dump(home.path) == home.pushed)
  }

  @Test func `which file a path leads to is known without asking for its state`() throws {
    let scratch = try Scratch()
    let path = scratch.file("file")
    try writeFile(path, [1])
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(FileIdentity(ofRegularFileKnownAt: "/proc/self/fd/\(descriptor)") == FileIdentity(at: path))
    #expect(FileIdentity(ofRegularFileKnownAt: scratch.path) == nil)
    #expect(FileIdentity(ofRegularFileKnownAt: scratch.file("none")) == nil)
  }

  /// Old kernels and the filters of containers: who has a file open must not go unseen.
  @Test(arguments: [ENOSYS, EPERM]) func `where a file cannot be known unasked it is asked`(_ number: Int32)
    async throws
  {
    await #expect(processExitsWith: .success) { [number = number as Int32] in
      let scratch = try Scratch()
      let path = scratch.file("file")
      try writeFile(path, [1])
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard FailingCalls.fail(.statx, with: number) else { fatalError("this kernel takes no filters") }
      #expect(FileIdentity(ofRegularFileKnownAt: "/proc/self/fd/\(descriptor)") == FileIdentity(at: path))
    }
  }

  /// As NFS, which locks no folder that is open for reading only.
  @Test func `where folders cannot be locked a restore goes on without`() async throws {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      guard FailingCalls.fail(.flock, with: EBADF) else { fatalError("this kernel takes no filters") }
      let lock = try await FolderLock.take(of: scratch.file("app.db"), within: .zero, Notices())
      lock.release()
    }
  }

  @Test func `a linked database is replaced where it is, and the link stays`() async throws {
    let home = try await RestoreRoad(wal: true)
    let link = home.road.scratch.file("link.db")
    try #require(symlink("app.db", link) == 0)
    let outcome = try await home.run(.replace) { $0.place = .file(link) }
    #expect(outcome.pulled.path?.hasSuffix("/app.db") == true)
    var status = stat()
    #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(try home.dump(link) == home.pushed)
    try #require(unlink(home.path) == 0)
    #expect(await home.refusalOfLink(link)?.code == "brokenLink")
  }

  @Test(arguments: ["wal", "delete"]) func `who has the database open is named, and nothing is done`(
    journal: String
  ) async throws {
    let home = try await RestoreRoad(wal: journal == "wal")
    let keeper = try await Keeper(
      home.path, "db.execute('select count(*) from t').fetchone(); say('ready'); time.sleep(600)",
      in: home.road.scratch)
    let before = home.names
    let error = await home.refusal(.replace)
    #expect(error?.code == "databaseInUse")
    #expect(error?.message.contains("(process \(keeper.child.pid)) has ") == true, "\(error?.message ?? "")")
    #expect(error?.hint?.contains("--live") == true)
    #expect(home.names == before)
  }

  /// Locks show connections in WAL mode also where the process table shows nothing.
  @Test func `an idle connection in WAL mode shows by its locks alone`() async throws {
    let home = try await RestoreRoad(wal: true)
    #expect(FileLocks.holder(of: home.path + "-shm", FileLocks.sharedMemory) == nil)
    let keeper = try await Keeper(
      home.path, "db.execute('select count(*) from t').fetchone(); say('ready'); time.sleep(600)",
      in: home.road.scratch)
    #expect(FileLocks.holder(of: home.path, FileLocks.database) == keeper.child.pid)
    #expect(FileLocks.holder(of: home.path + "-shm", FileLocks.sharedMemory) == keeper.child.pid)
    let files = [home.path: try #require(FileIdentity(at: home.path))]
    #expect(FileLocks.holders(of: files).keys.contains(keeper.child.pid))
    let descriptor = open(home.path, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(!FileLocks.seize(descriptor))
  }

  @Test(arguments: [nil, 4_026_532_201] as [UInt64?])
  func `a container does not see all processes, and says so`(namespace: UInt64?) async throws {
    let road = try await Road()
    let path = try road.database(rows: 1)
    let remark = DatabaseUse(of: path, namespace: namespace).remark
    #expect(remark?.contains("does not show all processes, as in a container") == true)
    let first = DatabaseUse(of: path, namespace: ProcessTable.firstNamespace).remark
    #expect(first?.contains("does not show all processes") != true)
    #expect(DatabaseUse(of: path).seesAll == (ProcessTable.ownNamespace == ProcessTable.firstNamespace))
  }

  /// Run by root, in the name of nobody: processes of root cannot be looked into.
  @Test(.enabled(if: geteuid() == 0))
  func `whoever may not look into all processes is told of one`() async {
    await #expect(processExitsWith: .success) {
      guard setgroups(0, nil) == 0, setgid(65534) == 0, setuid(65534) == 0 else { exit(9) }
      let remark = DatabaseUse(of: "/etc/passwd", namespace: ProcessTable.firstNamespace).remark
      guard let remark, remark.contains("could not be looked into (") || remark.contains("does not show") else {
        exit(8)
      }
      guard remark.contains("one of them may have the database open without a lock") else { exit(7) }
    }
  }

  /// As a child of this process that had open what we have, and ended as soon as it had begun.
  @Test func `who has ended meanwhile has nothing open`() throws {
    let scratch = try Scratch()
    let path = scratch.file("app.db")
    try writeFile(path, [1])
    let child = try Child(["sleep", "600"], output: path)
    let files = [path: try #require(FileIdentity(at: path))]
    #expect(ProcessTable(holding: files).holders.map(\.pid) == [child.pid])
    let table = ProcessTable(holding: files) { pid in
      guard pid == child.pid else { return }
      child.signal(SIGKILL)
      while kill(pid, 0) == 0 { usleep(1000) }
    }
    #expect(table.holders.isEmpty, "\(table.holders)")
  }

  /// As daemons end their `main`: what they have open shows at another thread, and nothing at the first.
  @Test(arguments: [false, true]) func `who goes on without the first thread has it open`(mapped: Bool) async throws {
    let scratch = try Scratch()
    let (path, ready) = (scratch.file("app.db"), scratch.file("ready"))
    try writeFile(path, [UInt8](repeating: 1, count: 4096))
    let child = try Child.python(
      """
      import ctypes, sys, threading, time
      libc = ctypes.CDLL(None)
      file = open(sys.argv[1], "r+b")
      if sys.argv[3] == "mapped":
        libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        assert libc.mmap(None, 4096, 1, 1, file.fileno(), 0) not in (None, ctypes.c_void_p(-1).value)
        file.close()
      def work():
        while not open("/proc/self/stat").read().rpartition(")")[2].startswith(" Z"): time.sleep(0.01)
        open(sys.argv[2], "w")
        time.sleep(600)
      threading.Thread(target=work).start()
      libc.pthread_exit(None)
      """, path, ready, mapped ? "mapped" : "open", output: scratch.file("out"))
    defer { child.signal(SIGKILL) }
    while access(ready, F_OK) != 0 { usleep(1000) }
    let files = [path: try #require(FileIdentity(at: path))]
    let holder = try #require(ProcessTable(holding: files).holders.first)
    #expect(holder.pid == child.pid && holder.command.contains("python"))
    // Nor has it ended when that is seen in between.
    #expect(ProcessTable(holding: files, onSight: { _ in usleep(1000) }).holders.count == 1)
    child.signal(SIGKILL)
    #expect(try await eventually { ProcessTable(holding: files).holders.isEmpty })
  }

  @Test func `who has closed it meanwhile has nothing open`() throws {
    let scratch = try Scratch()
    let (path, ready, done) = (scratch.file("app.db"), scratch.file("ready"), scratch.file("done"))
    try writeFile(path, [1])
    let loop = "trap 'exec > /dev/null; : > \(done)' USR1; : > \(ready); while :; do :; done"
    let child = try Child(["sh", "-c", loop], output: path)
    while access(ready, F_OK) != 0 { usleep(1000) }
    let files = [path: try #require(FileIdentity(at: path))]
    let table = ProcessTable(holding: files) { pid in
      guard pid == child.pid else { return }
      child.signal(SIGUSR1)
      while access(done, F_OK) != 0 { usleep(1000) }
    }
    #expect(kill(child.pid, 0) == 0)
    #expect(table.holders.isEmpty, "\(table.holders)")
    child.signal(SIGKILL)
  }

  /// As of a server that starts its workers anew.
  @Test func `what is handed on to another process is still open`() throws {
    let scratch = try Scratch()
    let path = scratch.file("app.db")
    try writeFile(path, [1])
    let first = try Child(["sleep", "600"], output: path)
    let files = [path: try #require(FileIdentity(at: path))]
    var second: Child?
    let table = ProcessTable(holding: files) { pid in
      guard pid == first.pid else { return }
      second = try? Child(["sleep", "600"], output: path)
      first.signal(SIGKILL)
      while kill(pid, 0) == 0 { usleep(1000) }
    }
    #expect(table.holders.map(\.pid) == [try #require(second).pid])
    second?.signal(SIGKILL)
  }

  @Test func `whoever comes while the files are moved finds a locked database`() async throws {
    let home = try await RestoreRoad(wal: false)
    let descriptor = open(home.path, O_RDWR | O_CLOEXEC)
    #expect(FileLocks.seize(descriptor))
    let keeper = try await Keeper(
      home.path,
      """
      db.execute('pragma busy_timeout=0')
      try: db.execute('select count(*) from t').fetchone(); say('read')
      except sqlite3.OperationalError as error: say(error)
      say('ready'); time.sleep(600)
      """, in: home.road.scratch)
    #expect(try keeper.said.first == "database is locked")
    // Its file is open, though it holds no lock.
    let use = DatabaseUse(of: home.path, ignoring: [descriptor])
    #expect(use.holders.map(\.pid) == [keeper.child.pid])
    close(descriptor)
  }

  @Test func `where nothing is, the version is simply put there`() async throws {
    let home = try await RestoreRoad(wal: false)
    try removeFile(home.path)
    let outcome = try await home.run(.replace)
    #expect(outcome.moved.isEmpty && outcome.undo == nil)
    #expect(home.names == ["app.db"])
  }

  @Test func `owner, group and what the user noted at the file are kept`() async throws {
    let home = try await RestoreRoad(wal: false)
    _ = try await RestoreRoad.shell(
      "python3 -c 'import os, sys; os.setxattr(sys.argv[1], \"user.note\", b\"mine\")' \(home.path)")
    if geteuid() == 0 { try #require(chown(home.path, 65534, 65533) == 0 && chmod(home.path, 0o660) == 0) }
    var before = stat()
    #expect(stat(home.path, &before) == 0)
    _ = try await home.run(.replace)
    var after = stat()
    #expect(stat(home.path, &after) == 0)
    #expect(after.st_uid == before.st_uid && after.st_gid == before.st_gid && after.st_mode == before.st_mode)
    #expect(
      try await RestoreRoad.shell(
        "python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], \"user.note\"))' \(home.path)") == "b'mine'\n")
    #expect(home.road.notices.said.withLock { $0 }.allSatisfy { !$0.contains("could not be kept") })
  }

  /// Run by root, where root is told that it may not: nobody gets to read more than before.
  @Test(.enabled(if: geteuid() == 0))
  func `an owner and group that cannot be kept are said, and nobody gets more rights`() async throws {
    await #expect(processExitsWith: .success) {
      guard setgroups(0, nil) == 0, setgid(65534) == 0, setuid(65534) == 0 else { exit(9) }
      let folder = "/tmp/sealift-test-likeness-\(getpid())"
      mkdir(folder, 0o700)
      defer { rmdir(folder) }
      let descriptor = open("\(folder)/new", O_RDWR | O_CREAT, 0o600)
      defer { unlink("\(folder)/new") }
      // A file that belongs to root and its group, which everybody may look at.
      guard let likeness = FileLikeness(of: "/etc/shadow") ?? FileLikeness(of: "/etc/passwd") else { exit(8) }
      let remarks = likeness.give(to: descriptor)
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_mode & 0o070 == 0, remarks.count == 2 else { exit(7) }
    }
  }

  // MARK: What a restore that was killed leaves

  @Test func `killed before anything moved: the second names go, the old database stays`() async throws {
    let home = try await RestoreRoad(wal: true)
    let aside = home.path + ".before-20200101T000000Z"
    try ReplaceIntent(database: home.path).note(aside)
    for ending in ["", "-wal"] { try #require(link(home.path + ending, aside + ending) == 0) }
    #expect(try home.dump(home.path) == home.now)
    let outcome = try await home.run(.replace)
    #expect(try home.dump(home.path) == home.pushed)
    let kept = try #require(outcome.moved.first?.to)
    #expect(kept != aside && !FileManager.default.fileExists(atPath: aside))
    #expect(try home.dump(kept) == home.now)
  }

  /// The database is away already; its -wal is not, or both.
  @Test(arguments: [["", "-wal"], [""]]) func `killed in between: the next restore says so, and goes on or back`(
    moved: [String]
  ) async throws {
    for goesOn in [true, false] {
      let home = try await RestoreRoad(wal: true)
      let aside = home.path + ".before-20200101T000000Z"
      try ReplaceIntent(database: home.path).note(aside)
      for ending in moved { try #require(rename(home.path + ending, aside + ending) == 0) }
      for mode in [Restore.Mode.new, .live] {
        let error = await home.refusal(mode)
        #expect(error?.code == "unfinishedReplace")
        #expect(error?.message.contains(aside) == true)
      }
      if goesOn {
        let outcome = try await home.run(.replace)
        #expect(try home.dump(home.path) == home.pushed)
        #expect(try home.dump(aside) == home.now)
        _ = try await RestoreRoad.shell(try #require(outcome.undo))
      } else {
        let hint = try #require(await home.refusal(.new)?.hint)
        let line = try #require(hint.split(separator: "put it back with: ", maxSplits: 1).last)
        _ = try await RestoreRoad.shell(String(line))
      }
      #expect(try home.dump(home.path) == home.now)
    }
  }

  /// Whoever writes to the database from then on would write to what passes for the old one.
  @Test func `killed before anything moved: a live restore takes the second names away too`() async throws {
    let home = try await RestoreRoad(wal: true)
    let aside = home.path + ".before-20200101T000000Z"
    try ReplaceIntent(database: home.path).note(aside)
    for ending in ["", "-wal"] { try #require(link(home.path + ending, aside + ending) == 0) }
    _ = try await home.restore.preview(
      .latest(database: "app"), from: home.road.target, Restore.Request(place: .file(home.path), mode: .live))
    #expect(FileIdentity(at: aside) == FileIdentity(at: home.path))
    let outcome = try await home.run(.live)
    #expect(try home.dump(home.path) == home.pushed && home.dump(#require(outcome.undoCopy)) == home.now)
    for name in [aside, aside + "-wal", ReplaceIntent.path(of: home.path)] {
      #expect(!FileManager.default.fileExists(atPath: name))
    }
  }

  /// To open one waits for whoever writes to it: who plants it never does.
  @Test func `a pipe under the name of a note or of a side file holds nobody up`() async throws {
    let home = try await RestoreRoad(wal: false)
    try #require(mkfifo(ReplaceIntent.path(of: home.path, "live"), 0o600) == 0)
    try #require(mkfifo(home.path + "-shm", 0o600) == 0)
    let outcome = try await home.run(.replace)
    #expect(try home.dump(home.path) == home.pushed)
    let aside = try #require(outcome.moved.first { $0.from == home.path }?.to)
    #expect(try home.dump(aside) == home.now)
  }

  /// A file beside the test's own folder, of a name that no test beside it has.
  private func fileOutside(_ home: RestoreRoad) -> String { home.road.scratch.path + ".outside" }

  /// Somebody else may write in the database's folder, and the note decides what is moved.
  @Test func `a note that names what no restore moves, is another user's or cannot be read moves nothing`() async throws
  {
    let texts = ["\n\0../OUTSIDE\0", "\n../OUTSIDE\0", "\n\0/OUTSIDE\0", "", "directory", "pipe"]
    for (number, kind) in texts.enumerated() {
      let home = try await RestoreRoad(wal: false)
      let outside = fileOutside(home)
      let text = kind.replacing("OUTSIDE", with: RestoredFile.name(of: outside))
      try writeFile(outside, [1])
      defer { unlink(outside) }
      let aside = home.path + ".before-20200101T000000Z"
      let note = ReplaceIntent.path(of: home.path)
      if text == "directory" {
        try #require(mkdir(note, 0o700) == 0)
      } else if text == "pipe" {
        // Opening it waits for whoever writes to it.
        try #require(mkfifo(note, 0o600) == 0)
      } else {
        try writeFile(note, Array((RestoredFile.name(of: aside) + text).utf8))
        guard !text.isEmpty || chown(note, 54_321, 54_321) == 0 else { continue }
      }
      try #require(rename(home.path, aside) == 0)
      for mode in [Restore.Mode.new, .replace, .live] {
        let error = await home.refusal(mode)
        #expect(error?.code == "unfinishedReplace" && error?.message.contains(note) == true, "\(number) \(mode)")
      }
      #expect(try fileBytes(outside) == [1] && home.dump(aside) == home.now)
      #expect(FileIdentity(at: home.path) == nil)
    }
  }

  /// What it names is named to a person as the old files.
  @Test func `a live restore's note names nothing outside the folder, another user's nothing`() async throws {
    let home = try await RestoreRoad(wal: false)
    let note = ReplaceIntent.path(of: home.path, "live")
    let (kept, planted) = (home.path + ".kept", fileOutside(home))
    for file in [kept, planted] { try writeFile(file, [1]) }
    defer { unlink(planted) }
    try writeFile(note, Array("app.db.kept\0../\(RestoredFile.name(of: planted))\0".utf8))
    let intent = LiveIntent(database: home.path)
    #expect(intent.left == [kept])
    #expect(intent.remark?.contains(kept) == true && intent.remark?.contains(RestoredFile.name(of: planted)) == false)
    guard chown(note, 54_321, 54_321) == 0 else { return }
    #expect(intent.left.isEmpty)
    #expect(intent.remark?.contains("\(note) cannot be read, or is another user's") == true)
    #expect(intent.remark?.contains(kept) == false)
    _ = try await home.run(.live)
    #expect(home.road.notices.said.withLock { $0.contains { $0.contains("another user's") } })
    // Nobody who cannot read it knows that it is settled.
    #expect(FileIdentity(at: note) != nil && FileIdentity(at: kept) != nil)
    try #require(chown(note, 0, 0) == 0)
    _ = try await home.run(.live)
    #expect(FileIdentity(at: note) != nil && intent.left == [kept])
  }

  /// Of what root began, whoever pushes without root's rights sees only that there is a note.
  @Test func `a live restore's note that cannot be read is told by a push`() async throws {
    let home = try await RestoreRoad(wal: false)
    let database = DatabaseSource(name: "app", path: home.path)
    let intent = LiveIntent(database: home.path)
    #expect(UnfinishedRestore(of: home.path).shortfall(of: database) == nil)
    // What is no file is no note, and no reason to end each push with another status.
    try #require(mkdir(intent.path, 0o700) == 0)
    #expect(UnfinishedRestore(of: home.path).shortfall(of: database) == nil)
    try #require(rmdir(intent.path) == 0)
    try writeFile(intent.path, Array("app.db.kept\0".utf8))
    // Root may read each file, but none that is so long.
    try #require((geteuid() == 0 ? truncate(intent.path, 2 << 20) : chmod(intent.path, 0)) == 0)
    let told = UnfinishedRestore(of: home.path).shortfall(of: database)
    #expect(told?.code == "unfinishedRestore" && told?.message.contains("cannot be read") == true)
  }

  @Test func `a database whose name has a line break is found again`() async throws {
    let home = try await RestoreRoad(wal: false, name: "app.db\nx")
    let aside = home.path + ".before-20200101T000000Z"
    try ReplaceIntent(database: home.path).note(aside)
    try #require(rename(home.path, aside) == 0)
    #expect(await home.refusal(.new)?.message.contains(aside) == true)
    _ = try await home.run(.replace)
    #expect(try home.dump(home.path) == home.pushed && home.dump(aside) == home.now)
  }

  @Test func `killed when all was done: the next restore says where the old one is`() async throws {
    let home = try await RestoreRoad(wal: true)
    let first = try await home.run(.replace)
    let aside = try #require(first.moved.first?.to)
    try ReplaceIntent(database: home.path).note(aside)
    let second = try await home.run(.replace)
    #expect(home.road.notices.said.withLock { $0 }.contains { $0.contains(aside) })
    #expect(second.moved.first?.to != aside)
    #expect(try home.dump(aside) == home.now)
    #expect(!FileManager.default.fileExists(atPath: ReplaceIntent.path(of: home.path)))
  }

  @Test func `what fails on the way leaves everything as it was`() async throws {
    let home = try await RestoreRoad(wal: true)
    var aside = SetAside(home.path, time: "20200101T000000Z")
    let before = home.names
    // The name that the -wal is to get is taken.
    try writeFile(aside.aside + "-wal", [1])
    #expect(throws: (any Error).self) { try aside.move() }
    try removeFile(aside.aside + "-wal")
    #expect(home.names == before)
    #expect(try home.dump(home.path) == home.now)
  }

  /// Nobody is to go after rights that are there.
  @Test func `a disk that is full when the old database gets its other name is told as that`() async throws {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      let path = scratch.file("app.db")
      try writeFile(path, [1])
      guard FailingCalls.fail(.link, with: ENOSPC) else { fatalError("this kernel takes no filters") }
      var aside = SetAside(path, time: "20200101T000000Z")
      let error = #expect(throws: OperationError.self) { try aside.move() }
      #expect(error?.code == "noSpace" && error?.hint?.contains("Free some space") == true)
      #expect(try fileBytes(path) == [1])
    }
  }

  @Test(arguments: ["it's my app.db $HOME", "it'\u{301}s.db"])
  func `names with quotes and spaces survive the shell`(name: String) async throws {
    let home = try await RestoreRoad(wal: true, name: name)
    let outcome = try await home.run(.replace)
    let undo = try #require(outcome.undo)
    // Whoever is not sure does it twice: the -wal that has come back stays.
    for _ in 1...2 { _ = try await RestoreRoad.shell(undo) }
    #expect(try home.dump(home.path) == home.now)
  }

  @Test func `a preview says what would be done, and does nothing`() async throws {
    let home = try await RestoreRoad(wal: true)
    let before = home.names
    let preview = try await home.restore.preview(
      .latest(database: "app"), from: home.road.target, Restore.Request(place: .file(home.path), mode: .replace))
    #expect(preview.refusal == nil && preview.moves.map(\.from) == ["", "-wal", "-shm"].map { home.path + $0 })
    #expect(preview.version.id == home.version.id && preview.path.hasSuffix("/app.db"))
    let plain = try await home.restore.preview(
      .latest(database: "app"), from: home.road.target, Restore.Request(place: .file(home.path)))
    #expect(plain.refusal?.code == "destinationExists")
    #expect(home.names == before)
  }

  @Test func `a preview of another file tells the mode that it will have`() async throws {
    let road = try await Road()
    let path = road.scratch.file("export")
    try writeFile(path, Array(repeating: 7, count: 5000))
    chmod(path, 0o644)
    _ = try await road.push(DatabaseSource(name: "app", path: path, method: .file))
    let place = road.scratch.file("again")
    let preview = try await Pull(road.world).preview(.latest(database: "app"), from: road.target, to: place)
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(place))
    var status = stat()
    #expect(stat(place, &status) == 0 && preview.permissions == status.st_mode & 0o777 && preview.permissions == 0o644)
  }
}

extension RestoreRoad {
  fileprivate func refusalOfLink(_ link: String) async -> OperationError? {
    await #expect(throws: OperationError.self) { try await run(.replace) { $0.place = .file(link) } }
  }
}
