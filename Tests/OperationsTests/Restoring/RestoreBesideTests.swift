import FoundationEssentials
import Glibc
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// What comes with a database goes back to where its application looks for it.
@Suite struct RestoreBesideTests {
  private struct Home {
    let road: Road
    let path: String
    var restore: Restore

    /// A database with a folder of attachments is pushed; then both change.
    init() async throws {
      road = try await Road()
      path = try road.database(rows: 40)
      restore = Restore(Pull(road.world))
      try write("pushed")
      var source = DatabaseSource(name: "app", path: path)
      source.companions = [Companion("att")]
      try writeFile(road.scratch.file("att/b"), [2])
      for name in ["a", "b"] { chmod(road.scratch.file("att/\(name)"), 0o600) }
      _ = try await road.push(source)
      try await road.change(path)
      try write("changed since")
    }

    func write(_ text: String) throws {
      try FileManager.default.createDirectory(atPath: road.scratch.file("att"), withIntermediateDirectories: true)
      try writeFile(road.scratch.file("att/a"), Array(text.utf8))
    }

    func attached(_ folder: String = "att") throws -> String {
      String(decoding: try fileBytes(road.scratch.file("\(folder)/a")), as: UTF8.self)
    }

    func run(_ mode: Restore.Mode, _ place: Restore.Place? = nil) async throws -> Restore.Outcome {
      let place = place ?? .origin(["app": path])
      return try await restore.run(.latest(database: "app"), from: road.target, request(mode, place))
    }

    func request(_ mode: Restore.Mode, _ place: Restore.Place) -> Restore.Request {
      var request = Restore.Request(place: place, mode: mode)
      request.configured = ["app": path]
      return request
    }
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `it takes the place of what is there, and the undo puts that back`(
    mode: Restore.Mode
  ) async throws {
    let home = try await Home()
    let before = try fileBytes(home.path)
    let outcome = try await home.run(mode)
    #expect(outcome.companions == [home.road.scratch.file("att")])
    #expect(try home.attached() == "pushed")
    let aside = try #require(outcome.moved.first { $0.from == home.road.scratch.file("att") }?.to)
    #expect(String(decoding: try fileBytes("\(aside)/a"), as: UTF8.self) == "changed since")
    // An application has written to it meanwhile; and whoever is not sure does the undo twice.
    try home.write("written after the restore")
    let undo = try #require(outcome.undo)
    for _ in 1...2 { _ = system(undo) }
    #expect(try home.attached() == "changed since")
    let undone = try #require(home.road.files(in: home.road.scratch.path).first { $0.hasPrefix("att.undone-") })
    #expect(try home.attached(undone) == "written after the restore")
    if mode == .replace { #expect(try fileBytes(home.path) == before) }
  }

  private struct Owner: Equatable {
    let user: uid_t
    let group: gid_t
    let mode: mode_t

    init(_ path: String) throws {
      var status = stat()
      try #require(lstat(path, &status) == 0)
      (user, group, mode) = (status.st_uid, status.st_gid, status.st_mode & 0o777)
    }
  }

  /// A group that is not the one in which files are made here: any for root, else another one of this user, if there is.
  private static var otherGroup: gid_t {
    guard geteuid() != 0 else { return 65533 }
    var groups = [gid_t](repeating: 0, count: 256)
    let count = getgroups(Int32(groups.count), &groups)
    return groups.prefix(Int(max(0, count))).first { $0 != getegid() } ?? getegid()
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `what comes with a database belongs to whom the old one did`(mode: Restore.Mode) async throws {
    let home = try await Home()
    let (user, group) = (geteuid() == 0 ? 65534 : geteuid(), Self.otherGroup)
    let file = home.road.scratch.file("att/a")
    for path in [home.path, file] { try #require(chown(path, user, group) == 0 && chmod(path, 0o640) == 0) }
    let folder = try Owner(home.road.scratch.file("att"))
    // It is in the version, and not there any more: it gets the owner of the database. The folder keeps its own.
    try removeFile(home.road.scratch.file("att/b"))
    _ = try await home.run(mode)
    let found = try [home.path, file, home.road.scratch.file("att/b")].map { try Owner($0) }
    #expect(found.allSatisfy { $0.user == user && $0.group == group })
    #expect(found.map(\.mode) == [0o640, 0o600, 0o600])
    let now = try Owner(home.road.scratch.file("att"))
    #expect(now.user == folder.user && now.group == folder.group)
  }

  @Test func `all that goes apart belongs to whom the database does`() async throws {
    let home = try await Home()
    let (user, group) = (geteuid() == 0 ? 65534 : geteuid(), Self.otherGroup)
    let staging = home.road.scratch.file("staging.db")
    _ = try await home.run(.new, .file(staging))
    try FileManager.default.removeItem(atPath: staging + ".companions")
    try #require(chown(staging, user, group) == 0)
    _ = try await home.run(.replace, .file(staging))
    for path in ["", ".companions", ".companions/att", ".companions/att/a"] {
      let found = try Owner(staging + path)
      #expect(found.user == user && found.group == group, "\(path)")
    }
  }

  /// What stands there says whose it is; the new database has to be handed over.
  @Test(.enabled(if: geteuid() == 0))
  func `where only the database is lost, what comes with it keeps its owner, and root is told`() async throws {
    let home = try await Home()
    let folder = home.road.scratch.file("theirs")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let (path, place) = ("\(folder)/app.db", Restore.Place.origin(["app": "\(folder)/app.db"]))
    _ = try await home.run(.new, place)
    for name in ["", "/att", "/att/a"] { try #require(chown(folder + name, 65534, 65533) == 0) }
    for lost in [path, "\(folder)/att/b"] { try removeFile(lost) }
    _ = try await home.run(.replace, place)
    for name in ["att", "att/a", "att/b"] {
      let found = try Owner("\(folder)/\(name)")
      #expect(found.user == 65534 && found.group == 65533, "\(name)")
    }
    let told = home.road.notices.said.withLock { $0.filter { $0.contains("belongs to root") } }
    #expect(told.count == 1 && told.first?.contains("`chown -h 65534:65533 '\(path)'`") == true, "\(told)")
  }

  /// Run by root, where root is told that it may not.
  @Test(.enabled(if: geteuid() == 0))
  func `where a group cannot be kept, its access is taken away`() async {
    await #expect(processExitsWith: .success) {
      guard setgroups(0, nil) == 0, setgid(65534) == 0, setuid(65534) == 0 else { exit(9) }
      // The root of all is root's: so is what would stand in it.
      let owners = MemberOwners(of: [("att", "/nowhere/att")], database: "/")
      let path = "/tmp/sealift-test-owners-\(getpid())"
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
      unlink(path)
      guard descriptor >= 0, owners.give("att/a", descriptor) == 0o707, owners.remarks.count == 2 else { exit(7) }
    }
  }

  /// As where a server of files takes root for nobody.
  @Test(.enabled(if: geteuid() == 0))
  func `where root cannot give a file away, its owner is told, and nobody is told to be root`() async {
    await #expect(processExitsWith: .success) {
      let path = "/tmp/sealift-test-owners-\(getpid())"
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
      unlink(path)
      guard descriptor >= 0, fchown(descriptor, 65534, 65534) == 0 else { exit(9) }
      guard FailingCalls.fail(.giveAway, with: EPERM) else { fatalError("this kernel takes no filters") }
      let owners = MemberOwners(of: [("att", "/nowhere/att")], database: "/")
      guard owners.give("att/a", descriptor) == 0o707, owners.remarks.count == 2 else { exit(7) }
      let database = FileLikeness(of: "/")?.give(to: descriptor) ?? []
      for told in [owners.remarks.last, database.last] {
        guard let told, told.contains("to user 65534 now"), !told.contains("run as root") else { exit(8) }
      }
    }
  }

  /// It would be another user's outside of it.
  @Test(.enabled(if: geteuid() == 0))
  func `nothing is given to whom a container does not know`() throws {
    let scratch = try Scratch()
    let database = scratch.file("app.db")
    try writeFile(database, [7])
    #expect(chmod(database, 0o660) == 0 && chown(database, 65534, 65534) == 0)
    let container = UserNamespace(users: "0 0 1", groups: "0 0 1")
    let descriptor = open(scratch.file("new"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let owners = MemberOwners(of: [("att", "/nowhere/att")], database: database, namespace: container)
    #expect(owners.give("att/a", descriptor) == 0o707)
    owners.giveOwnerOfDatabase(descriptor)
    let likeness = try #require(FileLikeness(of: database))
    let told = likeness.give(to: descriptor, namespace: container)
    var status = stat()
    #expect(fstat(descriptor, &status) == 0 && status.st_uid == 0 && status.st_gid == getegid())
    #expect(status.st_mode & 0o777 == 0o600)
    for remarks in [owners.remarks, told] {
      #expect(remarks.count == 2 && remarks.last?.hasSuffix("is not known in this container") == true, "\(remarks)")
    }
  }

  /// Who has that number himself has made the new file, and it shows the same.
  @Test func `who has the number of all strangers in a container keeps what is his own`() throws {
    let scratch = try Scratch()
    let database = scratch.file("app.db")
    try writeFile(database, [7])
    let container = UserNamespace(users: "0 0 1", groups: nil, unknownUser: "\(geteuid())")
    let descriptor = open(scratch.file("new"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let owners = MemberOwners(of: [("att", "/nowhere/att")], database: database, namespace: container)
    #expect(owners.give("att/a", descriptor) == 0o777 && owners.remarks.isEmpty, "\(owners.remarks)")
    let told = try #require(FileLikeness(of: database)).give(to: descriptor, namespace: container)
    #expect(told.isEmpty, "\(told)")
  }

  @Test func `a live restore that is given up leaves what comes with the old rows`() async throws {
    let home = try await Home()
    let writer = try TestDatabase(home.path)
    try writer.run("BEGIN IMMEDIATE")
    let error = await #expect(throws: OperationError.self) {
      var request = Restore.Request(place: .origin(["app": home.path]), mode: .live)
      request.busyTimeout = .milliseconds(300)
      return try await home.restore.run(.latest(database: "app"), from: home.road.target, request)
    }
    #expect(error != nil)
    #expect(try home.attached() == "changed since")
    #expect(
      home.road.files(in: home.road.scratch.path).allSatisfy { !$0.contains(".before-") && !$0.contains(".sealift") })
  }

  private struct Stop: Error {}

  /// An error that says nothing of what became of the transaction.
  @Test(arguments: [Restore.LiveMoment.writing, .moved])
  func `a live restore that fails before its commit leaves the old files with the old rows`(
    last: Restore.LiveMoment
  ) async throws {
    var home = try await Home()
    let rows = try TestDatabase(home.path).dump()
    let (before, attachment) = (Locked<[String]>([]), home.road.scratch.file("att/a"))
    home.restore.onLive = { moment in
      before.withLock { $0.append(String(decoding: (try? fileBytes(attachment)) ?? [], as: UTF8.self)) }
      if moment == last { throw Stop() }
    }
    _ = await #expect(throws: (any Error).self) { try await home.run(.live) }
    // Not before the last page.
    #expect(before.withLock { $0 } == (last == .writing ? ["changed since"] : ["changed since", "pushed"]))
    #expect(try home.attached() == "changed since" && TestDatabase(home.path).dump() == rows)
    let names = home.road.files(in: home.road.scratch.path)
    #expect(names.allSatisfy { !$0.contains(".before-") && !$0.contains(".sealift") }, "\(names)")
  }

  @Test func `where the old content could not be rolled back its copy stays, and is named`() async throws {
    var home = try await Home()
    home.restore.onLive = { moment in
      if moment == .writing { throw SnapshotError(.notRolledBack, "the disk failed") }
    }
    let rows = try TestDatabase(home.path).dump()
    let error = await #expect(throws: OperationError.self) { try await home.run(.live) }
    let copy = try #require(home.road.files(in: home.road.scratch.path).first { $0.contains(".before-") })
    #expect(error?.code == "notRolledBack" && error?.message.contains(copy) == true)
    #expect(try TestDatabase(home.road.scratch.file(copy)).dump() == rows)
    #expect(try home.attached() == "changed since")
  }

  @Test func `killed at the commit: the next restore says where the old files are`() async throws {
    var home = try await Home()
    let frozen = try Scratch()
    let (folder, copy) = (home.road.scratch.path, frozen.path)
    home.restore.onLive = { moment in
      guard moment == .moved else { return }
      // As it would be found after a kill.
      for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "state" {
        try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(copy)/\(name)")
      }
    }
    let outcome = try await home.run(.live)
    #expect(!home.road.files(in: folder).contains { $0.contains(".sealift") })
    let aside = try #require(outcome.moved.first?.to.dropFirst(folder.utf8.count))
    let undo = try #require(outcome.undoCopy?.dropFirst(folder.utf8.count))
    #expect(String(decoding: try fileBytes(copy + aside + "/a"), as: UTF8.self) == "changed since")

    var world = home.road.world
    world.now = { UInt64(time(nil) + 60) * 1000 }
    let again = Restore(Pull(world))
    let request = Restore.Request(place: .home(frozen.file("app.db")), mode: .live)
    let second = try await again.run(.latest(database: "app"), from: home.road.target, request)
    let said = home.road.notices.said.withLock { $0 }.filter { $0.contains("did not end") }
    #expect(said.count == 1 && said[0].contains(copy + aside) && said[0].contains(copy + undo), "\(said)")
    #expect(second.moved.first?.to != copy + aside)
    #expect(String(decoding: try fileBytes(copy + aside + "/a"), as: UTF8.self) == "changed since")
    #expect(!home.road.files(in: copy).contains { $0.contains(".sealift") })
  }

  @Test func `killed at the commit: a push says that files and rows may be of two versions`() async throws {
    var home = try await Home()
    let frozen = try Scratch()
    let (folder, copy) = (home.road.scratch.path, frozen.path)
    home.restore.onLive = { moment in
      guard moment == .moved else { return }
      for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "state" {
        try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(copy)/\(name)")
      }
    }
    let outcome = try await home.run(.live)
    let aside = try #require(outcome.moved.first?.to.dropFirst(folder.utf8.count))
    var source = DatabaseSource(name: "app", path: frozen.file("app.db"), allowRecovery: true)
    source.companions = [Companion("att")]
    for _ in 1...2 {
      let pushed = try await home.road.push(source)
      #expect(pushed.pushed.count == 1 && pushed.shortfalls.map(\.code) == ["unfinishedRestore"])
      let told = try #require(pushed.shortfalls.first)
      #expect(told.kind == .partlyDone && told.message.contains(copy + aside))
    }
    // Somebody has looked.
    try removeFile(LiveIntent(database: source.path).path)
    #expect(try await home.road.push(source).shortfalls.isEmpty)
  }

  @Test func `killed at the commit where no files were in the way, the next restore says so all the same`() async throws
  {
    var home = try await Home()
    try removeFile(home.road.scratch.file("att"))
    let (folder, left) = (home.road.scratch.path, Locked<[String]>([]))
    home.restore.onLive = { [path = home.path] moment in
      if moment == .moved { left.withLock { $0 = LiveIntent(database: path).left } }
    }
    _ = try await home.run(.live)
    #expect(left.withLock { $0 }.contains { $0.hasPrefix(folder) })
    #expect(LiveIntent(database: home.path).left.isEmpty)
  }

  /// A -wal of another version would be taken for the restored database's own.
  @Test(arguments: [Restore.Mode.replace, .live, .new])
  func `what SQLite left beside a database that comes along goes with it`(mode: Restore.Mode) async throws {
    let road = try await Road()
    let library = try TestDatabase(road.scratch.file("library.db"))
    try library.run("create table a(v); insert into a values('pushed')")
    library.close()
    var source = DatabaseSource(name: "app", path: try road.database(rows: 20))
    source.companions = [Companion("library.db")]
    _ = try await road.push(source)
    let wal = road.scratch.file("library.db-wal")
    try writeFile(wal, [1, 2, 3])
    if mode == .new { for name in ["app.db", "library.db"] { try removeFile(road.scratch.file(name)) } }
    var request = Restore.Request(place: .origin(["app": source.path]), mode: mode)
    request.configured = ["app": source.path]
    let restore = Restore(Pull(road.world))
    if mode == .new {
      let error = await #expect(throws: OperationError.self) {
        try await restore.run(.latest(database: "app"), from: road.target, request)
      }
      #expect(error?.code == "destinationExists" && error?.message.contains(wal) == true)
      #expect(!FileManager.default.fileExists(atPath: source.path))
      return
    }
    let outcome = try await restore.run(.latest(database: "app"), from: road.target, request)
    let aside = try #require(outcome.moved.first { $0.from == wal }?.to)
    #expect(try fileBytes(aside) == [1, 2, 3] && !FileManager.default.fileExists(atPath: wal))
    // An application has opened what was restored.
    try writeFile(wal, [4, 5, 6])
    let undo = try #require(outcome.undo)
    #expect(system(undo) == 0)
    #expect(try fileBytes(wal) == [1, 2, 3])
  }

  /// Nobody who gave --replace can be told to give it.
  @Test func `a name of that time that is taken beside the database is passed over`() async throws {
    let home = try await Home()
    var restore = home.restore
    restore.pull.world.now = { 1_795_000_000_000 }
    let time = Times.compact(1_795_000_000_000)
    let taken = home.road.scratch.file("att.before-\(time)")
    try writeFile(taken, [1])
    let request = home.request(.replace, .origin(["app": home.path]))
    let preview = try await restore.preview(.latest(database: "app"), from: home.road.target, request)
    let outcome = try await restore.run(.latest(database: "app"), from: home.road.target, request)
    #expect(Set(outcome.moved.map(\.to)) == ["\(home.path).before-\(time)-2", "\(taken)-2"])
    #expect(Set(preview.moves.map(\.to)) == Set(outcome.moved.map(\.to)))
    #expect(try fileBytes(taken) == [1] && home.attached() == "pushed")
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `restores within one second keep apart what they move aside`(mode: Restore.Mode) async throws {
    let home = try await Home()
    var restore = home.restore
    restore.pull.world.now = { 1_795_000_000_000 }
    var moved: Set<String> = []
    for count in 1...4 {
      // The last two find no database in the way.
      if count > 2, mode == .replace { try removeFile(home.path) }
      let request = home.request(mode, .origin(["app": home.path]))
      let preview = try await restore.preview(.latest(database: "app"), from: home.road.target, request)
      let outcome = try await restore.run(.latest(database: "app"), from: home.road.target, request)
      #expect(Set(preview.moves.map(\.to)) == Set(outcome.moved.map(\.to)))
      let aside = try #require(outcome.moved.first { $0.from == home.road.scratch.file("att") }?.to)
      #expect(moved.insert(aside).inserted)
      #expect(try home.attached() == "pushed")
    }
  }

  @Test func `what is not known to be rolled back is named, and nothing of it is taken back`() async throws {
    let home = try await Home()
    let staged = try await RestoreBeside(
      staged: home.restore, from: home.road.target, home.request(.live, .home(home.path)))
    let crossing = LiveCrossing(into: home.path, staged, nil)
    try crossing.cross("T") {}
    let error = crossing.givenUp(after: Stop(), isUntouched: false) as? OperationError
    let aside = home.road.scratch.file("att.before-T")
    #expect(error?.message.contains("not known") == true && error?.message.contains(aside) == true)
    #expect(LiveIntent(database: home.path).left == [aside])
    #expect(try home.attached() == "pushed")
  }

  @Test func `a companion never takes the place of the database`() async throws {
    let home = try await Home()
    let other = home.road.scratch.file("att")
    try FileManager.default.removeItem(atPath: other)
    try FileManager.default.copyItem(atPath: home.path, toPath: other)
    let preview = try await home.restore.preview(
      .latest(database: "app"), from: home.road.target, home.request(.live, .home(other)))
    #expect(preview.refusal?.code == "companionInTheWay")
    let error = await #expect(throws: OperationError.self) { try await home.run(.live, .home(other)) }
    #expect(error?.code == "companionInTheWay")
    #expect(try fileBytes(other) == (try fileBytes(home.path)))
    // The copy of the old content had its name already, and is of no use any more.
    #expect(!home.road.files(in: home.road.scratch.path).contains { $0.contains(".before-") })
  }

  @Test func `a lost database comes back with it; where it stands already, nothing is done`() async throws {
    let home = try await Home()
    try removeFile(home.path)
    let error = await #expect(throws: OperationError.self) { try await home.run(.new) }
    #expect(error?.code == "destinationExists")
    #expect(try home.attached() == "changed since" && !FileManager.default.fileExists(atPath: home.path))
    try FileManager.default.removeItem(atPath: home.road.scratch.file("att"))
    let outcome = try await home.run(.new)
    #expect(outcome.companions == [home.road.scratch.file("att")] && outcome.pulled.companionsFolder == nil)
    #expect(try home.attached() == "pushed" && FileManager.default.fileExists(atPath: home.path))
    // What takes it back takes all of it back.
    let undo = try #require(outcome.undo)
    for _ in 0..<2 { #expect(system(undo) == 0) }
    #expect(FileIdentity(at: home.path) == nil && FileIdentity(at: home.road.scratch.file("att")) == nil)
    let names = home.road.files(in: home.road.scratch.path)
    #expect(names.count { $0.hasPrefix("app.db.undone-") } == 1 && names.count { $0.hasPrefix("att.undone-") } == 1)
  }

  /// A version tried beside the running application, twice: its own attachments are none of that.
  @Test(arguments: [Restore.Mode.replace, .live])
  func `beside another file, what comes with the configured database stays`(mode: Restore.Mode) async throws {
    let home = try await Home()
    let staging = home.road.scratch.file("staging.db")
    _ = try await home.run(.new, .file(staging))
    try writeFile(staging + ".companions/att/a", Array("tried".utf8))
    let outcome = try await home.run(mode, .file(staging))
    #expect(try home.attached() == "changed since")
    #expect(!home.road.files(in: home.road.scratch.path).contains { $0.hasPrefix("att.") })
    #expect(try home.attached("staging.db.companions/att") == "pushed")
    #expect(outcome.companions.isEmpty && outcome.pulled.companionsFolder == staging + ".companions")
    let aside = try #require(outcome.moved.first { $0.from == staging + ".companions" }?.to)
    #expect(String(decoding: try fileBytes("\(aside)/att/a"), as: UTF8.self) == "tried")
    let undo = try #require(outcome.undo)
    #expect(system(undo) == 0)
    #expect(try home.attached("staging.db.companions/att") == "tried")
    #expect(try home.attached() == "changed since")
  }

  @Test func `the configured file that is named is its own place, also behind a link`() async throws {
    let home = try await Home()
    let link = home.road.scratch.file("link.db")
    try #require(symlink("app.db", link) == 0)
    let request = home.request(.replace, .file(link))
    let preview = try await home.restore.preview(.latest(database: "app"), from: home.road.target, request)
    #expect(preview.moves.contains { $0.from.hasSuffix("/att") })
    let outcome = try await home.restore.run(.latest(database: "app"), from: home.road.target, request)
    #expect(try outcome.companions.count == 1 && home.attached() == "pushed")
  }

  /// A version without companions is asked for after one with them was killed in the middle.
  @Test func `a replace that goes on with another version puts back what that one has no place for`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 20)
    let plain = try #require(try await road.push(DatabaseSource(name: "app", path: path)).pushed.first?.version)
    let attachments = road.scratch.file("att")
    try FileManager.default.createDirectory(atPath: attachments, withIntermediateDirectories: true)
    try writeFile("\(attachments)/a", Array("of today".utf8))
    let aside = path + ".before-20200101T000000Z"
    let there = attachments + ".before-20200101T000000Z"
    try ReplaceIntent(database: path).note(aside, companions: [attachments])
    try #require(rename(path, aside) == 0 && rename(attachments, there) == 0)
    try FileManager.default.createDirectory(atPath: attachments, withIntermediateDirectories: true)
    try writeFile("\(attachments)/a", Array("of another version".utf8))

    var request = Restore.Request(place: .origin(["app": path]))
    request.configured = ["app": path]
    let restore = Restore(Pull(road.world))
    let refused = await #expect(throws: OperationError.self) {
      try await restore.run(.id(prefix: plain.id), from: road.target, request)
    }
    #expect(refused?.code == "unfinishedReplace" && refused?.message.contains(there) == true)
    let copy = try Scratch()
    #expect(system("cp -a '\(road.scratch.path)/.' '\(copy.path)'") == 0)
    let commands = try #require(refused?.hint?.split(separator: "put it back with: ").last.map(String.init))
    #expect(system(commands.replacing(road.scratch.path, with: copy.path)) == 0)
    #expect(try fileBytes(copy.file("att/a")) == Array("of today".utf8))
    #expect(FileManager.default.fileExists(atPath: copy.file("app.db")))

    request.mode = .replace
    let outcome = try await restore.run(.id(prefix: plain.id), from: road.target, request)
    #expect(outcome.moved.map(\.to) == [aside])
    #expect(try fileBytes("\(attachments)/a") == Array("of today".utf8))
    #expect(road.files(in: road.scratch.path).contains { $0.hasPrefix("att.undone-") })
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("put back") && $0.contains(attachments) })
    #expect(!road.files(in: road.scratch.path).contains { $0.contains(".sealift.") })
  }

  /// Killed when the new companions had their name, and the new database had none.
  @Test func `a replace that was killed behind FILE.companions goes on`() async throws {
    let home = try await Home()
    let staging = home.road.scratch.file("staging.db")
    _ = try await home.run(.new, .file(staging))
    let aside = staging + ".before-20200101T000000Z"
    try ReplaceIntent(database: staging).note(aside)
    for ending in ["", ".companions"] { try #require(rename(staging + ending, aside + ending) == 0) }
    try #require(mkdir(staging + ".companions", 0o700) == 0)
    let outcome = try await home.run(.replace, .file(staging))
    #expect(try home.attached("staging.db.companions/att") == "pushed")
    #expect(outcome.moved.map(\.to) == [aside, aside + ".companions"])
    #expect(home.road.files(in: home.road.scratch.path).contains { $0.hasPrefix("staging.db.companions.undone-") })
  }

  @Test func `beside a new file that was named, it stands under that name`() async throws {
    let home = try await Home()
    let other = home.road.scratch.file("other.db")
    let outcome = try await home.run(.new, .file(other))
    #expect(outcome.pulled.companionsFolder == other + ".companions" && outcome.companions.isEmpty)
    #expect(try home.attached("other.db.companions/att") == "pushed")
    #expect(try home.attached() == "changed since")
  }
}

extension RestoreBeside {
  /// What comes with the newest version, fetched.
  fileprivate convenience init(
    staged restore: Restore, from target: TargetAccess, _ request: Restore.Request
  ) async throws {
    let found = try await FoundVersion.find(.latest(database: "app"), at: target, restore.world, expect: [])
    let path = try restore.path(of: found, request)
    try await self.init(found, try await found.reader(tables: nil), beside: path, restore, request)
  }
}
