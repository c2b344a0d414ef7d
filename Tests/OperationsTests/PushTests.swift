import Backends
import FoundationEssentials
import Glibc
import Operations
import Repositories
import Sealing
import Snapshots
import Storage
import TestKit
import Testing

/// What a push does to several targets, to an unchanged database, and when things fail.
@Suite struct PushTests {
  @Test func `a copy that may be of two moments is pushed, and told`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 5))
    var push = Push(road.world)
    push.take = { [take = push.take] in
      var snapshot = try await take($0, $1)
      snapshot.lockWasPassed = true
      return snapshot
    }
    let outcome = try await push.run(Push.Request(database: database, targets: [road.target]))
    #expect(outcome.pushed.count == 1 && outcome.shortfalls.map(\.code) == ["lockPassed"])
    #expect(outcome.shortfalls.first?.kind == .partlyDone)
    #expect(outcome.shortfalls.first?.message.contains("two moments") == true)
  }

  @Test func `an unchanged database costs no key and no request`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    // A file touched less than two seconds ago proves nothing by its times.
    try await Task.sleep(for: .milliseconds(2200))
    let database = DatabaseSource(name: "app", path: source)
    let first = try await road.push(database).pushed[0]
    #expect(!first.unchanged)
    // A push that was killed once its version was acknowledged, before it could remove its copy.
    let left = "\(road.world.stateFolder)/spool/00000000deadbeef"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
    try writeFile("\(left)/image", [1, 2, 3])
    let counting = CountingStore(road.store)
    let locked = TargetAccess(
      name: "memory", store: counting, unlock: { throw OperationError(.wrongKey, "asked for a key") })
    let second = try await Push(road.world).run(Push.Request(database: database, targets: [locked])).pushed[0]
    #expect(second.unchanged)
    #expect(second.version.id == first.version.id)
    #expect(counting.requests == 0)
    // What was said of it since is not asked for, so nobody is told that nothing was.
    #expect(second.version.wordsUnread == true && first.version.wordsUnread == nil)
    #expect(road.files(in: "\(road.world.stateFolder)/spool") == ["lock"])
    var renamed = locked
    renamed.name = "nas"
    let third = try await Push(road.world).run(Push.Request(database: database, targets: [renamed])).pushed[0]
    #expect(third.unchanged && third.version.target == "nas" && counting.requests == 0)

    var request = Push.Request(database: database, targets: [locked])
    request.verifyRemoteEvery = 0
    #expect(try await Push(road.world).run(request).pushed.first?.unchanged == true)
    // That it is there, and all its packs, and that nobody said since that it is damaged.
    #expect(counting.requests == 3)
    road.store.content = [:]
    let failed = try await Push(road.world).run(request)
    #expect(failed.failures.count == 1)
  }

  /// What was pushed under the name since may have been all that kept the version that is remembered.
  @Test func `a database is unchanged only since the newest version of its chain`() async throws {
    let road = try await Road()
    var database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    try await Task.sleep(for: .milliseconds(2200))
    let first = try await road.push(database).pushed[0].version
    database.method = .pages
    let second = try await road.push(database).pushed[0]
    try #require(!second.unchanged)
    let plan = try await ForgetVersions(road.world).plan(.init(.versions([.id(prefix: first.id)])), at: road.target)
    for chain in plan.chains { _ = try await ForgetVersions(road.world).carryOut(chain, of: plan) }
    database.method = .vacuum
    let third = try await road.push(database).pushed[0]
    #expect(!third.unchanged && third.version.id != first.id && third.version.sequence == 3)
    #expect(try await road.push(database).pushed[0].unchanged)
  }

  @Test func `two files of one name are one database only to who says so`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    let other = road.scratch.file("other/app.db")
    try FileManager.default.createDirectory(atPath: road.scratch.file("other"), withIntermediateDirectories: false)
    try FileManager.default.copyItem(atPath: path, toPath: other)
    var (mine, theirs) = (DatabaseSource(name: "app", path: path), DatabaseSource(name: "app", path: other))
    (mine.isNamedByPath, theirs.isNamedByPath) = (true, true)
    _ = try await road.push(mine)
    let refused = await error(of: { try await road.push(theirs) })
    #expect(refused?.kind == .usage && refused?.code == "sameName")
    #expect(refused?.message.contains(path) == true && refused?.hint?.contains("add `--name NAME`") == true)
    // A mistyped folder is no second file.
    var mistyped = theirs
    mistyped.path = road.scratch.file("ohter/app.db")
    let missing = await error(of: { [mistyped] in try await road.push(mistyped) })
    #expect(missing?.kind == .sourceUnreadable && missing?.code == "missing")
    #expect(try await road.push(mine).failures.isEmpty)
    // The same file by another name.
    var linked = mine
    linked.path = road.scratch.file("linked.db")
    try #require(link(path, linked.path) == 0)
    #expect(try await road.push(linked).failures.isEmpty)
    #expect(try await road.push(mine).failures.isEmpty)
    // Somebody chose the name, as in a configuration.
    theirs.isNamedByPath = false
    #expect(try await road.push(theirs).failures.isEmpty)
    theirs.isNamedByPath = true
    #expect(try await road.push(theirs).failures.isEmpty)
    // A file that moved is the same database.
    try FileManager.default.removeItem(atPath: other)
    #expect(try await road.push(mine).failures.isEmpty)
  }

  @Test func `two folders that only look alike are two`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    var sources: [DatabaseSource] = []
    for folder in ["caf\u{E9}", "cafe\u{301}"] {
      try FileManager.default.createDirectory(atPath: road.scratch.file(folder), withIntermediateDirectories: false)
      let copy = road.scratch.file("\(folder)/app.db")
      try writeFile(copy, fileBytes(path))
      var source = DatabaseSource(name: "app", path: copy)
      source.isNamedByPath = true
      sources.append(source)
    }
    _ = try await road.push(sources[0])
    let refused = await error(of: { [other = sources[1]] in try await road.push(other) })
    #expect(refused?.code == "sameName")
  }

  @Test func `a name that only looks like that of another file needs somebody to choose it`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    let copy = road.scratch.file("copy.db")
    try writeFile(copy, fileBytes(path))
    var (one, other) = (DatabaseSource(name: "caf\u{E9}", path: path), DatabaseSource(name: "cafe\u{301}", path: copy))
    (one.isNamedByPath, other.isNamedByPath) = (true, true)
    _ = try await road.push(one)
    let refused = await error(of: { [other] in try await road.push(other) })
    #expect(refused?.code == "sameName" && refused?.hint?.contains("--name NAME") == true)
    other.isNamedByPath = false
    #expect(try await road.push(other).failures.isEmpty)
    // Both are known by now.
    other.isNamedByPath = true
    #expect(try await road.push(other).failures.isEmpty)
    #expect(try await road.push(one).failures.isEmpty)
  }

  private func error(of work: () async throws -> Push.Outcome) async -> OperationError? {
    do { _ = try await work() } catch { return error as? OperationError }
    return nil
  }

  @Test func `a bucket of the same name at another server has had nothing yet`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    try await Task.sleep(for: .milliseconds(2200))
    _ = try await road.push(database)
    let elsewhere = MemoryStore(location: road.store.traits.location)
    let target = TargetAccess(name: "elsewhere", store: elsewhere, unlock: road.target.unlock)
    _ = try await Initialize(road.world).run(at: target, ifMissing: false)
    // What init forgets must not be what makes this right.
    #expect(try await road.push(database).pushed[0].version.sequence == 1)
    #expect(try await road.push(database).pushed[0].unchanged)
    let pushed = try await Push(road.world).run(Push.Request(database: database, targets: [target])).pushed[0]
    #expect(!pushed.unchanged)
    #expect(elsewhere.content.keys.contains { $0.text.hasPrefix("versions/") })
  }

  @Test func `a folder that is another one now is not believed by its name`() async throws {
    let road = try await Road()
    let disk = road.scratch.file("disk")
    let target = TargetAccess(
      name: "disk", store: try FolderStore(path: disk, create: true), unlock: road.target.unlock)
    _ = try await Initialize(road.world).run(at: target, ifMissing: false)
    let database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    try await Task.sleep(for: .milliseconds(2200))
    func push() async throws -> Push.Outcome {
      try await Push(road.world).run(Push.Request(database: database, targets: [target]))
    }
    _ = try await push()
    #expect(try await push().pushed.first?.unchanged == true)
    // An empty disk at the same place, then the first one again.
    try FileManager.default.moveItem(atPath: disk, toPath: disk + ".away")
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
    #expect(try await push().failures.count == 1)
    try FileManager.default.removeItem(atPath: disk)
    try FileManager.default.moveItem(atPath: disk + ".away", toPath: disk)
    #expect(try await push().pushed.first?.unchanged == true)
  }

  /// Its next change could leave the times as they are.
  @Test func `a database that was written just now is looked at again`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    var push = Push(road.world)
    push.take = { [take = push.take] request, progress in
      // Where this test had to wait between the touch and the look, that was not just now: once more.
      for _ in 0..<20 {
        #expect(utimensat(AT_FDCWD, database.path, nil, 0) == 0)
        let snapshot = try await take(request, progress)
        if !snapshot.source.isSettled { return snapshot }
        unlink(snapshot.path)
      }
      throw SnapshotError(.changedMeanwhile, "what was touched just now was never found so")
    }
    _ = try await push.run(Push.Request(database: database, targets: [road.target]))
    let counting = CountingStore(road.store)
    let target = TargetAccess(name: "memory", store: counting, unlock: road.target.unlock)
    let second = try await Push(road.world).run(Push.Request(database: database, targets: [target])).pushed[0]
    #expect(second.unchanged)
    #expect(counting.requests > 0)
  }

  @Test func `a change of one byte within the same second is pushed`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    let database = DatabaseSource(name: "app", path: source)
    let first = try await road.push(database).pushed[0].version
    try await road.change(source)
    #expect(try await road.push(database).pushed[0].version.id != first.id)
  }

  @Test func `a target that fails does not stop the others`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    let bad = TargetAccess(name: "bad", store: MemoryStore(), unlock: { .keyFile([UInt8](repeating: 3, count: 64)) })
    let outcome = try await Push(road.world).run(
      Push.Request(database: DatabaseSource(name: "app", path: source), targets: [bad, road.target]))
    #expect(outcome.pushed.map(\.version.target) == ["memory"])
    #expect(outcome.failures.map(\.target) == ["bad"])
    #expect(outcome.failures[0].error.kind == .noRepository)
  }

  /// Else it would be told that versions were taken away there, and how to accept that.
  @Test func `a mirror of the files of a target is no second one`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    let database = DatabaseSource(name: "app", path: source)
    _ = try await road.push(database)
    let mirror = MemoryStore(location: "memory:mirror")
    mirror.content = road.store.content
    let target = TargetAccess(name: "mirror", store: mirror, unlock: road.target.unlock)
    try await road.change(source)
    let before = mirror.content
    let outcome = try await Push(road.world).run(Push.Request(database: database, targets: [road.target, target]))
    #expect(outcome.pushed.map(\.version.sequence) == [2] && outcome.failures.map(\.target) == ["mirror"])
    #expect(outcome.failures.first?.error.code == "sameRepository" && outcome.failures.first?.error.kind == .usage)
    #expect(outcome.failures.first?.error.message.contains("the same repository as memory, ") == true)
    #expect(outcome.failures.first?.error.message.contains("the address") == false)
    #expect(mirror.content == before)
    // One address under two names is no copy of anything.
    try await road.change(source)
    let again = TargetAccess(name: "again", store: road.store, unlock: road.target.unlock)
    let both = try await Push(road.world).run(Push.Request(database: database, targets: [road.target, again]))
    let error = try #require(both.failures.first?.error)
    #expect(error.code == "sameRepository" && error.message.hasSuffix(": both have the address memory:"), "\(error)")
    #expect(error.hint?.contains("copied") == false)
  }

  @Test func `a dry run stores nothing and says how much it would`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 500)
    let before = road.store.content
    var request = Push.Request(database: DatabaseSource(name: "app", path: source), targets: [road.target])
    request.dryRun = true
    let outcome = try await Push(road.world).run(request)
    #expect(outcome.pushed[0].version.bytesNew > 300_000)
    #expect(road.store.content == before)
  }

  @Test func `what is new counts the manifest, in which small databases ride whole`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 20)
    let before = road.store.content
    let version = try await road.push(DatabaseSource(name: "app", path: source)).pushed[0].version
    let added = road.store.content.filter { before[$0.key] == nil }
    #expect(added.allSatisfy { $0.key.text.hasPrefix("versions/") })
    #expect(version.bytesNew == added.reduce(0) { $0 + $1.value.count } && version.bytesNew > 18_000)
  }

  @Test func `a rebuilt base is the version just pushed, and a dry run leaves the old one`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 2000)
    let folder = road.scratch.file("bases")
    let database = DatabaseSource(name: "app", path: source, baseFolder: folder)
    func base(_ name: String) throws -> Data? {
      let id = try #require(road.files(in: folder).first)
      return FileManager.default.contents(atPath: "\(folder)/\(id)/\(name).db")
    }
    func push(dryRun: Bool = false, rebuildBase: Bool) async throws -> VersionSummary {
      var request = Push.Request(database: database, targets: [road.target])
      (request.dryRun, request.rebuildBase) = (dryRun, rebuildBase)
      let outcome = try await Push(road.world).run(request)
      return try #require(outcome.pushed.first { !$0.unchanged }).version
    }
    _ = try await push(rebuildBase: false)
    let first = try #require(try base("anchor"))
    try SQLite.run("update t set body = randomblob(900) where id % 10 = 0", on: source)
    _ = try await push(rebuildBase: false)
    #expect(try base("middle") != nil)
    _ = try await push(dryRun: true, rebuildBase: true)
    #expect(try base("anchor") == first)
    #expect(try base("middle") != nil)
    let version = try await push(rebuildBase: true)
    #expect(try base("middle") == nil)
    let restored = road.scratch.file("restored.db")
    let pulled = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(restored))
    #expect(pulled.version.id == version.id)
    #expect(try base("anchor") == FileManager.default.contents(atPath: restored))
    #expect(try base("anchor") != first)
  }

  /// Who renews the locks of objects relies on it: those of older packs end.
  @Test(arguments: ["nothing", "one row in a hundred", "a companion"], [true, false])
  func `a rebuilt base needs no pack that was there`(changed: String, delta: Bool) async throws {
    let road = try await Road()
    var database = DatabaseSource(name: "app", path: try road.database(rows: 2000), method: .pages)
    database.delta = delta
    database.companions = [Companion("photos")]
    let folder = road.scratch.file("photos")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var random = SeededRandom(3)
    for (name, length) in [("one", 200_000), ("two", 9000)] { try writeFile("\(folder)/\(name)", random.bytes(length)) }
    #expect(try await road.push(database).failures.isEmpty)
    let old = road.store.content.keys.filter { $0.text.hasPrefix("packs/") }
    try #require(!old.isEmpty)
    switch changed {
    case "one row in a hundred":
      try SQLite.run("update t set body = randomblob(900) where id % 100 = 0", on: database.path)
    case "a companion":
      var bytes = try fileBytes("\(folder)/one")
      bytes[77] ^= 1
      try writeFile("\(folder)/one", bytes)
    default: break
    }
    var request = Push.Request(database: database, targets: [road.target])
    request.rebuildBase = true
    let pushed = try #require(try await Push(road.world).run(request).pushed.first)
    #expect(!pushed.unchanged)

    for pack in old { road.store.content[pack] = nil }
    let other = try Scratch()
    let out = other.file("out.db")
    _ = try await Pull(road.withoutState(other)).run(
      .id(prefix: pushed.version.id), from: road.target, to: .file(out))
    #expect(try await dump(out) == dump(database.path))
    for name in ["one", "two"] {
      #expect(try fileBytes("\(out).companions/photos/\(name)") == fileBytes("\(folder)/\(name)"))
    }
  }

  @Test func `a wrong key is a wrong key`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 5)
    let wrong = TargetAccess(name: "memory", store: road.store, unlock: { .keyFile([UInt8](repeating: 4, count: 64)) })
    let outcome = try await Push(road.world).run(
      Push.Request(database: DatabaseSource(name: "app", path: source), targets: [wrong]))
    #expect(outcome.failures.first?.error.kind == .wrongKey)
  }

  /// Another user's is; a link in the place of its lock keeps off everybody.
  @Test func `a copy that a killed run left and that cannot be removed is told`() async throws {
    let road = try await Road()
    let left = "\(road.world.stateFolder)/spool/00000000deadbeef"
    try FileManager.default.createDirectory(
      atPath: left, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try writeFile("\(left)/image", [1, 2, 3])
    symlink("image", "\(left)/lock")
    let database = DatabaseSource(name: "app", path: try road.database(rows: 10))
    #expect(try await road.push(database).failures.isEmpty)
    #expect(road.notices.said.withLock { $0 }.contains { $0.hasPrefix("\(left) cannot be removed") })
    #expect(road.files(in: left) == ["image", "lock"])
  }

  @Test func `no spool is left behind, whatever happened`() async throws {
    let road = try await Road()
    let source = try road.database(rows: 50)
    _ = try await road.push(DatabaseSource(name: "app", path: source))
    try Data("no database, but long enough to be looked at".utf8).write(
      to: URL(fileURLWithPath: road.scratch.file("x.db")))
    let error = await #expect(throws: OperationError.self) {
      try await road.push(DatabaseSource(name: "x", path: road.scratch.file("x.db")))
    }
    #expect(error?.kind == .sourceUnreadable)
    #expect(road.files(in: "\(road.world.stateFolder)/spool").filter { $0 != "lock" }.isEmpty)
  }

  @Test func `keys are added, listed and removed`() async throws {
    let road = try await Road()
    let keys = ManageKeys(road.world)
    let added = try await keys.addRecoveryKey(at: road.target)
    let typed = UnlockSecret.typed(Array(added.text.lowercased().utf8))
    guard case .recoveryKey = typed, case .passphrase = UnlockSecret.typed(Array(added.text.dropLast().utf8)) else {
      Issue.record("a recovery key is known by its check")
      return
    }
    let recovered = TargetAccess(name: "memory", store: road.store, unlock: { typed })
    let slots = try await keys.list(at: recovered)
    #expect(slots.map(\.kind) == ["key file", "recovery key"])
    #expect(slots.map(\.current) == [false, true])
    let inUse = await #expect(throws: OperationError.self) {
      try await keys.remove(slots[1].id, at: recovered, force: false)
    }
    #expect(inUse?.kind == .usage)
    _ = try await keys.remove(slots[0].id, at: recovered, force: false)
    let gone = await #expect(throws: OperationError.self) { try await keys.list(at: road.target) }
    #expect(gone?.kind == .wrongKey)
    let last = await #expect(throws: OperationError.self) {
      try await keys.remove(slots[1].id, at: recovered, force: true)
    }
    #expect(last?.kind == .usage)
  }

  /// Typed, it would be taken for what it looks like.
  @Test func `a recovery key is no new passphrase, and one that is mistyped is told so`() async throws {
    let road = try await Road()
    let text = RecoveryKey.text(of: [UInt8](repeating: 1, count: 32))
    let secret = UnlockSecret.passphrase(Array(text.utf8))
    let before = road.store.content
    let added = await #expect(throws: OperationError.self) {
      try await ManageKeys(road.world).add(secret, at: road.target)
    }
    #expect(added?.kind == .usage && added?.code == "passphraseIsRecoveryKey" && road.store.content == before)
    let elsewhere = try Scratch()
    let empty = MemoryStore()
    let made = await #expect(throws: OperationError.self) {
      try await Initialize(road.withoutState(elsewhere)).run(
        at: TargetAccess(name: "empty", store: empty, unlock: { secret }), ifMissing: false)
    }
    #expect(made?.code == "passphraseIsRecoveryKey" && empty.content.isEmpty)
    for (typed, isSlip) in [(text, false), ("B\(text.dropFirst())", true), ("open sesame", false)] {
      let error = await #expect(throws: OperationError.self) {
        try await ManageKeys(road.world).list(
          at: TargetAccess(name: "memory", store: road.store, unlock: { .passphrase(Array(typed.utf8)) }))
      }
      #expect(error?.kind == .wrongKey)
      #expect(error?.message.contains("(if it is a recovery key, it is mistyped)") == isSlip, "\(typed)")
    }
  }

  @Test func `two machines that remove one another's key do not lock everybody out`() async throws {
    let road = try await Road()
    let keys = ManageKeys(road.world)
    let added = try await keys.addRecoveryKey(at: road.target)
    let key: @Sendable () -> UnlockSecret = { .recoveryKey(added.text) }
    let recovered = TargetAccess(name: "memory", store: road.store, unlock: key)
    let slots = try await keys.list(at: recovered)
    // Both have seen that there are two; the other one is quicker.
    let rival = RivalStore(road.store) { _ = try await keys.remove(slots[1].id, at: road.target, force: false) }
    let error = await #expect(throws: OperationError.self) {
      try await keys.remove(slots[0].id, at: TargetAccess(name: "memory", store: rival, unlock: key), force: false)
    }
    #expect(error?.code == "conflict" && error?.message.contains("was put back") == true)
    #expect(try await keys.list(at: road.target).map(\.id) == [slots[0].id])
  }

  @Test func `of two machines that remove one another's key and die of it, one key is left`() async throws {
    let road = try await Road()
    let keys = ManageKeys(road.world)
    let added = try await keys.addRecoveryKey(at: road.target)
    let key: @Sendable () -> UnlockSecret = { .recoveryKey(added.text) }
    let slots = try await keys.list(at: TargetAccess(name: "memory", store: road.store, unlock: key))
    // The other one is quicker, and this one hears nothing any more once it has deleted something.
    let rival = RivalStore(road.store, isCutOff: true) {
      _ = try await keys.remove(slots[1].id, at: road.target, force: false)
    }
    let error = await #expect(throws: OperationError.self) {
      try await keys.remove(slots[0].id, at: TargetAccess(name: "memory", store: rival, unlock: key), force: false)
    }
    #expect(error?.kind == .failed)
    #expect(try await keys.list(at: road.target).map(\.id) == [slots[0].id])
    #expect(try await road.push(DatabaseSource(name: "app", path: road.database(rows: 20))).failures.isEmpty)
  }

  @Test func `a key slot with one copy left is no reason to let another go`() async throws {
    let road = try await Road()
    let keys = ManageKeys(road.world)
    _ = try await keys.addRecoveryKey(at: road.target)
    let slots = try await keys.list(at: road.target)
    let names = road.store.content.keys.filter { $0.text.hasPrefix("keys/") }.sorted()
    #expect(names.count == 4)
    road.store.content[names[0]] = nil
    let error = await #expect(throws: OperationError.self) {
      try await keys.remove(slots[1].id, at: road.target, force: false)
    }
    #expect(error?.kind == .usage && error?.hint?.contains("sealift repair") == true)
    _ = try await RepairRepository(road.world).run(.init(databases: []), at: road.target)
    _ = try await keys.remove(slots[1].id, at: road.target, force: false)
    #expect(try await keys.list(at: road.target).map(\.id) == [slots[0].id])
  }

  /// A disk that is not mounted leaves its mount point, empty.
  @Test func `a place that was emptied is no fresh start`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    _ = try await road.push(database)
    let before = road.store.content
    let used = try await OpenRepository(road.world).run(at: road.target)
    road.store.content = [:]
    let listed = await #expect(throws: OperationError.self) { try await ListVersions(road.world).run(at: road.target) }
    #expect(listed?.kind == .noRepository && listed?.message.contains(used) == true)
    #expect(listed?.hint?.contains("Mount") == true && listed?.hint?.contains("init") == false)
    for ifMissing in [true, false] {
      let error = await #expect(throws: OperationError.self) {
        try await Initialize(road.world).run(at: road.target, ifMissing: ifMissing)
      }
      #expect(error?.kind == .verificationFailed && error?.message.contains(used) == true)
      #expect(road.store.content.isEmpty)
    }
    // Who begins anew all the same says so.
    let known = try KnownRepositories(at: road.store, in: road.world.stateFolder)
    try writeFile(known.path, [1])
    let spoilt = await #expect(throws: OperationError.self) {
      try await Initialize(road.world).run(at: road.target, ifMissing: false)
    }
    #expect(spoilt?.code == "stateFolder" && spoilt?.hint?.contains("rm '\(known.path)'") == true)
    #expect(road.store.content.isEmpty)
    try removeFile(known.path)
    #expect(try await Initialize(road.world).run(at: road.target, ifMissing: false).created)
    road.store.content = before
    #expect(try await Initialize(road.world).run(at: road.target, ifMissing: true).created == false)
  }
}

/// Removes a key of its own as soon as another one is deleted there, as another machine may.
private final class RivalStore: ObjectStore {
  private let base: MemoryStore
  private let rival: @Sendable () async throws -> Void
  private let isDone = Locked(false)
  private let isCutOff: Bool

  /// - Parameter isCutOff: no listing is answered after the deletion.
  init(_ base: MemoryStore, isCutOff: Bool = false, _ rival: @escaping @Sendable () async throws -> Void) {
    (self.base, self.isCutOff, self.rival) = (base, isCutOff, rival)
  }

  var traits: StoreTraits { base.traits }
  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    if isCutOff, isDone.withLock({ $0 }) { throw StoreError(.unavailable, "no route") }
    return try await base.list(prefix: prefix)
  }
  func delete(_ name: ObjectName) async throws(StoreError) {
    let isFirst = isDone.withLock { done in
      defer { done = true }
      return !done
    }
    if isFirst { try? await rival() }
    try await base.delete(name)
  }
}

/// Counts every request that reaches the store.
final class CountingStore: ObjectStore {
  private let base: MemoryStore
  private let count = Locked(0)
  let traits: StoreTraits

  init(_ base: MemoryStore) {
    self.base = base
    traits = base.traits
  }

  var requests: Int { count.withLock { $0 } }
  private func note() { count.withLock { $0 += 1 } }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    note()
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    note()
    return try await base.get(name, range: range)
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    note()
    return try await base.head(name)
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    note()
    return try await base.list(prefix: prefix)
  }

  func delete(_ name: ObjectName) async throws(StoreError) {
    note()
    try await base.delete(name)
  }
}
