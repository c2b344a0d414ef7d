import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// Which version a name stands for when clocks, hosts, clones and the target itself play tricks.
@Suite struct LookupTests {
  /// Pushes a file straight through a session, with a host and a time of our choice.
  @discardableResult
  private func push(
    _ road: Road, _ text: String, host: String = "host", database: String = "app", time: UInt64, state: String? = nil,
    fork: UInt32 = 0
  ) async throws -> StoredManifest {
    let repository = try await Repository.open(
      at: road.store, with: .keyFile([UInt8](repeating: 3, count: 64)))
    let chain = repository.keys.keyring.chainID(host: host, database: database, fork: fork)
    let folder = try StateFolder(state ?? road.world.stateFolder, repository: repository.id)
    var session = try await PushSession(repository, chain: chain, state: folder, policy: .init(now: { time }))
    let bytes = Array(text.utf8)
    let draft = VersionDraft(
      chain: chain, sequence: session.next.sequence, previous: session.next.previous, time: time, host: host,
      database: database, method: .file, flags: [],
      members: [
        MemberSource(
          content: .file, path: "app.db", mode: 0o600, modified: time, length: bytes.count, read: { Array(bytes[$0]) })
      ], tags: [], note: "", compressionLevel: 1)
    return try await session.push(draft, skipEqual: true, dryRun: false, onProgress: { _ in }).manifest
  }

  private func show(_ selector: VersionSelector, _ road: Road, _ world: World? = nil) async throws -> String {
    try await ListVersions(world ?? road.world).show(selector, at: road.target).summary.id
  }

  private func refusal(_ selector: VersionSelector, _ road: Road, _ world: World? = nil) async -> OperationError? {
    await #expect(throws: OperationError.self) { try await show(selector, road, world) }
  }

  private func id(_ manifest: StoredManifest) -> VersionSelector { .id(prefix: manifest.id.hex) }

  @Test func `the latest of a chain is its last, also after the clock went back`() async throws {
    let road = try await Road()
    let first = try await push(road, "one", time: 5000)
    let last = try await push(road, "two", time: 3000)
    #expect(try await show(.latest(database: "app"), road) == last.id.hex)
    #expect(try await show(.latest(database: nil), road) == last.id.hex)
    // When that was nobody knows: it may be newer than any time that is past.
    #expect(try await show(.notLater(database: "app", time: 9000), road) == first.id.hex)
    #expect(try await show(.notLater(database: "app", time: .max), road) == last.id.hex)
  }

  @Test func `names that only look alike are those of two databases, and of two hosts`() async throws {
    let road = try await Road()
    let (composed, apart) = ("caf\u{E9}", "cafe\u{301}")
    let one = try await push(road, "one", database: composed, time: 5000)
    let other = try await push(road, "other", database: apart, time: 6000)
    #expect(try await show(.latest(database: composed), road) == one.id.hex)
    #expect(try await show(.latest(database: apart), road) == other.id.hex)
    #expect(try await show(.notLater(database: composed, time: 9000), road) == one.id.hex)
    #expect(try await show(.notLater(database: apart, time: 9000), road) == other.id.hex)
    let listed = try await ListVersions(road.world).run(at: road.target, database: apart)
    #expect(listed.versions.map(\.id) == [other.id.hex])
    let ours = try await push(road, "ours", host: composed, time: 7000)
    let theirs = try await push(road, "theirs", host: apart, time: 8000)
    var world = road.world
    world.host = composed
    #expect(try await show(.latest(database: "app"), road, world) == ours.id.hex)
    world.host = apart
    #expect(try await show(.latest(database: "app"), road, world) == theirs.id.hex)
    #expect(await refusal(.latest(database: "app"), road)?.message.contains("2 hosts") == true)
  }

  @Test func `a name that is typed in other letters is that of the only one that looks like it`() async throws {
    let road = try await Road()
    let typed = "\u{E9}e\u{301}"
    let one = try await push(road, "one", database: "\u{E9}\u{E9}", time: 5000)
    #expect(try await show(.latest(database: typed), road) == one.id.hex)
    #expect(try await show(.notLater(database: typed, time: 9000), road) == one.id.hex)
    let other = try await push(road, "other", database: "e\u{301}e\u{301}", time: 6000)
    let error = await refusal(.latest(database: typed), road)
    #expect(error?.kind == .noSuchVersion)
    for id in [one.id, other.id] { #expect(error?.hint?.contains(id.hex.prefix(12)) == true) }
  }

  @Test func `a time is no name of what was pushed after it by a clock that was behind`() async throws {
    let road = try await Road()
    let first = try await push(road, "one", time: 5000)
    let second = try await push(road, "two", time: 6000)
    let third = try await push(road, "three", time: 100)
    let early = try Scratch()
    #expect(try await show(.notLater(database: "app", time: 5500), road, road.withoutState(early)) == first.id.hex)
    try await push(road, "four", time: 7000)
    let folder = try Scratch()
    for world in [road.world, road.withoutState(folder)] {
      road.notices.said.withLock { $0 = [] }
      #expect(try await show(.notLater(database: "app", time: 5500), road, world) == first.id.hex)
      let said = road.notices.said.withLock { $0 }
      #expect(said.count { $0.contains(third.id.hex.prefix(8)) && $0.contains(second.id.hex.prefix(8)) } == 1)
    }
    // It was pushed after the second, nobody knows how long: it may be newer than the time. So the one before it
    // answers, and a person is told which one to look at.
    road.notices.said.withLock { $0 = [] }
    #expect(try await show(.notLater(database: "app", time: 6500), road) == second.id.hex)
    let said = road.notices.said.withLock { $0 }
    #expect(said.count { $0.contains(third.id.hex.prefix(8)) && $0.contains("may be newer") } == 1, "\(said)")
    // Where the target says when it was stored, that is known.
    for (stored, answer) in [(6, third), (7, second)] {
      let target = telling([third: stored], road)
      let shown = try await ListVersions(road.world).show(.notLater(database: "app", time: 6500), at: target)
      #expect(shown.summary.id == answer.id.hex)
    }
    #expect(await refusal(.notLater(database: "app", time: 4000), road)?.kind == .noSuchVersion)
    for (time, text) in [(4000, "04.000Z"), (4999, "04Z")] as [(UInt64, String)] {
      let message = await refusal(.notLater(database: "app", time: time), road)?.message
      #expect(message?.contains("'app@1970-01-01T00:00:\(text)'") == true, "\(message ?? "")")
    }
  }

  @Test func `in a folder the clock that was behind does not say when its version was there`() async throws {
    let road = try await Road()
    try await push(road, "one", time: 5000)
    let second = try await push(road, "two", time: 6000)
    let third = try await push(road, "three", time: 100)
    try await push(road, "four", time: 7000)
    func answer(_ times: KeyValuePairs<StoredManifest, Int>, isFolder: Bool) async throws -> String {
      let target = telling(times, road, isFolder: isFolder)
      return try await ListVersions(road.world).show(.notLater(database: "app", time: 6500), at: target).summary.id
    }
    #expect(try await answer([second: 6, third: 0], isFolder: true) == second.id.hex)
    let said = road.notices.said.withLock { $0 }
    #expect(said.count { $0.contains(third.id.hex.prefix(8)) && $0.contains("may be newer") } == 1, "\(said)")
    #expect(try await answer([third: 0], isFolder: true) == second.id.hex)
    // A server has a clock of its own, and so has one whose folder is mounted: that one is right.
    #expect(try await answer([second: 6, third: 0], isFolder: false) == third.id.hex)
    #expect(try await answer([second: 6, third: 6], isFolder: true) == third.id.hex)
  }

  @Test func `one clock that was ahead hides nothing that was pushed after it`() async throws {
    let road = try await Road()
    var versions: [StoredManifest] = []
    for (index, time) in [UInt64(1000), 9000, 2000, 3000, 4000].enumerated() {
      versions.append(try await push(road, "\(index)", time: time))
    }
    #expect(try await show(.notLater(database: "app", time: 2500), road) == versions[2].id.hex)
    #expect(try await show(.notLater(database: "app", time: 3000), road) == versions[3].id.hex)
  }

  @Test func `what is lost behind a version of a wrong clock may be what a time means`() async throws {
    let road = try await Road()
    var versions: [StoredManifest] = []
    for (index, time) in [UInt64(5000), 6000, 100, 6200, 7000].enumerated() {
      versions.append(try await push(road, "\(index)", time: time))
    }
    let asked = VersionSelector.notLater(database: "app", time: 6500)
    #expect(try await show(asked, road) == versions[3].id.hex)
    road.store.content[versions[3].name.objectName] = nil
    let error = await refusal(asked, road)
    #expect(error?.code == "hole" && error?.hint?.contains(versions[1].id.hex.prefix(12)) == true)
  }

  /// One that tells when these manifests were stored, in seconds.
  private func telling(
    _ seconds: KeyValuePairs<StoredManifest, Int>, _ road: Road, isFolder: Bool = false
  ) -> TargetAccess {
    let times = seconds.map { ($0.key.name.objectName, $0.value) }
    var target = road.target
    var store = ListingStore.telling(Dictionary(uniqueKeysWithValues: times), of: road.store)
    store.isFolder = isFolder
    target.store = store
    return target
  }

  /// By every way that chooses between the chains of a database.
  private func expectTaken(
    _ version: StoredManifest, _ road: Road, at target: TargetAccess? = nil, by reader: World? = nil
  ) async throws {
    let (target, world) = (target ?? road.target, reader ?? road.world)
    for name in [VersionSelector.latest(database: "app"), .latest(database: nil)] {
      let shown = try await ListVersions(world).show(name, at: target).summary
      #expect(shown.id == version.id.hex)
    }
    let folder = try Scratch()
    let all = try await RestoreAll(Pull(world)).run(.pull(into: folder.path), from: target, host: nil)
    #expect(all.failures.isEmpty && all.done.map(\.outcome?.pulled.version.id) == [version.id.hex])
    for choice in [Drill.Choice.newest, .versions([.latest(database: "app")])] {
      var request = Drill.Request()
      request.choice = choice
      let drilled = try await Drill(world).run(request, at: target)
      #expect(drilled.failures.isEmpty && drilled.drilled.map(\.version.id) == [version.id.hex])
    }
    var request = CopyVersions.Request()
    request.choice = .newest
    let plan = try await CopyPlan(request, VersionLookup(at: target, world))
    #expect(plan.failures.isEmpty && plan.chains.flatMap(\.versions).map(\.id) == [version.id])
  }

  /// How often a person was told that this version, of another chain, may be meant.
  private func told(_ version: StoredManifest, _ words: String, _ road: Road) -> Int {
    road.notices.said.withLock { said in
      said.count { $0.contains("; version \(version.id.hex.prefix(8))") && $0.contains(words) }
    }
  }

  @Test func `between chains a time that has not been yet says nothing`() async throws {
    let road = try await Road()
    let now = road.world.now()
    let ahead = try await push(road, "ahead", time: now + 13 * 3_600_000)
    let last = try await push(road, "last", time: now, fork: 1)
    try await expectTaken(last, road)
    // Two names, all, two drills and a copy.
    #expect(told(ahead, "says a later time", road) == 6)
  }

  @Test func `a reader whose clock is behind takes no old fork where a server tells times`() async throws {
    let road = try await Road()
    let (now, hour) = (road.world.now(), UInt64(3_600_000))
    let old = try await push(road, "old", time: now - 30 * 24 * hour)
    let before = try await push(road, "before", time: now - hour, fork: 1)
    let last = try await push(road, "last", time: now, fork: 1)
    let seconds = Int(now / 1000)
    let target = telling([old: seconds - 30 * 24 * 3600, before: seconds - 3600, last: seconds], road)
    var reader = road.world
    reader.now = { now - 5 * hour }
    try await expectTaken(last, road, at: target, by: reader)
    #expect(told(old, "is not ahead of this machine's clock", road) == 6)
    // By the right clock nothing speaks for it.
    try await expectTaken(last, road, at: target)
    #expect(told(old, "of the same database", road) == 6)
  }

  @Test func `the times in a folder do not confirm those of the clock that wrote there`() async throws {
    let road = try await Road()
    let (now, lead) = (road.world.now(), UInt64(13 * 3_600_000))
    let ahead = try await push(road, "ahead", time: now + lead)
    let last = try await push(road, "last", time: now, fork: 1)
    let target = telling([ahead: Int((now + lead) / 1000), last: Int(now / 1000)], road, isFolder: true)
    try await expectTaken(last, road, at: target)
  }

  @Test func `a target whose clock is behind, or stands still, hides no new fork`() async throws {
    let road = try await Road()
    let (now, hour) = (road.world.now(), UInt64(3_600_000))
    let first = try await push(road, "first", time: now - 4 * hour)
    let second = try await push(road, "second", time: now - 3 * hour)
    let fork = try await push(road, "fork", time: now - 2 * hour, fork: 1)
    let day = Int(now / 1000) - 24 * 3600
    let targets = [
      telling([first: day - 4 * 3600, second: day - 3 * 3600, fork: day - 2 * 3600], road),
      telling([first: day, second: day, fork: day], road), telling([first: 0, second: 0, fork: 0], road),
    ]
    for target in targets { try await expectTaken(fork, road, at: target) }
    // One that is a little behind still says whose clock was ahead.
    let other = try await Road()
    let ahead = try await push(other, "ahead", time: now - hour)
    let last = try await push(other, "last", time: now - 2 * hour, fork: 1)
    let seconds = Int(now / 1000) - 2 * 3600
    try await expectTaken(last, other, at: telling([ahead: seconds - 3600, last: seconds - 2], other))
  }

  @Test func `between chains a clock that was ahead is overruled by when its version was stored`() async throws {
    let road = try await Road()
    let (now, hour) = (road.world.now(), UInt64(3_600_000))
    let ahead = try await push(road, "ahead", time: now - 7 * hour)
    let last = try await push(road, "last", time: now - 10 * hour, fork: 1)
    try await expectTaken(ahead, road)
    let seconds = Int(now / 1000)
    try await expectTaken(last, road, at: telling([ahead: seconds - 20 * 3600, last: seconds - 10 * 3600], road))
    #expect(told(ahead, "says a later time", road) == 6)
  }

  @Test func `between chains a clock that was behind is overruled by what was pushed before`() async throws {
    let road = try await Road()
    try await push(road, "other", time: 5000)
    try await push(road, "before", time: 6000, fork: 1)
    let last = try await push(road, "last", time: 100, fork: 1)
    try await expectTaken(last, road)
    // Nor does the word of the target make older what was pushed after it.
    let later = try await push(road, "later", time: 7000, fork: 1)
    try await expectTaken(later, road, at: telling([later: 0], road))
  }

  @Test func `a clock that was ahead makes no later version younger where the target says so`() async throws {
    let even = try await Road()
    let (now, day) = (even.world.now(), UInt64(86_400_000))
    func ago(_ days: UInt64) -> UInt64 { now - days * day }
    func stored(_ days: UInt64) -> Int { Int(ago(days) / 1000) }
    let ahead = try await push(even, "ahead", time: ago(5))
    let old = try await push(even, "old", time: ago(18))
    let before = try await push(even, "before", time: ago(16), fork: 1)
    let last = try await push(even, "last", time: ago(10), fork: 1)
    // By the chains alone it was pushed after the one that says five days.
    try await expectTaken(old, even)
    for isFolder in [false, true] {
      let times: KeyValuePairs = [ahead: stored(19), old: stored(18), before: stored(16), last: stored(10)]
      try await expectTaken(last, even, at: telling(times, even, isFolder: isFolder))
      // And where its end was stored once more since, as by a repair: then that chain is read.
      let again: KeyValuePairs = [ahead: stored(19), old: stored(3), before: stored(16), last: stored(10)]
      try await expectTaken(last, even, at: telling(again, even, isFolder: isFolder))
    }
    // Also where most of a chain was pushed by that clock.
    let most = try await Road()
    let first = try await push(most, "first", time: ago(14))
    let second = try await push(most, "second", time: ago(13))
    let right = try await push(most, "right", time: ago(20))
    let fork = try await push(most, "fork", time: ago(15), fork: 1)
    let target = telling([first: stored(24), second: stored(23), right: stored(20), fork: stored(15)], most)
    try await expectTaken(fork, most, at: target)
    // A clock that was behind is overruled, as the target says the same of what was pushed before.
    let behind = try await Road()
    let other = try await push(behind, "other", time: ago(10))
    let well = try await push(behind, "well", time: ago(2), fork: 1)
    let fallen = try await push(behind, "fallen", time: ago(400), fork: 1)
    let told = telling([other: stored(10), well: stored(2), fallen: stored(1)], behind)
    try await expectTaken(fallen, behind, at: told)
  }

  @Test func `no target makes a version older than its chain says, nor younger`() async throws {
    let road = try await Road()
    let (now, day) = (road.world.now(), UInt64(86_400_000))
    func ago(_ days: UInt64) -> UInt64 { now - days * day }
    func stored(_ days: UInt64) -> Int { Int(ago(days) / 1000) }
    let before = try await push(road, "before", time: ago(2))
    let last = try await push(road, "last", time: ago(1))
    let fork = try await push(road, "fork", time: ago(5), fork: 1)
    try await expectTaken(last, road, at: telling([before: 0, last: 0, fork: stored(5)], road))
    // Where the chain contradicts itself, not than the version says.
    let torn = try await Road()
    let ahead = try await push(torn, "ahead", time: ago(5))
    let old = try await push(torn, "old", time: ago(18))
    let older = try await push(torn, "older", time: ago(25), fork: 1)
    try await expectTaken(old, torn, at: telling([ahead: 0, old: 0, older: stored(25)], torn))
    // What is made older does not bring back a time that it had overruled.
    let other = try await Road()
    try await push(other, "overruled", time: ago(10))
    let one = try await push(other, "one", time: ago(60))
    let two = try await push(other, "two", time: ago(50))
    let three = try await push(other, "three", time: ago(70))
    let newest = try await push(other, "newest", time: ago(30), fork: 1)
    let times: KeyValuePairs = [one: stored(95), two: stored(96), three: stored(97), newest: stored(30)]
    try await expectTaken(newest, other, at: telling(times, other))
  }

  @Test func `a version that was stored later is not newer for it, and is told`() async throws {
    let road = try await Road()
    let newest = try await push(road, "newest", time: 6000)
    let other = try await push(road, "other", time: 5000, fork: 1)
    try await expectTaken(newest, road, at: telling([newest: 6, other: 9], road))
    #expect(told(other, "was stored later", road) == 6)
    // In a lane of copies that is ever so.
    let lane = try await Road()
    let first = try await push(lane, "newest", time: 6000)
    let copy = try await push(lane, "copy", time: 5000, fork: 1 << 20)
    try await expectTaken(first, lane, at: telling([first: 6, copy: 9], lane))
    #expect(told(copy, "of the same database", lane) == 0)
  }

  @Test(
    arguments: [
      ([], []), ([5, 5, 6], [0, 1, 2]), ([50, 60, 1, 70], [0, 1, 3]), ([1, 20, 2, 3], [0, 2, 3]), ([6, 1], [0]),
      ([10, 20, 5, 6], [0, 1]), ([10, 5, 6, 7], [1, 2, 3]), ([10, 101, 20], [0, 2]), ([100, 101], [0]),
    ] as [([UInt64], [Int])])
  func `the times that most others agree with are believed`(times: [UInt64], believed: [Int]) {
    #expect(ChainClocks.believed(times, now: 100) == believed)
  }

  @Test func `a name that two hosts push is this host's, or must be told apart`() async throws {
    let road = try await Road()
    let mine = try await push(road, "mine", time: 1000)
    let theirs = try await push(road, "theirs", host: "other", time: 2000)
    #expect(try await show(.latest(database: "app"), road) == mine.id.hex)
    #expect(try await show(.notLater(database: "app", time: 9000), road) == mine.id.hex)
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("; other pushes a database of that name too") })
    var elsewhere = road.world
    elsewhere.host = "third"
    let error = await refusal(.latest(database: "app"), road, elsewhere)
    #expect(error?.kind == .noSuchVersion)
    #expect(error?.hint?.contains(String(theirs.id.hex.prefix(12))) == true)
    #expect(try await show(id(theirs), road, elsewhere) == theirs.id.hex)
    try await push(road, "third's", host: "third", time: 3000)
    #expect(try await show(.latest(database: "app"), road) == mine.id.hex)
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("; other, third push a database of that name") })
  }

  @Test func `latest alone says whose version it is where there are several databases`() async throws {
    let road = try await Road()
    func said() -> [String] { road.notices.said.withLock { $0 }.filter { $0.contains("NAME:latest") } }
    try await push(road, "mine", time: 1000)
    _ = try await show(.latest(database: nil), road)
    #expect(said().isEmpty)
    let theirs = try await push(road, "theirs", host: "other", database: "web", time: 2000)
    #expect(try await show(.latest(database: nil), road) == theirs.id.hex)
    let remark = "latest is 'web' of other, the newest of 2 databases at memory; NAME:latest names another one's"
    #expect(said() == [remark])
    _ = try await show(.latest(database: "web"), road)
    #expect(said().count == 1)
  }

  /// Whoever has the key can write any number there.
  @Test func `a manifest that boasts of its bytes ends nothing`() async throws {
    let stored = try await push(try await Road(), "one", time: 1000)
    let body = stored.body
    let boast = ManifestBody(
      state: body.state, chain: body.chain, sequence: body.sequence, revision: body.revision, core: body.core,
      bytesDecoded: .max, bytesFetched: .max, newBytes: .max, nextPackNumber: body.nextPackNumber, tags: body.tags,
      note: body.note, packTable: body.packTable, maps: body.maps)
    let facts = VersionFacts(
      digest: stored.name.digest, length: stored.name.length, epoch: stored.object.epoch,
      formatVersion: stored.object.version, body: boast, core: stored.core, id: stored.id)
    #expect(try #require(VersionSummary(facts, target: "memory")).bytesNew == .max)
  }

  /// Whoever can write to the target, and has no key, puts an object there that cannot be read.
  @Test(arguments: [(1, 1), (2, 1)] as [(UInt64, UInt32)])
  func `what cannot be read keeps no machine from noticing that the target went back`(
    place: UInt64, revision: UInt32
  ) async throws {
    let road = try await Road()
    try await push(road, "one", time: 1000)
    let second = try await push(road, "two", time: 2000)
    let junk = VersionName(
      chain: second.name.chain, sequence: place, revision: revision, length: 4096, digest: .sha256(of: [1]))
    road.store.content[junk.objectName] = [UInt8](repeating: 1, count: 4096)
    let folder = try Scratch()
    let reader = road.withoutState(folder)
    #expect(try await show(.latest(database: "app"), road, reader) == second.id.hex)
    road.store.content[second.name.objectName] = nil
    if place == 2 { road.store.content[junk.objectName] = nil }
    #expect(await refusal(.latest(database: "app"), road, reader)?.code == "rolledBack")
  }

  @Test func `an older version is not taken for the latest when the newest cannot be read`() async throws {
    let road = try await Road()
    let first = try await push(road, "one", time: 1000)
    let second = try await push(road, "two", time: 2000)
    road.store.content[second.name.objectName]?[200] ^= 1
    let folder = try Scratch()
    let fresh = road.withoutState(folder)
    for selector in [VersionSelector.latest(database: "app"), .latest(database: nil)] {
      let error = await refusal(selector, road, fresh)
      #expect(error?.kind == .verificationFailed)
      #expect(error?.hint?.contains(String(first.id.hex.prefix(12))) == true)
    }
    #expect(try await show(id(first), road, fresh) == first.id.hex)
  }

  @Test func `an older version is not taken for that of a time when the right one may be lost`() async throws {
    let road = try await Road()
    let first = try await push(road, "one", time: 1000)
    let second = try await push(road, "two", time: 2000)
    let third = try await push(road, "three", time: 3000)
    let asked = VersionSelector.notLater(database: "app", time: 2500)
    #expect(try await show(asked, road) == second.id.hex)
    let name = second.name.objectName
    let bytes = try #require(road.store.content[name])
    let folder = try Scratch()
    road.store.content[name]?[200] ^= 1
    #expect(await refusal(asked, road, road.withoutState(folder))?.kind == .verificationFailed)
    road.store.content[name] = nil
    for world in [road.world, road.withoutState(folder)] {
      let error = await refusal(asked, road, world)
      #expect(error?.kind == .verificationFailed && error?.hint?.contains(first.id.hex.prefix(12)) == true)
    }
    #expect(try await show(.notLater(database: "app", time: 3500), road) == third.id.hex)
    #expect(try await show(id(first), road) == first.id.hex)
    road.store.content[name] = bytes
    // What was forgotten was meant to go.
    let forget = ForgetVersions(road.world)
    let plan = try await forget.plan(.init(.versions([id(second)])), at: road.target)
    #expect(try await forget.carryOut(plan.chains[0], of: plan).forgot == 1)
    #expect(try await show(asked, road) == first.id.hex)
    road.store.content[name] = nil
    #expect(try await show(asked, road, road.withoutState(folder)) == first.id.hex)
  }

  @Test func `junk beyond the newest version does not hide that versions were taken away`() async throws {
    let road = try await Road()
    try await push(road, "one", time: 1000)
    let older = road.store.content
    let second = try await push(road, "two", time: 2000)
    road.store.content = older
    let junk = [UInt8](repeating: 9, count: 5000)
    let place = second.name.objectName.text.split(separator: "/")[1]
    let name = try #require(
      ObjectName("versions/\(place)/000000000007-0000-5000-\(String(repeating: "a", count: 64))"))
    road.store.content[name] = junk
    let list = try await ListVersions(road.world).run(at: road.target)
    #expect(list.problems.contains { $0.code == "rolledBack" })
    let error = await #expect(throws: RepositoryError.self) { try await push(road, "three", time: 3000) }
    #expect(error?.code == .rolledBack)
  }

  @Test func `both versions of two machines that pushed as one are found by their ids`() async throws {
    let road = try await Road()
    try await push(road, "one", time: 1000)
    let shared = road.store.content
    let mine = try await push(road, "mine", time: 2000)
    let both = road.store.content
    road.store.content = shared
    let clone = try Scratch()
    let theirs = try await push(road, "theirs", time: 2000, state: clone.file("state"))
    road.store.content.merge(both) { first, _ in first }
    #expect(mine.id != theirs.id)
    for manifest in [mine, theirs] {
      #expect(try await show(id(manifest), road) == manifest.id.hex)
    }
    #expect(await refusal(.latest(database: "app"), road)?.code == "forked")
    let list = try await ListVersions(road.world).run(at: road.target)
    #expect(Set(list.versions.map(\.id)).isSuperset(of: [mine.id.hex, theirs.id.hex]))
    #expect(list.problems.contains { $0.code == "forked" })
    // Neither goes on where both have been; each does so by the way out that both are told.
    for (fork, state) in [(UInt32(1), nil), (2, clone.file("state"))] {
      let error = await #expect(throws: RepositoryError.self) { try await push(road, "on", time: 3000, state: state) }
      #expect(error?.code == .forked && error?.hint == RepositoryError.partWays)
      let on = try await push(road, "on \(fork)", time: 3000 + UInt64(fork), state: state, fork: fork)
      // From then on the chain that they shared is the past.
      try await expectFound(on, road, road.world)
    }
    for gone in [mine, theirs] {
      let held = road.store.content[gone.name.objectName]
      road.store.content[gone.name.objectName] = nil
      let refused = try? await show(.latest(database: "app"), road)
      #expect((refused == nil) == (gone.id == mine.id), "this machine has seen one of both")
      road.store.content[gone.name.objectName] = held
    }
  }

  @Test func `what this machine has seen of a chain that was left is missed, though the fork is there`() async throws {
    let road = try await Road()
    try await push(road, "one", time: 1000)
    let shared = road.store.content
    let mine = try await push(road, "mine", time: 2000)
    var all = road.store.content
    for clone in ["second", "third"] {
      road.store.content = shared
      try await push(road, clone, time: 2000, state: road.scratch.file(clone))
      all.merge(road.store.content) { first, _ in first }
    }
    road.store.content = all
    let on = try await push(road, "on", time: 3000, fork: 1)
    #expect(try await show(.latest(database: "app"), road) == on.id.hex)
    road.store.content[mine.name.objectName] = nil
    #expect(await refusal(.latest(database: "app"), road)?.code == "forked")
  }

  @Test func `a machine that was cloned goes on under another name`() async throws {
    let road = try await Road()
    try await push(road, "one", time: 1000)
    let shared = road.store.content
    try await push(road, "mine", time: 2000)
    let both = road.store.content
    road.store.content = shared
    try await push(road, "theirs", time: 2000, state: road.scratch.file("clone"))
    road.store.content.merge(both) { first, _ in first }
    var renamed = road.world
    renamed.host = "other"
    let on = try await push(road, "on", host: "other", time: 3000)
    try await expectFound(on, road, renamed)
  }

  /// By every way that takes the newest version of a database; and a check finds no damage.
  private func expectFound(_ version: StoredManifest, _ road: Road, _ world: World) async throws {
    #expect(try await show(.latest(database: "app"), road, world) == version.id.hex)
    #expect(try await show(.latest(database: nil), road, world) == version.id.hex)
    #expect(try await show(.notLater(database: "app", time: 9000), road, world) == version.id.hex)
    let folder = try Scratch()
    let all = try await RestoreAll(Pull(world)).run(.pull(into: folder.path), from: road.target, host: nil)
    #expect(all.failures.isEmpty && all.done.map(\.outcome?.pulled.version.id) == [version.id.hex])
    for choice in [Drill.Choice.newest, .random] {
      var request = Drill.Request()
      request.choice = choice
      let drilled = try await Drill(world).run(request, at: road.target)
      #expect(drilled.failures.isEmpty && drilled.drilled.count == 1)
    }
    let check = try await CheckRepository(world).run(at: road.target, databases: [], .all)
    #expect(check.isSound && check.problems.map(\.code) == ["forked"])
    #expect(try await ListVersions(world).run(at: road.target).problems.map(\.code) == ["forked"])
  }

  /// Takes a chain out of all that the target shows.
  private func hide(host: String, fork: UInt32 = 0, _ road: Road) async throws {
    let repository = try await road.target.open(road.world)
    let chain = repository.keys.keyring.chainID(host: host, database: "app", fork: fork).hex
    let before = road.store.content.count
    road.store.content = road.store.content.filter { !$0.key.text.contains("/\(chain)/") }
    #expect(road.store.content.count < before)
  }

  @Test func `another host's database is no stand-in for this host's own, which is gone`() async throws {
    let road = try await Road()
    try await push(road, "mine", time: 1000)
    let theirs = try await push(road, "theirs", host: "other", time: 2000, state: road.scratch.file("elsewhere"))
    try await hide(host: "host", road)
    for selector in [VersionSelector.latest(database: "app"), .notLater(database: "app", time: 9000)] {
      let error = await refusal(selector, road)
      #expect(error?.code == "rolledBack" && error?.message.contains("'app' of host") == true)
    }
    #expect(try await show(id(theirs), road) == theirs.id.hex)
    // So is what would be restored, and drilled, by name.
    let all = await #expect(throws: OperationError.self) {
      try await RestoreAll(Pull(road.world)).run(.pull(into: road.scratch.path), from: road.target, host: nil)
    }
    #expect(all?.code == "rolledBack")
    var request = Drill.Request()
    request.databases = ["app"]
    let drilled = try await Drill(road.world).run(request, at: road.target)
    #expect(drilled.failures.map(\.error.code) == ["rolledBack"])
    // Who names the other host means it.
    let folder = try Scratch()
    let named = try await RestoreAll(Pull(road.world)).run(.pull(into: folder.path), from: road.target, host: "other")
    #expect(named.done.map(\.database) == ["app"])
  }

  @Test(arguments: [UInt32(2), 20_261_123])
  func `an older fork is not taken for a newer one that is gone`(fork: UInt32) async throws {
    let road = try await Road()
    let old = try await push(road, "old", time: 1000)
    try await push(road, "new", time: 2000, fork: fork)
    try await hide(host: "host", fork: fork, road)
    #expect(await refusal(.latest(database: "app"), road)?.code == "rolledBack")
    let folder = try Scratch()
    let all = try await RestoreAll(Pull(road.world)).run(.pull(into: folder.path), from: road.target, host: nil)
    #expect(all.done.isEmpty && Set(all.failures.map(\.error.code)) == ["rolledBack"])
    for names in [[], ["app"]] {
      var request = Drill.Request()
      request.databases = names
      let drilled = try await Drill(road.world).run(request, at: road.target)
      #expect(drilled.drilled.isEmpty && Set(drilled.failures.map(\.error.code)) == ["rolledBack"])
    }
    #expect(try await show(id(old), road) == old.id.hex)
    // Of another database, whose name is noted with the mark, it says nothing.
    let other = try await push(road, "other", database: "other", time: 3000)
    #expect(try await show(.latest(database: "other"), road) == other.id.hex)
  }

  @Test func `an id still names a version of a chain that went back, and the person is told`() async throws {
    let road = try await Road()
    let first = try await push(road, "one", time: 1000)
    let older = road.store.content
    try await push(road, "two", time: 2000)
    road.store.content = older
    #expect(await refusal(.latest(database: "app"), road)?.code == "rolledBack")
    #expect(try await show(id(first), road) == first.id.hex)
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("this machine has seen version 2") })
  }
}
