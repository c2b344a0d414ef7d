import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Operations

/// What `restore --all` brings back stays as it was brought back.
@Suite struct CollidingPlacesTests {
  private struct Home {
    let road: Road
    let folder: String
    /// Where the databases are, by their names.
    var paths: [String: String] = [:]

    init() async throws {
      road = try await Road()
      folder = road.scratch.file("srv")
      try makeFolder(folder)
    }

    func makeFolder(_ path: String) throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    mutating func push(
      _ name: String, at path: String, holding text: String, _ companions: [String] = [], excluding: [String] = []
    ) async throws {
      try SQLite.run("CREATE TABLE IF NOT EXISTS t(a); DELETE FROM t; INSERT INTO t VALUES('\(text)')", on: path)
      var source = DatabaseSource(name: name, path: path)
      source.companions = companions.map { Companion($0, exclude: excluding) }
      let pushed = try await road.push(source)
      #expect(pushed.failures.isEmpty, "\(pushed.failures)")
      paths[name] = path
    }

    func restore(
      _ mode: Restore.Mode, dryRun: Bool = false, _ change: (inout RestoreAll) -> Void = { _ in }
    ) async throws -> RestoreAll.Outcome {
      var all = RestoreAll(Pull(road.world))
      all.dryRun = dryRun
      change(&all)
      let request = Restore.Request(place: .origin([:]), mode: mode)
      return try await all.run(.restore(request, paths: paths), from: road.target, host: nil)
    }

    /// The same, rehearsed and done: one is restored, and the other told to be left out.
    func expect(_ done: String, without left: String, _ mode: Restore.Mode) async throws {
      for isRehearsal in [true, false] {
        let outcome = try await restore(mode, dryRun: isRehearsal)
        #expect(outcome.done.map(\.database) == [done], "\(mode), \(isRehearsal): \(outcome.failures)")
        #expect(outcome.failures.map(\.database) == [left])
        let error = try #require(outcome.failures.first?.error)
        #expect(error.code == "placesCollide" && error.kind == .usage, "\(error)")
        #expect(error.message.contains("'\(done)'") && error.message.contains("'\(left)' is left out"), "\(error)")
        #expect(error.hint?.contains("--to FILE") == true && error.hint?.contains("--no-companions") == true)
      }
    }

    func text(_ name: String) throws -> String {
      try TestDatabase(try #require(paths[name])).text("SELECT a FROM t")
    }

    /// As on a machine that is made anew.
    func loseAll() throws {
      try removeFile(folder)
      try makeFolder(folder)
    }

    func told(_ text: String) -> Int { road.notices.said.withLock { $0.count { $0.contains(text) } } }
  }

  /// A database that lies in a folder that comes with another one, and was pushed once more behind that.
  private func nested(_ outer: String, excluding: [String] = []) async throws -> Home {
    var home = try await Home()
    try home.makeFolder("\(home.folder)/data")
    let (path, inner) = ("\(home.folder)/outer.db", "\(home.folder)/data/inner.db")
    try await home.push("inner", at: inner, holding: "old")
    try await home.push(outer, at: path, holding: "outer", ["data"], excluding: excluding)
    try await home.push("inner", at: inner, holding: "new")
    try SQLite.run("UPDATE t SET a = 'since'", on: inner)
    return home
  }

  @Test(arguments: ["app", "vault"], [Restore.Mode.new, .replace, .live])
  func `a database is not overwritten by what comes with another one`(outer: String, mode: Restore.Mode) async throws {
    let home = try await nested(outer)
    if mode == .new { for path in home.paths.values { try removeFile(path) } }
    try await home.expect("inner", without: outer, mode)
    #expect(try home.text("inner") == "new")
    // Alone, nothing of one lies in the other.
    let alone = try await home.restore(.replace) { $0.pull.leavesCompanions = true }
    #expect(alone.failures.isEmpty && alone.done.count == 2)
    #expect(try home.text("inner") == "new" && home.text(outer) == "outer")
  }

  @Test(arguments: ["app", "vault"], [Restore.Mode.new, .replace])
  func `a database and one in its companions both come back to a machine that is empty`(
    outer: String, mode: Restore.Mode
  ) async throws {
    for excluding in [[], ["inner.db*"]] as [[String]] {
      let home = try await nested(outer, excluding: excluding)
      try home.loseAll()
      for isRehearsal in [true, false] {
        let outcome = try await home.restore(mode, dryRun: isRehearsal)
        #expect(outcome.failures.isEmpty, "\(isRehearsal): \(outcome.failures)")
        #expect(outcome.done.map(\.database) == [outer, "inner"])
        #expect(outcome.done.allSatisfy { !$0.alreadyThere && ($0.preview?.mode ?? mode) == mode })
      }
      #expect(try home.text("inner") == "new" && home.text(outer) == "outer")
      #expect(home.told("belongs to 'inner': data/inner.db") == (excluding.isEmpty ? 2 : 0))
      #expect(home.told("restored into its folders: 'inner'") == 1)
      let again = try await home.restore(.new)
      #expect(again.failures.isEmpty && again.done.map(\.alreadyThere) == [true, true], "\(again.failures)")
    }
  }

  @Test func `what comes with a database in the companions of another one is its own`() async throws {
    var home = try await Home()
    let (file, inner) = ("\(home.folder)/data/files/one", "\(home.folder)/data/inner.db")
    try home.makeFolder("\(home.folder)/data/files")
    try writeFile(file, Array("old".utf8))
    try await home.push("inner", at: inner, holding: "inner", ["files"])
    try await home.push("app", at: "\(home.folder)/app.db", holding: "app", ["data"])
    try writeFile(file, Array("new".utf8))
    try await home.push("inner", at: inner, holding: "inner", ["files"])
    try home.loseAll()
    let outcome = try await home.restore(.new)
    #expect(outcome.failures.isEmpty && outcome.done.map(\.database) == ["app", "inner"], "\(outcome.failures)")
    #expect(String(decoding: try fileBytes(file), as: UTF8.self) == "new")
  }

  @Test func `a folder that is in the way of two is to be moved away`() async throws {
    let home = try await nested("app")
    try home.loseAll()
    let data = "\(home.folder)/data"
    try home.makeFolder(data)
    let outcome = try await home.restore(.new, dryRun: true)
    #expect(outcome.done.map(\.database) == ["inner"] && outcome.failures.map(\.error.code) == ["placesCollide"])
    let error = try #require(outcome.failures.first?.error)
    #expect(error.message.contains("data, which comes with 'app', stands already"), "\(error)")
    #expect(error.hint?.hasPrefix("Move it away with what is in it and run again") == true, "\(error)")
    try removeFile(data)
    let again = try await home.restore(.new)
    #expect(again.failures.isEmpty && again.done.map(\.database) == ["app", "inner"], "\(again.failures)")
  }

  @Test func `a folder in the way that has a database in it is not to be moved away`() async throws {
    let home = try await nested("app")
    try removeFile("\(home.folder)/outer.db")
    let outcome = try await home.restore(.new, dryRun: true)
    let error = try #require(outcome.failures.first { $0.database == "app" }?.error)
    #expect(error.code == "placesCollide" && error.hint?.contains("Move it away") == false, "\(error)")
  }

  @Test func `whose folder did not come, as the other one was not restored, hears that`() async throws {
    let home = try await nested("app")
    try home.loseAll()
    try SQLite.run("CREATE TABLE other(a)", on: "\(home.folder)/outer.db")
    let outcome = try await home.restore(.new)
    #expect(outcome.failures.map(\.error.code) == ["destinationExists", "noFolder"])
    #expect(outcome.failures.last?.error.hint?.contains("'app', which was not restored") == true)
  }

  /// Where the database itself stands as well, it is in use.
  @Test func `a folder that a database in use has in it is not to be moved away`() async throws {
    let home = try await nested("app")
    try SQLite.run("INSERT INTO t VALUES('more')", on: "\(home.folder)/outer.db")
    try removeFile("\(home.folder)/data/inner.db")
    let outcome = try await home.restore(.new)
    #expect(outcome.done.map(\.database) == ["inner"])
    let error = try #require(outcome.failures.first?.error)
    #expect(error.hint?.contains("Move it away with what is in it") != true, "\(error)")
  }

  /// The one in the middle is a companion by itself, and brings the folder of the last; by their names the last comes first.
  @Test(arguments: [Restore.Mode.new, .replace])
  func `a database is behind all that those before it wait for`(mode: Restore.Mode) async throws {
    var home = try await Home()
    let data = "\(home.folder)/data"
    try home.makeFolder("\(data)/mail")
    try home.makeFolder("\(data)/uploads")
    try await home.push("index", at: "\(data)/mail/index.db", holding: "index")
    try await home.push("users", at: "\(data)/users.db", holding: "users", ["mail"])
    try await home.push("app", at: "\(home.folder)/app.db", holding: "app", ["data/users.db", "data/uploads"])
    if mode == .new { try home.loseAll() } else { try removeFile("\(data)/mail/index.db") }
    for name in home.paths.keys where mode == .replace && name != "index" { try removeFile(home.paths[name] ?? "") }
    for isRehearsal in [true, false] {
      let outcome = try await home.restore(mode, dryRun: isRehearsal)
      #expect(outcome.failures.isEmpty, "\(isRehearsal): \(outcome.failures)")
      #expect(outcome.done.map(\.database) == ["app", "users", "index"])
    }
    for name in ["app", "users", "index"] { #expect(try home.text(name) == name) }
  }

  @Test(arguments: [Restore.Mode.new, .replace])
  func `a folder that comes with a longer path comes before the database in it`(mode: Restore.Mode) async throws {
    var home = try await Home()
    try home.makeFolder("\(home.folder)/data")
    try writeFile("\(home.folder)/data/x", [1])
    try await home.push("inner", at: "\(home.folder)/data/inner.db", holding: "inner")
    try await home.push("vault", at: "\(home.folder)/vault.db", holding: "vault", ["data/inner.db", "data/x"])
    try home.loseAll()
    for isRehearsal in [true, false] {
      let outcome = try await home.restore(mode, dryRun: isRehearsal)
      #expect(outcome.failures.isEmpty && outcome.done.map(\.database) == ["vault", "inner"], "\(outcome.failures)")
    }
    #expect(try home.text("inner") == "inner" && home.text("vault") == "vault")
  }

  @Test func `what another database may have no copy of is told`() async throws {
    var home = try await Home()
    let (files, inner) = ("\(home.folder)/data/files", "\(home.folder)/data/inner.db")
    try home.makeFolder(files)
    try writeFile("\(files)/cache", [1])
    try await home.push("inner", at: inner, holding: "inner", ["files"], excluding: ["cache"])
    try await home.push("app", at: "\(home.folder)/app.db", holding: "app", ["data"])
    try home.loseAll()
    let outcome = try await home.restore(.new)
    #expect(outcome.failures.isEmpty && outcome.done.map(\.database) == ["app", "inner"], "\(outcome.failures)")
    #expect(home.told("belongs to 'inner': data/inner.db") == 1)
    #expect(home.told("left to 'inner', whether a version of that has it or not: data/files/cache (--to FILE") == 1)
  }

  @Test(arguments: [Restore.Mode.new, .replace, .live])
  func `databases that are companions of each other both come back`(mode: Restore.Mode) async throws {
    var home = try await Home()
    let (one, two) = ("\(home.folder)/one.db", "\(home.folder)/two.db")
    try await home.push("two", at: two, holding: "old")
    try await home.push("one", at: one, holding: "one", ["two.db"])
    try await home.push("two", at: two, holding: "two", ["one.db"])
    if mode == .new { try home.loseAll() }
    let outcome = try await home.restore(mode)
    #expect(outcome.failures.isEmpty && outcome.done.map(\.database) == ["one", "two"], "\(outcome.failures)")
    #expect(try home.text("one") == "one" && home.text("two") == "two")
  }

  /// Nothing would come in its place but its own version, and that may fail.
  @Test(arguments: [Restore.Mode.replace, .live])
  func `a database that stands is not moved aside with a folder that has no copy of it`(
    mode: Restore.Mode
  ) async throws {
    let home = try await nested("vault", excluding: ["inner.db*"])
    try await home.expect("inner", without: "vault", mode)
    #expect(try home.text("inner") == "new")
  }

  /// A tenant's folder, made after the newest version of the database that has all of them.
  private func withLaterFolder() async throws -> Home {
    var home = try await Home()
    try home.makeFolder("\(home.folder)/data")
    try await home.push("app", at: "\(home.folder)/app.db", holding: "app", ["data"])
    try home.makeFolder("\(home.folder)/data/t9")
    try await home.push("t9", at: "\(home.folder)/data/t9/t9.db", holding: "tenant")
    return home
  }

  @Test func `the folder of a database that was lost is not moved aside for one that has none`() async throws {
    let home = try await withLaterFolder()
    try removeFile("\(home.folder)/data/t9/t9.db")
    try writeFile("\(home.folder)/data/t9/other", [1])
    try await home.expect("t9", without: "app", .replace)
    #expect(try home.text("t9") == "tenant" && fileBytes("\(home.folder)/data/t9/other") == [1])
  }

  @Test func `whose folder another one does not bring is told when to make it`() async throws {
    let home = try await withLaterFolder()
    try home.loseAll()
    for isRehearsal in [true, false] {
      let outcome = try await home.restore(.replace, dryRun: isRehearsal)
      #expect(outcome.done.map(\.database) == ["app"] && outcome.failures.map(\.error.code) == ["noFolder"])
      #expect(outcome.failures.first?.error.hint?.contains("in what comes with 'app'") == true)
    }
    try home.makeFolder("\(home.folder)/data/t9")
    let again = try await home.restore(.new)
    #expect(again.failures.isEmpty && again.done.map(\.alreadyThere) == [true, false], "\(again.failures)")
    #expect(try home.text("t9") == "tenant")
  }

  @Test(arguments: [Restore.Mode.replace, .live])
  func `a database with versions at another target is not restored over`(mode: Restore.Mode) async throws {
    var home = try await Home()
    try home.makeFolder("\(home.folder)/data")
    let inner = "\(home.folder)/data/inner.db"
    try SQLite.run("CREATE TABLE t(a); INSERT INTO t VALUES('old')", on: inner)
    try await home.push("outer", at: "\(home.folder)/outer.db", holding: "outer", ["data"])
    try SQLite.run("UPDATE t SET a = 'since'", on: inner)
    home.paths["inner"] = inner
    let outcome = try await home.restore(mode) { $0.elsewhere = ["inner"] }
    #expect(outcome.done.isEmpty && outcome.failures.map(\.error.code) == ["placesCollide"])
    #expect(try home.text("inner") == "since")
    // Where nothing stands, it is all that there is.
    try home.loseAll()
    let whole = try await home.restore(.replace) { $0.elsewhere = ["inner"] }
    #expect(whole.failures.isEmpty && whole.done.map(\.database) == ["outer"], "\(whole.failures)")
    #expect(try home.text("inner") == "old")
  }

  @Test func `a file does not come where the folder of another database is to be`() async throws {
    var home = try await Home()
    let data = "\(home.folder)/data"
    try writeFile(data, [1])
    try await home.push("app", at: "\(home.folder)/app.db", holding: "app", ["data"])
    try removeFile(data)
    try home.makeFolder(data)
    try await home.push("inner", at: "\(data)/inner.db", holding: "inner")
    try home.loseAll()
    let outcome = try await home.restore(.new)
    #expect(outcome.done.isEmpty && outcome.failures.map(\.error.code) == ["placesCollide", "noFolder"])
    try home.makeFolder(data)
    try await home.expect("inner", without: "app", .replace)
  }

  @Test(arguments: [Restore.Mode.new, .replace, .live])
  func `companions of two databases do not take one place`(mode: Restore.Mode) async throws {
    var home = try await Home()
    for name in ["one", "two"] {
      let keys = home.road.scratch.file("etc/\(name)/keys")
      try home.makeFolder(home.road.scratch.file("etc/\(name)"))
      try writeFile(keys, Array("keys of \(name)".utf8))
      try await home.push(name, at: "\(home.folder)/\(name).db", holding: name, [keys])
    }
    if mode == .new { for path in home.paths.values { try removeFile(path) } }
    try await home.expect("one", without: "two", mode)
    #expect(String(decoding: try fileBytes("\(home.folder)/keys"), as: UTF8.self) == "keys of one")
  }

  @Test func `a companion does not come to lie in that of another database`() async throws {
    var home = try await Home()
    try home.makeFolder("\(home.folder)/keys")
    for name in ["one", "two"] { try writeFile("\(home.folder)/keys/\(name)", [1]) }
    try await home.push("one", at: "\(home.folder)/one.db", holding: "one", ["keys"])
    try await home.push("two", at: "\(home.folder)/two.db", holding: "two", ["keys/two"])
    try await home.expect("one", without: "two", .replace)
  }

  @Test(arguments: [Restore.Mode.new, .replace, .live])
  func `two names for one path are one place`(mode: Restore.Mode) async throws {
    var home = try await Home()
    for name in ["one", "two"] { try await home.push(name, at: "\(home.folder)/\(name).db", holding: name) }
    let link = home.road.scratch.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: home.folder)
    home.paths["two"] = "\(link)/one.db"
    if mode == .new { try removeFile("\(home.folder)/one.db") }
    try await home.expect("one", without: "two", mode)
    #expect(try home.text("one") == "one")
  }

  @Test func `two databases of one file name are not fetched into it`() async throws {
    var home = try await Home()
    for (name, file) in [("a/b", "one.db"), ("a_b", "two.db")] {
      try await home.push(name, at: "\(home.folder)/\(file)", holding: name)
    }
    let folder = try Scratch()
    for isRehearsal in [true, false] {
      var all = RestoreAll(Pull(home.road.world))
      all.dryRun = isRehearsal
      let outcome = try await all.run(.pull(into: folder.path), from: home.road.target, host: nil)
      #expect(outcome.done.map(\.database) == ["a/b"] && outcome.failures.map(\.database) == ["a_b"])
      let error = try #require(outcome.failures.first?.error)
      #expect(error.code == "placesCollide" && error.hint?.contains("-o FILE") == true, "\(error)")
    }
  }

  /// Whoever names one database means it.
  @Test(arguments: [Restore.Mode.replace, .live])
  func `that another database is moved aside with a companion is told`(mode: Restore.Mode) async throws {
    let home = try await nested("vault")
    let path = try #require(home.paths["vault"])
    var request = Restore.Request(place: .home(path), mode: mode)
    request.configured = home.paths
    let restore = Restore(Pull(home.road.world))
    func told() -> Int {
      home.road.notices.said.withLock { $0.count { $0.contains("'inner' lies in what is moved aside") } }
    }
    _ = try await restore.preview(.latest(database: "vault"), from: home.road.target, request)
    #expect(told() == 1)
    _ = try await restore.run(.latest(database: "vault"), from: home.road.target, request)
    #expect(told() == 2)
    #expect(try home.text("inner") == "old")
  }

  @Test func `that nothing comes in the place of a database that is moved aside is told`() async throws {
    let home = try await nested("vault", excluding: ["inner.db*"])
    let path = try #require(home.paths["vault"])
    var request = Restore.Request(place: .home(path), mode: .replace)
    request.configured = home.paths
    let restore = Restore(Pull(home.road.world))
    _ = try await restore.preview(.latest(database: "vault"), from: home.road.target, request)
    #expect(home.told("'inner' lies in what is moved aside") == 1 && home.told("nothing comes in its place") == 1)
  }

  /// - Returns: the bytes of `app`, and of `mail`, which has a companion of 100 bytes.
  private func twoOfThem(_ home: inout Home) async throws -> (app: Int, mail: Int) {
    try writeFile("\(home.folder)/keys", [UInt8](repeating: 1, count: 100))
    try await home.push("app", at: "\(home.folder)/app.db", holding: "app")
    try await home.push("mail", at: "\(home.folder)/mail.db", holding: "mail", ["keys"])
    let list = try await ListVersions(home.road.world).run(at: home.road.target).versions
    func size(_ name: String) throws -> Int { try #require(list.first { $0.database == name }).size }
    return (try size("app"), try size("mail"))
  }

  @Test func `a rehearsal counts what is restored before each`() async throws {
    var home = try await Home()
    let size = try await twoOfThem(&home)
    func pulled(with free: Int) async throws -> RestoreAll.Outcome {
      let folder = try Scratch()
      var all = RestoreAll(Pull(home.road.world))
      all.dryRun = true
      all.freeBytes = { _ in free }
      return try await all.run(.pull(into: folder.path), from: home.road.target, host: nil)
    }
    let full = try await pulled(with: size.app + size.mail - 1)
    #expect(full.done.map(\.database) == ["app"] && full.failures.map(\.error.code) == ["noSpace"])
    #expect(full.failures.first?.error.message.contains("it will not fit") == true)
    let close = try await pulled(with: size.app + size.mail)
    #expect(close.failures.isEmpty && close.done.count == 2)
    #expect(close.done.first?.preview?.doubt == nil)
    #expect(close.done.last?.preview?.doubt?.contains("it may not fit") == true)
    // Of its companion too, and of the tables beside it: of each page and block.
    let tables = 32 * size.mail / 4096 + 16
    let tight = try await pulled(with: size.app + size.mail + 100 + tables - 1)
    #expect(tight.done.last?.preview?.doubt?.contains("it may not fit") == true)
    let roomy = try await pulled(with: size.app + size.mail + 100 + tables)
    #expect(roomy.failures.isEmpty && roomy.done.allSatisfy { $0.preview?.doubt == nil })
  }

  @Test func `what is left to another database takes no room of its own`() async throws {
    var home = try await Home()
    try home.makeFolder("\(home.folder)/data")
    try await home.push("inner", at: "\(home.folder)/data/inner.db", holding: "inner")
    try await home.push("app", at: "\(home.folder)/app.db", holding: "app", ["data"])
    let size = try await ListVersions(home.road.world).run(at: home.road.target).versions.map(\.size).reduce(0, +)
    try home.loseAll()
    // And a page less than one more, for tables.
    let outcome = try await home.restore(.new) { $0.freeBytes = { _ in size + 4095 } }
    #expect(outcome.failures.isEmpty && outcome.done.map(\.database) == ["app", "inner"], "\(outcome.failures)")
    #expect(home.told("not fit") == 0)
  }

  @Test func `that there is too little room for all is told before the first is fetched`() async throws {
    var home = try await Home()
    let size = try await twoOfThem(&home)
    let (folder, notices) = (try Scratch(), home.road.notices)
    var all = RestoreAll(Pull(home.road.world))
    all.freeBytes = { _ in size.app + size.mail - 1 }
    func told() -> [String] { notices.said.withLock { $0.filter { $0.contains("it will not fit") } } }
    let toldFirst = Counter()
    let outcome = try await all.run(.pull(into: folder.path), from: home.road.target, host: nil) { done in
      let isTold = notices.said.withLock { $0.contains { $0.contains("it will not fit") } }
      if done.database == "app", isTold { _ = toldFirst.add(1) }
    }
    #expect(told().count == 1 && told().first?.hasPrefix("'mail': ") == true && toldFirst.add(0) == 1)
    // Nobody is kept from trying.
    #expect(outcome.failures.isEmpty && outcome.done.count == 2)
    // What stands there needs nothing more.
    _ = try await all.run(.pull(into: folder.path), from: home.road.target, host: nil)
    #expect(told().count == 1)
  }
}
