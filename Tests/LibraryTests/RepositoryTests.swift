import FoundationEssentials
import Glibc
import Platform
import Sealift
import Storage
import TestKit
import Testing

@Suite struct RepositoryTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  private var app: Repository.Database { .database(named: "app", at: bench.database) }

  @Test func `the road of a database, from a push to a pull`() async throws {
    try bench.makeDatabase(journal: "wal")
    let made = try await bench.makeRepository()
    let first = try await made.push(app)
    #expect(first.isNew)
    try SQLite.run("UPDATE t SET word = 'newer' WHERE id = 1", on: bench.database)

    let repository = try await Repository.open(at: bench.target, key: bench.key, state: bench.state)
    #expect(repository.id == made.id)
    let second = try await repository.push(app, tags: ["before-migration"], note: "schema 12")
    #expect(second.isNew)
    try await repository.push(.database(named: "other", at: bench.database))

    let versions = try await repository.versions(of: "app")
    #expect(versions.map(\.id) == [first.version.id, second.version.id])
    #expect(versions.problems.isEmpty)
    #expect(versions.isFreshnessProvable)
    #expect(versions.last?.tags == ["before-migration"])
    #expect(versions.last?.note == "schema 12")
    #expect(abs(try #require(versions.last).time.timeIntervalSinceNow) < 600)
    #expect(try await repository.versions().count == 3)
    #expect(try await repository.versions(tag: "before-migration").map(\.id) == [second.version.id])

    let old = bench.scratch.file("old.db")
    let pulled = try await repository.pull(first.version.id, to: old)
    #expect(pulled.path == old)
    #expect(pulled.version == versions.first)
    #expect(pulled.check == "ok")
    #expect(try words(old) == [["t:old", "i:60"]])
    let new = bench.scratch.file("new.db")
    try await repository.pull("app:latest", to: new, expecting: second.version.head)
    #expect(try words(new) == [["t:newer", "i:1"], ["t:old", "i:59"]])
  }

  @Test func `what did not change makes no version, unless it is asked for`() async throws {
    try bench.makeDatabase()
    let repository = try await bench.makeRepository()
    let first = try await repository.push(app)
    let again = try await repository.push(app)
    #expect(!again.isNew)
    #expect(again.version.id == first.version.id)
    let tagged = try await repository.push(app, tags: ["kept"])
    #expect(tagged.isNew)
    #expect(try await repository.versions().count == 2)
  }

  @Test func `a repository whose configuration is lost opens for who reads, and takes no push`() async throws {
    try bench.makeDatabase()
    let made = try await bench.makeRepository()
    let first = try await made.push(app)
    try removeFile(bench.scratch.file("target/config"))
    let before = bench.objects(below: "").sorted()
    let remarks = Told<String>()
    var options = Repository.Options()
    options.onRemark = { remarks.append($0) }
    let opened = try await Repository.open(at: bench.target, key: bench.key, state: bench.state, options: options)
    #expect(opened.id == made.id)
    #expect(remarks.values.contains { $0.contains("no configuration of the repository can be read") })
    #expect(try await opened.versions().map(\.id) == [first.version.id])
    try await opened.pull(first.version.id, to: bench.scratch.file("new.db"))
    #expect(try words(bench.scratch.file("new.db")) == [["t:old", "i:60"]])
    try SQLite.run("UPDATE t SET word = 'newer' WHERE id = 1", on: bench.database)
    let refused = await #expect(throws: SealiftError.self) {
      try await opened.push(app)
    }
    #expect(refused?.kind == .verificationFailed && refused?.hint?.contains("below config/") == true)
    #expect(bench.objects(below: "").sorted() == before)
  }

  @Test func `progress ends with all bytes`() async throws {
    try bench.makeDatabase(rows: 400)
    let repository = try await bench.makeRepository()
    let told = Told<Repository.Progress>()
    let pushed = try await repository.push(app) { told.append($0) }
    #expect(told.values.contains { $0.stage == .sealing })
    let pulling = Told<Repository.Progress>()
    try await repository.pull(pushed.version.id, to: bench.scratch.file("new.db")) { pulling.append($0) }
    #expect(pulling.values.allSatisfy { $0.stage == .fetching && $0.bytesTotal == pushed.version.size })
    #expect(pulling.values.map(\.bytesDone).max() == pushed.version.size)
  }

  @Test func `a version replaces the content of a database that is open`() async throws {
    try bench.makeDatabase(journal: "wal")
    let repository = try await bench.makeRepository()
    let version = try await repository.push(app).version
    let database = try TestDatabase(bench.database)
    try database.run("UPDATE t SET word = 'newer'")
    await #expect(throws: Enough()) {
      try await repository.restore(version.id, live: bench.database) { _ in throw Enough() }
    }
    #expect(try words(database) == [["t:newer", "i:60"]])
    let restored = try await repository.restore(version.id, live: bench.database)
    #expect(restored.version.id == version.id)
    #expect(try words(database) == [["t:old", "i:60"]])
    #expect(try words(try #require(restored.undoCopy)) == [["t:newer", "i:60"]])
  }

  // MARK: Ending early

  @Test(arguments: [Repository.Progress.Stage.copying, .sealing])
  func `throwing from progress ends a push, and no version comes of it`(stage: Repository.Progress.Stage) async throws {
    try bench.makeDatabase(rows: 400)
    let repository = try await bench.makeRepository()
    await #expect(throws: Enough()) {
      try await repository.push(app) { progress in if progress.stage == stage { throw Enough() } }
    }
    #expect(try await repository.versions().isEmpty)
    #expect(bench.objects(below: "versions").isEmpty)
    #expect(try bench.spoolsLeft().isEmpty)
    #expect(try await repository.push(app).isNew)
  }

  @Test func `cancelling the task ends a push, and no version comes of it`() async throws {
    try bench.makeDatabase(rows: 400)
    let repository = try await bench.makeRepository()
    await #expect(throws: CancellationError.self) {
      try await Fuse<Void>().run { [app] fuse in try await repository.push(app) { _ in fuse.blow() } }
    }
    #expect(try await repository.versions().isEmpty)
    #expect(try bench.spoolsLeft().isEmpty)
    #expect(try await repository.push(app).isNew)
  }

  @Test func `throwing or cancelling ends a pull, and leaves no file`() async throws {
    try bench.makeDatabase(rows: 400)
    let repository = try await bench.makeRepository()
    let version = try await repository.push(app).version
    let folder = bench.scratch.file("here")
    mkdir(folder, 0o700)
    await #expect(throws: Enough()) {
      try await repository.pull(version.id, to: "\(folder)/new.db") { _ in throw Enough() }
    }
    await #expect(throws: CancellationError.self) {
      try await Fuse<Void>().run { fuse in
        try await repository.pull(version.id, to: "\(folder)/new.db") { _ in fuse.blow() }
      }
    }
    #expect(try names(in: folder).isEmpty)
    try await repository.pull(version.id, to: "\(folder)/new.db")
    #expect(try words("\(folder)/new.db") == [["t:old", "i:400"]])
  }

  /// A person who interrupts the program may begin the same again, and is told where it lies; an application is not.
  @Test func `nor does a large one`() async throws {
    try SQLite.run("CREATE TABLE t(b); INSERT INTO t VALUES(randomblob(40000000))", on: bench.database)
    let repository = try await bench.makeRepository()
    let version = try await repository.push(app).version
    let folder = bench.scratch.file("here")
    mkdir(folder, 0o700)
    await #expect(throws: Enough()) {
      try await repository.pull(version.id, to: "\(folder)/new.db") { progress in
        if progress.bytesDone > 20 << 20 { throw Enough() }
      }
    }
    #expect(try names(in: folder).isEmpty)
  }

  /// A callback that throws when the last byte is told of is too late, where nothing looks at it any more: the call has
  /// a result or an error, never a version and an error of the callback's.
  @Test func `a push either has a version, or threw`() async throws {
    try bench.makeDatabase(rows: 20)
    let repository = try await bench.makeRepository()
    for stage in [Repository.Progress.Stage.copying, .checking, .sealing] {
      let before = try await repository.versions().count
      do {
        _ = try await repository.push(app, tags: ["\(stage)"]) { progress in
          if progress.stage == stage { throw Enough() }
        }
        #expect(try await repository.versions().count == before + 1)
      } catch is Enough {
        #expect(try await repository.versions().count == before)
      }
    }
  }

  // MARK: Errors

  @Test func `errors say what kind they are of`() async throws {
    let nowhere = await #expect(throws: SealiftError.self) {
      try await Repository.open(at: bench.target, key: bench.key, state: bench.state)
    }
    #expect(nowhere?.kind == .noRepository)
    let repository = try await bench.makeRepository()
    let twice = await #expect(throws: SealiftError.self) { try await bench.makeRepository() }
    #expect(twice?.code == "repositoryExists")
    let wrong = await #expect(throws: SealiftError.self) {
      try await Repository.open(
        at: bench.target, key: .keyFile(content: [UInt8](repeating: 8, count: 64)), state: bench.state)
    }
    #expect(wrong?.kind == .wrongKey)
    #expect(wrong?.hint != nil)
    let localized: (any LocalizedError)? = wrong
    #expect(localized?.errorDescription == wrong?.message && localized?.recoverySuggestion == wrong?.hint)
    let missing = await #expect(throws: SealiftError.self) { try await repository.push(app) }
    #expect(missing?.kind == .sourceUnreadable)
    let none = await #expect(throws: SealiftError.self) {
      try await repository.pull("abcdef", to: bench.scratch.file("new.db"))
    }
    #expect(none?.kind == .noSuchVersion)
    let name = await #expect(throws: SealiftError.self) {
      try await repository.push(.database(named: "a/b", at: bench.database))
    }
    #expect(name?.code == "badName")
    try bench.makeDatabase()
    let version = try await repository.push(app).version
    let exists = await #expect(throws: SealiftError.self) { try await repository.pull(version.id, to: bench.database) }
    #expect(exists?.kind == .usage)
    #expect(exists?.code == "destinationExists")
    let head = await #expect(throws: SealiftError.self) {
      try await repository.pull("latest", to: bench.scratch.file("new.db"), expecting: "9-0123456789abcdef")
    }
    #expect(head?.kind == .verificationFailed)
  }

  private struct TooLate: Error {}

  @Test func `a damaged database is pushed, flagged, and told`() async throws {
    try bench.makeDatabase()
    var bytes = try fileBytes(bench.database)
    for index in 4096 * 3..<4096 * 3 + 64 { bytes[index] = 0x5A }
    try writeFile(bench.database, bytes)
    let repository = try await bench.makeRepository()
    let error = await #expect(throws: SealiftError.self) { try await repository.push(app) }
    #expect(error?.code == "sourceDamaged")
    #expect(error?.kind == .verificationFailed)
    #expect(try await repository.versions().map(\.isDamaged) == [true])
    // Nobody has to look at a result to hear that it is in use now.
    let live = bench.scratch.file("live.db")
    try SQLite.run("CREATE TABLE t(a)", on: live)
    let restored = await #expect(throws: SealiftError.self) { try await repository.restore("app:latest", live: live) }
    #expect(restored?.code == "restoredDamaged" && restored?.kind == .verificationFailed)
    #expect(restored?.hint?.contains("live.db.before-") == true)
    // Nor is it hidden by what a callback throws when nothing can be stopped any more.
    let isThere = Locked(false)
    let late = await #expect(throws: SealiftError.self) {
      try await repository.restore("app:latest", live: live) { progress in
        // The last page goes with the end of the transaction.
        guard progress.stage == .restoring, progress.bytesDone + 4096 >= progress.bytesTotal ?? 0 else { return }
        isThere.withLock { $0 = true }
        throw TooLate()
      }
    }
    #expect(isThere.withLock { $0 } && late?.code == "restoredDamaged")
  }

  @Test(arguments: [
    Repository.Target.folder("relative/folder"),
    .webDAV("ftp://example.com/backup"),
    .webDAV("https://user:secret@example.com/backup"),
    .s3(bucket: "no bucket", credentials: .keys(id: "id", secret: "secret")),
    .s3(bucket: "bucket", prefix: "t?endpoint=https://evil.example", credentials: .keys(id: "id", secret: "secret")),
    .s3(bucket: "bucket?region=x", credentials: .keys(id: "id", secret: "secret")),
    .s3(bucket: "bucket", endpoint: "nonsense", credentials: .keys(id: "id", secret: "secret")),
  ])
  func `a target that makes no sense is told when it is used`(target: Repository.Target) async throws {
    let error = await #expect(throws: SealiftError.self) {
      try await Repository.open(at: target, key: bench.key, state: bench.state)
    }
    #expect(error?.kind == .usage)
    #expect(error?.code == "badTarget")
    #expect(error?.description.contains("secret") == false)
  }

  // MARK: Secrets

  @Test func `nothing that holds a secret shows it`() {
    let things: [Any] = [
      Repository.Key.passphrase("swordfish"), Repository.Key.recoveryKey("swordfish"),
      Repository.Key.keyFile(content: Array("swordfish".utf8)),
      Repository.Target.Credentials.keys(id: "id", secret: "swordfish", sessionToken: "swordfish"),
      Repository.Target.s3(bucket: "bucket", credentials: .keys(id: "id", secret: "swordfish")),
      Repository.Target.webDAV("https://example.com/backup", user: "me", password: "swordfish"),
    ]
    for thing in things {
      var dumped = ""
      dump(thing, to: &dumped)
      let shown = "\(thing)\(String(reflecting: thing))\(dumped)\(Mirror(reflecting: thing).children.map { "\($0)" })"
      #expect(!shown.contains("swordfish") && !shown.contains("115"), "\(shown)")
    }
    #expect(
      "\(Repository.Target.s3(bucket: "bucket", prefix: "app", credentials: .keys(id: "id", secret: "s")))"
        == "s3://bucket/app")
    #expect("\(Repository.Target.webDAV("HTTPS://example.com/backup/"))" == "webdavs://example.com/backup")
    #expect("\(Repository.Target.folder("/srv/backup"))" == "file:///srv/backup")
  }

  @Test func `a passphrase comes from a private file, or from wherever it is fetched`() async throws {
    let file = bench.scratch.file("passphrase")
    try writeFile(file, Array("correct horse\n".utf8))
    chmod(file, 0o644)
    let exposed = await #expect(throws: SealiftError.self) {
      try await Repository.create(at: bench.target, key: .passphraseFile(file), state: bench.state)
    }
    #expect(exposed?.code == "secretExposed")
    // Of what is open it is told what it is: its own name is no file's.
    let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    let handed = await #expect(throws: SealiftError.self) {
      try await Repository.create(
        at: bench.target, key: .passphraseFile("/proc/self/fd/\(descriptor)"), state: bench.state)
    }
    #expect(handed?.code == "secretExposed" && handed?.hint?.contains("chmod") == false)
    #expect(handed?.message.contains("/passphrase, handed over as /proc/self/fd/\(descriptor), ") == true)
    #expect(bench.objects(below: "").isEmpty)
    chmod(file, 0o600)
    let made = try await Repository.create(at: bench.target, key: .passphraseFile(file), state: bench.state)
    let fetched = Repository.Key.fetched { .passphrase("correct horse") }
    #expect(try await Repository.open(at: bench.target, key: fetched, state: bench.state).id == made.id)
    let gone = await #expect(throws: SealiftError.self) {
      try await Repository.open(at: bench.target, key: .passphraseFile("/nowhere/secret"), state: bench.state)
    }
    #expect(gone?.code == "secretUnreadable")
    struct VaultIsClosed: Error { let token: String }
    let closed = await #expect(throws: SealiftError.self) {
      try await Repository.open(
        at: bench.target, key: .fetched { throw VaultIsClosed(token: "s3cret") }, state: bench.state)
    }
    #expect(closed?.cause is VaultIsClosed)
    #expect(closed?.kind == .failed && closed?.code == "keyNotFetched")
    #expect(closed?.description.contains("s3cret") == false)
    let late = await #expect(throws: SealiftError.self) {
      try await Repository.open(at: bench.target, key: .fetched { throw CancellationError() }, state: bench.state)
    }
    #expect(late?.code == "keyNotFetched" && late?.cause is CancellationError)
  }

  /// More of them than Swift's tasks have threads, and whoever writes the keys is a task as well.
  @Test func `keys that come through pipes keep nobody else waiting`() async throws {
    let repository = try await bench.makeRepository()
    let pipes = (0..<2 * Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 2).map { bench.scratch.file("pipe\($0)") }
    for pipe in pipes { try #require(mkfifo(pipe, 0o600) == 0) }
    let opening = Task { [bench] in
      try await withThrowingTaskGroup(of: String.self) { group in
        for pipe in pipes {
          group.addTask {
            try await Repository.open(at: bench.target, key: .keyFile(pipe), state: bench.state).id
          }
        }
        return try await group.reduce(into: [String]()) { $0.append($1) }
      }
    }
    // Where they keep everybody waiting, only a thread of its own can end that.
    let isWritten = Locked(false)
    defer { isWritten.withLock { $0 = true } }
    let watching = startThread {
      for _ in 0..<6000 where !isWritten.withLock({ $0 }) { usleep(100_000) }
      opening.cancel()
    }
    try #require(watching == 0)
    try await Task {
      for pipe in pipes {
        var end: Int32 = -1
        // Not before somebody reads it: what nobody reads is lost.
        _ = try await eventually {
          end = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
          return end >= 0
        }
        #expect(write(end, [UInt8](repeating: 7, count: 64), 64) == 64)
        close(end)
      }
    }.value
    #expect(try await opening.value == pipes.map { _ in repository.id })
  }

  @Test func `cancelling the task ends the wait for a key`() async throws {
    _ = try await bench.makeRepository()
    let pipe = bench.scratch.file("pipe")
    try #require(mkfifo(pipe, 0o600) == 0)
    let opening = Task { [bench] in
      _ = try await Repository.open(at: bench.target, key: .passphraseFile(pipe), state: bench.state)
    }
    opening.cancel()
    await #expect(throws: CancellationError.self) { try await opening.value }
  }

  /// systemd's own copies have mode 0440 and an access list, in a folder for one service.
  @Test func `a passphrase may be a credential of the service`() async throws {
    await #expect(processExitsWith: .success) {
      let bench = try Bench()
      let file = bench.scratch.file("credentials/passphrase")
      try #require(mkdir(bench.scratch.file("credentials"), 0o700) == 0)
      try writeFile(file, Array("correct horse\n".utf8))
      chmod(file, 0o440)
      let exposed = await #expect(throws: SealiftError.self) {
        try await Repository.create(at: bench.target, key: .passphraseFile(file), state: bench.state)
      }
      #expect(exposed?.code == "secretExposed")
      setenv("CREDENTIALS_DIRECTORY", bench.scratch.file("credentials"), 1)
      _ = try await Repository.create(at: bench.target, key: .passphraseFile(file), state: bench.state)
      chmod(file, 0o444)
      let open = await #expect(throws: SealiftError.self) {
        try await Repository.open(at: bench.target, key: .passphraseFile(file), state: bench.state)
      }
      #expect(open?.code == "secretExposed")
    }
  }

  @Test func `another machine that pushes under the same name is told`() async throws {
    try bench.makeDatabase()
    var options = Repository.Options()
    options.host = "harbour"
    let one = try await bench.makeRepository(options)
    let other = try await Repository.open(
      at: bench.target, key: bench.key, state: bench.scratch.file("other-state"), options: options)
    for repository in [one, other] {
      try SQLite.run("INSERT INTO t(word) VALUES ('new')", on: bench.database)
      let pushed = try await repository.push(app)
      #expect(pushed.isNew && pushed.shortfalls.isEmpty)
    }
    try SQLite.run("INSERT INTO t(word) VALUES ('newer')", on: bench.database)
    let pushed = try await one.push(app)
    #expect(pushed.isNew && pushed.shortfalls.map(\.code) == ["pushedElsewhere"])
    #expect(pushed.shortfalls.map(\.kind) == [.partlyDone])
  }

  @Test func `options are heeded, and senseless ones are refused`() async throws {
    try bench.makeDatabase()
    var options = Repository.Options()
    options.host = "harbour"
    let remarks = Told<String>()
    options.onRemark = { remarks.append($0) }
    let repository = try await bench.makeRepository(options)
    let version = try await repository.push(app).version
    #expect(version.host == "harbour")
    options.uploadLimit = 1023
    let error = await #expect(throws: SealiftError.self) {
      try await Repository.open(at: bench.target, key: bench.key, state: bench.state, options: options)
    }
    #expect(error?.kind == .usage)
    let relative = await #expect(throws: SealiftError.self) {
      try await Repository.open(at: bench.target, key: bench.key, state: "state")
    }
    #expect(relative?.code == "badPath")
  }
}
