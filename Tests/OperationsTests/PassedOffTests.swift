import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// An older version is never passed off for one that was there: not where what stood behind it was forgotten, not where
/// another chain holds what is meant, not where words of this machine are held back.
@Suite struct PassedOffTests {
  private func find(_ selector: VersionSelector, _ shelf: Shelf, _ world: World) async throws -> String {
    try await ListVersions(world).show(selector, at: shelf.road.target).summary.id
  }

  private func refusal(_ selector: VersionSelector, _ shelf: Shelf, _ world: World) async -> OperationError? {
    await #expect(throws: OperationError.self) { try await find(selector, shelf, world) }
  }

  /// One that has seen nothing yet.
  private func machine(_ shelf: Shelf, _ name: String = "fresh") -> World {
    var world = shelf.world
    world.stateFolder = shelf.road.scratch.file(name)
    return world
  }

  private func names(of last: VersionFacts) -> [VersionSelector] {
    [.latest(database: "app"), .latest(database: nil), .notLater(database: "app", time: last.version?.time ?? 0)]
  }

  private func drill(_ shelf: Shelf, _ world: World, at target: TargetAccess? = nil) async throws -> [OperationError] {
    var request = Drill.Request()
    request.databases = ["app"]
    return try await Drill(world).run(request, at: target ?? shelf.road.target).failures.map(\.error)
  }

  private func target(_ store: ListingStore) -> TargetAccess {
    TargetAccess(name: "memory", store: store, unlock: { .keyFile([UInt8](repeating: 3, count: 64)) })
  }

  /// One that tells when these versions were stored: a minute after the other, in this order.
  private func target(_ shelf: Shelf, storing versions: [VersionFacts], from first: UInt64? = nil) -> TargetAccess {
    let begin = Int((first ?? versions.first?.version?.time ?? 0) / 1000)
    let times = versions.enumerated().map { ($1.name.objectName, begin + 60 * ($0 + 1)) }
    return target(.telling(Dictionary(uniqueKeysWithValues: times), of: shelf.road.store))
  }

  @Test func `what a newer version was kept for is asked for where that one was taken away`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(6)
    let seen = machine(shelf, "seen")
    _ = try await ListVersions(seen).run(at: shelf.road.target)
    let last = try await shelf.push(7, at: Shelf.monday + 6 * Shelf.day)
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[4], versions[5]))
    #expect(try await find(.latest(database: "app"), shelf, machine(shelf, "other")) == last.id.hex)

    shelf.road.store.content[last.name.objectName] = nil
    for name in names(of: last) {
      #expect(await refusal(name, shelf, seen)?.code == "rolledBack")
    }
    #expect(try await ListVersions(seen).run(at: shelf.road.target).problems.contains { $0.code == "rolledBack" })
    #expect(try await drill(shelf, seen).contains { $0.code == "rolledBack" })
    var policy = PruneRepository.Request()
    (policy.minAge, policy.runs) = (0, .one)
    let pruned = try await PruneRepository(seen).run(policy, at: shelf.road.target)
    #expect(pruned.problems.contains { $0.code == "rolledBack" })
    #expect(shelf.road.store.content[versions[4].name.objectName] != nil)
    #expect(try await find(.id(prefix: versions[5].id.hex), shelf, seen) == versions[5].id.hex)
    #expect(try await find(.id(prefix: versions[3].id.hex), shelf, seen) == versions[3].id.hex)

    // Who has seen nothing knows it by the head that was noted elsewhere.
    let (fresh, path) = (machine(shelf), shelf.road.scratch.file("out"))
    let head = "6-\(versions[5].id.hex.prefix(16))"
    let error = await #expect(throws: OperationError.self) {
      try await Pull(fresh).run(
        .latest(database: "app"), from: shelf.road.target, to: .file(path), expect: [head])
    }
    #expect(error?.code == "unexpectedHead")
    #expect((try? fileBytes(path)) == nil)
  }

  @Test func `a version that came late and was given up is nothing that a machine has seen`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    _ = try await shelf.repository.forget([versions[1]], now: Shelf.monday, state: nil)
    let world = machine(shelf)
    for _ in 0..<2 {
      let outcome = try await ListVersions(world).run(at: shelf.road.target)
      #expect(outcome.problems.isEmpty && outcome.versions.map(\.sequence) == [1])
      #expect(try await find(.latest(database: "app"), shelf, world) == versions[0].id.hex)
    }
  }

  @Test func `the newest that cannot be read is missed also where the one before it was forgotten`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(6)
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[4]))
    shelf.road.store.content[versions[5].name.objectName]?[200] ^= 1
    let fresh = machine(shelf)
    for name in names(of: versions[5]) {
      let error = await refusal(name, shelf, fresh)
      #expect(error?.kind == .verificationFailed)
      #expect(error?.hint?.contains(String(versions[3].id.hex.prefix(12))) == true)
    }
    #expect(try await drill(shelf, fresh).contains { $0.code == "damaged" })
    #expect(try await find(.id(prefix: versions[3].id.hex), shelf, fresh) == versions[3].id.hex)
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("there may be a newer version") })
  }

  @Test func `another host's database is not taken while this host's own cannot be read`() async throws {
    let shelf = try await Shelf()
    let mine = try await shelf.push(1, at: Shelf.monday)
    let theirs = try await shelf.push(2, at: Shelf.monday + 1, host: "other")
    shelf.road.store.content[mine.name.objectName]?[200] ^= 1
    let fresh = machine(shelf)
    for name in names(of: theirs) where name != .latest(database: nil) {
      let error = await refusal(name, shelf, fresh)
      #expect(error?.kind == .verificationFailed)
      #expect(error?.hint?.contains(String(theirs.id.hex.prefix(12))) == true)
    }
    var third = machine(shelf, "third")
    third.host = "third"
    #expect(try await find(.latest(database: "app"), shelf, third) == theirs.id.hex)
  }

  @Test func `another host's database is not taken where it was stored later than what cannot be read`() async throws {
    let shelf = try await Shelf()
    let mine = try await shelf.push(1, at: Shelf.monday)
    let theirs = try await shelf.push(2, at: Shelf.monday + Shelf.day, host: "other")
    shelf.road.store.content[mine.name.objectName]?[200] ^= 1
    let target = target(shelf, storing: [mine, theirs])
    for name in names(of: theirs) where name != .latest(database: nil) {
      let error = await #expect(throws: OperationError.self) {
        try await ListVersions(machine(shelf)).show(name, at: target)
      }
      #expect(error?.kind == .verificationFailed)
      #expect(error?.hint?.contains(String(theirs.id.hex.prefix(12))) == true)
    }
  }

  @Test func `a copy of an older version is not taken because it was stored later`() async throws {
    let shelf = try await Shelf()
    let last = try await shelf.push(1, at: Shelf.monday + 9 * Shelf.day)
    let copy = try await shelf.push(2, at: Shelf.monday, fork: 1)
    shelf.road.store.content[last.name.objectName]?[200] ^= 1
    let target = target(shelf, storing: [last, copy], from: Shelf.monday + 9 * Shelf.day)
    for name in names(of: last) {
      let error = await #expect(throws: OperationError.self) {
        try await ListVersions(machine(shelf)).show(name, at: target)
      }
      #expect(error?.kind == .verificationFailed)
    }
    #expect(try await drill(shelf, machine(shelf), at: target).contains { $0.code == "damaged" })
  }

  @Test func `latest alone asks every database for what is newer and cannot be read`() async throws {
    let shelf = try await Shelf()
    let early = try await shelf.push(1, at: Shelf.monday - Shelf.day, database: "mail")
    let app = try await shelf.push(2, at: Shelf.monday)
    let mail = try await shelf.push(3, at: Shelf.monday + 3_600_000, database: "mail")
    shelf.road.store.content[mail.name.objectName]?[200] ^= 1
    let fresh = machine(shelf)
    for times in [[early, app, mail], []] {
      let target = target(shelf, storing: times)
      let error = await #expect(throws: OperationError.self) {
        try await ListVersions(fresh).show(.latest(database: nil), at: target)
      }
      #expect(error?.kind == .verificationFailed)
      #expect(error?.hint?.contains(String(app.id.hex.prefix(12))) == true)
      let named = try await ListVersions(fresh).show(.latest(database: "app"), at: target)
      #expect(named.summary.id == app.id.hex)
    }
    // What is older is in nobody's way.
    let target = target(shelf, storing: [early, mail, app], from: Shelf.monday - Shelf.day)
    let found = try await ListVersions(fresh).show(.latest(database: nil), at: target)
    #expect(found.summary.id == app.id.hex)
  }

  @Test func `a version that was pushed while the target was listed is not passed over for one before it`() async throws
  {
    let shelf = try await Shelf()
    let versions = try await shelf.week(5)
    let early = try await shelf.road.store.list(prefix: Layout.versions)
    let last = try await shelf.push(6, at: Shelf.monday + 5 * Shelf.day)
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[4]))
    let target = target(.after(early, of: shelf.road.store))
    for name in names(of: versions[4]) {
      let error = await #expect(throws: OperationError.self) {
        try await ListVersions(machine(shelf)).show(name, at: target)
      }
      #expect(error?.message.contains("while the target was listed") == true, "\(error?.message ?? "")")
    }
    #expect(try await find(.latest(database: "app"), shelf, machine(shelf)) == last.id.hex)
  }

  @Test func `a head that was forgotten and is there is no other state, though what is newer cannot be read`()
    async throws
  {
    let shelf = try await Shelf()
    let versions = try await shelf.week(6)
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[4]))
    shelf.road.store.content[versions[5].name.objectName]?[200] ^= 1
    let head = "5-\(versions[4].id.hex.prefix(16))"
    let path = shelf.road.scratch.file("out")
    let pulled = try await Pull(machine(shelf)).run(
      .id(prefix: versions[3].id.hex), from: shelf.road.target, to: .file(path), expect: [head])
    #expect(pulled.version.id == versions[3].id.hex)
  }

  @Test func `where hosts must be told apart, it is said which one has something newer that cannot be read`()
    async throws
  {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    try await shelf.push(9, at: Shelf.monday, host: "other")
    shelf.road.store.content[versions[1].name.objectName]?[200] ^= 1
    var third = machine(shelf)
    third.host = "third"
    let error = await refusal(.latest(database: "app"), shelf, third)
    #expect(error?.kind == .noSuchVersion)
    let doubtful = "\(versions[0].id.hex.prefix(12)) (host; newer there, and unreadable: manifest 2)"
    #expect(error?.hint?.contains(doubtful) == true)
  }

  @Test func `the newest of another fork that cannot be read is missed, unless it was stored before`() async throws {
    let shelf = try await Shelf()
    let mine = try await shelf.week(2)
    let fork = shelf.chain(fork: 1)
    let first = try await shelf.push(8, at: Shelf.monday + 3 * Shelf.day, fork: 1)
    let last = try await shelf.push(9, at: Shelf.monday + 4 * Shelf.day, fork: 1)
    #expect(try await find(.latest(database: "app"), shelf, machine(shelf, "before")) == last.id.hex)
    shelf.road.store.content[last.name.objectName]?[200] ^= 1
    let fresh = machine(shelf)
    // Of the fork's own first version, which is younger than all of the other chain.
    #expect(await refusal(.latest(database: "app"), shelf, fresh)?.kind == .verificationFailed)
    shelf.road.store.content[first.name.objectName]?[200] ^= 1
    let error = await refusal(.latest(database: "app"), shelf, fresh)
    #expect(error?.message.contains(fork.hex.prefix(12)) == true)
    #expect(error?.hint?.contains(mine[1].id.hex.prefix(12)) == true)
    #expect(try await drill(shelf, fresh).contains { $0.code == "damaged" })

    // Another chain's newest, behind one that can be read.
    let another = try await Shelf()
    try await another.push(8, at: Shelf.monday - Shelf.day, fork: 1)
    let spoilt = try await another.push(9, at: Shelf.monday, fork: 1)
    _ = try await another.week(2)
    another.road.store.content[spoilt.name.objectName]?[200] ^= 1
    #expect(await refusal(.latest(database: "app"), another, machine(another))?.kind == .verificationFailed)
    #expect(try await drill(another, machine(another)).contains { $0.code == "damaged" })

    // A chain that was left long ago is in nobody's way.
    let times = [mine[0], mine[1], first, last].enumerated().map { ($1.name.objectName, $0) }
    for (isOlder, numbers) in [(false, times), (true, times.map { ($0, -$1) })] {
      let target = target(.telling(Dictionary(uniqueKeysWithValues: numbers), of: shelf.road.store))
      let found = try? await ListVersions(fresh).show(.latest(database: "app"), at: target).summary.id
      #expect(found == (isOlder ? mine[1].id.hex : nil))
    }
  }

  private func junk(_ sequence: UInt64, _ chain: ChainID, _ shelf: Shelf) -> ObjectName {
    let name = VersionName(chain: chain, sequence: sequence, revision: 0, length: 4096, digest: .sha256(of: [1]))
    shelf.road.store.content[name.objectName] = [UInt8](repeating: 1, count: 4096)
    return name.objectName
  }

  @Test func `no time that the target tells makes older what this machine has seen of another fork`() async throws {
    let shelf = try await Shelf()
    let mine = try await shelf.week(2)
    let early = try await shelf.push(8, at: Shelf.monday - Shelf.day, fork: 1)
    let last = try await shelf.push(9, at: Shelf.monday + 4 * Shelf.day, fork: 1)
    let seen = machine(shelf, "seen")
    _ = try await ListVersions(seen).run(at: shelf.road.target)
    let times = (mine + [early]).map { ($0.name.objectName, Int(Shelf.monday / 1000)) }
    let stored = Dictionary(uniqueKeysWithValues: times)
    func target(_ junk: ObjectName) -> TargetAccess {
      self.target(.telling(stored.merging([junk: 0]) { first, _ in first }, of: shelf.road.store))
    }
    func refusal(_ target: TargetAccess) async -> OperationError? {
      await #expect(throws: OperationError.self) {
        try await ListVersions(seen).show(.latest(database: "app"), at: target)
      }
    }

    // It is there, cannot be read, and is said to be of long ago: a drill goes by nothing else than the target.
    shelf.road.store.content[last.name.objectName]?[200] ^= 1
    let spoilt = target(last.name.objectName)
    let drilled = try await drill(shelf, seen, at: spoilt)
    #expect(drilled.contains { $0.code == "damaged" && $0.message.contains("there may be a newer version") })

    // In the place of the one that was seen lies something that cannot be read, and is said to be of long ago.
    shelf.road.store.content[last.name.objectName] = nil
    let inItsPlace = junk(last.sequence, last.chain, shelf)
    #expect(await refusal(target(inItsPlace))?.code == "rolledBack")
    #expect(try await drill(shelf, seen, at: target(inItsPlace)).contains { $0.code == "rolledBack" })
    let folder = try Scratch()
    let all = try await RestoreAll(Pull(seen)).run(.pull(into: folder.path), from: target(inItsPlace), host: nil)
    #expect(all.done.isEmpty && all.failures.map(\.error.code) == ["rolledBack"])
    // Who has not seen it takes the target's word.
    let fresh = try await ListVersions(machine(shelf)).show(.latest(database: "app"), at: target(inItsPlace))
    #expect(fresh.summary.id == mine[1].id.hex)

    // Nothing of the chain is left but that.
    for name in [early.name.objectName, inItsPlace] { shelf.road.store.content[name] = nil }
    let beyond = junk(5, last.chain, shelf)
    #expect(await refusal(target(beyond))?.code == "rolledBack")
  }

  @Test func `a fork that was left before is in nobody's way, where this machine knows when that was`() async throws {
    let shelf = try await Shelf()
    let left = try await shelf.push(8, at: Shelf.monday - Shelf.day, fork: 1)
    let mine = try await shelf.week(2)
    let seen = machine(shelf, "seen")
    let state = try StateFolder(seen.stateFolder, repository: shelf.repository.id)
    var mark = HighWaterMark(left)
    #expect(mark.time == left.version?.time)
    try mark.write(left.chain, in: state)
    shelf.road.store.content[left.name.objectName]?[200] ^= 1
    let target = target(shelf, storing: [left] + mine)
    func found() async throws -> String {
      try await ListVersions(seen).show(.latest(database: "app"), at: target).summary.id
    }
    #expect(try await found() == mine[1].id.hex)
    // A mark of an earlier release.
    mark.time = nil
    try mark.write(left.chain, in: state)
    let error = await #expect(throws: OperationError.self) { try await found() }
    #expect(error?.code == "damaged")
    // It gets its time as soon as what it is of can be read.
    mark.pushed = mark.sequence
    try mark.write(left.chain, in: state)
    shelf.road.store.content[left.name.objectName]?[200] ^= 1
    _ = try await ListVersions(seen).run(at: target)
    mark.time = left.version?.time
    #expect(try HighWaterMark.read(left.chain, in: state) == mark)
  }

  @Test func `what was taken back does not count as forgotten again when the word for it is held back`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[1]))
    #expect(try await shelf.unforget(versions[1]).wasForgotten)
    let asked = VersionSelector.notLater(database: "app", time: versions[1].version?.time ?? 0)
    #expect(try await find(asked, shelf, shelf.world) == versions[1].id.hex)
    let notes = shelf.road.store.content.filter { $0.key.text.hasPrefix("notes/") }
    for name in notes.keys { shelf.road.store.content[name] = nil }
    #expect(await refusal(asked, shelf, shelf.world)?.code == "hole")
    #expect(try await ListVersions(shelf.world).run(at: shelf.road.target).problems.contains { $0.code == "hole" })
    #expect(try await shelf.plan(RetentionRules(last: 1)).refusals.map(\.code) == ["hole"])
    #expect(try await find(.id(prefix: versions[1].id.hex), shelf, shelf.world) == versions[1].id.hex)
    shelf.road.store.content.merge(notes) { first, _ in first }
    #expect(try await find(asked, shelf, shelf.world) == versions[1].id.hex)
  }

  @Test func `what was taken back in another fork is missed there, too, when the word for it is held back`()
    async throws
  {
    let shelf = try await Shelf()
    let mine = try await shelf.push(7, at: Shelf.monday)
    var fork: [VersionFacts] = []
    for day in 1...3 {
      fork.append(try await shelf.push(UInt64(7 + day), at: Shelf.monday + UInt64(day) * Shelf.day, fork: 1))
    }
    try await shelf.carryOut(try await shelf.plan(forgetting: fork[0]))
    #expect(try await shelf.unforget(fork[0]).wasForgotten)
    let asked = VersionSelector.notLater(database: "app", time: fork[0].version?.time ?? 0)
    #expect(try await find(asked, shelf, shelf.world) == fork[0].id.hex)
    let notes = shelf.road.store.content.filter { $0.key.text.hasPrefix("notes/") }
    for name in notes.keys { shelf.road.store.content[name] = nil }
    let error = await refusal(asked, shelf, shelf.world)
    #expect(error?.code == "hole" && error?.message.contains(fork[0].id.hex.prefix(12)) == true)
    #expect(try await find(.id(prefix: mine.id.hex), shelf, shelf.world) == mine.id.hex)
    shelf.road.store.content.merge(notes) { first, _ in first }
    #expect(try await find(asked, shelf, shelf.world) == fork[0].id.hex)
  }

  @Test func `what this machine has pinned or tagged is not let go while the word for it is held back`() async throws {
    for word in [AnnotateVersions.Word.pin, .tags(add: ["keep"], remove: [])] {
      let shelf = try await Shelf()
      let versions = try await shelf.week(3)
      #expect(try await shelf.say(word, of: versions[0]).changed)
      let notes = shelf.road.store.content.filter { $0.key.text.hasPrefix("notes/") }
      for name in notes.keys { shelf.road.store.content[name] = nil }
      let rules = RetentionRules(last: 1, tags: ["keep"])
      #expect(try await shelf.plan(rules).refusals.map(\.code) == ["hole"])
      // Whoever restores is not kept from it.
      #expect(try await find(.latest(database: "app"), shelf, shelf.world) == versions[2].id.hex)
      shelf.road.store.content.merge(notes) { first, _ in first }
      #expect(try await shelf.carryOut(try await shelf.plan(rules)) == [2])
      for name in notes.keys { shelf.road.store.content[name] = nil }
      var policy = PruneRepository.Request()
      (policy.minAge, policy.runs) = (0, .one)
      let pruned = try await PruneRepository(shelf.world).run(policy, at: shelf.road.target)
      #expect(pruned.problems.contains { $0.code == "hole" })
    }
  }

  /// Takes all words away.
  private func holdBack(_ shelf: Shelf) {
    for name in shelf.road.store.content.keys where name.text.hasPrefix("notes/") {
      shelf.road.store.content[name] = nil
    }
  }

  /// The files that a hint says to remove.
  private func files(toRemoveBy error: OperationError?) -> [String] {
    let command = (error?.hint ?? "").split(separator: ": rm ").last ?? ""
    return command.split(separator: "'").filter { $0.hasPrefix("/") }.map(String.init)
  }

  @Test(arguments: [false, true])
  func `a word that a machine has only read is missed there, too, when it is held back`(isPin: Bool) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    if isPin {
      #expect(try await shelf.say(.pin, of: versions[1]).changed)
    } else {
      try await shelf.carryOut(try await shelf.plan(forgetting: versions[1]))
      #expect(try await shelf.unforget(versions[1]).wasForgotten)
    }
    let reader = machine(shelf, "reader")
    #expect(try await ListVersions(reader).run(at: shelf.road.target).problems.isEmpty)
    holdBack(shelf)
    let asked = VersionSelector.notLater(database: "app", time: versions[1].version?.time ?? 0)
    if isPin {
      #expect(try await find(asked, shelf, reader) == versions[1].id.hex)
    } else {
      #expect(await refusal(asked, shelf, reader)?.code == "hole")
    }
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let refused = try await ForgetVersions(reader).plan(request, at: shelf.road.target).refusals
    #expect(refused.map(\.code) == ["hole"])
    #expect(refused.first?.message.contains(versions[1].id.hex.prefix(12)) == true)
    var policy = PruneRepository.Request()
    (policy.minAge, policy.runs) = (0, .one)
    let before = shelf.road.store.content
    let pruned = try await PruneRepository(reader).run(policy, at: shelf.road.target)
    #expect(pruned.problems.map(\.code) == ["hole"] && shelf.road.store.content == before)
    // Who knows that it is gone for good goes on.
    let files = files(toRemoveBy: refused.first)
    #expect(files.count == 1)
    for file in files { try removeFile(file) }
    let plan = try await ForgetVersions(reader).plan(request, at: shelf.road.target)
    #expect(plan.refusals.isEmpty && plan.chains.first?.plan.going.map(\.version.sequence) == (isPin ? [1, 2] : [1]))
  }

  @Test func `of what is held back it is told which versions it was said of, all at once`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    for version in versions.prefix(2) { #expect(try await shelf.say(.pin, of: version).changed) }
    #expect(try await shelf.say(.tags(add: ["keep"], remove: []), of: versions[2]).changed)
    holdBack(shelf)
    func refusal() async throws -> OperationError? { try await shelf.plan(RetentionRules(last: 1)).refusals.first }
    let refused = try await refusal()
    let ids = versions.map { String($0.id.hex.prefix(12)) }
    for word in ["pin (version \(ids[0]))", "pin (version \(ids[1]))", "tag 'keep' (version \(ids[2]))"] {
      #expect(refused?.message.contains(word) == true, "\(refused?.message ?? "")")
    }
    let files = files(toRemoveBy: refused)
    #expect(files.count == 3)
    // As earlier builds noted them.
    for file in files { try writeFile(file, []) }
    #expect(try await refusal()?.message.contains("a word of an earlier build") == true)
    for file in files { try removeFile(file) }
    #expect(try await refusal() == nil)
  }

  @Test func `a line that accepts the loss of some of very many words says that there are more`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    #expect(try await shelf.say(.pin, of: versions[0]).changed)
    holdBack(shelf)
    func refusal() async throws -> OperationError? { try await shelf.plan(RetentionRules(last: 1)).refusals.first }
    let only = try await refusal()
    #expect(only?.hint?.contains("names the rest") == false)
    let file = try #require(files(toRemoveBy: only).first)
    let folder = "/" + file.split(separator: "/").dropLast().joined(separator: "/")
    for number in 1...51 {
      try writeFile("\(folder)/stay-\(Digest.sha256(of: [UInt8(number)]).hex)", [])
    }
    for (count, isPart) in [(50, true), (2, false)] {
      let refused = try await refusal()
      let files = files(toRemoveBy: refused)
      #expect(files.count == count && refused?.hint?.contains("names the rest") == isPart)
      for file in files { try removeFile(file) }
    }
    #expect(try await refusal() == nil)
  }
}
