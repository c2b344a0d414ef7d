import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// A lost machine: a target and its key are all that is left.
@Suite struct RestoreAllTests {
  private func pushed(_ names: [String], host: String = "host", at road: Road) async throws {
    var world = road.world
    world.host = host
    world.stateFolder = road.scratch.file("state-\(host)")
    for name in names {
      let path = road.scratch.file("\(host)-\(name).db".replacing("/", with: "-"))
      try SQLite.run("CREATE TABLE t(a); INSERT INTO t VALUES('\(host) \(name)')", on: path)
      for _ in 0..<2 {
        try SQLite.run("INSERT INTO t VALUES(1)", on: path)
        _ = try await Push(world).run(
          Push.Request(database: DatabaseSource(name: name, path: path), targets: [road.target]))
      }
    }
  }

  /// A machine that has never been seen, under another name.
  private func machine(_ road: Road, named name: String = "new") -> World {
    var world = road.world
    (world.host, world.stateFolder) = (name, road.scratch.file("state-\(name)"))
    return world
  }

  @Test func `every database comes back to a machine that knows nothing`() async throws {
    let road = try await Road()
    try await pushed(["app", "mail", "a/b"], at: road)
    let folder = try Scratch()
    let all = RestoreAll(Pull(machine(road)))
    let told = Counter()
    let outcome = try await all.run(.pull(into: folder.path), from: road.target, host: nil) { _ in _ = told.add(1) }
    #expect(outcome.failures.isEmpty && outcome.done.count == 3 && told.add(0) == 3 && outcome.host == "host")
    #expect(road.files(in: folder.path) == ["a_b.sqlite", "app.sqlite", "mail.sqlite"])
    let mail = try TestDatabase(folder.file("mail.sqlite"))
    #expect(try mail.rows("SELECT a FROM t") == [["t:host mail"], ["i:1"], ["i:1"]])
    // What is there is done, or another one, which is never replaced; the others do not suffer from it.
    try removeFile(folder.file("app.sqlite"))
    try SQLite.run("INSERT INTO t VALUES(2)", on: folder.file("mail.sqlite"))
    let again = try await all.run(.pull(into: folder.path), from: road.target, host: nil)
    #expect(again.done.map(\.database) == ["a/b", "app"] && again.done.map(\.alreadyThere) == [true, false])
    #expect(again.failures.map(\.database) == ["mail"])
    #expect(again.failures.allSatisfy { $0.error.code == "destinationExists" })
    // What is there needs no room; the rehearsal of another one says how much it needs.
    var rehearsal = all
    rehearsal.dryRun = true
    try removeFile(folder.file("app.sqlite"))
    let rehearsed = try await rehearsal.run(.pull(into: folder.path), from: road.target, host: nil)
    #expect(rehearsed.done.map(\.alreadyThere) == [true, false])
    #expect(rehearsed.done.map { $0.preview?.needed == 0 } == [true, false])
    #expect(rehearsed.done.allSatisfy { $0.preview?.refusal == nil && $0.preview?.doubt == nil })
  }

  /// With another disk in the place, the right one would be refused afterwards.
  @Test func `what is remembered of a place and is spoilt stays as it is`() async throws {
    let road = try await Road()
    try await pushed(["app", "mail"], at: road)
    let world = machine(road)
    let folders = try [Scratch(), Scratch(), Scratch()]
    let first = try await RestoreAll(Pull(world)).run(.pull(into: folders[0].path), from: road.target, host: nil)
    #expect(first.done.count == 2 && first.failures.isEmpty)
    let places = "\(world.stateFolder)/places"
    let name = try #require(road.files(in: places).first { !$0.hasSuffix(".bad") })
    try writeFile("\(places)/\(name)", Array("spoilt\n".utf8))
    let outcome = try await RestoreAll(Pull(world)).run(.pull(into: folders[1].path), from: road.target, host: nil)
    #expect(outcome.done.count == 2 && outcome.failures.isEmpty)
    #expect(try fileBytes("\(places)/\(name)") == Array("spoilt\n".utf8))
    try removeFile("\(places)/\(name)")
    #expect(mkdir("\(places)/\(name)", 0o700) == 0)
    let blind = try await RestoreAll(Pull(world)).run(.pull(into: folders[2].path), from: road.target, host: nil)
    #expect(blind.done.count == 2 && blind.failures.isEmpty)
  }

  @Test func `every database comes back from a repository without a configuration`() async throws {
    let road = try await Road()
    try await pushed(["app", "mail"], at: road)
    for name in road.store.content.keys where name.text.hasPrefix("config/") { road.store.content[name] = nil }
    let folder = try Scratch()
    let outcome = try await RestoreAll(Pull(machine(road))).run(.pull(into: folder.path), from: road.target, host: nil)
    #expect(outcome.failures.isEmpty)
    #expect(road.files(in: folder.path) == ["app.sqlite", "mail.sqlite"])
  }

  @Test func `what other hosts have there is no doubt of what this one has seen`() async throws {
    let road = try await Road()
    try await pushed(["app", "mail"], host: "one", at: road)
    try await pushed(["app"], host: "two", at: road)
    let folder = try Scratch()
    let own = RestoreAll(Pull(machine(road, named: "one")))
    #expect(try await own.run(.pull(into: folder.path), from: road.target, host: nil).freshnessProvable)
    // Who restores it has seen it from then on, and misses what goes.
    let fresh = RestoreAll(Pull(machine(road)))
    let request = Restore.Request(place: .origin([:]))
    for isSeen in [false, true] {
      let work = RestoreAll.Work.restore(request, paths: ["app": folder.file("app.sqlite")])
      let outcome = try await fresh.run(work, from: road.target, host: "one")
      #expect(outcome.freshnessProvable == isSeen && outcome.failures.isEmpty)
    }
    #expect(try await !fresh.run(.pull(into: folder.path), from: road.target, host: "one").freshnessProvable)
  }

  @Test func `of what comes back damaged the version that can stand in for it is told`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 300), method: .pages)
    let sound = try #require(try await road.push(database).pushed.first?.version)
    // The root of its table is an empty leaf: its other pages belong to nothing.
    var bytes = try fileBytes(database.path)
    bytes.replaceSubrange(4096..<4104, with: [13, 0, 0, 0, 0, 16, 0, 0])
    try writeFile(database.path, bytes)
    #expect(try await road.push(database).pushed.first?.version.damaged == true)
    let folder = try Scratch()
    let outcome = try await RestoreAll(Pull(machine(road))).run(.pull(into: folder.path), from: road.target, host: nil)
    let damage = try #require(outcome.done.first?.outcome?.damage)
    #expect(damage.hint?.contains("Version \(sound.id.prefix(12)) of ") == true, "\(damage)")
  }

  @Test func `names that only look alike are two files, and two hosts`() async throws {
    let road = try await Road()
    let names = ["caf\u{E9}", "cafe\u{301}"]
    for host in names { try await pushed(names, host: host, at: road) }
    for host in names {
      let folder = try Scratch()
      let outcome = try await RestoreAll(Pull(machine(road))).run(
        .pull(into: folder.path), from: road.target, host: host)
      #expect(outcome.failures.isEmpty && outcome.done.count == 2)
      for done in outcome.done {
        let path = try #require(done.outcome?.pulled.path)
        let text = try TestDatabase(path).text("SELECT a FROM t")
        #expect(Array(text.utf8) == Array("\(host) \(done.database)".utf8))
      }
      #expect(Set(outcome.done.map { Array($0.database.utf8) }) == Set(names.map { Array($0.utf8) }))
    }
  }

  /// What was replaced by then has to be told, and where the old one is.
  @Test func `an interruption leaves what was done in the outcome`() async throws {
    let road = try await Road()
    try await pushed(["app", "mail"], at: road)
    let folder = try Scratch()
    let outcome = try await RestoreAll(Pull(machine(road))).run(.pull(into: folder.path), from: road.target, host: nil)
    {
      _ in withUnsafeCurrentTask { $0?.cancel() }
    }
    #expect(outcome.done.map(\.database) == ["app"] && outcome.failures.isEmpty)
    #expect(outcome.interruption?.kind == .cancelled)
    #expect(road.files(in: folder.path) == ["app.sqlite"])
  }

  @Test func `of several hosts one has to be meant`() async throws {
    let road = try await Road()
    try await pushed(["app"], host: "one", at: road)
    try await pushed(["app", "mail"], host: "two", at: road)
    let folder = try Scratch()
    let error = await #expect(throws: OperationError.self) {
      try await RestoreAll(Pull(machine(road))).run(.pull(into: folder.path), from: road.target, host: nil)
    }
    #expect(error?.code == "severalHosts" && error?.message.contains("one, two") == true)
    let wrong = await #expect(throws: OperationError.self) {
      try await RestoreAll(Pull(machine(road))).run(.pull(into: folder.path), from: road.target, host: "three")
    }
    #expect(wrong?.message.contains("nothing of three") == true)
    #expect(road.files(in: folder.path).isEmpty)
    let own = try await RestoreAll(Pull(machine(road, named: "one"))).run(
      .pull(into: folder.path), from: road.target, host: nil)
    #expect(own.done.count == 1)
    #expect(own.others.map(\.host) == ["two"] && own.others.map(\.databases) == [["app", "mail"]])
    #expect(try TestDatabase(folder.file("app.sqlite")).text("SELECT a FROM t") == "one app")
    let other = try Scratch()
    let asked = try await RestoreAll(Pull(machine(road))).run(
      .pull(into: other.path), from: road.target, host: "two")
    #expect(asked.done.count == 2)
    let rehearsal = Restore.Request(place: .origin([:]))
    let configured = try await RestoreAll(Pull(machine(road, named: "one"))).run(
      .restore(rehearsal, paths: ["app": other.file("mine.db")]), from: road.target, host: nil)
    #expect(configured.others.map(\.databases) == [["app"]])
  }

  @Test func `to where the configuration says, with what is missing and what is too much`() async throws {
    let road = try await Road()
    try await pushed(["app", "mail", "extra"], at: road)
    let folder = try Scratch()
    let paths = ["app": folder.file("app.db"), "mail": folder.file("no/mail.db"), "lost": folder.file("lost.db")]
    var all = RestoreAll(Pull(machine(road)))
    all.dryRun = true
    let request = Restore.Request(place: .origin([:]))
    let rehearsed = try await all.run(.restore(request, paths: paths), from: road.target, host: "host")
    #expect(rehearsed.done.map(\.preview?.path) == [folder.file("app.db")])
    #expect(road.files(in: folder.path).isEmpty)
    all.dryRun = false
    let outcome = try await all.run(.restore(request, paths: paths), from: road.target, host: "host")
    #expect(outcome.done.map(\.outcome?.pulled.path) == [folder.file("app.db")])
    #expect(outcome.passedOver == ["extra"])
    #expect(Set(outcome.failures.map(\.database)) == ["mail", "lost"])
    #expect(outcome.failures.first { $0.database == "lost" }?.error.kind == .noSuchVersion)
    // The same over what is there.
    let replaced = try await all.run(
      .restore(Restore.Request(place: .origin([:]), mode: .replace), paths: ["app": folder.file("app.db")]),
      from: road.target, host: "host")
    #expect(replaced.done.first?.outcome?.moved.count == 1)
  }

  @Test func `of a file that is in the way no hint names what --all refuses`() async throws {
    let road = try await Road()
    try await pushed(["app"], at: road)
    let folder = try Scratch()
    try writeFile(folder.file("app.sqlite"), [1])
    try writeFile(folder.file("app.db"), [1])
    let request = Restore.Request(place: .origin([:]))
    for isRehearsal in [false, true] {
      var all = RestoreAll(Pull(machine(road)))
      all.dryRun = isRehearsal
      let pulled = try await all.run(.pull(into: folder.path), from: road.target, host: "host")
      let error = pulled.failures.first?.error
      #expect(error?.code == "destinationExists" && error?.hint?.hasPrefix("Fetch into another folder") == true)
      let restored = try await all.run(
        .restore(request, paths: ["app": folder.file("app.db")]), from: road.target, host: "host")
      let refusal = restored.failures.first?.error
      #expect(refusal?.code == "destinationExists" && refusal?.hint?.contains("--replace") == true)
      #expect(refusal?.hint?.contains("--to") == false)
    }
  }

  @Test func `where databases are made over, what is none comes back as it is`() async throws {
    let road = try await Road()
    try await pushed(["app"], at: road)
    let path = road.scratch.file("export")
    try writeFile(path, Array("an export".utf8))
    let export = try await road.push(DatabaseSource(name: "export", path: path, method: .file))
    #expect(export.failures.isEmpty)
    let folder = try Scratch()
    var all = RestoreAll(Pull(road.world))
    all.pull.makeOver.journal = .delete
    for isRehearsal in [true, false] {
      all.dryRun = isRehearsal
      let outcome = try await all.run(.pull(into: folder.path), from: road.target, host: nil)
      #expect(outcome.failures.isEmpty && outcome.done.map(\.database) == ["app", "export"], "\(outcome.failures)")
      if !isRehearsal { #expect(outcome.done.map(\.outcome?.pulled.identical) == [false, true]) }
    }
    #expect(try fileBytes(folder.file("export.sqlite")) == Array("an export".utf8))
    let told = road.notices.said.withLock { $0.filter { $0.contains("'export' is no database") } }
    #expect(told.count == 2)
  }

  @Test func `a chain that is damaged fails alone`() async throws {
    let road = try await Road()
    try await pushed(["app", "mail"], at: road)
    let list = try await ListVersions(road.world).run(at: road.target)
    let newest = try #require(list.versions.last { $0.database == "mail" })
    let names = road.store.content.keys.map(\.text).filter { $0.hasPrefix("versions/") }
    let chains = Set(names.map { $0.split(separator: "/")[1] })
    #expect(chains.count == 2 && newest.sequence == 2)
    // Every pack and manifest of one chain is spoilt: that of mail or of app, which of them does not matter.
    let spoilt = try #require(chains.sorted().first)
    for (name, bytes) in road.store.content where name.text.contains("/\(spoilt)/") {
      road.store.content[name] = bytes.map { $0 ^ 1 }
    }
    let folder = try Scratch()
    let outcome = try await RestoreAll(Pull(machine(road))).run(.pull(into: folder.path), from: road.target, host: nil)
    #expect(outcome.done.count == 1 && outcome.failures.count == 1)
    #expect(outcome.failures.first?.error.kind == .verificationFailed)
  }
}
