import Backends
import FoundationEssentials
import Glibc
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// A target that moved, or was copied as it lay, shows the same repository at another place: what is damaged came along.
@Suite struct MovedTargetTests {
  private let road: Road
  private let database: DatabaseSource
  private let harmed: VersionSummary
  private let pack: ObjectName

  /// Two versions, and a byte of the newer one's largest pack is another one than was stored.
  init() async throws {
    road = try await Road()
    database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    _ = try await road.push(database)
    let before = Set(road.store.content.keys)
    try SQLite.run("update t set body = randomblob(900)", on: database.path)
    harmed = try #require(try await road.push(database).pushed.first?.version)
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") && !before.contains($0.key) }
    pack = try #require(packs.max { $0.value.count < $1.value.count }?.key)
    road.store.content[pack]?[5000] ^= 1
  }

  /// The same objects at another place.
  private func moved(
    of other: MemoryStore? = nil, to location: String = "moved"
  ) -> (target: TargetAccess, store: MemoryStore) {
    let copy = MemoryStore(location: location)
    for (name, bytes) in (other ?? road.store).content { copy.content[name] = bytes }
    return (TargetAccess(name: "memory", store: copy, unlock: road.target.unlock), copy)
  }

  private func check(at target: TargetAccess, _ reading: CheckRepository.Reading = .all) async throws -> [String?] {
    try await CheckRepository(road.world).run(at: target, databases: [], reading).harmed.map(\.id)
  }

  private func told(at target: TargetAccess) async throws -> [[String]] {
    try await StatusOfDatabases(road.world).run([database], at: target).databases.map { $0.harmed.map(\.id) }
  }

  private var timesTold: Int { road.notices.said.withLock { $0 }.count { $0.contains("found harmed of it elsewhere") } }

  @Test func `what a check found harmed is told where the target moved to, until it is whole there`() async throws {
    #expect(try await check(at: road.target) == [harmed.id])
    let (target, store) = moved()
    #expect(try await told(at: target) == [[harmed.id]])
    #expect(try await told(at: target) == [[harmed.id]])
    #expect(timesTold == 1)
    // Who looks at the structure alone does not see it, and takes nothing back.
    #expect(try await check(at: target, .structure) == [])
    #expect(try await told(at: target) == [[harmed.id]])

    store.content[pack]?[5000] ^= 1
    #expect(try await check(at: target) == [])
    #expect(try await told(at: target) == [[]])
    #expect(try await told(at: road.target) == [[harmed.id]])
  }

  @Test func `a push where the target moved to rests on nothing that a check found damaged`() async throws {
    #expect(try await check(at: road.target) == [harmed.id])
    let (target, _) = moved()
    try await road.change(database.path)
    let pushed = try #require(
      try await Push(road.world).run(Push.Request(database: database, targets: [target])).pushed.first?.version)
    var request = Drill.Request()
    request.databases = ["app"]
    let drilled = try await Drill(road.world).run(request, at: target).drilled
    #expect(drilled.map(\.version.id) == [pushed.id] && drilled.map(\.hasPassed) == [true])
  }

  @Test func `each kind of what was found is known where the target moved to, and nowhere else`() async throws {
    #expect(try await check(at: road.target) == [harmed.id])
    let repository = try await moved().target.open(road.world)
    let state = StateFolder(reading: road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let id = try #require(Hex.decode(harmed.id).flatMap { Digest($0) })
    let elsewhere = StorePlace(name: String(repeating: "a", count: 32))
    for (place, isKnown) in [(repository.place, true), (elsewhere, false)] {
      let damaged = try DamagedPacks(of: chain, in: state, at: place)
      #expect(damaged.names.map { Layout.pack($0, of: chain) } == (isKnown ? [pack] : []))
      #expect(try HarmedVersions(of: chain, in: state, at: place).contains(id) == isKnown)
      #expect(try DoubtedVersions(of: chain, in: state, at: place).contains(id) == isKnown)
    }
  }

  /// What the push has settled where the target moved to is settled.
  @Test func `a target that moves again is not pushed to as a whole once more`() async throws {
    #expect(try await check(at: road.target) == [harmed.id])
    let (target, store) = moved()
    try await road.change(database.path)
    let first = try await Push(road.world).run(Push.Request(database: database, targets: [target])).pushed[0].version
    #expect(first.bytesNew > 90_000)
    let again = moved(of: store, to: "moved again").target
    try await road.change(database.path)
    let second = try await Push(road.world).run(Push.Request(database: database, targets: [again])).pushed[0].version
    #expect(second.bytesNew < 90_000)
  }

  /// A look at the database's times alone tells that nothing has changed: that takes two seconds since its last change.
  @Test func `behind a link that leads to a copy the last push is not taken for made there`() async throws {
    let link = road.scratch.file("backup")
    for name in ["a", "b"] { mkdir(road.scratch.file(name), 0o755) }
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: road.scratch.file("a"))
    func target() throws -> TargetAccess {
      TargetAccess(name: "link", store: try FolderStore(path: link), unlock: road.target.unlock)
    }
    _ = try await Initialize(road.world).run(at: try target(), ifMissing: false)
    func push() async throws -> Bool {
      let taken = Locked(false)
      var push = Push(road.world)
      push.take = { [take = push.take] in
        taken.withLock { $0 = true }
        return try await take($0, $1)
      }
      _ = try await push.run(Push.Request(database: database, targets: [try target()]))
      return taken.withLock { $0 }
    }
    try await Task.sleep(for: .milliseconds(2200))
    #expect(try await push())
    #expect(try await !push())
    _ = try await RestoreRoad.shell(
      "cp -a '\(road.scratch.file("a"))/.' '\(road.scratch.file("b"))' && ln -sfn '\(road.scratch.file("b"))' '\(link)'"
    )
    #expect(try await push())
    #expect(try await !push())
  }

  @Test func `what is found at the target later is not told of a copy that this machine knows`() async throws {
    let (target, store) = moved()
    store.content[pack]?[5000] ^= 1
    #expect(try await told(at: target) == [[]])
    #expect(try await check(at: road.target) == [harmed.id])
    #expect(try await told(at: target) == [[]])
    try await road.change(database.path)
    let pushed = try #require(
      try await Push(road.world).run(Push.Request(database: database, targets: [target])).pushed.first?.version)
    #expect(pushed.bytesNew < 90_000)
    #expect(timesTold == 0)
  }
}
