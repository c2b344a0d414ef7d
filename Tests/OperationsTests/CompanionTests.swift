import FoundationEssentials
import Glibc
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Sealing

/// Versions of more than one file: what comes with a database goes the whole road.
@Suite struct CompanionTests {
  private func source(_ road: Road, _ companions: Companion...) throws -> DatabaseSource {
    let path = road.scratch.file("app.db")
    if !FileManager.default.fileExists(atPath: path) { _ = try road.database(rows: 40) }
    var source = DatabaseSource(name: "app", path: path)
    source.companions = companions
    return source
  }

  private func write(_ road: Road, _ path: String, _ text: String = "content") throws {
    let file = road.scratch.file(path)
    let folder = file.prefix(upTo: file.lastIndex(of: "/") ?? file.startIndex)
    try FileManager.default.createDirectory(atPath: String(folder), withIntermediateDirectories: true)
    try writeFile(file, Array(text.utf8))
  }

  private func pull(_ road: Road, _ name: String = "out.db") async throws -> Pull.Outcome {
    try await Pull(road.world).run(
      .latest(database: "app"), from: road.target, to: .file(road.scratch.file(name)))
  }

  private func pulled(_ road: Road, _ path: String) throws -> String? {
    let file = road.scratch.file("out.db.companions/\(path)")
    guard FileManager.default.fileExists(atPath: file) else { return nil }
    return String(decoding: try fileBytes(file), as: UTF8.self)
  }

  /// As long ago as settles it.
  private func age(_ road: Road, _ paths: String...) {
    for path in paths { setTime(road.scratch.file(path), 1_600_000_000_000) }
  }

  @Test(arguments: 0..<12 as Range<UInt64>) func `a random tree comes back as it was`(seed: UInt64) async throws {
    let road = try await Road()
    var tree = RandomTree(seed)
    let files = try tree.make(in: road.scratch.file("att"))
    let before = try FolderPicture(road.scratch.file("att"))
    let source = try source(road, Companion("att"))
    let pushed = try await road.push(source)
    #expect(pushed.failures.isEmpty && pushed.shortfalls.isEmpty && pushed.pushed.first?.beside?.files == files)
    #expect(try FolderPicture(road.scratch.file("att")) == before)
    let outcome = try await pull(road)
    #expect(outcome.companionsFolder == road.scratch.file("out.db.companions"))
    #expect(try FolderPicture(road.scratch.file("out.db.companions/att")) == before)
    #expect(try await CheckRepository(road.world).run(at: road.target, databases: [], .all).isSound)
    #expect(!road.files(in: road.scratch.path).contains { $0.contains(".sealift-") })
  }

  @Test func `holes stay holes, and small changes cost little`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("big"))
    var random = SeededRandom(3)
    try writeFile(road.scratch.file("big"), random.bytes(3 << 20))
    truncate(road.scratch.file("big"), 1 << 30)
    let first = try #require(try await road.push(source).pushed.first)
    #expect(first.version.bytesNew > 3 << 20 && first.version.bytesNew < 4 << 20)
    let file = open(road.scratch.file("big"), O_WRONLY)
    pwrite(file, "changed", 7, 1 << 29)
    close(file)
    let second = try #require(try await road.push(source).pushed.first)
    #expect(!second.unchanged && second.version.bytesNew < 64 << 10)
    _ = try await pull(road)
    var status = stat()
    #expect(stat(road.scratch.file("out.db.companions/big"), &status) == 0)
    #expect(status.st_size == 1 << 30 && status.st_blocks * 512 < 8 << 20)
  }

  @Test func `what is excluded, is the database, or is no file, is left out`() async throws {
    let road = try await Road()
    try write(road, "all/keep/a.txt")
    try write(road, "all/keep/b.tmp")
    try write(road, "all/cache/deep/c")
    mkfifo(road.scratch.file("all/pipe"), 0o600)
    try writeFile(road.scratch.file("all") + "/bad\u{FFFD}", [1])
    rename(road.scratch.file("all") + "/bad\u{FFFD}", road.scratch.file("all") + "/good")
    // The database lies in the very folder.
    let path = road.scratch.file("all/app.db")
    try SQLite.run("PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)", on: path)
    var database = DatabaseSource(name: "app", path: path)
    database.companions = [Companion(road.scratch.file("all"), exclude: ["*.tmp", "cache/**"])]
    let outcome = try await road.push(database)
    let beside = try #require(outcome.pushed.first?.beside)
    #expect(beside.capture.events == [.init(what: "skipped", count: 1, paths: ["all/pipe"])])
    let shown = try await ListVersions(road.world).show(.latest(database: "app"), at: road.target)
    #expect(shown.members.map(\.path) == ["app.db", "all", "all/cache", "all/good", "all/keep", "all/keep/a.txt"])
    #expect(shown.capture?.events == beside.capture.events)
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("1 socket, pipe or device is not in") })
  }

  @Test func `a name that is no text is told, and the rest is pushed`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    let odd = road.scratch.file("att/").utf8CString.dropLast() + [CChar(bitPattern: 0xFF), 0]
    odd.withUnsafeBufferPointer { pointer in
      guard let path = pointer.baseAddress else { return }
      close(open(path, O_WRONLY | O_CREAT, 0o600))
    }
    let outcome = try await road.push(try source(road, Companion("att")))
    #expect(outcome.pushed.count == 1 && outcome.shortfalls.map(\.code) == ["companionUnreadable"])
    #expect(outcome.shortfalls.first?.kind == .partlyDone)
  }

  /// Remembered, changed by a push that is not remembered (all is too young to prove anything), and as it was again.
  private func stateThatReturns(_ road: Road, _ source: DatabaseSource) async throws {
    age(road, "att/a", "att", "app.db")
    try await Task.sleep(for: .milliseconds(2200))
    let first = try #require(try await road.push(source).pushed.first?.version.id)
    try write(road, "att/b")
    let second = try #require(try await road.push(source).pushed.first?.version.id)
    try removeFile(road.scratch.file("att/b"))
    let third = try #require(try await road.push(source).pushed.first?.version.id)
    #expect(Set([first, second, third]).count == 3)
  }

  @Test func `nothing is pushed when nothing changed, and any change is seen`() async throws {
    let road = try await Road()
    try write(road, "att/a", "one")
    let source = try source(road, Companion("att"))
    let old = road.scratch.file("att")
    #expect(try await road.push(source).pushed.first?.unchanged == false)
    // By content: times alone are no change.
    setTime("\(old)/a", 1_500_000_000_000)
    #expect(try await road.push(source).pushed.first?.unchanged == true)
    // What was made private must not come back for everybody.
    chmod("\(old)/a", 0o600)
    #expect(try await road.push(source).pushed.first?.unchanged == false)
    chmod(source.path, 0o640)
    #expect(try await road.push(source).pushed.first?.unchanged == true)
    try write(road, "att/a", "two")
    #expect(try await road.push(source).pushed.first?.unchanged == false)
    try write(road, "att/b")
    #expect(try await road.push(source).pushed.first?.unchanged == false)
    try removeFile("\(old)/b")
    #expect(try await road.push(source).pushed.first?.unchanged == false)
    try await stateThatReturns(road, source)
    #expect(try CompanionCapture(source, CompanionHooks()).digest == CompanionCapture(source, CompanionHooks()).digest)
    let before = try CompanionCapture(source, CompanionHooks()).digest
    // In place, of the same length, with its time put back.
    var status = stat()
    stat("\(old)/a", &status)
    let file = open("\(old)/a", O_WRONLY)
    pwrite(file, "TWO", 3, 0)
    var times = [status.st_atim, status.st_mtim]
    futimens(file, &times)
    close(file)
    #expect(try CompanionCapture(source, CompanionHooks()).digest != before)
  }

  @Test func `a memory of the companions saves the snapshot`() async throws {
    let road = try await Road()
    try write(road, "att/a", "one")
    let source = try source(road, Companion("att"))
    let version = try #require(try await road.push(source).pushed.first?.version)
    // As after a push that met everything settled.
    let memory = SourceMemory.path(road.world, source, host: "host", store: road.store.traits.identity)
    let object = try #require(road.store.content.keys.first { $0.text.hasPrefix("versions/") })
    let repository = try await road.target.open(road.world).id.hex
    let chain = String(object.text.split(separator: "/")[1])
    func remember(_ companions: String?) throws {
      SourceMemory(
        source: .init(source), signature: try .read(source.path), companions: companions, repository: repository,
        chain: chain, object: object.text, version: version, seenAt: road.world.now()
      ).write(memory)
    }
    func isTaken() async throws -> Bool {
      let taken = Locked(false)
      var push = Push(road.world)
      push.take = { [take = push.take] in
        taken.withLock { $0 = true }
        return try await take($0, $1)
      }
      _ = try await push.run(Push.Request(database: source, targets: [road.target]))
      return taken.withLock { $0 }
    }
    try remember(CompanionCapture(source, CompanionHooks()).digest?.hex)
    #expect(try await !isTaken())
    try write(road, "att/b")
    #expect(try await isTaken())
    try remember(nil)
    #expect(try await isTaken())
  }

  /// Some file systems keep any time, and a clock may be far ahead.
  @Test(arguments: [Int.min, .max]) func `nor does a time that cannot be end anybody`(seconds: Int) {
    var status = stat()
    status.st_mtim.tv_sec = seconds
    status.st_ctim.tv_sec = seconds
    for now: Int64 in [0, 2_000_000_000, 5_900_000_000] {
      #expect(FileStatus(status).age(at: now * 1_000_000_000) > 90_000_000_000_000_000)
    }
  }

  @Test func `a file that is dated in the future proves as much as any other`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    setTime(road.scratch.file("att/a"), 4_102_444_800_000)
    let source = try source(road, Companion("att"))
    var status = stat()
    try #require(stat(road.scratch.file("att/a"), &status) == 0)
    let (changed, isSettled) = (FileStatus(status).changed, Locked<[Bool]>([]))
    _ = try await push(road, source) { push in
      push.take = { [take = push.take] in
        let snapshot = try await take($0, $1)
        for seconds in [1, 3] {
          var hooks = CompanionHooks()
          hooks.now = { changed + Int64(seconds) * 1_000_000_000 }
          let captured = try await CompanionCapture(source, hooks).members(with: snapshot)
          isSettled.withLock { $0.append(captured.isSettled) }
        }
        return snapshot
      }
    }
    #expect(isSettled.withLock { $0 } == [false, true])
    // Nor does anybody wait for it: it was touched an hour ago, whatever it says of itself.
    let hour: Int64 = 3_600_000_000_000
    #expect(FileStatus(status).age(at: changed + hour) == hour)
    status.st_ctim = status.st_mtim
    #expect(FileStatus(status).age(at: changed) > hour)
  }

  // MARK: Others at work

  private func push(
    _ road: Road, _ source: DatabaseSource, held: Int? = nil, _ change: (inout Push) -> Void
  ) async throws -> Push.Outcome {
    var push = Push(road.world)
    push.companionHooks.mostHeld = held
    change(&push)
    return try await push.run(Push.Request(database: source, targets: [road.target]))
  }

  @Test func `what is deleted or replaced once it is listed is kept as the snapshot knew it`() async throws {
    let road = try await Road()
    try write(road, "att/deleted", "still here")
    try write(road, "att/gone/deep", "here too")
    try write(road, "att/replaced", "old")
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    let outcome = try await push(road, source) { push in
      push.take = { [take = push.take] in
        let snapshot = try await take($0, $1)
        try removeFile("\(path)/att/deleted")
        try removeFile("\(path)/att/gone")
        try writeFile("\(path)/att/new", Array("appeared".utf8))
        try writeFile("\(path)/att/next", Array("new".utf8))
        rename("\(path)/att/next", "\(path)/att/replaced")
        return snapshot
      }
    }
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    _ = try await pull(road)
    #expect(try pulled(road, "att/deleted") == "still here" && pulled(road, "att/gone/deep") == "here too")
    #expect(try pulled(road, "att/replaced") == "old" && pulled(road, "att/new") == "appeared")
  }

  /// What a server's clock dates before the snapshot may have been put there while that was taken.
  @Test(arguments: [true, false])
  func `of what is replaced on a file server the earlier one is kept, and told`(isOfThisMachine: Bool) async throws {
    let road = try await Road()
    try write(road, "att/folded", "old")
    try write(road, "att/replaced", "old")
    try write(road, "att/same", "same")
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    let outcome = try await push(road, source) { push in
      push.companionHooks.isOfThisMachine = { _ in isOfThisMachine }
      push.take = { [take = push.take] in
        var snapshot = try await take($0, $1)
        try writeFile("\(path)/att/next", Array("new".utf8))
        rename("\(path)/att/next", "\(path)/att/replaced")
        try removeFile("\(path)/att/folded")
        symlink("same", "\(path)/att/folded")
        // The server's clock is five seconds behind.
        snapshot.takenAt += 5000
        return snapshot
      }
    }
    let told = CaptureFacts.Event(what: "unsettled", count: 2, paths: ["att/folded", "att/replaced"])
    #expect(outcome.pushed.first?.beside?.capture.events == (isOfThisMachine ? [] : [told]))
    _ = try await pull(road)
    #expect(try pulled(road, "att/replaced") == (isOfThisMachine ? "new" : "old"))
    #expect(try pulled(road, "att/folded") == (isOfThisMachine ? "same" : "old") && pulled(road, "att/same") == "same")
  }

  @Test func `a folder that is exchanged as a whole is kept as the snapshot knew it`() async throws {
    let road = try await Road()
    try write(road, "att/a", "old")
    try write(road, "att/sub/b", "old")
    symlink("old", road.scratch.file("att/link"))
    try write(road, "next/a", "new")
    try write(road, "next/sub/b", "new")
    symlink("new", road.scratch.file("next/link"))
    // Made long before: only the folder takes its name meanwhile.
    try await Task.sleep(for: .milliseconds(50))
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    _ = try await push(road, source) { push in
      push.take = { [take = push.take] in
        let snapshot = try await take($0, $1)
        rename("\(path)/att", "\(path)/before")
        rename("\(path)/next", "\(path)/att")
        return snapshot
      }
    }
    _ = try await pull(road)
    #expect(try pulled(road, "att/a") == "old" && pulled(road, "att/sub/b") == "old")
    let link = road.scratch.file("out.db.companions/att/link")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "old")
  }

  @Test func `a file that becomes a link, or a link that is switched, is kept as the snapshot knew it`() async throws {
    let road = try await Road()
    try write(road, "att/tiered", "content")
    try write(road, "att/folded", "content")
    symlink("release1", road.scratch.file("att/current"))
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    let outcome = try await push(road, source) { push in
      push.take = { [take = push.take] in
        let snapshot = try await take($0, $1)
        for (name, target) in [("tiered", "elsewhere"), ("current", "release2")] {
          symlink(target, "\(path)/att/next")
          rename("\(path)/att/next", "\(path)/att/\(name)")
        }
        try removeFile("\(path)/att/folded")
        mkdir("\(path)/att/folded", 0o755)
        try writeFile("\(path)/att/folded/inner", [1])
        return snapshot
      }
    }
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    _ = try await pull(road)
    #expect(try pulled(road, "att/tiered") == "content" && pulled(road, "att/folded") == "content")
    let link = road.scratch.file("out.db.companions/att/current")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "release1")
  }

  @Test func `what took another's place meanwhile is in the next version, not called unchanged`() async throws {
    let road = try await Road()
    try write(road, "att/replaced", "old")
    try write(road, "att/deleted", "old")
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    // So that times prove something, of the database and of what comes with it.
    try await Task.sleep(for: .milliseconds(2200))
    _ = try await push(road, source) { push in
      push.take = { [take = push.take] in
        let snapshot = try await take($0, $1)
        try writeFile("\(path)/next", Array("new".utf8))
        rename("\(path)/next", "\(path)/att/replaced")
        try removeFile("\(path)/att/deleted")
        try await Task.sleep(for: .milliseconds(2200))
        return snapshot
      }
    }
    let again = try await road.push(source)
    #expect(again.pushed.first?.unchanged == false)
    _ = try await pull(road)
    #expect(try pulled(road, "att/replaced") == "new" && pulled(road, "att/deleted") == nil)
    try await Task.sleep(for: .milliseconds(2200))
    _ = try await road.push(source)
    #expect(try await road.push(source).pushed.first?.unchanged == true)
  }

  @Test func `names that people see alike are two files, before and after a renaming`() async throws {
    let road = try await Road()
    let (composed, decomposed) = ("att/\u{E9}", "att/e\u{301}")
    try write(road, "\(composed)/file", "same")
    let source = try source(road, Companion("att"))
    _ = try await road.push(source)
    try write(road, "\(decomposed)/file", "same")
    try removeFile(road.scratch.file("\(composed)/file"))
    rmdir(road.scratch.file(composed))
    #expect(try await road.push(source).pushed.first?.unchanged == false)
    // Both at once, and the one that was listed first is deleted before it is read.
    try write(road, "\(composed)/file", "of the first")
    let path = road.scratch.file("\(composed)/file")
    let outcome = try await push(road, source) { $0.companionHooks.listed = { try? removeFile(path) } }
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    _ = try await pull(road)
    #expect(try pulled(road, "\(composed)/file") == "of the first" && pulled(road, "\(decomposed)/file") == "same")
  }

  @Test func `the limit of open files is what it was, when nothing is held any more`() async {
    // A limit is that of a whole process: in one of its own.
    await #expect(processExitsWith: .success) {
      let which = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      var limit = rlimit()
      func soft() -> rlim_t { getrlimit(which, &limit) == 0 ? limit.rlim_cur : 0 }
      _ = soft()
      limit.rlim_cur = 256
      #expect(setrlimit(which, &limit) == 0)
      withExtendedLifetime(HeldFiles(for: 0)) { #expect(soft() == 256) }
      withExtendedLifetime(HeldFiles(for: 400)) { #expect(soft() > 656) }
      #expect(soft() == 256)
      // Two pushes at once, of which the first ends first.
      var held = [HeldFiles(for: 400)]
      held.append(HeldFiles(for: 900))
      // Neither has opened one yet, and both may.
      #expect(soft() >= 512 + 400 + 900)
      held.removeFirst()
      #expect(soft() > 1156)
      held.removeLast()
      #expect(soft() == 256)
    }
  }

  /// Somebody types a passphrase: what counts is what was there when the snapshot began.
  @Test func `what changes while keys and targets are opened is no loss`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    try write(road, "att/replaced", "old")
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    var target = road.target
    target.prepare = {
      try removeFile("\(path)/att/a")
      try writeFile("\(path)/att/b", Array("made meanwhile".utf8))
      try writeFile("\(path)/next", Array("new".utf8))
      rename("\(path)/next", "\(path)/att/replaced")
    }
    var push = Push(road.world)
    push.take = { [take = push.take] in
      let snapshot = try await take($0, $1)
      for name in ["b", "replaced"] { try removeFile("\(path)/att/\(name)") }
      return snapshot
    }
    let outcome = try await push.run(Push.Request(database: source, targets: [target]))
    #expect(outcome.failures.isEmpty && outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    _ = try await pull(road)
    #expect(try pulled(road, "att/a") == nil && pulled(road, "att/b") == "made meanwhile")
    #expect(try pulled(road, "att/replaced") == "new")
  }

  @Test func `what is deleted and was not held is told by name`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    try write(road, "att/b")
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    let outcome = try await push(road, source, held: 0) { push in
      push.companionHooks.listed = { try? removeFile("\(path)/att/a") }
      // The last moment: listed twice, and about to be opened.
      push.companionHooks.opened = { if $0 == "att/b" { try? removeFile("\(path)/att/c") } }
    }
    #expect(outcome.pushed.first?.beside?.capture.events == [.init(what: "vanished", count: 1, paths: ["att/a"])])
    try write(road, "att/c")
    let again = try await push(road, source, held: 0) { push in
      push.companionHooks.opened = { if $0 == "att/b" { try? removeFile("\(path)/att/c") } }
    }
    #expect(again.pushed.first?.beside?.capture.events == [.init(what: "vanished", count: 1, paths: ["att/c"])])
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("vanished before being read") })
    _ = try await pull(road)
    #expect(try pulled(road, "att/b") == "content" && pulled(road, "att/c") == nil)
  }

  @Test func `a file that changes while it is read is read again`() async throws {
    let road = try await Road()
    try write(road, "att/log", "first state")
    let source = try source(road, Companion("att"))
    let path = road.scratch.file("att/log")
    let readings = Locked(0)
    let outcome = try await push(road, source) { push in
      push.companionHooks.reading = { _ in
        let reading = readings.withLock { count in
          count += 1
          return count
        }
        if reading == 1 { try? writeFile(path + ".new", Array("second".utf8)) }
        if reading == 1 {
          let file = open(path, O_WRONLY | O_TRUNC)
          Glibc.write(file, "second state, longer", 20)
          close(file)
        }
      }
    }
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true && readings.withLock { $0 } > 1)
    _ = try await pull(road)
    #expect(try pulled(road, "att/log") == "second state, longer")
  }

  @Test func `a file that never holds still is kept as it was read, and told`() async throws {
    let road = try await Road()
    try write(road, "att/log", String(repeating: "x", count: 100))
    let source = try source(road, Companion("att"))
    let path = road.scratch.file("att/log")
    let readings = Locked(0)
    let outcome = try await push(road, source) { push in
      push.companionHooks.reading = { _ in
        let length = readings.withLock { count in
          count += 1
          return 100 - count
        }
        truncate(path, off_t(length))
      }
    }
    #expect(outcome.pushed.first?.beside?.capture.events == [.init(what: "unsettled", count: 1, paths: ["att/log"])])
    #expect(readings.withLock { $0 } == 3)
    _ = try await pull(road)
    #expect(try pulled(road, "att/log")?.hasPrefix("xxxx") == true)
  }

  @Test func `a folder that is swapped for a link leads nowhere`() async throws {
    let road = try await Road()
    try write(road, "secret/key", "nobody may read this")
    try write(road, "att/first")
    try write(road, "att/sub/key", "mine")
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    @Sendable func swap() {
      rename("\(path)/att/sub", "\(path)/aside")
      symlink("\(path)/secret", "\(path)/att/sub")
    }
    @Sendable func swapBack() {
      unlink("\(path)/att/sub")
      rename("\(path)/aside", "\(path)/att/sub")
    }
    for moment in ["listing", "opening"] {
      let swapped = Locked(false)
      _ = try await push(road, source, held: 0) { push in
        @Sendable func once() {
          if swapped.withLock({ done in
            defer { done = true }; return !done
          }) {
            swap()
          }
        }
        if moment == "listing" { push.companionHooks.opening = { if $0 == "att/sub" { once() } } }
        if moment == "opening" { push.companionHooks.opened = { if $0 == "att/first" { once() } } }
      }
      #expect(swapped.withLock { $0 })
      swapBack()
      _ = try await pull(road, "\(moment).db")
      let picture = try FolderPicture(road.scratch.file("\(moment).db.companions"), times: false)
      #expect(picture.entries["att/first"] != nil && picture.entries["att/sub/key"] == nil, "\(picture)")
      try write(road, "att/first", "again \(moment)")
    }
  }

  // MARK: Links to what is named

  private func members(_ road: Road) async throws -> [String] {
    try await ListVersions(road.world).show(.latest(database: "app"), at: road.target).members.map(\.path)
  }

  @Test(arguments: [true, false], [Int?.none, 0]) func `a companion that is a link is kept as what it leads to`(
    isAbsolute: Bool, held: Int?
  ) async throws {
    let road = try await Road()
    try write(road, "elsewhere/real/a", "content")
    symlink("a", road.scratch.file("elsewhere/real/link"))
    symlink("elsewhere/real", road.scratch.file("att"))
    let source = try source(road, Companion(isAbsolute ? road.scratch.file("att") : "att"))
    let outcome = try await push(road, source, held: held) { _ in }
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    // What lies in it is not followed.
    #expect(try await members(road) == ["app.db", "att", "att/a", "att/link"])
    _ = try await pull(road)
    #expect(
      try FolderPicture(road.scratch.file("out.db.companions/att"))
        == FolderPicture(
          road.scratch.file("elsewhere/real")))
  }

  @Test func `links on the way to a companion are followed`() async throws {
    let road = try await Road()
    try write(road, "data/srv/att/a")
    symlink("data/srv", road.scratch.file("srv"))
    _ = try await road.push(try source(road, Companion(road.scratch.file("srv/att")), Companion("srv/att/a")))
    #expect(try await members(road) == ["app.db", "att", "att/a", "srv/att/a"])
  }

  @Test func `a companion that leads nowhere is missing, one that leads to the database stays a link`() async throws {
    let road = try await Road()
    symlink("unmounted", road.scratch.file("att"))
    symlink("app.db", road.scratch.file("alias"))
    let outcome = try await road.push(try source(road, Companion("att"), Companion("alias")))
    #expect(outcome.pushed.first?.beside?.capture.events == [.init(what: "missing", count: 1, paths: ["att"])])
    #expect(try await members(road) == ["app.db", "alias"])
    let shown = try await ListVersions(road.world).show(.latest(database: "app"), at: road.target)
    #expect(shown.members.last?.kind == "link")
  }

  // MARK: Missing

  @Test func `a companion that was never there, or is gone, is worth an exit status until it is there`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    let first = try await road.push(source)
    #expect(first.shortfalls.map(\.code) == ["companionMissing"] && first.shortfalls[0].message.contains("att"))
    // The night after too, although nothing has changed.
    #expect(try await road.push(source).shortfalls.map(\.code) == ["companionMissing"])
    #expect(first.pushed.first?.beside?.capture.events == [.init(what: "missing", count: 1, paths: ["att"])])
    try write(road, "att/a")
    #expect(try await road.push(source).shortfalls.isEmpty)
    rename(road.scratch.file("att"), road.scratch.file("unmounted"))
    let gone = try await road.push(source)
    #expect(gone.shortfalls.map(\.code) == ["companionGone"] && gone.pushed.count == 1 && gone.failures.isEmpty)
    // It is no less gone the night after, whether the database has changed or not.
    #expect(try await road.push(source).shortfalls.map(\.code) == ["companionGone"])
    try await road.change(source.path)
    #expect(try await road.push(source).shortfalls.map(\.code) == ["companionGone"])
    rename(road.scratch.file("unmounted"), road.scratch.file("att"))
    #expect(try await road.push(source).shortfalls.isEmpty)
    rename(road.scratch.file("att"), road.scratch.file("unmounted"))
    #expect(try await road.push(source).shortfalls.map(\.code) == ["companionGone"])
    var without = source
    without.companions = []
    #expect(try await road.push(without).shortfalls.isEmpty)
  }

  /// As a program left it that did not know of lost companions yet.
  private func makeListsOfEarlierRelease(_ road: Road) async throws {
    let lookup = try await VersionLookup(at: road.target, road.world, isReading: false)
    for history in try await lookup.histories() {
      let facts = try history.versions.flatMap { facts in
        let bytes: [UInt8] = [0] + VersionFacts.encode([facts]).dropFirst().dropLast()
        return try VersionFacts.decode(bytes, of: history.chain)
      }
      try? removeFile("\(lookup.state.path)/\(history.chain.hex)/versions")
      let kept = KeptVersions(history.chain, in: lookup.state, keys: lookup.repository.keys)
      #expect(kept.replace(by: facts, random: systemRandom))
    }
  }

  /// What may be wrong with a disk.
  enum Trouble: Sendable {
    case gone
    /// Nobody can look at it.
    case barred
    /// Its names are there, and no file can be read.
    case namesOnly
  }

  /// Each night a push without the disk, or with one that answers with errors: the versions of before must not go one by
  /// one.
  @Test(arguments: [
    ("att", Trouble.gone), ("att", Trouble.barred), ("file", Trouble.barred), ("att", Trouble.namesOnly),
    ("file", Trouble.namesOnly),
  ])
  func `versions that lack their companions do not take the place of the last one that has them`(
    companion: String, trouble: Trouble
  ) async throws {
    let road = try await Road()
    let source = try source(road, Companion(companion))
    try write(road, companion == "att" ? "att/inner/a" : companion)
    // What a link says can still be read then.
    if companion == "att" { symlink("inner/a", road.scratch.file("att/link")) }
    let isBack = Locked(true)
    let first = try #require(try await road.push(source).pushed.first).version
    func push(_ count: Int) async throws {
      for _ in 0..<count {
        try await road.change(source.path)
        let outcome = try await self.push(road, source) { push in
          guard trouble == .namesOnly else { return }
          push.companionHooks.failing = { _ in isBack.withLock { $0 } ? 0 : EIO }
        }
        #expect(outcome.failures.isEmpty)
      }
    }
    func plan() async throws -> RetentionPlan {
      var rules = RetentionRules()
      rules.last = 2
      let plan = try await ForgetVersions(road.world).plan(.init(.rulesForAll(rules)), at: road.target)
      return try #require(plan.chains.first).plan
    }
    func lacking() async throws -> [Bool?] {
      try await ListVersions(road.world).run(at: road.target).versions.map(\.lacksCompanions)
    }
    isBack.withLock { $0 = false }
    if trouble != .namesOnly { rename(road.scratch.file(companion), road.scratch.file("unmounted")) }
    // Root may read everything; but nobody can look at a name that is too long.
    if trouble == .barred { symlink(String(repeating: "x", count: 300), road.scratch.file(companion)) }
    try await push(3)
    #expect(first.lacksCompanions == false)
    #expect(try await lacking() == [false, true, true, true])
    let named = ForgetVersions.Request(.versions([.id(prefix: first.id)]))
    for isEarlier in [false, true] {
      if isEarlier {
        try await makeListsOfEarlierRelease(road)
        #expect(try await lacking() == [nil, nil, nil, nil])
      }
      let decisions = try await plan().decisions
      #expect(decisions.map(\.stays) == [true, false, true, true])
      #expect(decisions[0].reasons == ["newest with its companions"])
      let refusals = try await ForgetVersions(road.world).plan(named, at: road.target).refusals
      #expect(refusals.map(\.code) == ["newestVersion"] && refusals[0].message.contains("companions"))
    }
    isBack.withLock { $0 = true }
    if trouble == .barred { unlink(road.scratch.file(companion)) }
    if trouble != .namesOnly { rename(road.scratch.file("unmounted"), road.scratch.file(companion)) }
    try await push(1)
    #expect(try await plan().decisions.map(\.stays) == [false, false, false, true, true])
  }

  @Test func `one file that cannot be read beside others is no loss of its companions`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    for name in ["a", "b"] { try write(road, "att/\(name)") }
    #expect(try await road.push(source).shortfalls.isEmpty)
    // Else it may be known as pushed before anything is read.
    try await road.change(source.path)
    let outcome = try await push(road, source) { $0.companionHooks.failing = { $0 == "att/a" ? EIO : 0 } }
    #expect(outcome.shortfalls.map(\.code) == ["companionUnreadable"])
    let pushed = try #require(outcome.pushed.first)
    #expect(!pushed.unchanged && pushed.version.lacksCompanions == false)
  }

  /// A disk may answer with an error once, and then no more.
  @Test func `what could not be read for one target is no loss at the next one`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    try write(road, "att/a")
    let mirror = TargetAccess(name: "mirror", store: MemoryStore(), unlock: road.target.unlock)
    _ = try await Initialize(road.world).run(at: mirror, ifMissing: false)
    let request = Push.Request(database: source, targets: [road.target, mirror])
    #expect(try await Push(road.world).run(request).shortfalls.isEmpty)
    try await road.change(source.path)
    var push = Push(road.world)
    push.companionHooks.failing = failingOnce()
    let outcome = try await push.run(request)
    #expect(outcome.pushed.map(\.version.lacksCompanions) == [true, false])
    #expect(outcome.pushed.map { $0.beside?.capture.events.isEmpty } == [false, true])
    // It is told all the same.
    #expect(outcome.shortfalls.map(\.code) == ["companionUnreadable"])
    let said = road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("1 file could not be read") && $0.contains("att/a") })
  }

  @Test func `what could be read at another attempt is in the version, and nothing is lost`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"), Companion("big"))
    try write(road, "att/a")
    try road.writeDear("big", again: false)
    #expect(try await road.push(source).shortfalls.isEmpty)
    try road.writeDear("big", again: true)
    let attempts = Locked(0)
    let outcome = try await push(road, source) { push in
      push.companionHooks.opened = { path in if path == "att/a" { attempts.withLock { $0 += 1 } } }
      push.companionHooks.failing = failingOnce()
    }
    try #require(attempts.withLock { $0 } > 1)
    #expect(outcome.failures.isEmpty && outcome.shortfalls.isEmpty, "\(outcome)")
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    #expect(outcome.pushed.first?.version.lacksCompanions == false)
    #expect(try await members(road) == ["app.db", "att", "att/a", "big"])
    let said = road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("1 file could not be read at first, and is in the version") }, "\(said)")
    #expect(!said.contains { $0.contains("not in the version") }, "\(said)")
  }

  @Test func `one file that vanishes from a folder in use is no loss of its companions`() {
    func lacks(_ entries: Remarks.Capture.Entry...) -> Bool {
      Remarks(capture: Remarks.Capture(entries)).lacksCompanions
    }
    #expect(!lacks(.init(.vanished, "att/a")) && !lacks(.init(.missing, "new"), .init(.vanished, "att/a")))
    #expect(lacks(.init(.missing, "att"), .init(.vanished, "att")))
  }

  /// What stands in the place of a disk that is not mounted is an empty folder.
  @Test func `a companion that has no files any more is worth an exit status`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    try FileManager.default.createDirectory(atPath: road.scratch.file("att"), withIntermediateDirectories: true)
    #expect(try await road.push(source).shortfalls.isEmpty)
    try write(road, "att/inner/a")
    #expect(try await road.push(source).shortfalls.isEmpty)
    rename(road.scratch.file("att"), road.scratch.file("disk"))
    mkdir(road.scratch.file("att"), 0o755)
    age(road, "att")
    for _ in 0..<2 { #expect(try await road.push(source).shortfalls.map(\.code) == ["companionEmpty"]) }
    try await road.change(source.path)
    #expect(try await road.push(source).shortfalls.map(\.code) == ["companionEmpty"])
    rmdir(road.scratch.file("att"))
    rename(road.scratch.file("disk"), road.scratch.file("att"))
    let back = try await road.push(source)
    #expect(back.shortfalls.isEmpty && back.pushed.first?.beside?.files == 1)
    // Who deletes the files empties the folder.
    try removeFile(road.scratch.file("att/inner"))
    #expect(try await road.push(source).shortfalls.isEmpty)
  }

  /// A small machine whose clock begins in 1970 until it has a network. Its disk may be older than the folder that it is
  /// mounted on.
  @Test(arguments: [(12, false), (490_000, false), (490_000, true)])
  func `a clock that was behind does not hide that a disk is not mounted`(hours: Int, diskIsOlder: Bool) async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    try write(road, "att/a")
    if diskIsOlder { age(road, "att") }
    #expect(try await road.push(source).shortfalls.isEmpty)
    try await road.change(source.path)
    let behind = try await push(road, source) { push in
      push.take = { [take = push.take] in
        var snapshot = try await take($0, $1)
        snapshot.takenAt -= Int64(hours) * 3_600_000
        return snapshot
      }
    }
    #expect(behind.failures.isEmpty && behind.shortfalls.isEmpty)
    rename(road.scratch.file("att"), road.scratch.file("disk"))
    mkdir(road.scratch.file("att"), 0o755)
    setTime(road.scratch.file("att"), (time(nil) - 6 * 3600) * 1000)
    for _ in 1...2 {
      try await road.change(source.path)
      #expect(try await road.push(source).shortfalls.map(\.code) == ["companionEmpty"])
    }
    var rules = RetentionRules()
    rules.last = 2
    let plan = try await ForgetVersions(road.world).plan(.init(.rulesForAll(rules)), at: road.target)
    let decisions = try #require(plan.chains.first).plan.decisions
    #expect(decisions.map(\.stays) == [false, true, true, true])
    #expect(decisions[1].reasons == ["newest with its companions"])
    // As the hint says.
    utimensat(AT_FDCWD, road.scratch.file("att"), nil, 0)
    #expect(try await road.push(source).shortfalls.isEmpty)
  }

  @Test func `a folder on a server that is days ahead is told as empty until somebody answers`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    let ahead = (time(nil) + 3 * 86_400) * 1000
    try write(road, "att/a")
    setTime(road.scratch.file("att"), ahead)
    #expect(try await road.push(source).shortfalls.isEmpty)
    try removeFile(road.scratch.file("att/a"))
    setTime(road.scratch.file("att"), ahead + 60_000)
    for _ in 1...2 { #expect(try await road.push(source).shortfalls.map(\.code) == ["companionEmpty"]) }
    setTime(road.scratch.file("att"), ahead + 120_000)
    #expect(try await road.push(source).shortfalls.isEmpty)
  }

  @Test func `a companion that was empty anyway is gone while it is gone, and no longer`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("queue"))
    mkdir(road.scratch.file("queue"), 0o755)
    #expect(try await road.push(source).shortfalls.isEmpty)
    rename(road.scratch.file("queue"), road.scratch.file("unmounted"))
    #expect(try await road.push(source).shortfalls.map(\.code) == ["companionGone"])
    rename(road.scratch.file("unmounted"), road.scratch.file("queue"))
    for _ in 1...2 { #expect(try await road.push(source).shortfalls.isEmpty) }
  }

  @Test func `files that are gone with the folder are missed in an empty one, until somebody uses that`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    try write(road, "att/inner/a")
    #expect(try await road.push(source).shortfalls.isEmpty)
    rename(road.scratch.file("att"), road.scratch.file("disk"))
    for _ in 1...2 {
      try await road.change(source.path)
      #expect(try await road.push(source).shortfalls.map(\.code) == ["companionGone"])
    }
    mkdir(road.scratch.file("att"), 0o755)
    age(road, "att")
    for _ in 1...2 { #expect(try await road.push(source).shortfalls.map(\.code) == ["companionEmpty"]) }
    // Who writes a file and deletes it empties the folder.
    try write(road, "att/b")
    try removeFile(road.scratch.file("att/b"))
    for _ in 1...2 { #expect(try await road.push(source).shortfalls.isEmpty) }
  }

  @Test func `a folder that is made anew in the place of a companion that is gone is a new beginning`() async throws {
    let road = try await Road()
    let source = try source(road, Companion("att"))
    try write(road, "att/a")
    #expect(try await road.push(source).shortfalls.isEmpty)
    try removeFile(road.scratch.file("att"))
    #expect(try await road.push(source).shortfalls.map(\.code) == ["companionGone"])
    // The clock of files' times moves in steps.
    try await Task.sleep(for: .milliseconds(30))
    mkdir(road.scratch.file("att"), 0o755)
    for _ in 1...2 { #expect(try await road.push(source).shortfalls.isEmpty) }
  }

  @Test func `a name that is not UTF-8 is told as such, and may be left out`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    let bytes = Array(road.scratch.file("att/").utf8) + [0xE9] + Array(".tmp".utf8) + [0]
    let descriptor = bytes.withUnsafeBufferPointer {
      open($0.withMemoryRebound(to: CChar.self) { $0.baseAddress! }, O_CREAT | O_WRONLY, 0o600)
    }
    #expect(descriptor >= 0)
    close(descriptor)
    let told = try await road.push(try source(road, Companion("att"))).shortfalls
    #expect(told.map(\.code) == ["companionUnreadable"])
    #expect(told.first?.hint?.contains("UTF-8") == true)
    for pattern in ["*.tmp", "?.tmp"] {
      #expect(try await road.push(try source(road, Companion("att", exclude: [pattern]))).shortfalls.isEmpty)
    }
  }

  @Test func `a link to what is not UTF-8 is told as such, and may be left out`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    let target = "tgt".utf8CString.dropLast() + [CChar(truncatingIfNeeded: 0xE9), 0]
    #expect(symlink(Array(target), road.scratch.file("att/badlink")) == 0)
    let told = try await road.push(try source(road, Companion("att"))).shortfalls
    #expect(told.map(\.code) == ["companionUnreadable"])
    #expect(told.first?.message.contains("att/badlink -> tgt\u{FFFD}") == true)
    #expect(told.first?.hint?.contains("UTF-8") == true)
    let without = try await road.push(try source(road, Companion("att", exclude: ["badlink"])))
    #expect(without.shortfalls.isEmpty)
  }

  /// The folder of its external files would have a longer one than any file.
  @Test func `a database may have a name of 247 bytes`() async throws {
    let road = try await Road()
    let path = road.scratch.file(String(repeating: "n", count: 247))
    try SQLite.run("create table t(a)", on: path)
    let outcome = try await road.push(DatabaseSource(name: "app", path: path))
    #expect(outcome.shortfalls.isEmpty && outcome.failures.isEmpty && outcome.pushed.count == 1)
  }

  // MARK: Databases among them

  /// A database in use beside the one that is pushed: what is in its -wal must fit what is in it.
  private func ledger(_ road: Road) throws -> TestDatabase {
    try FileManager.default.createDirectory(atPath: road.scratch.file("att"), withIntermediateDirectories: true)
    let ledger = try TestDatabase(road.scratch.file("att/z.db"))
    try ledger.run("pragma journal_mode=wal; pragma wal_autocheckpoint=0; create table a(v); create table b(v)")
    try ledger.run("insert into a values(0); insert into b values(0); pragma wal_checkpoint(truncate)")
    try ledger.run("update a set v = 1")
    return ledger
  }

  @Test(arguments: [1, 2]) func `a database among the companions is of one moment with its side files`(
    times: Int
  ) async throws {
    let road = try await Road()
    nonisolated(unsafe) let ledger = try ledger(road)
    let source = try source(road, Companion("att"))
    let left = Locked(times)
    let outcome = try await push(road, source) { push in
      push.companionHooks.opened = { path in
        // Between the two files: what was in the -wal goes into the database that was read already, and is lost to it.
        guard path == "att/z.db-wal" else { return }
        let isTurn = left.withLock { left in
          left -= 1
          return left >= 0
        }
        guard isTurn else { return }
        try? ledger.run("begin; update a set v = v + 1; update b set v = v + 1; commit")
        try? ledger.run("pragma wal_checkpoint(truncate); update a set v = v + 1")
      }
    }
    #expect(left.withLock { $0 } < 0)
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    _ = try await pull(road)
    let (now, restored) = (road.scratch.file("att/z.db"), road.scratch.file("out.db.companions/att/z.db"))
    let wanted = try await dump(now)
    #expect(try await dump(restored) == wanted)
  }

  @Test func `a -wal that could be read only with the database that changed meanwhile is in`() async throws {
    let road = try await Road()
    nonisolated(unsafe) let ledger = try ledger(road)
    let source = try source(road, Companion("att"))
    let fails = Locked(true)
    let outcome = try await push(road, source) { push in
      push.companionHooks.failing = { path in
        guard path == "att/z.db-wal" else { return 0 }
        let isTurn = fails.withLock { fails in
          defer { fails = false }
          return fails
        }
        guard isTurn else { return 0 }
        try? ledger.run("update b set v = v + 1; pragma wal_checkpoint(truncate); update a set v = v + 1")
        return EIO
      }
    }
    #expect(!fails.withLock { $0 } && outcome.shortfalls.isEmpty)
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    #expect(try await members(road).contains("att/z.db-wal"))
    try ledger.run("select 1")
  }

  @Test func `a database that is named by itself brings what was committed beside it`() async throws {
    let road = try await Road()
    nonisolated(unsafe) let ledger = try ledger(road)
    _ = try await road.push(try source(road, Companion("att/z.db")))
    _ = try await pull(road)
    #expect(road.files(in: road.scratch.file("out.db.companions/att")) == ["z.db", "z.db-wal"])
    let (now, restored) = (road.scratch.file("att/z.db"), road.scratch.file("out.db.companions/att/z.db"))
    #expect(try await dump(restored) == dump(now))
    // Named by itself as well, it comes once.
    let both = try source(road, Companion("att/z.db"), Companion("att/z.db-wal"))
    #expect(try await road.push(both).failures.isEmpty)
    #expect(try await members(road) == ["app.db", "att/z.db", "att/z.db-wal"])
    try ledger.run("select 1")
  }

  @Test func `a -wal that was checkpointed while the copy was taken has not vanished`() async throws {
    let road = try await Road()
    let ledger = Locked<TestDatabase?>(try ledger(road))
    let source = try source(road, Companion("att"))
    let outcome = try await push(road, source) { push in
      push.take = { [take = push.take] in
        let snapshot = try await take($0, $1)
        // The last one who has it open closes it.
        ledger.withLock { $0 = nil }
        return snapshot
      }
    }
    #expect(road.files(in: road.scratch.file("att")) == ["z.db"])
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    _ = try await pull(road)
    #expect(try TestDatabase(road.scratch.file("out.db.companions/att/z.db")).text("select v from a") == "1")
  }

  @Test func `what comes between a database and its -wal by its name alone is read by itself`() async throws {
    let road = try await Road()
    nonisolated(unsafe) let ledger = try ledger(road)
    for number in 10..<50 { try write(road, "att/z.db-backups/\(number)") }
    let source = try source(road, Companion("att"))
    let folder = road.scratch.file("att/z.db-backups")
    let readings = Locked<[String: Int]>([:])
    let mostOpen = Locked(0)
    let outcome = try await push(road, source, held: 0) { push in
      push.companionHooks.reading = { path in
        let reading = readings.withLock { readings in
          readings[path, default: 0] += 1
          return readings[path]
        }
        if path == "att/z.db-backups/17", reading == 1 { try? writeFile("\(folder)/17", Array("changed".utf8)) }
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let open = links.filter { link in
          let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(link)")
          return file?.hasPrefix("\(folder)/") == true
        }
        mostOpen.withLock { $0 = max($0, open.count) }
      }
    }
    #expect(outcome.pushed.first?.beside?.capture.events.isEmpty == true)
    #expect(readings.withLock { $0.filter { $0.value != 1 } } == ["att/z.db-backups/17": 2])
    #expect((1...2).contains(mostOpen.withLock { $0 }))
    try ledger.run("select 1")
    _ = try await pull(road)
    #expect(try pulled(road, "att/z.db-backups/17") == "changed" && pulled(road, "att/z.db-backups/49") == "content")
    let (now, restored) = (road.scratch.file("att/z.db"), road.scratch.file("out.db.companions/att/z.db"))
    #expect(try await dump(restored) == dump(now))
  }

  /// SQLite would play it into the one that was kept.
  @Test(arguments: [true, false])
  func `a -wal that is another database's by now is left out, and told`(whileRead: Bool) async throws {
    let road = try await Road()
    nonisolated(unsafe) let ledger = try ledger(road)
    let source = try source(road, Companion("att"))
    let path = road.scratch.path
    let next = try TestDatabase("\(path)/next.db")
    try next.run("pragma journal_mode=wal; pragma wal_autocheckpoint=0; create table a(v); create table c(v)")
    try next.run("insert into a values('another'); insert into c values(1)")
    next.closeKeepingWal()
    let exchange: @Sendable () -> Void = {
      for ending in ["", "-wal"] { rename("\(path)/next.db\(ending)", "\(path)/att/z.db\(ending)") }
    }
    let outcome = try await push(road, source) { push in
      if whileRead {
        push.companionHooks.reading = { if $0 == "att/z.db" { exchange() } }
      } else {
        push.take = { [take = push.take] in
          let snapshot = try await take($0, $1)
          exchange()
          return snapshot
        }
      }
    }
    let events = try #require(outcome.pushed.first?.beside?.capture.events)
    #expect(events.contains { $0.what == "vanished" && $0.paths.contains("att/z.db-wal") }, "\(events)")
    _ = try await pull(road)
    #expect(try TestDatabase(road.scratch.file("out.db.companions/att/z.db")).text("select v from a") == "0")
    try ledger.run("select 1")
  }

  /// It would be half of it.
  @Test func `a transaction that began after the listing, and is in the file, is told`() async throws {
    let road = try await Road()
    try write(road, "att/a.bin")
    let path = road.scratch.file("att/z.db")
    nonisolated(unsafe) let ledger = try TestDatabase(path)
    try ledger.run("create table a(v, b); pragma cache_size=1")
    try ledger.run(
      "with n(i) as (select 1 union all select i + 1 from n where i < 900) insert into a select 0, randomblob(900) from n"
    )
    try await Task.sleep(for: .milliseconds(50))
    let source = try source(road, Companion("att"))
    let outcome = try await push(road, source) { push in
      push.companionHooks.opened = { if $0 == "att/a.bin" { try? ledger.run("begin; update a set v = 1") } }
    }
    let isHot = try fileBytes("\(path)-journal").contains { $0 != 0 }
    try #require(isHot)
    #expect(outcome.pushed.first?.beside?.capture.events == [.init(what: "unsettled", count: 1, paths: ["att/z.db"])])
    try ledger.run("rollback")
  }

  @Test func `one that never holds still is told`() async throws {
    let road = try await Road()
    nonisolated(unsafe) let ledger = try ledger(road)
    let source = try source(road, Companion("att"))
    let outcome = try await push(road, source) { push in
      push.companionHooks.opened = { path in
        guard path == "att/z.db-wal" else { return }
        try? ledger.run("update b set v = v + 1; pragma wal_checkpoint(truncate); update a set v = v + 1")
      }
    }
    let events = outcome.pushed.first?.beside?.capture.events
    // The -wal was written to after it was opened, each time.
    #expect(events == [.init(what: "unsettled", count: 2, paths: ["att/z.db", "att/z.db-wal"])])
  }

  @Test(arguments: [
    [Companion("../x")], [Companion("")], [Companion(".")], [Companion("/")], [Companion("app.db")],
    [Companion("app.db-wal")],
    [Companion("a"), Companion("/srv/a")], [Companion("a"), Companion("a/b")], [Companion("a/b"), Companion("/srv/a")],
    [Companion("a", exclude: [""])], [Companion("a", exclude: ["/x"])], [Companion("a", exclude: ["x/../y"])],
  ]) func `companions that cannot be are refused before anything is read`(companions: [Companion]) async throws {
    let road = try await Road()
    var source = try source(road)
    source.companions = companions
    let error = await #expect(throws: OperationError.self) { try await road.push(source) }
    #expect(error?.kind == .usage && error?.code == "badCompanions")
    #expect(Companion.mistake(in: [Companion("a"), Companion("ab"), Companion("./c//d")], of: source.path) == nil)
  }

  @Test(arguments: [
    ("*.tmp", "a.tmp", true), ("*.tmp", "x/y/a.tmp", true), ("*.tmp", "a.tmpx", false), ("cache/**", "cache/a/b", true),
    ("cache/**", "cache", false), ("cache", "x/cache", true), ("cache/", "cache", true), ("a/*/c", "a/b/c", true),
    ("a/*/c", "a/b/d/c", false), ("a/**/c", "a/b/d/c", true), ("a/**/c", "a/c", true), ("**/x", "x", true),
    ("?.b", "é.b", true), ("[a-c]1", "b1", true), ("[!a-c]1", "b1", false), ("[a-c]1", "d1", false), ("[", "[", true),
    ("[\\-a]", "-", true), ("[\\-a]", "a", true), ("[\\-a]", "_", false), ("[\\]b]", "]", true),
    ("[c-a]", "-", true), ("[c-a]", "b", false), ("[a\\-c]", "b", false), ("\\*", "*", true), ("\\*", "a", false),
    ("a*b*c", "aXbXc", true), ("a*b*c", "aXbX", false), ("[]]", "]", true),
    ("*", "anything", true), ("a*a*a*a*a*a*a*a*b", String(repeating: "a", count: 3000), false),
  ]) func `patterns`(pattern: String, path: String, excludes: Bool) {
    #expect(ExcludePatterns([pattern]).excludes(path.split(separator: "/").map(String.init)[...]) == excludes)
  }

  // MARK: Copy, drill, repair

  @Test func `a copy, a drill and a repair keep all members`() async throws {
    let road = try await Road()
    var random = SeededRandom(5)
    let path = try road.database(rows: 400)
    var source = DatabaseSource(name: "app", path: path)
    _ = try await road.push(source)
    try write(road, "att/a", "one")
    try write(road, "att/locked/b", "two")
    try writeFile(road.scratch.file("att/big"), random.bytes(300_000))
    symlink("a", road.scratch.file("att/link"))
    chmod(road.scratch.file("att/locked/b"), 0o000)
    chmod(road.scratch.file("att/locked"), 0o500)
    source.companions = [Companion("att")]
    _ = try await road.push(source)
    let picture = try FolderPicture(road.scratch.file("att"))

    let drilled = try await Drill(road.world).run(Drill.Request(), at: road.target)
    #expect(drilled.drilled.first?.hasPassed == true)
    #expect(drilled.drilled.first?.passed.contains("3 files beside it restored") == true)

    let store = MemoryStore(location: "memory:other")
    let other = TargetAccess(name: "other", store: store, unlock: { .keyFile([UInt8](repeating: 9, count: 64)) })
    _ = try await Initialize(road.world).run(at: other, ifMissing: false)
    let copied = try await CopyVersions(road.world).run(CopyVersions.Request(), from: road.target, to: other)
    #expect(copied.failures.isEmpty && copied.copied.count == 2)
    _ = try await Pull(road.world).run(
      .latest(database: "app"), from: other, to: .file(road.scratch.file("copy.db")))
    #expect(try FolderPicture(road.scratch.file("copy.db.companions/att")) == picture)

    // The pack of the pages is damaged; the pages are still in the database.
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") }
    let oldest = try #require(packs.max { $0.value.count < $1.value.count }?.key)
    road.store.content[oldest]?[5000] ^= 1
    let found = try await CheckRepository(road.world).run(at: road.target, databases: [], .all)
    #expect(!found.isSound)
    let repaired = try await RepairRepository(road.world).run(.init(databases: [source]), at: road.target)
    #expect(repaired.isWhole && repaired.saved.count == 2)
    road.store.content[oldest] = nil
    #expect(try await CheckRepository(road.world).run(at: road.target, databases: [], .all).isSound)
    _ = try await pull(road)
    #expect(try FolderPicture(road.scratch.file("out.db.companions/att")) == picture)
  }

  // MARK: Into place

  private func reader(_ road: Road) async throws -> VersionReader {
    let lookup = try await VersionLookup(at: road.target, road.world)
    let manifest = try await lookup.manifest(of: lookup.find(.latest(database: "app")))
    return try await VersionReader(manifest, repository: lookup.repository, state: lookup.state)
  }

  private func staged(_ road: Road, beside path: String) async throws -> StagedCompanions {
    let reader = try await reader(road)
    return try #require(try await StagedCompanions.restore(reader, beside: path, onProgress: { _ in }))
  }

  @Test func `progress counts the bytes that are put in place`() async throws {
    let road = try await Road()
    let lengths = [1, 2, 3, 70_000, 131_072]
    for (number, length) in lengths.enumerated() {
      try write(road, "att/\(number)", String(repeating: "x", count: length))
    }
    #expect(try await road.push(source(road, Companion("att"))).failures.isEmpty)
    let put = Locked(0)
    _ = try await StagedCompanions.restore(try await reader(road), beside: road.scratch.file("new.db")) { count in
      put.withLock { $0 += count }
    }
    #expect(put.withLock { $0 } == lengths.reduce(0, +))
  }

  private func readerOfTwoFolders(_ road: Road) async throws -> VersionReader {
    try write(road, "att/a")
    try write(road, "data/deep/b")
    #expect(try await road.push(source(road, Companion("att"), Companion("data/deep"))).failures.isEmpty)
    return try await reader(road)
  }

  /// On a file system that takes their names for one, by whichever of them it lists the folder.
  @Test(arguments: [false, true])
  func `a folder that was made as another one is not taken for its own`(isListed: Bool) async throws {
    let road = try await Road()
    let reader = try await readerOfTwoFolders(road)
    let tree = try MemberTree(
      making: road.scratch.file("tree"),
      makeFolder: { parent, name in
        guard name == "data" else { return mkdirat(parent, name, 0o700) == 0 ? 0 : errno }
        if isListed { renameat(parent, "att", parent, name) }
        return EEXIST
      })
    let error = await #expect(throws: OperationError.self) {
      try await tree.fill(from: reader, finishing: true, onProgress: { _ in })
    }
    #expect(error?.code == "namesCollide" && error?.message.contains("'data'") == true, "\(error as Any)")
  }

  @Test func `a folder that a server of files made without a word is the one that was meant`() async throws {
    let road = try await Road()
    let reader = try await readerOfTwoFolders(road)
    let tree = try MemberTree(
      making: road.scratch.file("tree"),
      makeFolder: { parent, name in
        // Its answer was lost.
        if name != "tree" { _ = mkdirat(parent, name, 0o700) }
        return mkdirat(parent, name, 0o700) == 0 ? 0 : errno
      })
    try await tree.fill(from: reader, finishing: true, onProgress: { _ in })
    for file in ["att/a", "data/deep/b"] {
      #expect(try fileBytes("\(tree.path)/\(file)") == fileBytes(road.scratch.file(file)))
    }
  }

  /// As a file system does that takes capitals and small letters for one.
  @Test(arguments: ["single", "alias"])
  func `a name that is taken is another member's, and nothing is put together with that`(taken: String) async throws {
    let road = try await Road()
    try write(road, "att/a")
    try write(road, "data/deep/b")
    try write(road, "single")
    #expect(symlink("app.db", road.scratch.file("alias")) == 0)
    let source = try source(
      road, Companion("att"), Companion("data/deep"), Companion("single"), Companion("alias"))
    #expect(try await road.push(source).failures.isEmpty)
    let reader = try await reader(road)
    let tree = try MemberTree(making: road.scratch.file("tree"))
    #expect(mkdir("\(tree.path)/\(taken)", 0o700) == 0)
    let error = await #expect(throws: OperationError.self) {
      try await tree.fill(from: reader, finishing: true, onProgress: { _ in })
    }
    #expect(error?.kind == .failed && error?.code == "namesCollide")
    #expect(error?.message.contains("'\(taken)'") == true, "\(error as Any)")
    #expect(error?.hint?.contains("capitals and small letters") == true)
    let told = FoundVersion.hinting(try #require(error)) as? OperationError
    #expect(told?.hint?.contains("--no-companions") == true)
  }

  /// What is changed once more after it was made durable costs a commit of the file system's journal: not for every file.
  @Test func `modes and times of all files are made durable together, after the content of each`() async throws {
    let road = try await Road()
    for name in ["a", "b", "c"] {
      try write(road, "att/\(name)")
      #expect(chmod(road.scratch.file("att/\(name)"), 0o640) == 0)
    }
    #expect(try await road.push(try source(road, Companion("att"))).failures.isEmpty)
    let first = road.scratch.file("tree/att/a")
    let calls = Locked<[String]>([])
    var syncing = MemberTree.Syncing()
    syncing.file = { descriptor in
      var status = stat()
      fstat(descriptor, &status)
      calls.withLock { $0.append("file \(String(status.st_mode & 0o777, radix: 8))") }
      return fsync(descriptor)
    }
    syncing.all = { _ in
      var status = stat()
      lstat(first, &status)
      calls.withLock { $0.append("all \(String(status.st_mode & 0o777, radix: 8))") }
      return 0
    }
    let tree = try MemberTree(making: road.scratch.file("tree"), syncing: syncing)
    try await tree.fill(from: try await reader(road), finishing: true, onProgress: { _ in })
    #expect(calls.withLock { $0 } == ["all 600", "file 600", "file 600", "file 600", "all 640"])
    // That this went wrong is told, too.
    syncing.all = { _ in
      errno = EIO
      return calls.withLock { $0.removeFirst() } == "all 640" ? -1 : 0
    }
    calls.withLock { $0 = ["all 600", "all 640"] }
    let other = try MemberTree(making: road.scratch.file("other"), syncing: syncing)
    let version = try await reader(road)
    await #expect(throws: OperationError.self) {
      try await other.fill(from: version, finishing: true, onProgress: { _ in })
    }
  }

  @Test func `into place: refused, or moved aside, with a way back`() async throws {
    let road = try await Road()
    try write(road, "att/a", "pushed")
    try write(road, "data/deep/b", "deep")
    try write(road, "single", "alone")
    let source = try source(road, Companion("att"), Companion("data/deep"), Companion("single"))
    _ = try await road.push(source)
    try write(road, "att/a", "changed since")
    let before = try FolderPicture(road.scratch.path, times: false).entries.filter { !$0.key.hasPrefix("state") }

    let refused = CompanionsPlace(try await staged(road, beside: source.path), beside: source.path)
    #expect(throws: OperationError.self) { try refused.put(replacing: false, time: "T") }
    #expect(refused.existing.count == 3)
    let placed = try refused.put(replacing: true, time: "T")
    #expect(placed.made.map { $0.dropFirst(road.scratch.path.count) } == ["/att", "/data/deep", "/single"])
    #expect(try fileBytes(road.scratch.file("att/a")) == Array("pushed".utf8))
    #expect(try fileBytes(road.scratch.file("att.before-T/a")) == Array("changed since".utf8))
    #expect(try fileBytes(road.scratch.file("data/deep/b")) == Array("deep".utf8))
    // Twice: a person who is not sure does it again.
    for _ in 1...2 { #expect(system(placed.undo.joined(separator: " && ")) == 0) }
    #expect(try fileBytes(road.scratch.file("att.undone-T/a")) == Array("pushed".utf8))
    let after = try FolderPicture(road.scratch.path, times: false).entries.filter {
      !$0.key.hasPrefix("state") && !$0.key.contains(".undone-T")
    }
    #expect(after == before)

    // What stands in the way of the way aside stops it all, and nothing has happened.
    try write(road, "data/deep.before-U", "in the way")
    let again = CompanionsPlace(try await staged(road, beside: source.path), beside: source.path)
    #expect(throws: OperationError.self) { try again.put(replacing: true, time: "U") }
    #expect(try fileBytes(road.scratch.file("att/a")) == Array("changed since".utf8))
  }

  /// The disk fails in the instant after a folder got its place.
  @Test(arguments: [false, true])
  func `a folder whose names cannot be made durable in its place is taken back`(apart: Bool) async throws {
    let road = try await Road()
    try write(road, "att/a", "pushed")
    let source = try source(road, Companion("att"))
    _ = try await road.push(source)
    try write(road, "att/a", "now")
    var syncing = MemberTree.Syncing()
    syncing.placed = { _ in
      errno = EIO
      return -1
    }
    let path = apart ? road.scratch.file("out.db") : source.path
    let before = road.files(in: road.scratch.path)
    let staged = try #require(
      try await StagedCompanions.restore(try await reader(road), beside: path, syncing: syncing, onProgress: { _ in }))
    let error = #expect(throws: OperationError.self) {
      if apart {
        _ = try staged.publish(beside: path)
      } else {
        _ = try CompanionsPlace(staged, beside: path).put(replacing: true, time: "T")
      }
    }
    #expect(error?.code == "fileSystem" && error?.message.contains("cannot keep the mode") == true)
    staged.discard()
    #expect(road.files(in: road.scratch.path) == before)
    #expect(try fileBytes(road.scratch.file("att/a")) == Array("now".utf8))
  }

  /// As in a container. Notes of a restore say what comes after the folder and one slash.
  @Test func `a database in the root of all has its companions there`() {
    let (folder, support) = StagedCompanions.places(beside: "/app.db")
    #expect(folder == "/app.db.companions" && support == "/\(SupportFolder.name(of: "/app.db"))")
    let places = CompanionsPlace.places(["att", "data/deep"], support: nil, beside: "/app.db", .inPlace)
    #expect(places.map(\.path) == ["/att", "/data/deep"])
  }

  /// Whoever owns the folder of a database may exchange what is on the way to a companion, at any time.
  @Test(arguments: [false, true])
  func `a folder that becomes a link meanwhile leads nothing outside`(fails: Bool) async throws {
    let road = try await Road()
    try write(road, "data/deep/b", "pushed")
    try write(road, "single", "pushed")
    let source = try source(road, Companion("data/deep"), Companion("single"))
    _ = try await road.push(source)
    for name in ["data/deep/b", "single"] { try write(road, name, "now") }
    func text(_ name: String) throws -> String {
      String(decoding: try fileBytes(road.scratch.file(name)), as: UTF8.self)
    }
    // Nothing there is in the way of what would be moved there.
    let outside = try Scratch()
    struct Stop: Error {}
    var place = CompanionsPlace(try await staged(road, beside: source.path), beside: source.path)
    place.placing = { [data = road.scratch.file("data"), outside = outside.path] path in
      if path == "\(data)/deep" {
        try #require(rename(data, "\(data).real") == 0 && symlink(outside, data) == 0)
      } else if fails {
        // Under the very names that are taken back.
        try writeFile("\(outside)/deep", [7])
        throw Stop()
      }
    }
    if fails {
      let held = place
      #expect(throws: Stop.self) { try held.put(replacing: true, time: "T") }
      #expect(try text("data.real/deep/b") == "now" && text("single") == "now")
      #expect(try names(in: road.scratch.file("data.real")) == ["deep"])
      #expect(try names(in: outside.path) == ["deep"] && fileBytes(outside.file("deep")) == [7])
    } else {
      #expect(try place.put(replacing: true, time: "T").made.count == 2)
      #expect(try text("data.real/deep/b") == "pushed" && text("data.real/deep.before-T/b") == "now")
      #expect(try text("single") == "pushed" && text("single.before-T") == "now")
      #expect(try names(in: outside.path).isEmpty)
    }
  }

  @Test func `what was put into a folder is taken back from there, whatever has its name by now`() async throws {
    let road = try await Road()
    for name in ["data/a", "data/b"] { try write(road, name, "pushed") }
    let source = try source(road, Companion("data/a"), Companion("data/b"))
    _ = try await road.push(source)
    for name in ["data/a", "data/b"] { try write(road, name, "now") }
    struct Stop: Error {}
    var place = CompanionsPlace(try await staged(road, beside: source.path), beside: source.path)
    place.placing = { [data = road.scratch.file("data")] path in
      guard path == "\(data)/a" else { throw Stop() }
      try #require(rename(data, "\(data).real") == 0 && mkdir(data, 0o755) == 0)
    }
    let held = place
    #expect(throws: Stop.self) { try held.put(replacing: true, time: "T") }
    #expect(road.files(in: road.scratch.file("data.real")) == ["a", "b"])
    #expect(road.files(in: road.scratch.file("data")) == [])
    for name in ["a", "b"] { #expect(try fileBytes(road.scratch.file("data.real/\(name)")) == Array("now".utf8)) }
  }

  @Test func `what has the name of the fetched companions by now is not given their place`() async throws {
    let road = try await Road()
    try write(road, "att/a", "pushed")
    _ = try await road.push(try source(road, Companion("att")))
    let staged = try await staged(road, beside: road.scratch.file("out.db"))
    let tree = try #require(road.files(in: road.scratch.path).first { $0.hasPrefix(".out.db.sealift-members-") })
    try #require(rename(road.scratch.file(tree), road.scratch.file("away")) == 0)
    try write(road, "\(tree)/att/a", "planted")
    #expect(throws: OperationError.self) { try staged.publish(beside: road.scratch.file("out.db")) }
    staged.discard()
    #expect(road.files(in: road.scratch.path).allSatisfy { !$0.hasPrefix("out.db") })
    #expect(try fileBytes(road.scratch.file("\(tree)/att/a")) == Array("planted".utf8))
  }

  @Test func `what a restore that died left behind goes with the next one`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    let source = try source(road, Companion("att"))
    _ = try await road.push(source)
    try write(road, ".out.db.sealift-members-1-2/att/a")
    _ = try await pull(road)
    let left = road.files(in: road.scratch.path).filter { $0.contains(".sealift-") }
    #expect(left.isEmpty)
    #expect(try pulled(road, "att/a") == "content")
    // And nothing that is there is replaced.
    try removeFile(road.scratch.file("out.db"))
    let error = await #expect(throws: OperationError.self) { try await pull(road) }
    #expect(error?.kind == .usage && error?.code == "destinationExists")
    #expect(!FileManager.default.fileExists(atPath: road.scratch.file("out.db")))
  }

  /// Who may write in a folder may give any name to what is there.
  @Test func `what only has the name of such a leftover stays where others give names`() async throws {
    let road = try await Road()
    try write(road, "att/a")
    _ = try await road.push(try source(road, Companion("att")))
    try #require(chmod(road.scratch.path, 0o777) == 0)
    for (number, mode) in [0o700, 0o755, 0o700].enumerated() {
      let name = ".out.db.sealift-members-1-\(number)"
      try write(road, "\(name)/precious")
      try #require(chmod(road.scratch.file(name), mode_t(mode)) == 0)
    }
    // That one is somebody else's, where we may make it so.
    let isGiven = chown(road.scratch.file(".out.db.sealift-members-1-2"), 54_321, 54_321) == 0
    _ = try await pull(road)
    let left = road.files(in: road.scratch.path).filter { $0.contains(".sealift-") }
    #expect(left == [".out.db.sealift-members-1-1"] + (isGiven ? [".out.db.sealift-members-1-2"] : []))
    for name in left { #expect(road.files(in: road.scratch.file(name)) == ["precious"]) }
    try #require(chmod(road.scratch.path, 0o700) == 0)
  }

  /// As a share does of all folders: none shows what it was made with.
  @Test func `a leftover is ours where it shows what one shows that was made just now`() throws {
    let scratch = try Scratch()
    let (path, left) = (scratch.file("out.db"), scratch.file(".out.db.sealift-members-1-2"))
    try #require(mkdir(left, 0o700) == 0 && chmod(left, 0o777) == 0 && chmod(scratch.path, 0o777) == 0)
    for (shown, isThere) in [(StagedCompanions.mode, true), (0o755, true), (0o777, false)] as [(mode_t, Bool)] {
      StagedCompanions.sweep(beside: path, shown: shown)
      #expect((access(left, F_OK) == 0) == isThere, "\(shown)")
    }
    let tree = try MemberTree(making: scratch.file("tree"))
    #expect(tree.shownMode == StagedCompanions.mode)
    try #require(chmod(tree.path, 0o755) == 0)
    #expect(tree.shownMode == 0o755)
  }

  /// As exFAT and SMB show one owner of everything, and as NFS takes root for nobody.
  @Test(.enabled(if: geteuid() == 0)) func `a folder is ours where it shows whom a file of ours shows`() throws {
    let scratch = try Scratch()
    let stranger: uid_t = 54_321
    func make(_ ownerOfOurs: (FolderHandle) -> uid_t?) throws -> MemberTree {
      try MemberTree(
        making: scratch.file("tree"), ownerOfOurs: ownerOfOurs,
        makeFolder: { parent, name in
          mkdirat(parent, name, 0o700) == 0 && fchownat(parent, name, stranger, stranger, 0) == 0 ? 0 : errno
        })
    }
    // Where owners are told apart, somebody has put it there.
    let error = #expect(throws: OperationError.self) { try make(MemberTree.ownerOfOurs(in:)) }
    #expect(error?.message.contains("shows another owner than this user: 54321") == true, "\(error as Any)")
    #expect(try names(in: scratch.path) == [])
    let tree = try make { _ in stranger }
    #expect(tree.shownOwner == stranger && tree.shownMode == StagedCompanions.mode)
    let folder = try #require(tree.home.folder("tree"))
    #expect(MemberTree.ownerOfOurs(in: folder) == 0)
    #expect(try names(in: tree.path) == [])

    let left = scratch.file(".out.db.sealift-members-1-2")
    try #require(mkdir(left, 0o700) == 0 && chown(left, stranger, stranger) == 0)
    for (owner, isThere) in [(geteuid(), true), (stranger, false)] {
      StagedCompanions.sweep(beside: scratch.file("out.db"), owner: owner)
      #expect((access(left, F_OK) == 0) == isThere, "\(owner)")
    }
  }
}
