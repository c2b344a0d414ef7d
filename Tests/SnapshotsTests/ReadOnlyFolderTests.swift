import Glibc
import Snapshots
import Storage
import TestKit
import Testing

/// Databases of another user, in folders that this user may not write to. Each test runs in a process of its own that
/// has given up root's power to write anywhere.
@Suite struct ReadOnlyFolderTests {
  /// A desk whose source any user may read, in a folder that nobody may write to, and a spool for everyone.
  private func desk(_ kind: SampleDatabase, folder: mode_t = 0o555, database: mode_t = 0o644) throws -> Desk {
    let desk = try Desk()
    try kind.make(at: desk.source)
    expose(desk, folder: folder, database: database)
    return desk
  }

  private func expose(_ desk: Desk, folder: mode_t, database: mode_t) {
    for ending in ["", "-wal", "-shm", "-journal"] { chmod(desk.source + ending, database) }
    chmod(desk.scratch.file("live"), folder)
    chmod(desk.scratch.path, 0o755)
    chmod(desk.spool, 0o777)
  }

  @Test func `a rollback-journal database needs no file beside it`() async throws {
    for method in SnapshotMethod.allCases {
      let desk = try desk(.rollback)
      let before = try SourceBytes(desk.source)
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String] in
        dropPrivileges()
        #expect(access(source + "x", W_OK) != 0 && open(source + "-journal", O_WRONLY | O_CREAT, 0o600) < 0)
        let snapshot = try await takeSnapshot(
          SnapshotRequest(source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool))
        #expect(snapshot.check == .ok)
        #expect(snapshot.method.rawValue == method)
      }
      #expect(try SourceBytes(desk.source) == before)
      #expect(try names(in: desk.scratch.file("live")) == ["app.db"])
    }
  }

  @Test func `a closed WAL database is read without locks when it was left alone for two seconds`() async throws {
    for method in SnapshotMethod.allCases {
      let began = ContinuousClock.now
      let desk = try desk(.walClosed)
      let expected = try desk.contents()
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String] in
        dropPrivileges()
        let snapshot = try await takeSnapshot(
          SnapshotRequest(source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool))
        #expect(snapshot.check == .ok)
        #expect(snapshot.sideFilesAppeared.isEmpty)
        #expect(snapshot.source.isSettled)
      }
      #expect(ContinuousClock.now - began > .seconds(1.5), "it was written just now")
      #expect(try contents(ofImage: "\(desk.spool)/\(names(in: desk.spool)[0])") == expected)
      #expect(try names(in: desk.scratch.file("live")) == ["app.db"])
    }
  }

  @Test func `a live -wal is read when its -shm can be read`() async throws {
    let desk = try desk(.walWithContent)
    let before = try SourceBytes(desk.source)
    let expected = try desk.contents()
    for method in SnapshotMethod.allCases {
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String] in
        dropPrivileges()
        let snapshot = try await takeSnapshot(
          SnapshotRequest(source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool))
        #expect(snapshot.check == .ok)
      }
      let image = "\(desk.spool)/\(try names(in: desk.spool)[0])"
      #expect(try contents(ofImage: image) == expected, "what stands in the -wal only must be there")
      try removeFile(image)
      for ending in ["-wal", "-shm"] { try? removeFile(image + ending) }
      #expect(try SourceBytes(desk.source) == before)
    }
  }

  @Test(arguments: [
    (SampleDatabase.walWithoutShm, 0o555, 0o644, SnapshotError.Code.readOnlyFolder),
    (.rollback, 0o755, 0o000, .unreadable),
    (.walWithContent, 0o755, 0o000, .unreadable),
    (.rollback, 0o000, 0o644, .unreadable),
  ])
  func `what cannot be read is an explained error, and nothing is left`(
    _ kind: SampleDatabase, _ folder: mode_t, _ database: mode_t, _ code: SnapshotError.Code
  ) async throws {
    let desk = try desk(kind, folder: folder, database: database)
    for method in SnapshotMethod.allCases {
      await #expect(processExitsWith: .success) {
        [
          source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String,
          code = code.rawValue as String
        ] in
        dropPrivileges()
        let error = await #expect(throws: SnapshotError.self) {
          try await takeSnapshot(
            SnapshotRequest(source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool))
        }
        #expect(error?.code.rawValue == code)
        #expect(error?.hint != nil)
        let left = try names(in: spool)
        #expect(left.isEmpty)
      }
    }
    chmod(desk.scratch.file("live"), 0o755)
  }

  @Test func `a hot journal in a folder of someone else is explained`() async throws {
    let desk = try Desk()
    try await leaveHotJournal(desk)
    expose(desk, folder: 0o555, database: 0o644)
    await #expect(processExitsWith: .success) { [source = desk.source as String, spool = desk.spool as String] in
      dropPrivileges()
      let error = await #expect(throws: SnapshotError.self) {
        try await takeSnapshot(SnapshotRequest(source: source, spoolFolder: spool))
      }
      #expect(error?.code == .hotJournal)
    }
  }

  @Test func `a file that changes while it is read without locks spoils the copy`() async throws {
    for method in SnapshotMethod.allCases {
      let desk = try desk(.walClosed, database: 0o666)
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String] in
        dropPrivileges()
        var request = SnapshotRequest(source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool)
        request.check = true
        let error = await #expect(throws: SnapshotError.self) {
          try await takeSnapshot(request) { progress in
            guard progress.stage == .copying else { return }
            // The same byte again: only the times tell.
            let file = open(source, O_WRONLY)
            pwrite(file, "S", 1, 0)
            close(file)
          }
        }
        #expect(error?.code == .changedMeanwhile)
        let left = try names(in: spool)
        #expect(left.isEmpty)
      }
    }
  }

  @Test(.enabled(if: geteuid() == 0))
  func `a closed WAL database of someone else gets no files of ours beside it`() async throws {
    for method in SnapshotMethod.allCases {
      let desk = try desk(.walClosed, folder: 0o777)
      let expected = try desk.contents()
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String] in
        dropPrivileges()
        let snapshot = try await takeSnapshot(
          SnapshotRequest(source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool))
        #expect(snapshot.check == .ok && snapshot.method.rawValue == method)
        #expect(snapshot.sideFilesAppeared.isEmpty)
        #expect(snapshot.source.isSettled)
      }
      #expect(try names(in: desk.scratch.file("live")) == ["app.db"])
      #expect(try contents(ofImage: "\(desk.spool)/\(names(in: desk.spool)[0])") == expected)
    }
  }

  @Test(.enabled(if: geteuid() == 0))
  func `what is written to while it is read without locks is copied with locks`() async throws {
    for method in SnapshotMethod.allCases {
      let desk = try desk(.walClosed, folder: 0o777, database: 0o666)
      let expected = try desk.contents()
      await #expect(processExitsWith: .success) {
        [source = desk.source as String, spool = desk.spool as String, method = method.rawValue as String] in
        dropPrivileges()
        let calls = Locked(0)
        let request = SnapshotRequest(
          source: source, method: SnapshotMethod(rawValue: method)!, spoolFolder: spool)
        let snapshot = try await takeSnapshot(request) { progress in
          let isFirst = calls.withLock { calls in
            calls += 1
            return calls == 1
          }
          guard isFirst else { return }
          #expect(access(source + "-wal", F_OK) != 0)
          // The same byte again: only the times tell.
          let file = open(source, O_WRONLY)
          pwrite(file, "S", 1, 0)
          close(file)
        }
        #expect(snapshot.check == .ok && snapshot.method.rawValue == method)
        #expect(snapshot.sideFilesAppeared.count == 2, "it was locked")
        let left = try names(in: spool)
        #expect(left.count == 1)
      }
      #expect(try contents(ofImage: "\(desk.spool)/\(names(in: desk.spool)[0])") == expected)
    }
  }

  @Test func `side files that appear in someone else's folder are reported`() async throws {
    let desk = try desk(.walClosed, folder: 0o777)
    // Never left alone for two seconds: it cannot be read without locks. Dated ahead, it is young also while the child has to
    // wait for its turn.
    let touched = desk.scratch.file("touched")
    let touching = try Child.python(
      """
      import os, sys, time
      def touch():
        ahead = time.time() + 1.9
        os.utime(sys.argv[1], (ahead, ahead))
      touch()
      open(sys.argv[2], "w").close()
      while True:
        time.sleep(0.02)
        touch()
      """, desk.source, touched)
    defer { touching.signal(SIGKILL) }
    try #require(try await eventually { access(touched, F_OK) == 0 })
    await #expect(processExitsWith: .success) { [source = desk.source as String, spool = desk.spool as String] in
      dropPrivileges()
      let snapshot = try await takeSnapshot(SnapshotRequest(source: source, spoolFolder: spool))
      #expect(snapshot.sideFilesAppeared.map { $0.suffix(11) } == ["/app.db-wal", "/app.db-shm"])
    }
  }

  @Test func `side files belong to the owner of the database`() async throws {
    let desk = try Desk()
    try SampleDatabase.walClosed.make(at: desk.source)
    if geteuid() == 0 { chown(desk.source, nobody, nobody) }
    let snapshot = try await desk.take(.pages)
    #expect(snapshot.sideFilesAppeared.count == 2)
    #expect(snapshot.sideFilesAppeared.allSatisfy { owner($0) == owner(desk.source) })
  }

  @Test func `a real database of root, taken by nobody`() async throws {
    let desk = try Desk()
    chmod(desk.scratch.path, 0o755)
    chmod(desk.spool, 0o777)
    let before = try SourceBytes("/usr/share/proj/proj.db")
    for method in SnapshotMethod.allCases {
      await #expect(processExitsWith: .success) { [spool = desk.spool as String, method = method.rawValue as String] in
        dropPrivileges()
        let snapshot = try await takeSnapshot(
          SnapshotRequest(
            source: "/usr/share/proj/proj.db", method: SnapshotMethod(rawValue: method)!, spoolFolder: spool))
        #expect(snapshot.check == .ok)
      }
    }
    #expect(try SourceBytes("/usr/share/proj/proj.db") == before)
  }

  private func owner(_ path: String) -> uid_t {
    var status = stat()
    stat(path, &status)
    return status.st_uid
  }
}

/// Leaves a database in the middle of a transaction, as a writer does that is killed: pages of the unfinished
/// transaction are in the file, their old content is in the journal.
func leaveHotJournal(_ desk: Desk) async throws {
  try SampleDatabase.rollback.make(at: desk.source)
  let writer = try Child.python(
    """
    import os, signal, sqlite3, sys
    c = sqlite3.connect(sys.argv[1], isolation_level=None)
    c.execute("PRAGMA cache_size=5")
    c.execute("BEGIN")
    c.execute("UPDATE people SET age = -1, picture = zeroblob(3000)")
    os.kill(os.getpid(), signal.SIGKILL)
    """, desk.source)
  #expect(await writer.end() == -SIGKILL)
  #expect(access(desk.source + "-journal", F_OK) == 0)
}
