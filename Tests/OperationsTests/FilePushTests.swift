import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Snapshots

/// What is no SQLite database is kept as one file, when it was asked for or is written as a whole, and comes back so.
@Suite struct FilePushTests {
  private func exported(_ road: Road, _ bytes: [UInt8], as name: String = "export.db") throws -> DatabaseSource {
    let path = road.scratch.file(name)
    try writeFile(path, bytes)
    chmod(path, 0o640)
    return DatabaseSource(name: "app", path: path, method: .file)
  }

  private func pull(_ road: Road, _ version: VersionSummary, at target: TargetAccess? = nil) async throws -> String {
    let path = road.scratch.file("out-\(version.id.prefix(12))-\(version.target)")
    let outcome = try await Pull(road.world).run(
      .id(prefix: version.id), from: target ?? road.target, to: .file(path))
    #expect(outcome.check == "not a database" && outcome.checkedAt == nil && outcome.companionsFolder == nil)
    return path
  }

  private static let coreDataXML = """
    <?xml version="1.0"?>
    <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

    <database>
        <databaseInfo>
            <version>134481920</version>
            <UUID>6E4B6AE6-2A05-4AEC-9E6A-4B0B1C7F7A10</UUID>
        </databaseInfo>
        <object type="NOTE" id="z102"><attribute name="text" type="string">hello</attribute></object>
    </database>
    """

  @Test(arguments: [1, 65_536, 700_001])
  func `the exact bytes, the mode and the time come back`(_ size: Int) async throws {
    let road = try await Road()
    var random = SeededRandom(UInt64(size))
    let content = random.bytes(size)
    let database = try exported(road, content)
    let moment = timespec(tv_sec: 1_600_000_000, tv_nsec: 123_000_000)
    var times = [moment, moment]
    #expect(utimensat(AT_FDCWD, database.path, &times, 0) == 0)
    let outcome = try await road.push(database)
    #expect(outcome.failures.isEmpty && outcome.damage == nil)
    let version = try #require(outcome.pushed.first).version
    #expect(version.method == "file" && !version.isDatabase && version.size == size)
    #expect(version.pageSize == 65_536 && version.pages == (size + 65_535) / 65_536)
    let restored = try await pull(road, version)
    #expect(try fileBytes(restored) == content)
    #expect(mode(of: restored) == 0o640)
    var status = stat()
    #expect(lstat(restored, &status) == 0)
    #expect(status.st_mtim.tv_sec == moment.tv_sec && status.st_mtim.tv_nsec == moment.tv_nsec)
    #expect(try #require(await ListVersions(road.world).run(at: road.target).versions.last).method == "file")
    let detail = try await ListVersions(road.world).show(.latest(database: "app"), at: road.target)
    #expect(detail.members.map(\.kind) == ["file"] && detail.members.map(\.path) == ["export.db"])
    #expect(road.files(in: "\(road.world.stateFolder)/bases").isEmpty, "nothing of it is kept here")
    #expect(road.files(in: "\(road.world.stateFolder)/spool").filter { $0 != "lock" }.isEmpty)
  }

  @Test func `of a file that changed in places only the blocks that differ are new`() async throws {
    let road = try await Road()
    var random = SeededRandom(3)
    var content = random.bytes(40 * 65_536 + 5)
    let database = try exported(road, content)
    _ = try await road.push(database)
    #expect(try await road.push(database).pushed.first?.unchanged == true)
    content[20 * 65_536] ^= 1
    try writeFile(database.path, content)
    let version = try #require(try await road.push(database).pushed.first).version
    #expect(version.bytesNew < 3 * 65_536)
    #expect(try fileBytes(try await pull(road, version)) == content)
  }

  @Test func `check, drill and copy say what they can prove`() async throws {
    let road = try await Road()
    var random = SeededRandom(4)
    let content = random.bytes(300_000)
    let version = try #require(try await road.push(exported(road, content)).pushed.first).version
    #expect(try await CheckRepository(road.world).run(at: road.target, databases: [], .all).isSound)

    var request = Drill.Request()
    request.trials["app"] = Drill.Trial(query: "SELECT 1")
    let drilled = try #require(try await Drill(road.world).run(request, at: road.target).drilled.first)
    #expect(drilled.hasPassed && drilled.passed == ["restored from the target alone, SHA-256 as at push"])
    #expect(drilled.unchecked.contains { $0.hasPrefix("SQLite's checks: ") })
    #expect(drilled.version.drillText?.contains("; not looked at: SQLite's checks: ") == true)
    #expect(drilled.unchecked.contains { $0.hasPrefix("the query: ") }, "a query that was not asked is not passed")

    let other = TargetAccess(
      name: "other", store: MemoryStore(location: "memory:other"),
      unlock: { .keyFile([UInt8](repeating: 9, count: 64)) })
    _ = try await Initialize(road.world).run(at: other, ifMissing: false)
    let copied = try await CopyVersions(road.world).run(.init(), from: road.target, to: other)
    let copy = try #require(copied.copied.first).version
    #expect(copied.failures.isEmpty && copy.method == "file" && copy.sha256 == version.sha256)
    let restored = try await pull(road, copy, at: other)
    #expect(try fileBytes(restored) == content && mode(of: restored) == 0o640)
  }

  @Test func `what the target lost of it is pushed afresh by a repair`() async throws {
    let road = try await Road()
    var random = SeededRandom(5)
    let database = try exported(road, random.bytes(300_000))
    _ = try await road.push(database)
    let pack = try #require(road.store.content.keys.first { $0.text.hasPrefix("packs/") })
    road.store.content[pack]?[5000] ^= 1
    // Nothing of it is here any more.
    try writeFile(database.path, random.bytes(300_000))
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(repaired.lost.count == 1 && repaired.pushed.count == 1)
    #expect(try fileBytes(try await pull(road, repaired.pushed[0])) == fileBytes(database.path))
  }

  @Test(arguments: [
    ("store.xml", Array(coreDataXML.utf8), "a Core Data store in XML"),
    ("store.plist", Array("<?xml version=\"1.0\"?><!DOCTYPE plist PUBLIC \"\" \"\"><plist/>".utf8), "a property list"),
    ("store.binary", Array("bplist00".utf8) + [UInt8](repeating: 8, count: 70_000), "a binary property list"),
  ])
  func `a store that is written as a whole needs no method`(_ name: String, _ content: [UInt8], _ told: String)
    async throws
  {
    let road = try await Road()
    var database = try exported(road, content, as: name)
    for method in [DatabaseSource.Method.vacuum, .pages] {
      (database.method, database.name) = (method, method.rawValue)
      let outcome = try await Push(road.world).run(
        Push.Request(database: database, targets: [road.target]))
      let version = try #require(outcome.pushed.first).version
      #expect(version.method == "atomic" && outcome.failures.isEmpty)
      #expect(try fileBytes(try await pull(road, version)) == content)
    }
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains(told) && $0.contains("'vacuum'") })
  }

  @Test func `the folder of external files comes along with a store that is written as a whole`() async throws {
    let road = try await Road()
    var database = try exported(road, Array(Self.coreDataXML.utf8), as: "store.xml")
    database.method = .vacuum
    let folder = road.scratch.file(".store_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try writeFile("\(folder)/one", [1, 2, 3])
    let version = try #require(try await road.push(database).pushed.first).version
    let pulled = try await Pull(road.world).run(
      .id(prefix: version.id), from: road.target, to: .file(road.scratch.file("back.xml")))
    let companions = try #require(pulled.companionsFolder)
    #expect(try fileBytes("\(companions)/.store_SUPPORT/_EXTERNAL_DATA/one") == [1, 2, 3])
  }

  @Test func `a store that is replaced while it is read is the new one, whole`() async throws {
    let road = try await Road()
    let old = Array((Self.coreDataXML + String(repeating: "<!-- old -->", count: 200_000)).utf8)
    let new = Array((Self.coreDataXML + String(repeating: "<!-- new -->", count: 200_000)).utf8)
    var database = try exported(road, old, as: "store.xml")
    database.method = .vacuum
    let next = road.scratch.file("next.xml")
    try writeFile(next, new)
    var push = Push(road.world)
    push.takeFile = { [path = database.path] request, progress in
      try await takeFile(request) { state in
        try progress(state)
        // The application saves: a new file takes the name.
        if state.pagesDone < state.pagesTotal ?? 0 { rename(next, path) }
      }
    }
    let outcome = try await push.run(Push.Request(database: database, targets: [road.target]))
    let version = try #require(outcome.pushed.first).version
    #expect(access(next, F_OK) != 0, "it was replaced")
    #expect(try fileBytes(try await pull(road, version)) == new)
  }

  @Test func `what changes all the time is refused, and nothing is stored`() async throws {
    let road = try await Road()
    let database = try exported(road, [UInt8](repeating: 4, count: 100_000))
    let before = road.store.content
    var push = Push(road.world)
    push.takeFile = { [path = database.path] request, _ in
      var request = request
      request.attempts = 2
      return try await takeFile(request) { _ in
        let file = open(path, O_WRONLY | O_APPEND)
        write(file, "x", 1)
        close(file)
      }
    }
    let error = await #expect(throws: OperationError.self) {
      try await push.run(Push.Request(database: database, targets: [road.target]))
    }
    #expect(error?.kind == .sourceUnreadable && error?.code == "changedMeanwhile")
    #expect(road.store.content == before)
    #expect(road.files(in: "\(road.world.stateFolder)/spool").filter { $0 != "lock" }.isEmpty)
  }

  /// Two pushes of one file, to two repositories, go side by side.
  @Test func `what a push itself has open is open for nobody else`() async throws {
    let road = try await Road()
    let database = try exported(road, [UInt8](repeating: 4, count: 100_000))
    let file = try #require(FileIdentity(at: database.path))
    let isOpen = Locked<[Bool]>([])
    var push = Push(road.world)
    push.takeFile = { request, progress in
      try await takeFile(request) { state in
        isOpen.withLock { $0.append(ProcessTable.isOpenHere(file)) }
        try progress(state)
      }
    }
    #expect(try await push.run(Push.Request(database: database, targets: [road.target])).failures.isEmpty)
    #expect(isOpen.withLock { !$0.isEmpty && !$0.contains(true) })
    let held = try HeldLock(on: database.path)
    #expect(ProcessTable.isOpenHere(file) && held.stands)
  }

  @Test func `a database is never taken as a file`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 5), method: .file)
    let error = await #expect(throws: OperationError.self) { try await road.push(database) }
    #expect(error?.kind == .usage && error?.code == "plainDatabase")
  }

  @Test func `where locks may not hold it is said, for databases`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 5)
    for (kind, expected) in [(FileSystemKind.nfs, 1), (.fuse("sshfs"), 2), (.local("ext4"), 2), (.overlay, 2)] {
      var push = Push(road.world)
      push.fileSystem = { _ in kind }
      var request = Push.Request(database: DatabaseSource(name: "app", path: source), targets: [road.target])
      request.force = true
      #expect(try await push.run(request).failures.isEmpty)
      let said = road.notices.said.withLock { $0 }.filter { $0.contains("locks cannot be trusted") }
      #expect(said.count == expected)
      if let reason = kind.reason { #expect(said.last?.contains(reason) == true) }
    }
  }

  @Test func `where locks may not hold, tables are not restored by replacing the whole`() throws {
    let hints = [true, false].map { LockTrust.refusal(of: "/srv/app.db", on: .nfs, tables: $0)?.hint ?? "" }
    #expect(hints.map { $0.contains("--replace") } == [false, true] && hints[0].contains("copy the rows"))
    #expect(LockTrust.refusal(of: "/srv/app.db", on: .local("ext4"), tables: true) == nil)
  }

  @Test func `where a program locks by a folder it is said, and nothing is restored into it`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    try #require(mkdir(path + ".lock", 0o777) == 0)
    #expect(try await road.push(DatabaseSource(name: "app", path: path)).failures.isEmpty)
    #expect(road.notices.said.withLock { $0 }.filter { $0.contains(path + ".lock") }.count == 1)
    try SQLite.run("insert into t(body) values('more')", on: path)
    let before = try fileBytes(path)
    let restore = Restore(Pull(road.world))
    let request = Restore.Request(place: .file(path), mode: .live)
    let preview = try await restore.preview(.latest(database: "app"), from: road.target, request)
    let refused = await #expect(throws: OperationError.self) {
      try await restore.run(.latest(database: "app"), from: road.target, request)
    }
    #expect(refused?.code == "untrustedLocks" && preview.refusal?.code == "untrustedLocks")
    let tables = await #expect(throws: OperationError.self) {
      try await RestoreTables(Pull(road.world)).run(
        .latest(database: "app"), from: road.target, RestoreTables.Request(tables: ["t"], into: path))
    }
    #expect(tables?.code == "untrustedLocks" && tables?.hint?.contains("remove the empty folder") == true)
    #expect(try fileBytes(path) == before)
    try #require(rmdir(path + ".lock") == 0)
    _ = try await restore.run(.latest(database: "app"), from: road.target, request)
    #expect(try TestDatabase(path).number("select count(*) from t") == 5)
  }

  /// Such folders stand for an application's whole life.
  @Test func `a folder that is none of SQLite's is passed over while somebody has the -shm open`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    try #require(mkdir(path + ".lock", 0o777) == 0)
    let told = { road.notices.said.withLock { $0 }.filter { $0.contains(path + ".lock") } }
    let writer = try TestDatabase(path)
    _ = try writer.rows("pragma journal_mode=wal")
    try writer.run("insert into t(body) values('more')")
    #expect(try await road.push(DatabaseSource(name: "app", path: path)).failures.isEmpty)
    #expect(told().isEmpty)
    try writer.run("insert into t(body) values('and more')")
    let restore = Restore(Pull(road.world))
    var request = Restore.Request(place: .file(path), mode: .live)
    request.keepsUndo = false
    _ = try await restore.run(.latest(database: "app"), from: road.target, request)
    #expect(try writer.number("select count(*) from t") == 6)
    try writer.run("drop table t")
    _ = try await RestoreTables(Pull(road.world)).run(
      .latest(database: "app"), from: road.target, RestoreTables.Request(tables: ["t"], into: path))
    #expect(try writer.number("select count(*) from t") == 6)
    writer.close()
    let refused = await #expect(throws: OperationError.self) {
      try await restore.run(.latest(database: "app"), from: road.target, request)
    }
    #expect(refused?.code == "untrustedLocks")
    #expect(try await road.push(DatabaseSource(name: "app", path: path)).failures.isEmpty)
    #expect(told().count == 1)
  }

  @Test(.enabled(if: Reference.python != nil))
  func `another decoder restores it`() async throws {
    let reference = try Reference()
    let road = try await Road()
    var random = SeededRandom(6)
    let content = random.bytes(200_000)
    let version = try #require(try await road.push(exported(road, content)).pushed.first).version
    try reference.save(road.store, as: "written")
    try writeFile(reference.scratch.file("key"), [UInt8](repeating: 3, count: 64))
    let unseal = [
      "\(SourceTree.root)/Scripts/unseal.py", reference.scratch.file("written"), "--key-file",
      reference.scratch.file("key"),
    ]
    let out = reference.scratch.file("out")
    try await reference.python(unseal + ["restore", version.id, "-o", out])
    #expect(try fileBytes(out) == content)
  }
}
