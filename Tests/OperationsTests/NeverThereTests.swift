import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// `.noSuchVersion` is leave to begin with nothing: it is said of what was never there, and not of what is gone or spoilt.
@Suite struct NeverThereTests {
  private func refusal(_ selector: VersionSelector, _ shelf: Shelf, _ world: World) async -> OperationError? {
    await #expect(throws: OperationError.self) {
      try await ListVersions(world).show(selector, at: shelf.road.target)
    }
  }

  /// One that has seen nothing yet.
  private func machine(_ shelf: Shelf, _ name: String = "fresh", host: String = "host") -> World {
    var world = shelf.world
    (world.stateFolder, world.host) = (shelf.road.scratch.file(name), host)
    return world
  }

  private func names(_ database: String) -> [VersionSelector] {
    [.latest(database: database), .notLater(database: database, time: Shelf.monday + 20 * Shelf.day)]
  }

  private func spoil(_ version: VersionFacts, _ shelf: Shelf) {
    shelf.road.store.content[version.name.objectName]?[200] ^= 1
  }

  /// Takes a chain out of all that the target shows.
  private func hide(_ chain: ChainID, _ shelf: Shelf) {
    shelf.road.store.content = shelf.road.store.content.filter { !$0.key.text.contains("/\(chain.hex)/") }
  }

  @Test func `a database of which nothing can be read is damaged`() async throws {
    let shelf = try await Shelf()
    spoil(try await shelf.push(1, at: Shelf.monday), shelf)
    for name in names("app") + [.latest(database: nil)] {
      // Of another host's database it says nothing: whose it is nobody can read.
      for host in ["host", "third"] {
        let error = await refusal(name, shelf, machine(shelf, host: host))
        #expect(error?.code == "damaged" && error?.kind == .verificationFailed, "\(name), \(host)")
      }
    }
  }

  @Test func `what cannot be read is in nobody's way where it is surely another database's`() async throws {
    let shelf = try await Shelf()
    let left = try await shelf.push(1, at: Shelf.monday, database: "mail")
    try await shelf.push(2, at: Shelf.monday + Shelf.day, database: "mail", fork: 1)
    spoil(left, shelf)
    let fresh = machine(shelf)
    for name in names("app") { #expect(await refusal(name, shelf, fresh)?.kind == .noSuchVersion) }
    for name in names("mail") { #expect(await refusal(name, shelf, fresh)?.code == "damaged") }
    // A number of a fork that nobody tries says nothing.
    let odd = try await shelf.push(3, at: Shelf.monday + 2 * Shelf.day, database: "mail", fork: 20_261_123)
    spoil(odd, shelf)
    for name in names("app") { #expect(await refusal(name, shelf, fresh)?.code == "damaged") }
  }

  @Test func `what this machine has seen and nothing is left of went back`() async throws {
    for host in ["host", "other"] {
      let shelf = try await Shelf()
      try await shelf.push(1, at: Shelf.monday, host: host)
      try await shelf.push(2, at: Shelf.monday, database: "mail")
      hide(shelf.chain(host: host), shelf)
      for name in names("app") { #expect(await refusal(name, shelf, shelf.world)?.code == "rolledBack", "\(host)") }
      #expect(await refusal(.latest(database: "web"), shelf, shelf.world)?.kind == .noSuchVersion)
      // Who has not seen it cannot know.
      #expect(await refusal(.latest(database: "app"), shelf, machine(shelf))?.kind == .noSuchVersion)
    }
  }

  @Test(arguments: [["\u{E9}\u{E9}"], ["\u{E9}\u{E9}", "e\u{301}e\u{301}"]])
  func `what only looks alike does not stand in for what is gone or spoilt`(_ alike: [String]) async throws {
    let typed = "\u{E9}e\u{301}"
    for host in ["host", "third"] {
      let shelf = try await Shelf()
      let meant = try await shelf.push(1, at: Shelf.monday, host: host, database: typed)
      for (index, name) in alike.enumerated() {
        try await shelf.push(UInt64(index) + 2, at: Shelf.monday, host: "other", database: name)
      }
      spoil(meant, shelf)
      let own = machine(shelf, host: host)
      for name in names(typed) { #expect(await refusal(name, shelf, own)?.code == "damaged") }
      hide(meant.chain, shelf)
      for name in names(typed) { #expect(await refusal(name, shelf, shelf.world)?.code == "rolledBack", "\(host)") }
    }
  }

  @Test func `junk in the place of a chain does not hide that it went back`() async throws {
    let shelf = try await Shelf()
    let last = try await shelf.push(1, at: Shelf.monday)
    shelf.road.store.content[last.name.objectName] = nil
    let junk = VersionName(
      chain: last.chain, sequence: 7, revision: 0, length: 4096, digest: .sha256(of: [1]))
    shelf.road.store.content[junk.objectName] = [UInt8](repeating: 1, count: 4096)
    for name in names("app") { #expect(await refusal(name, shelf, shelf.world)?.code == "rolledBack") }
  }

  @Test func `before the first version that can be read may have been another`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    let asked = VersionSelector.notLater(database: "app", time: Shelf.monday + Shelf.day / 2)
    spoil(versions[0], shelf)
    #expect(await refusal(asked, shelf, machine(shelf))?.code == "damaged")
    spoil(versions[0], shelf)
    let bytes = shelf.road.store.content[versions[0].name.objectName]
    shelf.road.store.content[versions[0].name.objectName] = nil
    #expect(await refusal(asked, shelf, machine(shelf))?.code == "hole")
    // What was forgotten was meant to go, also where it cannot be read.
    shelf.road.store.content[versions[0].name.objectName] = bytes
    try await shelf.carryOut(try await shelf.plan(forgetting: versions[0]))
    #expect(await refusal(asked, shelf, machine(shelf, "later"))?.kind == .noSuchVersion)
    spoil(versions[0], shelf)
    #expect(await refusal(asked, shelf, machine(shelf, "latest"))?.kind == .noSuchVersion)
    shelf.road.store.content[versions[0].name.objectName] = nil
    #expect(await refusal(asked, shelf, machine(shelf, "last"))?.kind == .noSuchVersion)
  }

  @Test func `where two other hosts have one of that name, this host's own is missed`() async throws {
    let shelf = try await Shelf()
    let mine = try await shelf.push(1, at: Shelf.monday)
    for (index, host) in ["one", "two"].enumerated() {
      try await shelf.push(UInt64(index) + 2, at: Shelf.monday, host: host)
    }
    spoil(mine, shelf)
    for name in names("app") {
      #expect(await refusal(name, shelf, machine(shelf))?.code == "damaged")
      #expect(await refusal(name, shelf, machine(shelf, host: "third"))?.kind == .noSuchVersion)
    }
    hide(mine.chain, shelf)
    for name in names("app") {
      #expect(await refusal(name, shelf, shelf.world)?.code == "rolledBack")
      #expect(await refusal(name, shelf, machine(shelf))?.kind == .noSuchVersion)
    }
  }
}
