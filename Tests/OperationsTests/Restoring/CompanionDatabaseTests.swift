import FoundationEssentials
import Glibc
import Platform
import Storage
import TestKit
import Testing

@testable import Operations

/// A database that comes along with another one: what SQLite keeps beside it goes with it, and comes back with it.
@Suite struct CompanionDatabaseTests {
  /// `library.db` and `keys` were pushed with `app.db`. Now another `library.db` is there, with a -wal of its own, and
  /// no `keys`.
  private struct Home {
    let road: Road
    let path: String
    let library: String
    /// A version of `app.db` alone.
    let plain: VersionSelector
    /// What stands beside it now.
    let before: [String: [UInt8]] = ["library.db": Array("another database".utf8), "library.db-wal": [1, 2, 3]]

    /// - Parameter hasWal: what was pushed had a -wal, too.
    init(hasWal: Bool = false) async throws {
      let road = try await Road()
      let library = road.scratch.file("library.db")
      var source = DatabaseSource(name: "app", path: try road.database(rows: 20))
      let alone = try await road.push(source).pushed
      let database = try TestDatabase(library)
      try database.run("pragma journal_mode=wal; pragma wal_autocheckpoint=0; create table a(v)")
      try database.run("pragma wal_checkpoint(truncate); insert into a values('pushed')")
      if hasWal { database.closeKeepingWal() } else { database.close() }
      try FileManager.default.createDirectory(
        atPath: road.scratch.file("keys"), withIntermediateDirectories: true)
      try writeFile(road.scratch.file("keys/a"), [7])
      source.companions = [Companion("library.db"), Companion("keys")]
      _ = try await road.push(source)

      for ending in ["-wal", "-shm"] { unlink(library + ending) }
      for (name, bytes) in before { try writeFile(road.scratch.file(name), bytes) }
      try removeFile(road.scratch.file("keys"))
      self.road = road
      self.library = library
      path = source.path
      plain = .id(prefix: alone.first?.version.id ?? "none")
    }

    func run(
      _ mode: Restore.Mode, in folder: Scratch? = nil, _ version: VersionSelector = .latest(database: "app"),
      _ change: (inout Restore) -> Void = { _ in }
    ) async throws -> Restore.Outcome {
      var restore = Restore(Pull(road.world))
      change(&restore)
      let request = Restore.Request(place: .home((folder ?? road.scratch).file("app.db")), mode: mode)
      return try await restore.run(version, from: road.target, request)
    }

    /// What is found where a restore was killed right before the database got its name.
    func killed() async throws -> Scratch {
      let frozen = try Scratch()
      _ = try await run(.replace) { restore in
        restore.onReplace = { [from = road.scratch.path, to = frozen.path] in
          for name in try names(in: from) where name != "state" {
            try FileManager.default.copyItem(atPath: "\(from)/\(name)", toPath: "\(to)/\(name)")
          }
        }
      }
      return frozen
    }

    /// What stands beside the database under its own name; of folders nothing but that.
    func beside(_ folder: Scratch? = nil) throws -> [String: [UInt8]] {
      let folder = folder ?? road.scratch
      var found: [String: [UInt8]] = [:]
      for ending in ["", "-wal", "-shm", "-journal"] where exists("library.db\(ending)", in: folder) {
        found["library.db\(ending)"] = try fileBytes(folder.file("library.db\(ending)"))
      }
      if exists("keys", in: folder) { found["keys"] = [] }
      return found
    }

    func exists(_ name: String, in folder: Scratch? = nil) -> Bool {
      FileManager.default.fileExists(atPath: (folder ?? road.scratch).file(name))
    }

    /// The first one of all names that begin and end so.
    func name(_ beginning: String, _ ending: String = "", in folder: Scratch? = nil) -> String? {
      let folder = folder ?? road.scratch
      return road.files(in: folder.path).first { $0.hasPrefix(beginning) && $0.hasSuffix(ending) }.map(folder.file)
    }
  }

  @Test(arguments: [Restore.Mode.replace, .live], [false, true])
  func `an undo brings the old database back, beside its own -wal`(mode: Restore.Mode, hasWal: Bool) async throws {
    let home = try await Home(hasWal: hasWal)
    let outcome = try await home.run(mode)
    #expect(home.exists("library.db-wal") == hasWal && home.exists("keys"))
    // An application has opened the restored one.
    for ending in ["-wal", "-shm"] { try writeFile(home.library + ending, [4, 5, 6, 7]) }
    let undo = try #require(outcome.undo)
    // Whoever is not sure does it twice.
    for _ in 1...2 {
      #expect(system(undo) == 0)
      #expect(try home.beside() == home.before)
    }
    let undone = try #require(home.name("library.db.undone-", "-wal"))
    #expect(try fileBytes(undone) == [4, 5, 6, 7])
    #expect(home.name("keys.undone-") != nil)
  }

  /// As after Ctrl-C between two of its steps.
  @Test func `an undo that was cut is gone on with`() async throws {
    let home = try await Home()
    let outcome = try await home.run(.replace)
    let wal = try #require(outcome.moved.first { $0.from == home.library + "-wal" }?.to)
    try writeFile(home.library + "-wal", [4, 5, 6, 7])
    try #require(rename(home.library, home.library + ".away") == 0)
    try #require(rename(home.library + "-wal", home.library + ".away-wal") == 0)
    try #require(rename(wal, home.library + "-wal") == 0)
    let undo = try #require(outcome.undo)
    #expect(system(undo) == 0)
    #expect(try home.beside() == home.before)
  }

  /// In WAL mode what is kept beside it tells before anything is fetched that it is a database.
  @Test(arguments: [Restore.Mode.replace, .live], ["wal", "delete"])
  func `a database that somebody has open is not moved away under them`(mode: Restore.Mode, journal: String)
    async throws
  {
    let home = try await Home()
    for ending in ["", "-wal"] { try removeFile(home.library + ending) }
    try SQLite.run("pragma journal_mode=\(journal); create table a(v)", on: home.library)
    let program = "db.execute('insert into a values(1)'); say('ready'); time.sleep(600)"
    let keeper = try await Keeper(home.library, program, in: home.road.scratch)
    let (names, bytes) = (home.road.files(in: home.road.scratch.path), try fileBytes(home.path))
    let error = await #expect(throws: OperationError.self) { try await home.run(mode) }
    #expect(error?.code == "databaseInUse" && error?.message.contains("\(home.library), ") == true)
    #expect(error?.message.contains("process \(keeper.child.pid)") == true)
    #expect(error?.hint?.contains("--no-companions") == true)
    #expect(try fileBytes(home.path) == bytes && home.road.files(in: home.road.scratch.path) == names)
    keeper.child.signal(SIGKILL)
    await keeper.child.end()
    let outcome = try await home.run(mode)
    #expect(outcome.moved.contains { $0.from == home.library })
  }

  /// What the version has in that place is not asked: it is moved away all the same.
  @Test(arguments: [Restore.Mode.replace, .live], ["wal", "delete"])
  func `a database in a folder that comes along is not moved away under whoever has it open`(
    mode: Restore.Mode, journal: String
  ) async throws {
    let home = try await Home()
    let (keys, inner) = (home.road.scratch.file("keys"), home.road.scratch.file("keys/inner"))
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
    try writeFile("\(keys)/log", [1])
    try SQLite.run("pragma journal_mode=\(journal); create table a(v)", on: "\(inner)/k.db")
    let program = "db.execute('insert into a values(1)'); log = open('\(keys)/log', 'a'); say('ready'); time.sleep(600)"
    let keeper = try await Keeper("\(inner)/k.db", program, in: home.road.scratch)
    let names = home.road.files(in: home.road.scratch.path)
    let error = await #expect(throws: OperationError.self) { try await home.run(mode) }
    #expect(error?.code == "databaseInUse" && error?.message.contains("\(keys), in whose place") == true)
    let said = error?.message ?? ""
    #expect(said.contains("\(inner)/k.db") && said.contains("process \(keeper.child.pid)"))
    #expect(!said.contains("keys/log"))
    #expect(home.road.files(in: home.road.scratch.path) == names)
    keeper.child.signal(SIGKILL)
    await keeper.child.end()
    // What is no database goes on where it is, as everything does that is open.
    let log = open("\(keys)/log", O_WRONLY | O_CLOEXEC)
    defer { close(log) }
    let outcome = try await home.run(mode)
    #expect(outcome.moved.contains { $0.from == keys })
  }

  /// As a database of the version, and by what stands beside it; by its first bytes where that ends no locks.
  @Test func `what is a database is told of what somebody has open`() throws {
    let scratch = try Scratch()
    try FileManager.default.createDirectory(atPath: scratch.file("data/in"), withIntermediateDirectories: true)
    try SQLite.run("create table a(v)", on: scratch.file("data/idle"))
    for name in ["data/in/known", "data/beside", "data/beside-wal", "data/plain", "data/lost-wal"] {
      try writeFile(scratch.file(name), [1])
    }
    try #require(symlink("/", scratch.file("data/link")) == 0)
    let real = try #require(realPath(scratch.file("data")))
    let standing = StandingCompanions(at: [("data", scratch.file("data"))]) { $0 == "data/in/known" }
    let files = ["beside", "beside-wal", "idle", "in/known", "lost-wal", "plain"].map { "\(real)/\($0)" }
    #expect(standing.files.keys.sorted() == files)
    #expect(standing.databases == ["\(real)/beside"])
    #expect(files.filter { standing.isOfDatabase($0, heldHere: []) } == Array(files.prefix(4)))
    #expect(files.filter { standing.isOfDatabase($0, heldHere: Set(files)) } == [files[0], files[1], files[3]])
    #expect(standing.place(of: files[3]) == scratch.file("data"))

    for name in ["new", "other", "beside-journal"] { try writeFile(scratch.file("data/\(name)"), [1]) }
    try #require(rename(scratch.file("data/other"), scratch.file("data/beside")) == 0)
    var later = standing
    later.renew()
    #expect(later.files.keys.sorted() == (files + ["\(real)/beside-journal"]).sorted())
    #expect(later.files[files[0]] == FileIdentity(at: files[0]) && later.files[files[0]] != standing.files[files[0]])
  }

  @Test func `what is mapped is found among many files`() throws {
    let scratch = try Scratch()
    var files: [String: FileIdentity] = [:]
    for number in 1...40 {
      let path = scratch.file("\(number)")
      try writeFile(path, [1])
      files[path] = FileIdentity(at: path)
    }
    let descriptor = open(scratch.file("7"), O_RDONLY | O_CLOEXEC)
    let mapping = mmap(nil, 1, PROT_READ, MAP_SHARED, descriptor, 0)
    close(descriptor)
    defer { munmap(mapping, 1) }
    let own = ProcessTable(holding: files).holders.first { $0.pid == getpid() }
    #expect(own?.files == [scratch.file("7")])
  }

  /// A push holds what comes along open until all of it is sealed, and reads on in what was moved aside.
  @Test func `a push that reads what comes along keeps no restore out`() async throws {
    let home = try await Home()
    try removeFile(home.library + "-wal")
    let descriptor = open(home.library, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(descriptor) }
    let outcome = try await home.run(.live)
    #expect(outcome.moved.contains { $0.from == home.library })
  }

  /// It is asked once more when all rows are written.
  @Test func `whoever opens a database while another is restored live is not passed over`() async throws {
    let home = try await Home()
    try removeFile(home.library + "-wal")
    let held = Locked<Int32>(-1)
    let error = await #expect(throws: OperationError.self) {
      try await home.run(.live) { restore in
        restore.onLive = { [library = home.library] moment in
          guard moment == .writing else { return }
          held.withLock { held in
            if held < 0 { held = open(library, O_RDONLY | O_CLOEXEC) }
          }
        }
      }
    }
    close(held.withLock { $0 })
    #expect(error?.code == "databaseInUse")
    #expect(try fileBytes(home.library) == home.before["library.db"] && !home.exists("keys"))
  }

  /// Applications wait for it, and there may be a million files.
  @Test func `what stands there is not gone through while the database is locked`() async throws {
    let home = try await Home()
    let keys = home.road.scratch.file("keys")
    try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
    try writeFile("\(keys)/old", [1])
    let held = Locked<Int32>(-1)
    let outcome = try await home.run(.live) { restore in
      restore.onLive = { moment in
        guard moment == .writing, held.withLock({ $0 }) < 0 else { return }
        for name in ["new", "new-wal"] { try writeFile("\(keys)/\(name)", [1]) }
        held.withLock { $0 = open("\(keys)/new", O_RDONLY | O_CLOEXEC) }
      }
    }
    #expect(held.withLock { close($0) } == 0)
    #expect(outcome.moved.contains { $0.from == keys })
  }

  private struct Stop: Error {}

  @Test func `a live restore that fails puts the old database beside no other's -wal`() async throws {
    let home = try await Home()
    let error = await #expect(throws: OperationError.self) {
      try await home.run(.live) { restore in
        restore.onLive = { [library = home.library] moment in
          guard moment == .moved else { return }
          for ending in ["-wal", "-shm"] { try writeFile(library + ending, [4, 5, 6, 7]) }
          throw Stop()
        }
      }
    }
    #expect(try home.beside() == home.before)
    // What had its place for a moment is kept, and named.
    let keys = try #require(home.name("keys.undone-"))
    #expect(error?.message.contains(keys) == true && error?.message.contains("nothing was changed but") == true)
    let kept = try #require(home.name("library.db-wal.undone-"))
    #expect(try fileBytes(kept) == [4, 5, 6, 7])
  }

  // MARK: What a restore that was killed leaves

  @Test func `a replace that goes on keeps aside what stood beside the old database`() async throws {
    let home = try await Home()
    let frozen = try await home.killed()
    let database = try #require(home.name("app.db.before-", in: frozen))
    let descriptor = open(database, O_RDONLY | O_CLOEXEC)
    let refused = await #expect(throws: OperationError.self) { try await home.run(.replace, in: frozen) }
    close(descriptor)
    #expect(refused?.code == "databaseInUse")
    // The database that was put there already is not the one that it belongs to.
    #expect(home.exists("library.db", in: frozen) && !home.exists("library.db-wal", in: frozen))
    let outcome = try await home.run(.replace, in: frozen)
    let aside = try #require(outcome.moved.first { $0.from == frozen.file("library.db-wal") }?.to)
    #expect(try fileBytes(aside) == [1, 2, 3])
    #expect(home.road.notices.said.withLock { $0 }.allSatisfy { !$0.contains("put back") })
    let undo = try #require(outcome.undo)
    #expect(system(undo) == 0)
    #expect(try home.beside(frozen) == home.before)
  }

  @Test func `a replace that goes on with another version leaves nothing of the one that was killed`() async throws {
    let home = try await Home()
    let frozen = try await home.killed()
    #expect(home.exists("keys", in: frozen) && home.name("library.db.before-", in: frozen) != nil)
    // Somebody has opened the database that was put there.
    try writeFile(frozen.file("library.db-shm"), [8])
    let refused = await #expect(throws: OperationError.self) { try await home.run(.new, in: frozen, home.plain) }
    #expect(refused?.code == "unfinishedReplace" && refused?.message.contains(frozen.file("keys")) == true)
    let copy = try Scratch()
    #expect(system("cp -a '\(frozen.path)/.' '\(copy.path)'") == 0)
    let commands = try #require(refused?.hint?.split(separator: "put it back with: ").last.map(String.init))
    for _ in 1...2 {
      #expect(system(commands.replacing(frozen.path, with: copy.path)) == 0)
      #expect(try home.beside(copy) == home.before)
    }
    #expect(home.exists("app.db", in: copy) && home.name("keys.undone-", in: copy) != nil)

    let outcome = try await home.run(.replace, in: frozen, home.plain)
    #expect(outcome.moved.map(\.from) == [frozen.file("app.db")])
    #expect(try home.beside(frozen) == home.before)
    #expect(home.name("keys.undone-", in: frozen) != nil)
    let said = home.road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("moved away") && $0.contains(frozen.file("keys")) }, "\(said)")
    #expect(!home.road.files(in: frozen.path).contains { $0.contains(".sealift") })
  }

  @Test func `what a killed replace has not touched is none of its own`() throws {
    let scratch = try Scratch()
    let path = scratch.file("app.db")
    for name in ["kept.db", "kept.db-wal", "new.db", "new.db-wal", "moved.db.before-T", "moved.db", "moved.db-wal"] {
      try writeFile(scratch.file(name), [1])
    }
    let free = ["kept.db-wal", "new.db", "new.db-wal", "moved.db-wal", "nothing"].map(scratch.file)
    try ReplaceIntent(database: path)
      .note(path + ".before-T", companions: [scratch.file("kept.db"), scratch.file("moved.db")], free: free)
    let intent = ReplaceIntent(database: path)
    // It is read once, whatever becomes of it.
    try intent.remove()
    #expect(intent.aside == path + ".before-T")
    #expect(intent.companions.map(\.from) == ["kept.db", "moved.db"].map(scratch.file))
    #expect(intent.companions.map(\.to) == ["kept.db.before-T", "moved.db.before-T"].map(scratch.file))
    #expect(intent.added == ["new.db", "new.db-wal", "moved.db-wal"].map(scratch.file))
    // As earlier builds wrote it.
    try writeFile(ReplaceIntent.path(of: path), Array("app.db.before-T\nkept.db\0moved.db\0".utf8))
    let earlier = ReplaceIntent(database: path)
    #expect(earlier.aside == intent.aside && earlier.companions.map(\.to) == intent.companions.map(\.to))
    #expect(earlier.added.isEmpty)
  }
}
