import Backends
import Glibc
import Repositories
import Sealing
import Snapshots
import TestKit
import Testing

@testable import Operations
@testable import Storage

/// A prune of a whole target: all chains, each for itself.
@Suite struct PruneRepositoryTests {
  private func road() async throws -> (Road, [DatabaseSource]) {
    let road = try await Road()
    let app = DatabaseSource(name: "app", path: try road.database(rows: 90))
    let other = DatabaseSource(name: "other", path: road.scratch.file("other.db"))
    try SQLite.run("create table t(a); insert into t values(randomblob(99000))", on: other.path)
    for source in [app, other] { _ = try await road.push(source) }
    return (road, [app, other])
  }

  private func request(_ databases: [String] = [], runs: PruneRepository.Runs? = .one) -> PruneRepository.Request {
    var request = PruneRepository.Request()
    request.databases = databases
    request.runs = runs
    request.minAge = 0
    return request
  }

  /// Puts packs that nothing needs into every chain, one or several.
  private func litter(_ road: Road, _ digits: [String] = ["a"]) -> [ObjectName] {
    let chains = Set(
      road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.map { $0.text.split(separator: "/")[1] })
    let names = chains.sorted().flatMap { chain in
      digits.compactMap { ObjectName("packs/\(chain)/\(String(repeating: $0, count: 64))") }
    }
    for name in names { road.store.content[name] = [1, 2, 3] }
    return names
  }

  @Test func `every chain is pruned, or those of the databases named`() async throws {
    let (road, _) = try await road()
    let names = litter(road)
    let prune = PruneRepository(road.world)
    let one = try await prune.run(request(["other"]), at: road.target)
    #expect(one.chains.map(\.database) == ["other"] && one.chains[0].freed == .init(objects: 1, bytes: 3))
    #expect(names.filter { road.store.content[$0] != nil }.count == 1)
    let all = try await prune.run(request(), at: road.target)
    #expect(all.chains.map(\.database) == ["app", "other"] && all.problems.isEmpty && all.runs == .one)
    #expect(all.chains.map(\.freed.objects) == [1, 0])
    let error = await #expect(throws: OperationError.self) { try await prune.run(request(["nobody"]), at: road.target) }
    #expect(error?.kind == .noSuchVersion && error?.hint != nil)
  }

  /// What a machine left that is no more: those that go on pushing have databases of that name, too.
  @Test func `only the chains of a host that is named, and that has some`() async throws {
    let shelf = try await Shelf()
    for (database, host) in [("app", "host"), ("app", "web-2"), ("mail", "web-2")] {
      try await shelf.push(1, at: Shelf.monday, host: host, database: database)
    }
    let names = litter(shelf.road)
    func pruned(_ databases: [String], of host: String?) async throws -> [String] {
      var wish = request(databases)
      wish.host = host
      let outcome = try await PruneRepository(shelf.world).run(wish, at: shelf.road.target)
      return outcome.chains.map { "\($0.database) \($0.host) \($0.freed.objects)" }
    }
    #expect(try await pruned(["app"], of: "web-2") == ["app web-2 1"])
    #expect(names.count { shelf.road.store.content[$0] != nil } == 2)
    #expect(try await pruned([], of: "web-2") == ["app web-2 0", "mail web-2 1"])
    let absent = await #expect(throws: OperationError.self) { try await pruned(["app", "mail"], of: "host") }
    #expect(absent?.kind == .noSuchVersion && absent?.code == "noSuchDatabase")
    #expect(absent?.message.hasSuffix("no version of 'mail' of host host; web-2 has some") == true)
    let strange = await #expect(throws: OperationError.self) { try await pruned([], of: "web-4") }
    #expect(strange?.kind == .noSuchVersion && strange?.code == "noSuchVersion")
    #expect(strange?.message.hasSuffix("no version of host web-4; host, web-2 have some") == true)
    #expect(try await pruned([], of: nil) == ["app host 1", "app web-2 0", "mail web-2 0"])
  }

  /// Then what this machine noted of it tells whose it is.
  @Test func `a chain of a host that is named is not passed over because its manifest cannot be read`() async throws {
    let shelf = try await Shelf()
    for host in ["host", "web-2"] { try await shelf.push(1, at: Shelf.monday, host: host) }
    var wish = request()
    wish.host = "web-2"
    _ = try await PruneRepository(shelf.world).run(wish, at: shelf.road.target)
    // What was kept of it here would still tell.
    try removeFile("\(StateFolder(reading: shelf.world.stateFolder, repository: shelf.repository.id).path)/objects")
    let prefix = "versions/\(shelf.chain(host: "web-2").hex)/"
    let manifest = try #require(shelf.road.store.content.keys.first { $0.text.hasPrefix(prefix) })
    var target = shelf.road.target
    target.store = HookedStore(
      shelf.road.store,
      beforeGet: { name async throws(StoreError) in
        if name == manifest { throw StoreError(.forbidden, "it is not given") }
      })
    let outcome = try await PruneRepository(shelf.world).run(wish, at: target)
    #expect(outcome.chains.isEmpty && outcome.problems.count == 1)
    wish.host = "host"
    let other = try await PruneRepository(shelf.world).run(wish, at: target)
    #expect(other.chains.map(\.host) == ["host"] && other.problems.isEmpty)
  }

  /// On a machine that has noted nothing of it.
  @Test(arguments: [false, true])
  func `a chain that nobody can name is told where a host is named, and nothing of it goes`(
    isSpoilt: Bool
  ) async throws {
    let shelf = try await Shelf()
    for (database, host) in [("app", "host"), ("app", "web-2"), ("mail", "web-2")] {
      try await shelf.push(1, at: Shelf.monday, host: host, database: database)
    }
    let names = litter(shelf.road)
    let chain = shelf.chain("mail", host: "web-2").hex
    let manifest = try #require(shelf.road.store.content.keys.first { $0.text.hasPrefix("versions/\(chain)/") })
    if isSpoilt { shelf.road.store.content[manifest]?[200] ^= 1 }
    var target = shelf.road.target
    target.store = HookedStore(
      shelf.road.store,
      beforeGet: { name async throws(StoreError) in
        if name == manifest, !isSpoilt { throw StoreError(.forbidden, "it is not given") }
      })
    var wish = request()
    for (host, freed) in [("web-2", ["app web-2 1"]), ("web-4", [])] as [(String, [String])] {
      wish.host = host
      let scratch = try Scratch()
      var fresh = shelf.road.withoutState(scratch)
      fresh.now = shelf.world.now
      let outcome = try await PruneRepository(fresh).run(wish, at: target)
      #expect(outcome.chains.map { "\($0.database) \($0.host) \($0.freed.objects)" } == freed)
      #expect(outcome.problems.map(\.kind) == [isSpoilt ? .verificationFailed : .failed])
      #expect(outcome.problems.first?.message.contains("chain \(chain.prefix(12)) was not pruned: ") == true)
    }
    #expect(names.count { shelf.road.store.content[$0] != nil } == 2)
  }

  @Test func `a doubt about one chain is no reason to leave the others alone`() async throws {
    let (road, _) = try await road()
    _ = litter(road)
    let versions = road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.sorted()
    road.store.content[versions[0]]?[500] ^= 1
    let scratch = try Scratch()
    let outcome = try await PruneRepository(road.withoutState(scratch)).run(request(), at: road.target)
    #expect(outcome.chains.count == 1 && outcome.chains[0].freed.objects == 1)
    #expect(outcome.problems.map(\.kind) == [.verificationFailed])
  }

  /// A right that is missing, an archive, a link in the place of a file, a disk that fails at it.
  @Test(arguments: [StoreError.Code.forbidden, .unsupported, .badAnswer, .fileSystem, .unreadable])
  func `an object that the target does not give is no reason to leave the others alone`(
    _ code: StoreError.Code
  ) async throws {
    let (road, _) = try await road()
    let names = litter(road)
    let manifest = try #require(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.min())
    let store = HookedStore(
      road.store,
      beforeGet: { name async throws(StoreError) in
        if name == manifest { throw StoreError(code, "it is not given") }
      })
    let target = TargetAccess(name: "memory", store: store, unlock: road.target.unlock)
    let scratch = try Scratch()
    let outcome = try await PruneRepository(road.withoutState(scratch)).run(request(), at: target)
    #expect(outcome.chains.map(\.freed.objects) == [1] && outcome.problems.count == 1)
    #expect(outcome.problems.first?.kind == (code == .unreadable ? .verificationFailed : .failed))
    // Of the chain that could not be read nothing goes.
    #expect(names.map { road.store.content[$0] != nil } == [true, false])
  }

  @Test func `a prune that is interrupted tells what it deleted`() async throws {
    let (road, _) = try await road()
    let names = litter(road)
    func cut(after deletions: Int) -> TargetAccess {
      let left = Locked(deletions)
      var target = road.target
      target.store = HookedStore(
        road.store,
        beforeDelete: { _ async throws(StoreError) in
          let isCut = left.withLock { left -> Bool in
            left -= 1
            return left < 0
          }
          if isCut { throw StoreError(.cancelled, "interrupted") }
        })
      return target
    }
    let prune = PruneRepository(road.world)
    // Nothing was done.
    var dead = road.target
    dead.store = HookedStore(
      road.store, beforePut: { _ async throws(StoreError) in throw StoreError(.cancelled, "interrupted") })
    let error = await #expect(throws: OperationError.self) { try await prune.run(request(), at: dead) }
    #expect(error?.kind == .cancelled)
    let condemned = try await prune.run(request(), at: cut(after: 0))
    #expect(condemned.interruption?.kind == .cancelled && condemned.chains.count == 1)
    let one = PruneRepository.Outcome.Amount(objects: 1, bytes: 3)
    #expect(condemned.chains[0].condemned == one && condemned.chains[0].waiting == one)
    #expect(condemned.chains[0].freed.objects == 0)
    let outcome = try await prune.run(request(), at: cut(after: 1))
    #expect(outcome.interruption?.kind == .cancelled && outcome.problems.isEmpty)
    #expect(outcome.chains.map(\.freed.objects).sorted() == [0, 1])
    #expect(names.count { road.store.content[$0] != nil } == 1)
    // In the middle of a chain.
    _ = litter(road, ["a", "b", "c"])
    let middle = try await prune.run(request(["other"]), at: cut(after: 2))
    #expect(middle.interruption?.kind == .cancelled && middle.chains.map(\.database) == ["other"])
    #expect(middle.chains.map(\.freed) == [.init(objects: 2, bytes: 6)] && middle.chains.map(\.waiting) == [one])
  }

  @Test(arguments: [0, 2, 3])
  func `a prune whose target goes away tells what it condemned and deleted`(deletions: Int) async throws {
    let (road, _) = try await road()
    _ = litter(road, ["a", "b", "c"])
    let (isNamed, done) = (Locked(false), Locked(0))
    var target = road.target
    target.store = HookedStore(
      road.store,
      afterPut: { name async throws(StoreError) in
        if name.text.hasPrefix("gone/") { isNamed.withLock { $0 = true } }
      },
      beforeDelete: { _ async throws(StoreError) in
        let isAway = done.withLock { done -> Bool in
          done += 1
          return done > deletions
        }
        if isAway { throw StoreError(.unavailable, "the line was cut") }
      },
      beforeList: { _ async throws(StoreError) in
        if isNamed.withLock({ $0 }), done.withLock({ $0 }) >= deletions {
          throw StoreError(.unavailable, "the line was cut")
        }
      })
    let outcome = try await PruneRepository(road.world).run(request(["other"]), at: target)
    func amount(_ objects: Int) -> PruneRepository.Outcome.Amount { .init(objects: objects, bytes: 3 * objects) }
    #expect(outcome.chains.count == 1 && outcome.chains.map(\.isCut) == [true])
    #expect(outcome.chains.map(\.condemned) == [amount(3)])
    #expect(outcome.chains.map(\.freed) == [amount(deletions)])
    #expect(outcome.chains.map(\.waiting) == [amount(3 - deletions)])
    #expect(outcome.problems.map(\.code) == ["unavailable"] && outcome.interruption == nil)
    // Another prune does the rest.
    let last = try await PruneRepository(road.world).run(request(["other"]), at: road.target)
    #expect(last.chains.map(\.freed) == [amount(3 - deletions)] && last.chains.map(\.isCut) == [false])
  }

  @Test func `a doubt of the second look hides nothing of what was condemned, and stops no other chain`() async throws {
    let (road, _) = try await road()
    let names = litter(road)
    let base = road.store
    var target = road.target
    target.store = ListingStore(base: base) { (prefix) async throws(StoreError) in
      prefix.hasPrefix("gone/") ? [] : try await base.list(prefix: prefix)
    }
    let outcome = try await PruneRepository(road.world).run(request(), at: target)
    #expect(outcome.chains.map(\.condemned.objects) == [1, 1] && outcome.chains.map(\.freed.objects) == [0, 0])
    #expect(outcome.chains.map(\.waiting.objects) == [1, 1] && outcome.chains.map(\.isCut) == [true, true])
    #expect(outcome.problems.map(\.code) == ["conflict", "conflict"])
    #expect(outcome.problems.allSatisfy { $0.message.contains(" was not pruned to its end: ") })
    for name in names { #expect(road.store.content[name] != nil) }
  }

  @Test func `a chain that is not there any more is told, and what is left of it stays`() async throws {
    let (road, _) = try await road()
    let names = litter(road)
    for name in road.store.content.keys where name.text.hasPrefix("versions/") { road.store.content[name] = nil }
    let outcome = try await PruneRepository(road.world).run(request(), at: road.target)
    #expect(outcome.chains.isEmpty && outcome.problems.count == 2)
    #expect(outcome.problems.allSatisfy { $0.kind == .verificationFailed && $0.code == "rolledBack" })
    for name in names { #expect(road.store.content[name] != nil) }
  }

  @Test func `what killed uploads left in tmp is deleted when it is old`() async throws {
    let scratch = try Scratch()
    let target = scratch.file("target")
    let road = try await Road()
    let secret = UnlockSecret.keyFile([UInt8](repeating: 3, count: 64))
    let disk = TargetAccess(name: "disk", store: try FolderStore(path: target, create: true), unlock: { secret })
    _ = try await Initialize(road.world).run(at: disk, ifMissing: false)
    let database = DatabaseSource(name: "app", path: try road.database(rows: 9))
    _ = try await Push(road.world).run(Push.Request(database: database, targets: [disk]))

    let (old, young, foreign) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba987654321", "notes.txt")
    for name in [old, young, foreign] { try writeFile("\(target)/tmp/\(name)", [1, 2, 3]) }
    let day = 86_400
    for (name, age) in [(old, day + 60), (young, day - 60), (foreign, 9 * day)] {
      var times = [timespec](repeating: timespec(tv_sec: time(nil) - age, tv_nsec: 0), count: 2)
      #expect(utimensat(AT_FDCWD, "\(target)/tmp/\(name)", &times, 0) == 0)
    }
    var request = PruneRepository.Request()
    request.dryRun = true
    let prune = PruneRepository(road.world)
    // They may be anybody's.
    request.host = road.world.host
    #expect(try await prune.run(request, at: disk).leftovers == .init(objects: 0, bytes: 0))
    request.host = nil
    #expect(try await prune.run(request, at: disk).leftovers == .init(objects: 1, bytes: 3))
    #expect(access("\(target)/tmp/\(old)", F_OK) == 0)
    request.dryRun = false
    // A clock that runs ahead makes nothing older than the store says, nor one that is behind.
    for (shift, freed) in [(-9 * day, 0), (900 * day, 1), (900 * day, 0)] {
      var world = road.world
      let now = Int(road.world.now()) + shift * 1000
      world.now = { UInt64(now) }
      #expect(try await PruneRepository(world).run(request, at: disk).leftovers.objects == freed)
    }
    #expect(access("\(target)/tmp/\(old)", F_OK) != 0)
    for name in [young, foreign] { #expect(access("\(target)/tmp/\(name)", F_OK) == 0) }
    // An upload may be under way, whatever the least age.
    request.minAge = 0
    try writeFile("\(target)/tmp/\(old)", [1])
    #expect(try await prune.run(request, at: disk).leftovers == .init(objects: 1, bytes: 3))
    #expect(access("\(target)/tmp/\(old)", F_OK) == 0 && access("\(target)/tmp/\(young)", F_OK) != 0)
  }

  /// A file system of several machines caches its folders; what doctor sees of it is its own writing.
  @Test func `a folder lists at once on a disk of this machine only`() async throws {
    let road = try await Road()
    let secret = UnlockSecret.keyFile([UInt8](repeating: 3, count: 64))
    let folder = TargetAccess(name: "disk", store: try FolderStore(path: road.scratch.path), unlock: { secret })
    let kinds: [(FileSystemKind, Bool)] = [
      (.local("ext4"), true), (.local(nil), false), (.overlay, true), (.fuse("gocryptfs"), true), (.nfs, false),
      (.smb, false), (.fuse("sshfs"), false), (.fuse("davfs"), false), (.shared("9p"), false),
      (.shared("fakeowner"), false), (.local("panfs"), false), (.cluster("ceph"), false),
    ]
    for isProved in [false, true] {
      for (kind, holds) in kinds {
        #expect(ListingProof.holds(for: folder, road.world, kind: { _ in kind }) == holds, "\(kind)")
      }
      if !isProved { try ListingProof.note([], of: folder, road.world) }
    }
    // What is no folder is not asked where it lies.
    #expect(!ListingProof.holds(for: road.target, road.world, kind: { _ in .local("ext4") }))
  }

  @Test func `two runs, unless the target was seen to list at once`() async throws {
    let (road, _) = try await road()
    let names = litter(road)
    let prune = PruneRepository(road.world)
    let runs = { try await prune.run(request(runs: nil), at: road.target).runs }
    #expect(try await runs() == .two)
    #expect(names.allSatisfy { road.store.content[$0] != nil })

    let findings = await StoreContract.run(on: road.store)
    try ListingProof.note(findings, of: road.target, road.world)
    #expect(try await runs() == .one)
    #expect(names.allSatisfy { road.store.content[$0] == nil })

    // Of another target, or long ago, or in the future.
    var other = road.target
    other.name = "elsewhere"
    #expect(!ListingProof.holds(for: other, road.world))
    let now = road.world.now()
    for (shift, holds) in [(89 * 86_400_000, true), (91 * 86_400_000, false), (-900_000, false)] {
      var world = road.world
      world.now = { UInt64(Int(now) + shift) }
      #expect(ListingProof.holds(for: road.target, world) == holds)
    }
    // A promise that was broken since.
    try ListingProof.note([.init(promise: "p", verdict: .broken("b"))], of: road.target, road.world)
    #expect(try await runs() == .two)
  }
}
