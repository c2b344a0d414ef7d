import FoundationEssentials
import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// A dry run says of a restore what the restore would say of itself.
@Suite struct RestorePreviewTests {
  /// A version of 300 rows in pages of 4096 bytes, with a companion, and a database that is to take it.
  private struct Home {
    let road: Road
    let path: String
    let companion = [UInt8](repeating: 5, count: 70_000)

    init() async throws {
      road = try await Road()
      path = try road.database(rows: 300)
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("files/att")]
      try FileManager.default.createDirectory(
        atPath: road.scratch.file("files"), withIntermediateDirectories: false)
      try writeFile(road.scratch.file("files/att"), companion)
      #expect(try await road.push(source).failures.isEmpty)
    }

    func request(_ mode: Restore.Mode, _ place: Restore.Place) -> Restore.Request {
      Restore.Request(place: place, mode: mode)
    }

    func preview(_ mode: Restore.Mode, _ place: Restore.Place) async throws -> RestorePreview {
      try await Restore(Pull(road.world)).preview(
        .latest(database: "app"), from: road.target, request(mode, place))
    }

    /// What both say.
    func refusal(_ mode: Restore.Mode, _ place: Restore.Place) async throws -> OperationError {
      let said = try #require(try await preview(mode, place).refusal)
      let done = await #expect(throws: OperationError.self) {
        try await Restore(Pull(road.world)).run(.latest(database: "app"), from: road.target, request(mode, place))
      }
      #expect(said.code == done?.code && said.kind == done?.kind, "\(said) and \(String(describing: done))")
      return said
    }
  }

  @Test func `pages of another size, in WAL mode`() async throws {
    let home = try await Home()
    do {
      let database = try TestDatabase(home.path)
      try database.run("PRAGMA page_size=1024; VACUUM")
      _ = try database.rows("PRAGMA journal_mode=wal")
    }
    #expect(try await home.refusal(.live, .file(home.path)).code == "pageSize")
    _ = try TestDatabase(home.path).rows("PRAGMA journal_mode=delete")
    #expect(try await home.preview(.live, .file(home.path)).refusal == nil)
  }

  @Test func `what is empty, or no database`() async throws {
    let home = try await Home()
    let other = home.road.scratch.file("other.db")
    try writeFile(other, [])
    _ = try await home.refusal(.live, .file(other))
    try writeFile(other, [UInt8](repeating: 7, count: 8192))
    _ = try await home.refusal(.live, .file(other))
  }

  @Test func `a database that only another SQLite can read`() async throws {
    let home = try await Home()
    var bytes = try fileBytes(home.path)
    bytes.replaceSubrange(18..<20, with: [3, 3])
    try writeFile(home.path, bytes)
    let refused = try await home.refusal(.live, .file(home.path))
    #expect(refused.code == "otherFormat" && refused.hint?.contains("PRAGMA journal_mode=wal") == true)
    let tables = await #expect(throws: OperationError.self) {
      try await RestoreTables(Pull(home.road.world)).run(
        .latest(database: "app"), from: home.road.target, RestoreTables.Request(tables: ["t"], into: home.path))
    }
    #expect(tables?.code == "otherFormat")
    #expect(try fileBytes(home.path) == bytes)
  }

  @Test func `a folder that is not there`() async throws {
    let home = try await Home()
    let error = try await home.refusal(.new, .file(home.road.scratch.file("nowhere/new.db")))
    #expect(error.code == "noFolder" && error.kind == .usage)
  }

  @Test(arguments: [Restore.Mode.live, .replace])
  func `something else on the way to a companion`(mode: Restore.Mode) async throws {
    let home = try await Home()
    try FileManager.default.removeItem(atPath: home.road.scratch.file("files"))
    try writeFile(home.road.scratch.file("files"), [1])
    let before = try fileBytes(home.path)
    _ = try await home.refusal(mode, .home(home.path))
    #expect(try fileBytes(home.path) == before)
    #expect(home.road.files(in: home.road.scratch.path).allSatisfy { !$0.contains("before") })
  }

  @Test(arguments: ["proc", "proc/self"]) func `a companion that something is mounted on`(member: String) {
    let error = #expect(throws: OperationError.self) {
      try CompanionsPlace.demandWay(to: [(member: member, path: "/\(member)")], beside: "/app.db")
    }
    #expect(error?.code == "mountPoint" && error?.message.hasPrefix("/proc is") == true)
  }

  @Test func `of a live restore it is told what only the content of the version shows`() async throws {
    let home = try await Home()
    let live = try await home.preview(.live, .file(home.path))
    #expect(live.refusal == nil && live.doubt?.contains("text encoding") == true)
    #expect(try await home.preview(.replace, .file(home.path)).doubt == nil)
  }

  @Test func `room is counted by what is written before the old content goes`() async throws {
    let home = try await Home()
    let companion = home.companion.count
    let new = try await home.preview(.new, .file(home.road.scratch.file("new.db")))
    // Of each page where it goes and what proves it, of each block where it goes.
    let tables = 32 * new.version.size / 4096 + 16 * ((companion + 65_535) / 65_536)
    #expect(new.needed == new.version.size + companion + tables)
    var repacking = Pull(home.road.world)
    repacking.makeOver.vacuum = true
    let repacked = try await repacking.preview(
      .latest(database: "app"), from: home.road.target, to: home.road.scratch.file("new.db"))
    #expect(repacked.needed == 2 * new.version.size + companion + tables)
    let size = try fileBytes(home.path).count
    let live = try await home.preview(.live, .file(home.path))
    #expect(live.needed == max(size, live.version.size) + size + companion)
    _ = try TestDatabase(home.path).rows("PRAGMA journal_mode=wal")
    let wal = try await home.preview(.live, .file(home.path))
    #expect(wal.needed == wal.version.size + size + companion)
  }

  @Test func `a database that is repacked elsewhere needs room there, too`() async throws {
    let home = try await Home()
    let found = try await FoundVersion.find(
      .latest(database: "app"), at: home.road.target, home.road.world, expect: [])
    let (folder, size) = (try Scratch(), found.summary.size)
    try #require(chmod(folder.path, 0o770) == 0)
    let path = folder.file("new.db")
    let elsewhere = RestoreRoom.Need(folder: "/proc", bytes: size)
    for makeOver in [MakeOver(vacuum: true), MakeOver(journal: .wal), MakeOver()] {
      let room = RestoreRoom(found, beside: path, makeOver, state: "/proc")
      #expect(room.needs.contains(elsewhere) == makeOver.vacuum)
      // There, nothing is free.
      #expect((room.doubt?.hasPrefix("/proc has 0 MiB free") == true) == makeOver.vacuum)
      let preview = RestorePreview(found, newFile: path, makeOver, state: "/proc")
      #expect((preview.refusal?.code == "noSpace") == makeOver.vacuum, "\(String(describing: preview.refusal))")
    }
    #expect(chmod(folder.path, 0o700) == 0)
    #expect(RestoreRoom(found, beside: path, MakeOver(vacuum: true), state: "/proc").needs.count == 1)
  }

  @Test func `room that may be too little for companions is told, also before the fetch`() async throws {
    let home = try await Home()
    var preview = try await home.preview(.new, .file(home.road.scratch.file("new.db")))
    #expect(preview.refusal == nil && preview.doubt == nil)
    preview.free = preview.needed - 1
    #expect(preview.doubt?.contains("--no-companions") == true)
    preview.free = preview.needed
    #expect(preview.doubt == nil)
    // There, nothing is free.
    await #expect(throws: OperationError.self) {
      try await Pull(home.road.world).run(.latest(database: "app"), from: home.road.target, to: .file("/proc/new.db"))
    }
    #expect(home.road.notices.said.withLock { $0 }.contains { $0.contains("the companions may not fit") })
  }

  /// There, nothing is free.
  @Test func `a place without room`() async throws {
    let home = try await Home()
    let preview = try await home.preview(.new, .file("/proc/new.db"))
    #expect(preview.free == 0)
    #expect(["noSpace", "fileSystem"].contains(preview.refusal?.code))
  }

  @Test func `a folder that this user may not write in`() async {
    await #expect(processExitsWith: .success) {
      guard geteuid() != 0 || setuid(65534) == 0 else { exit(2) }
      do {
        try RestoredFile.demandWritable("/")
        exit(3)
      } catch {
        exit("\(error)".contains("cannot write in /: ") ? 0 : 4)
      }
    }
  }
}
