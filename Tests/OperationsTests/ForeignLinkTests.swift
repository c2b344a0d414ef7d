import Glibc
import Operations
import Storage
import TestKit
import Testing

/// Links by which another user leads root to what is not theirs. Only root can make them.
@Suite(.enabled(if: geteuid() == 0)) struct ForeignLinkTests {
  private static let stranger: uid_t = 54_321

  private func link(_ path: String, to target: String, by owner: uid_t = stranger) throws {
    try #require(symlink(target, path) == 0 && lchown(path, owner, owner) == 0)
  }

  @Test func `a link is followed that is root's, or of who owns what it leads to`() throws {
    let scratch = try Scratch()
    for name in ["ours", "theirs"] {
      try #require(mkdir(scratch.file(name), 0o755) == 0)
      try writeFile(scratch.file("\(name)/file"), [])
    }
    for name in ["theirs", "theirs/file"] { try #require(chown(scratch.file(name), Self.stranger, Self.stranger) == 0) }
    try link(scratch.file("theirs/good"), to: "file")
    try link(scratch.file("theirs/bad"), to: scratch.file("ours/file"))
    try link(scratch.file("theirs/up"), to: "../ours")
    try link(scratch.file("theirs/dangling"), to: "../ours/new")
    try link(scratch.file("theirs/circle"), to: "circle")
    try link(scratch.file("root's"), to: "theirs/bad", by: 0)
    try link(scratch.file("root's own"), to: "ours", by: 0)
    for fine in ["theirs/good", "ours/../theirs/./good", "root's own/file", "ours/file", "not there", "theirs/circle"] {
      #expect(ForeignLink.refusal(on: scratch.file(fine)) == nil, "\(fine)")
    }
    for bad in ["theirs/bad", "theirs/up", "theirs/up/file", "theirs/dangling", "root's", "root's own/../theirs/bad"] {
      #expect(ForeignLink.refusal(on: scratch.file(bad))?.contains("a link that another user made") == true, "\(bad)")
      let isRefused = ForeignLink.refusal(on: scratch.file(bad), writing: false) != nil
      #expect(isRefused == (bad != "theirs/dangling"), "\(bad)")
    }
  }

  @Test func `what a link of another user leads to is pushed where it is that user's`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    let (linked, folder) = (road.scratch.file("linked.db"), road.scratch.file("folder"))
    try #require(mkdir(folder, 0o755) == 0)
    try writeFile("\(folder)/secret", [1])
    try link(linked, to: path)
    try link(road.scratch.file("attachments"), to: folder)
    let alone = DatabaseSource(name: "app", path: linked)
    let error = await #expect(throws: OperationError.self) { try await road.push(alone) }
    #expect(error?.kind == .usage && error?.code == "plantedLink", "\(error as Any)")
    var whole = DatabaseSource(name: "whole", path: path)
    whole.companions = [Companion("attachments")]
    let without = try await road.push(whole)
    #expect(without.shortfalls.map(\.code) == ["plantedLink"] && without.shortfalls[0].kind == .partlyDone)
    #expect(without.pushed.count == 1 && without.pushed[0].beside?.files == 0)
    for own in [path, folder, "\(folder)/secret"] { try #require(chown(own, Self.stranger, Self.stranger) == 0) }
    var app = alone
    app.companions = whole.companions
    for database in [app, whole] {
      let outcome = try await road.push(database)
      #expect(!outcome.shortfalls.contains { $0.code == "plantedLink" } && outcome.pushed.first?.beside?.files == 1)
    }
  }

  /// The database is safe whatever became of the disk, and the versions that have the companions stay.
  @Test func `a companion's link to a disk that is not mounted is no danger, one to another's disk is left out`()
    async throws
  {
    let road = try await Road()
    var database = DatabaseSource(name: "app", path: try road.database(rows: 5))
    database.companions = [Companion("attachments")]
    let (mounts, disk) = (road.scratch.file("mounts"), road.scratch.file("mounts/disk"))
    for folder in [mounts, disk] { try #require(mkdir(folder, 0o755) == 0) }
    try writeFile("\(disk)/file", [1])
    for own in [disk, "\(disk)/file"] { try #require(chown(own, Self.stranger, Self.stranger) == 0) }
    try link(road.scratch.file("attachments"), to: disk)
    #expect(try await road.push(database).shortfalls.isEmpty)
    try #require(rename(disk, "\(mounts)/away") == 0)
    func told() async throws -> [String] {
      try await road.change(database.path)
      let outcome = try await road.push(database)
      #expect(outcome.failures.isEmpty && outcome.pushed.count == 1)
      #expect(outcome.pushed.first?.version.lacksCompanions == true)
      return outcome.shortfalls.map(\.code)
    }
    #expect(try await told() == ["companionGone"])
    try #require(mkdir(disk, 0o755) == 0)
    #expect(try await told() == ["plantedLink"])
  }

  /// Somebody types a passphrase: what was no such link then is one when the copy begins.
  @Test func `a link that is made while a push waits is not followed`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    let (linked, folder) = (road.scratch.file("linked.db"), road.scratch.file("folder"))
    let attachments = road.scratch.file("attachments")
    for made in [folder, attachments] { try #require(mkdir(made, 0o755) == 0) }
    try writeFile("\(folder)/secret", [1])
    try link(linked, to: path, by: 0)
    var whole = DatabaseSource(name: "app", path: path)
    whole.companions = [Companion("attachments")]
    for (database, name, end) in [
      (DatabaseSource(name: "app", path: linked), linked, path), (whole, attachments, folder),
    ] {
      var target = road.target
      target.prepare = {
        try #require(rename(name, name + ".away") == 0 && symlink(end, name) == 0)
        try #require(lchown(name, Self.stranger, Self.stranger) == 0)
      }
      let code: String?
      do {
        let request = Push.Request(database: database, targets: [target])
        code = try await Push(road.world).run(request).shortfalls.first?.code
      } catch {
        code = (error as? OperationError)?.code
      }
      #expect(code == "plantedLink", "\(name)")
    }
  }

  /// Its settings say that a transaction which a dead writer left may be rolled back. What earlier pushes have kept helps.
  @Test(arguments: [false, true])
  func `a repair takes nothing from behind a link of another user`(hasBases: Bool) async throws {
    let road = try await Road()
    let path = try road.database(rows: 400)
    let linked = road.scratch.file("linked.db")
    try link(linked, to: path, by: 0)
    let database = DatabaseSource(name: "app", path: linked, allowRecovery: true, delta: hasBases)
    let pushed = try await road.push(database)
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") }
    let pack = try #require(packs.max { $0.value.count < $1.value.count }?.key)
    road.store.content[pack]?[5000] ^= 1
    try leaveHotJournal(of: "UPDATE t SET body = randomblob(900)", at: path)
    try #require(lchown(linked, Self.stranger, Self.stranger) == 0)
    let files = [path, path + "-journal"]
    let before = try files.map { try fileBytes($0) }
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(try files.map { try fileBytes($0) } == before)
    let told = road.notices.said.withLock { $0 }
    let refusals = told.filter { $0.contains("linked.db is a link that another user made") }
    #expect(refusals.count == 1 && refusals[0].hasPrefix("'app' as it is now is of no help: "), "\(told)")
    let ids = pushed.pushed.map(\.version.id)
    #expect(repaired.saved.compactMap(\.id) == (hasBases ? ids : []))
    #expect(repaired.lost.compactMap(\.id) == (hasBases ? [] : ids))
    // Nor does the push that follows where the newest is lost.
    #expect(repaired.failures.map(\.code) == (hasBases ? [] : ["plantedLink"]))
  }

  @Test func `a repair takes no companion from behind a link of another user`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 20)
    var random = SeededRandom(7)
    try writeFile(road.scratch.file("big"), random.bytes(1 << 20))
    let linked = road.scratch.file("linked.db")
    try link(linked, to: path, by: 0)
    var database = DatabaseSource(name: "app", path: linked)
    database.companions = [Companion("big")]
    let version = try #require(try await road.push(database).pushed.first).version
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") }
    // In the middle of the companion.
    let pack = try #require(packs.max { $0.value.count < $1.value.count })
    road.store.content[pack.key]?[pack.value.count / 2] ^= 1
    try #require(lchown(linked, Self.stranger, Self.stranger) == 0)
    let repaired = try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    #expect(repaired.saved.isEmpty && repaired.lost.map(\.id) == [version.id])
  }

  /// On the same disk it only gets another name.
  @Test func `a copy is kept by a link of another user where it leads to what is that user's`() throws {
    let scratch = try Scratch()
    let (copy, room) = (scratch.file("copy"), scratch.file("room"))
    try writeFile(copy, [1])
    try #require(mkdir(room, 0o755) == 0)
    try link(scratch.file("way"), to: room)
    let new = "\(scratch.file("way"))/new"
    let error = #expect(throws: OperationError.self) { try KeptCopy.move(copy, to: new) }
    #expect(error?.code == "plantedLink", "\(error as Any)")
    #expect(try names(in: room) == [] && fileBytes(copy) == [1])
    try #require(chown(room, Self.stranger, Self.stranger) == 0)
    try KeptCopy.move(copy, to: new)
    #expect(try names(in: room) == ["new"])
  }

  @Test func `a restore goes by a link of another user where it leads to what is that user's`() async throws {
    let home = try await RestoreRoad(wal: false)
    let (linked, room) = (home.road.scratch.file("linked.db"), home.road.scratch.file("room"))
    try #require(mkdir(room, 0o755) == 0)
    try link(linked, to: home.path)
    try link(home.road.scratch.file("way"), to: room)
    for mode in [Restore.Mode.replace, .live] {
      let error = await home.refusal(mode) { $0.place = .file(linked) }
      #expect(error?.code == "plantedLink", "\(error as Any)")
    }
    let new = "\(home.road.scratch.file("way"))/new.db"
    let error = await home.refusal(.new) { $0.place = .file(new) }
    #expect(error?.code == "plantedLink", "\(error as Any)")
    func previews() async throws -> [RestorePreview] {
      let (target, newest) = (home.road.target, VersionSelector.latest(database: "app"))
      return [
        try await home.restore.preview(newest, from: target, Restore.Request(place: .file(new))),
        try await Pull(home.road.world).preview(newest, from: target, to: new),
      ]
    }
    #expect(try await previews().map(\.refusal?.code) == ["plantedLink", "plantedLink"])
    #expect(try home.dump(home.path) == home.now && names(in: room) == [])
    for own in [home.path, room] { try #require(chown(own, Self.stranger, Self.stranger) == 0) }
    #expect(try await previews().map(\.refusal?.code) == [nil, nil])
    _ = try await home.run(.replace) { $0.place = .file(linked) }
    _ = try await home.run(.new) { $0.place = .file(new) }
    #expect(try home.dump(home.path) == home.pushed && home.dump(new) == home.pushed)
  }
}
