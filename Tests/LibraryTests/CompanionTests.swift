import FoundationEssentials
import Glibc
import Sealift
import TestKit
import Testing

/// What an application keeps beside its database, and files that are no databases, through the library alone.
@Suite struct CompanionTests {
  let bench: Bench
  init() throws {
    bench = try Bench()
    try bench.makeDatabase(journal: "wal")
    for folder in ["uploads", "uploads/cache"] { mkdir(bench.scratch.file(folder), 0o700) }
    try write("a picture", to: "uploads/picture.png")
    try write("half", to: "uploads/new.tmp")
    try write("again", to: "uploads/cache/thumbnail")
    try write("{}", to: "config.json")
  }

  private func write(_ text: String, to name: String) throws {
    try Array(text.utf8).withUnsafeBytes { bytes in
      let file = open(bench.scratch.file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
      try #require(file >= 0)
      defer { close(file) }
      #expect(Glibc.write(file, bytes.baseAddress, bytes.count) == bytes.count)
    }
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
  }

  private var app: Repository.Database {
    var app = Repository.Database.database(named: "app", at: bench.database)
    app.companions = ["config.json", .path("uploads", excluding: ["*.tmp", "cache"])]
    return app
  }

  private func refusal(of database: Repository.Database, _ repository: Repository) async -> SealiftError? {
    do {
      try await repository.push(database)
      return nil
    } catch { return error as? SealiftError }
  }

  @Test func `companions come back in a folder beside what is pulled`() async throws {
    let repository = try await bench.makeRepository()
    let pushed = try await repository.push(app)
    #expect(pushed.shortfalls.isEmpty)
    let pulled = try await repository.pull(pushed.version.id, to: bench.scratch.file("new.db"))
    let folder = try #require(pulled.companionsFolder)
    #expect(folder == bench.scratch.file("new.db.companions") && pulled.supportFolder == nil)
    #expect(allFiles(in: folder).sorted() == ["config.json", "uploads/picture.png"])
    #expect(try text("\(folder)/uploads/picture.png") == "a picture")
    var status = stat()
    #expect(stat("\(folder)/config.json", &status) == 0 && status.st_mode & 0o777 == 0o640)
  }

  /// Closing a file drops all locks that its process has on it (sqlite.org/howtocorrupt.html, 2.2).
  @Test func `another name of the database among the companions takes no lock away`() async throws {
    let path = bench.scratch.file("locked.db")
    try Bench.makeDatabase(at: path, rows: 20)
    try #require(link(path, bench.scratch.file("uploads/copy.db")) == 0)
    var locked = Repository.Database.database(named: "locked", at: path)
    locked.companions = ["uploads"]
    let repository = try await bench.makeRepository()
    let own = try TestDatabase(path)
    try own.run("BEGIN IMMEDIATE")
    let pushed = try await repository.push(locked)
    let other = try await Child.run(["sqlite3", path, "BEGIN IMMEDIATE"])
    #expect(!other.isSuccess && other.error.contains("locked"))
    let pulled = try await repository.pull(pushed.version.id, to: bench.scratch.file("new.db"))
    let found = allFiles(in: try #require(pulled.companionsFolder)).sorted()
    #expect(found == ["uploads/cache/thumbnail", "uploads/new.tmp", "uploads/picture.png"])
  }

  @Test func `progress never goes beyond its total`() async throws {
    try write(String(repeating: "large", count: 1_000_000), to: "uploads/large")
    let repository = try await bench.makeRepository()
    let told = Told<Repository.Progress>()
    try await repository.push(app) { told.append($0) }
    let all = told.values
    #expect(all.contains { $0.bytesTotal == nil && $0.bytesDone > 5_000_000 })
    #expect(all.allSatisfy { $0.bytesDone <= $0.bytesTotal ?? .max })
  }

  @Test func `companions can be left out, and what stands there stays`() async throws {
    let remarks = Told<String>()
    var options = Repository.Options()
    options.onRemark = { remarks.append($0) }
    let repository = try await bench.makeRepository(options)
    let version = try await repository.push(app).version
    let pulled = try await repository.pull(version.id, to: bench.scratch.file("new.db"), companions: false)
    #expect(pulled.companionsFolder == nil && allFiles(in: bench.scratch.file("new.db.companions")).isEmpty)
    mkdir(bench.database + ".companions", 0o700)
    try write("mine", to: "app.db.companions/mine")
    let restored = try await repository.restore(version.id, live: bench.database, companions: false)
    #expect(restored.movedAside.isEmpty && restored.companionsFolder == nil)
    #expect(allFiles(in: bench.database + ".companions") == ["mine"])
    #expect(remarks.values.count { $0.contains("left out as asked") } == 2)
  }

  @Test func `a live restore says where they are, and where those before them went`() async throws {
    let repository = try await bench.makeRepository()
    let first = try await repository.push(app).version
    let once = try await repository.restore(first.id, live: bench.database)
    #expect(once.movedAside.isEmpty && once.companionsFolder == bench.database + ".companions")
    let again = try await repository.restore(first.id, live: bench.database)
    let moved = try #require(again.movedAside.first)
    #expect(again.movedAside.count == 1 && moved.from == bench.database + ".companions")
    #expect(moved.to.hasPrefix(moved.from + ".before-"))
    #expect(allFiles(in: moved.to).sorted() == ["config.json", "uploads/picture.png"])
  }

  @Test func `a live restore tells of its two stages`() async throws {
    let repository = try await bench.makeRepository()
    let version = try await repository.push(app).version
    let told = Told<Repository.Progress>()
    try await repository.restore(version.id, live: bench.database) { told.append($0) }
    #expect(told.values.contains { $0.stage == .keeping })
    #expect(told.values.last { $0.stage == .restoring }.map { ($0.bytesTotal ?? 0) >= version.size } == true)
  }

  @Test(arguments: ["..", "../elsewhere", "app.db", "app.db-wal", ""])
  func `companions that make no sense are refused`(path: String) async throws {
    let repository = try await bench.makeRepository()
    var app = app
    app.companions = [.path(path)]
    let error = await refusal(of: app, repository)
    #expect(error?.kind == .usage && error?.code == "badCompanions")
  }

  @Test func `a file that is no database is kept as it is`() async throws {
    try write("no database at all", to: "export.enc")
    let repository = try await bench.makeRepository()
    let export = Repository.Database.file(named: "export", at: bench.scratch.file("export.enc"))
    let pushed = try await repository.push(export)
    #expect(pushed.version.method == "file")
    let pulled = try await repository.pull("export:latest", to: bench.scratch.file("back.enc"))
    #expect(try text(pulled.path) == "no database at all")

    var (copied, limited, impatient) = (export, export, export)
    copied.method = .pages
    limited.maxWALGrowth = 1 << 20
    impatient.busy = .fail
    for confused in [copied, limited, impatient] {
      #expect(await refusal(of: confused, repository)?.code == "notForFiles")
    }
  }

  /// As an application has it that uses SQLCipher: to read the file and close it again would take its locks away.
  @Test func `a file that this process has open is not taken, and keeps its locks`() async throws {
    try write("no database at all", to: "export.enc")
    let repository = try await bench.makeRepository()
    let export = Repository.Database.file(named: "export", at: bench.scratch.file("export.enc"))
    var held: HeldLock? = try HeldLock(on: export.path)
    let error = await refusal(of: export, repository)
    #expect(error?.kind == .sourceUnreadable && error?.code == "openHere")
    #expect(held?.stands == true)
    held = nil
    #expect(try await repository.push(export).isNew)
  }
}
