import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// Stores of Core Data: their external files come along without being asked for, and are looked after.
@Suite struct CoreDataTests {
  private func database(_ store: CoreDataSample) -> DatabaseSource { DatabaseSource(name: "app", path: store.path) }

  @Test(arguments: [DatabaseSource.Method.vacuum, .pages])
  func `a store goes the whole road, to another name`(method: DatabaseSource.Method) async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 6, history: true)
    var source = database(store)
    source.method = method
    let outcome = try await road.push(source)
    let beside = try #require(outcome.pushed.first?.beside)
    #expect(beside.externalFiles == 6 && beside.files == 6)
    #expect(beside.externalBytes == store.files.values.reduce(0) { $0 + $1.count })
    #expect(beside.store?.references == 6 && beside.store?.missing == 0 && beside.store?.orphaned == 0)

    let shown = try #require(try await ListVersions(road.world).show(.latest(database: nil), at: road.target).store)
    #expect(shown.uuid == CoreDataSample.uuid && shown.type == "SQLite" && shown.hasHistory)
    #expect(shown.identifiers == [CoreDataSample.identifier, ""])
    #expect(shown.hashes.first?.entity == "Photo")
    #expect(shown.hashes.first?.hash == Hexadecimal.text(CoreDataSample.hash) && shown.hashes.count == 2)
    #expect(shown.supportFolder == ".Journal_SUPPORT")

    let folder = try Scratch()
    let pulled = try await Pull(road.world).run(
      .latest(database: nil), from: road.target, to: .file(folder.file("Other.sqlite")))
    #expect(pulled.supportFolder == folder.file(".Other_SUPPORT") && pulled.companionsFolder == nil)
    #expect(try names(in: folder.path) == [".Other_SUPPORT", "Other.sqlite"])
    #expect(
      try FolderPicture(folder.file(".Other_SUPPORT")) == FolderPicture(store.supportFolder))
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("persistent history") })
    // Every row finds its file under the new name.
    for row in try TestDatabase(folder.file("Other.sqlite"), readOnly: true).rows(
      "SELECT CAST(substr(ZDATA, 2, 36) AS TEXT) FROM ZPHOTO WHERE ZTITLE = 'outside'")
    {
      let name = String(row[0].dropFirst(2))
      #expect(try fileBytes(folder.file(".Other_SUPPORT/_EXTERNAL_DATA/\(name)")) == store.files[name])
    }
    let again = await #expect(throws: OperationError.self) {
      try removeFile(folder.file("Other.sqlite"))
      return try await Pull(road.world).run(
        .latest(database: nil), from: road.target, to: .file(folder.file("Other.sqlite")))
    }
    #expect(again?.code == "destinationExists")
  }

  @Test func `a companion inside the support folder is in once, with its own exceptions`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    try writeFile("\(store.externalFolder)/leftover.tmp", [1])
    try writeFile("\(store.supportFolder)/beside", [2])
    var source = database(store)
    source.companions = [Companion(".Journal_SUPPORT/_EXTERNAL_DATA", exclude: ["*.tmp"])]
    let outcome = try await road.push(source)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    let folder = try Scratch()
    _ = try await Pull(road.world).run(
      .latest(database: nil), from: road.target, to: .file(folder.file("Journal.sqlite")))
    let external = try names(in: folder.file(".Journal_SUPPORT/_EXTERNAL_DATA"))
    #expect(external == store.files.keys.sorted())
    #expect(try fileBytes(folder.file(".Journal_SUPPORT/beside")) == [2])
  }

  @Test func `a database inside the support folder that is named by itself brings its -wal once`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 1)
    let index = try TestDatabase("\(store.supportFolder)/index.db")
    try index.run("pragma journal_mode=wal; pragma wal_autocheckpoint=0; create table a(v); insert into a values(1)")
    index.closeKeepingWal()
    try writeFile("\(store.supportFolder)/other-wal", [1])
    var source = database(store)
    source.companions = [Companion(".Journal_SUPPORT/index.db")]
    let outcome = try await road.push(source)
    #expect(outcome.failures.isEmpty && outcome.shortfalls.isEmpty, "\(outcome.failures)")
    let members = try await ListVersions(road.world).show(.latest(database: nil), at: road.target).members.map(\.path)
    for name in ["index.db", "index.db-wal", "other-wal"] {
      #expect(members.count { $0 == ".Journal_SUPPORT/\(name)" } == 1, "\(name): \(members)")
    }
  }

  @Test func `missing and orphaned files are counted and named`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 3)
    let lost = try #require(store.files.keys.sorted().first)
    try removeFile("\(store.externalFolder)/\(lost)")
    let stray = "0A0B0C0D-0000-4000-8000-00000000000F"
    try writeFile("\(store.externalFolder)/\(stray)", [1])
    try writeFile("\(store.externalFolder)/no-uuid", [1])
    let facts = try #require(try await road.push(database(store)).pushed.first?.beside?.store)
    #expect(facts.missing == 1 && facts.missingNames == [lost])
    #expect(facts.orphaned == 1 && facts.orphanedNames == [stray])
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("1 of 3 external files") && $0.contains(lost) })
    #expect(try await ListVersions(road.world).show(.latest(database: nil), at: road.target).store == facts)
  }

  @Test func `external data can be left out, and all of it can be missing`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    var source = database(store)
    source.externalData = false
    let out = try #require(try await road.push(source).pushed.first?.beside)
    #expect(out.files == 0 && out.store?.missing == 0 && out.store?.references == 2 && out.store?.supportFolder == nil)
    source.externalData = true
    try removeFile(store.supportFolder)
    try SQLite.run("INSERT INTO Z_MODELCACHE VALUES (x'00')", on: store.path)
    let outcome = try await road.push(source)
    let none = try #require(outcome.pushed.first?.beside)
    #expect(none.store?.missing == 2 && none.store?.supportFolder == nil)
    #expect(outcome.shortfalls.map(\.code) == ["externalDataMissing"])
    #expect(outcome.shortfalls[0].hint?.contains("externalData") == true)
    // Told until it is back.
    let again = try await road.push(source)
    #expect(again.shortfalls.map(\.code) == ["externalDataMissing"])
  }

  /// A disk that is dying, or whose server lets nobody in any more, may still tell the names.
  @Test(arguments: [1, 2]) func `external files that are listed and cannot be read are missing`(
    failing: Int
  ) async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    #expect(try await road.push(database(store)).shortfalls.isEmpty)
    // Else it may be known as pushed before anything is read.
    try SQLite.run("INSERT INTO Z_MODELCACHE VALUES (x'01')", on: store.path)
    let lost = Array(store.files.keys.sorted().prefix(failing))
    var push = Push(road.world)
    push.companionHooks.failing = { path in lost.contains { path.hasSuffix("/\($0)") } ? EIO : 0 }
    let outcome = try await push.run(Push.Request(database: database(store), targets: [road.target]))
    let pushed = try #require(outcome.pushed.first)
    #expect(pushed.beside?.store?.missing == failing && pushed.beside?.store?.missingNames.sorted() == lost)
    #expect(pushed.version.lacksCompanions == (failing == 2))
    #expect(Set(outcome.shortfalls.map(\.code)) == ["externalDataMissing", "companionUnreadable"])
  }

  @Test func `external files that could not be read for one target are missing there alone, and told`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    let mirror = TargetAccess(name: "mirror", store: MemoryStore(), unlock: road.target.unlock)
    _ = try await Initialize(road.world).run(at: mirror, ifMissing: false)
    var push = Push(road.world)
    push.companionHooks.failing = failingOnce()
    let outcome = try await push.run(Push.Request(database: database(store), targets: [road.target, mirror]))
    #expect(outcome.pushed.map { $0.beside?.store?.missing } == [1, 0])
    let said = road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("1 of 2 external files that its rows refer to are not in the version") })
  }

  @Test func `external files that could be read at another attempt are there`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    var source = database(store)
    source.companions = [Companion("big")]
    try road.writeDear("big", again: false)
    #expect(try await road.push(source).shortfalls.isEmpty)
    try road.writeDear("big", again: true)
    let attempts = Locked(0)
    var push = Push(road.world)
    push.companionHooks.opened = { path in if path == "big" { attempts.withLock { $0 += 1 } } }
    push.companionHooks.failing = failingOnce()
    let outcome = try await push.run(Push.Request(database: source, targets: [road.target]))
    try #require(attempts.withLock { $0 } > 1)
    let pushed = try #require(outcome.pushed.first)
    #expect(outcome.shortfalls.isEmpty && pushed.beside?.store?.missing == 0)
    let shown = try await ListVersions(road.world).show(.latest(database: nil), at: road.target)
    #expect(shown.store?.missing == 0 && shown.capture?.events.isEmpty != false)
    #expect(!road.notices.said.withLock { $0.contains { $0.contains("not in the version") } })
  }

  @Test func `versions without external files that are gone for good let earlier ones go`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    var request = Push.Request(database: database(store), targets: [road.target])
    func push() async throws -> VersionSummary {
      try #require(try await Push(road.world).run(request).pushed.first).version
    }
    let first = try await push()
    func refusals() async throws -> [OperationError] {
      try await ForgetVersions(road.world).plan(.init(.versions([.id(prefix: first.id)])), at: road.target).refusals
    }
    try removeFile(store.supportFolder)
    try SQLite.run("INSERT INTO Z_MODELCACHE VALUES (x'00')", on: store.path)
    #expect(try await push().lacksCompanions == true)
    let told = try await refusals()
    #expect(told.map(\.code) == ["newestVersion"] && told.first?.hint?.contains("\"externalData\": false") == true)
    request.database.externalData = false
    request.note = "without"
    #expect(try await push().lacksCompanions == false)
    #expect(try await refusals().isEmpty)
  }

  // MARK: More than a version can hold

  private func push(_ road: Road, _ source: DatabaseSource, mostBytes: Int) async throws -> Push.Outcome {
    var push = Push(road.world)
    push.companionHooks.mostBytes = mostBytes
    return try await push.run(Push.Request(database: source, targets: [road.target]))
  }

  /// It was small enough yesterday.
  @Test func `of a store with more external files than a version can hold the rows are pushed`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 3)
    var source = database(store)
    for _ in 1...2 {
      let outcome = try await push(road, source, mostBytes: 100)
      #expect(outcome.shortfalls.map(\.code) == ["externalDataTooMany"] && outcome.failures.isEmpty)
      #expect(outcome.shortfalls.first?.hint?.contains("\"externalData\": false") == true)
      let pushed = try #require(outcome.pushed.first)
      #expect(pushed.version.lacksCompanions == true)
      #expect(pushed.beside?.files == 0 && pushed.beside?.store?.missing == 3)
    }
    let members = try await ListVersions(road.world).show(.latest(database: nil), at: road.target).members
    #expect(members.map(\.path) == ["Journal.sqlite"])
    source.externalData = false
    #expect(try await push(road, source, mostBytes: 100).shortfalls.isEmpty)
  }

  @Test(arguments: [1, 2]) func `it is said while few more external files fit, and not before`(
    times: Int
  ) async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 3)
    let folders = [".Journal_SUPPORT", ".Journal_SUPPORT/_EXTERNAL_DATA"]
    let said = (folders + store.files.keys.map { "\(folders[1])/\($0)" }).reduce(0) { $0 + $1.utf8.count + 160 }
    let outcome = try await push(road, database(store), mostBytes: times * said)
    #expect(outcome.shortfalls.isEmpty && outcome.pushed.first?.beside?.externalFiles == 3)
    let notices = road.notices.said.withLock { $0 }
    #expect(notices.contains { $0.contains("more than four fifths") && $0.contains("external files") } == (times == 1))
  }

  @Test func `a support folder that is asked for, and more than a version can hold, is refused at once`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 3)
    var source = database(store)
    source.companions = [Companion(".Journal_SUPPORT")]
    let before = road.store.content.count
    let asked = source
    let error = await #expect(throws: OperationError.self) {
      _ = try await push(road, asked, mostBytes: 100)
    }
    #expect(error?.kind == .failed && error?.code == "tooManyCompanions")
    #expect(error?.hint?.contains("\"externalData\": false") == true)
    #expect(road.store.content.count == before)
  }

  @Test func `of rows that are restored alone it is told what does not come along`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    #expect(try await road.push(database(store)).failures.isEmpty)
    let other = road.scratch.file("other.db")
    try SQLite.run("CREATE TABLE mine(a)", on: other)
    let done = try await RestoreTables(Pull(road.world)).run(
      .latest(database: nil), from: road.target, RestoreTables.Request(tables: ["ZPHOTO"], into: other))
    let (told, way) = (road.notices.said.withLock { $0 }, "`sealift pull \(done.version.id.prefix(12)) -o FILE`")
    #expect(told.contains { $0.contains("2 companion files") && $0.contains(way) }, "\(told)")
    #expect(told.contains { $0.contains("rows of the version have 2 references to external files") }, "\(told)")
  }

  /// The first photo is saved while the push waits for the database.
  @Test func `external files that come to be while a push waits are in`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 1)
    let elsewhere = road.scratch.file("elsewhere")
    try #require(rename(store.supportFolder, elsewhere) == 0)
    var push = Push(road.world)
    push.companionHooks.listed = { [folder = store.supportFolder] in rename(elsewhere, folder) }
    let outcome = try await push.run(Push.Request(database: database(store), targets: [road.target]))
    let beside = try #require(outcome.pushed.first?.beside)
    #expect(outcome.shortfalls.isEmpty && beside.store?.missing == 0 && beside.externalFiles == 1)
    #expect(beside.store?.supportFolder == ".Journal_SUPPORT")
  }

  @Test func `more external files missing than before is a shortfall, as many as before is not`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 4)
    func push(without file: Int?) async throws -> [OperationError] {
      if let file { try removeFile("\(store.externalFolder)/\(store.files.keys.sorted()[file])") }
      try SQLite.run("INSERT INTO Z_MODELCACHE VALUES (x'00')", on: store.path)
      return try await road.push(database(store)).shortfalls
    }
    #expect(try await push(without: 0).isEmpty)
    let more = try await push(without: 1)
    #expect(more.map(\.code) == ["externalDataMissing"])
    // The others must not be left out because of it.
    #expect(more[0].hint?.contains("externalData") == false)
    #expect(try await push(without: nil).isEmpty)
  }

  @Test func `a support folder that is a link is kept as what it leads to`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    rename(store.supportFolder, road.scratch.file("elsewhere"))
    symlink(road.scratch.file("elsewhere"), store.supportFolder)
    let outcome = try await road.push(database(store))
    #expect(outcome.shortfalls.isEmpty && outcome.pushed.first?.beside?.store?.missing == 0)
    let folder = try Scratch()
    _ = try await Pull(road.world).run(
      .latest(database: nil), from: road.target, to: .file(folder.file("Journal.sqlite")))
    #expect(try names(in: folder.file(".Journal_SUPPORT/_EXTERNAL_DATA")) == store.files.keys.sorted())
  }

  @Test func `a folder of that name beside any other database stays where it is`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 3)
    try FileManager.default.createDirectory(
      atPath: road.scratch.file(".app_SUPPORT"), withIntermediateDirectories: true)
    let beside = try #require(try await road.push(DatabaseSource(name: "app", path: path)).pushed.first?.beside)
    #expect(beside.files == 0 && beside.store == nil)
    #expect(try await ListVersions(road.world).show(.latest(database: nil), at: road.target).members.count == 1)
  }

  /// Too deep a folder is one of the things that cannot be kept, whoever asks.
  @Test func `what cannot be read in such a folder is no shortfall of that database`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 3)
    let deep = road.scratch.file(".app_SUPPORT") + String(repeating: "/d", count: 120)
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    var source = DatabaseSource(name: "app", path: path)
    let outcome = try await road.push(source)
    #expect(outcome.shortfalls.isEmpty && outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    // A companion is asked for, wherever it is.
    source.companions = [Companion(".app_SUPPORT/gone")]
    try SQLite.run("insert into t(body) values('more')", on: path)
    let events = try await road.push(source).pushed.first?.beside?.capture.events
    #expect(events == [.init(what: "missing", count: 1, paths: [".app_SUPPORT/gone"])])
  }

  @Test func `a store comes back to its place, its folder under the name that belongs to it`() async throws {
    let road = try await Road()
    let store = try CoreDataSample(road.scratch.file("Journal.sqlite"), external: 2)
    _ = try await road.push(database(store))
    let lookup = try await VersionLookup(at: road.target, road.world)
    let manifest = try await lookup.manifest(of: lookup.find(.latest(database: nil)))
    let reader = try await VersionReader(manifest, repository: lookup.repository, state: lookup.state)
    let staged = try #require(
      try await StagedCompanions.restore(reader, beside: road.scratch.file("New.sqlite"), onProgress: { _ in }))
    let placed = try CompanionsPlace(staged, beside: road.scratch.file("New.sqlite")).put(replacing: false, time: "T")
    #expect(placed.made == [road.scratch.file(".New_SUPPORT")] && placed.movedAside.isEmpty)
    #expect(try FolderPicture(road.scratch.file(".New_SUPPORT")) == FolderPicture(store.supportFolder))
  }

  @Test(arguments: [
    ("/a/Model.sqlite", ".Model_SUPPORT"), ("Model", ".Model_SUPPORT"), ("a.b.db", ".a.b_SUPPORT"),
    (".hidden", "..hidden_SUPPORT"), ("dot.", ".dot._SUPPORT"),
  ]) func `the folder is named after the store without its extension`(store: String, folder: String) {
    #expect(SupportFolder.name(of: store) == folder)
  }
}
