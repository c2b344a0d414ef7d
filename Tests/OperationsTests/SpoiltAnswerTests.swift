import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Operations

/// One answer that is not the target's: a page of a proxy, bytes that came garbled, a "not there" of a machine that has just
/// begun. Whatever was asked for, what was pushed comes back all the same.
@Suite struct SpoiltAnswerTests {
  @Test(arguments: SpoilingStore.Spoilt.allCases)
  func `a pull does not fail for one of them`(spoilt: SpoilingStore.Spoilt) async throws {
    let (road, source) = try await Self.made()
    var number = 0
    while true {
      let store = SpoilingStore(road.store, spoilt) { [number] in $0 == number }
      let machine = try Scratch()
      try await Self.pull(road, from: store, on: machine)
      #expect(try await dump(machine.file("out.db")) == source)
      guard store.met == 1 else { break }
      number += 1
    }
    #expect(number > 8)
  }

  @Test func `the second answer counts, whatever it is`() async throws {
    let (road, _) = try await Self.made()
    let whole = SpoilingStore(road.store, .garbled) { _ in false }
    try await Self.pull(road, from: whole, on: try Scratch())
    // The first ones open the repository, and those of packs are the last.
    let store = SpoilingStore(road.store, .garbled) { $0 >= whole.gets - 1 }
    let machine = try Scratch()
    let error = await #expect(throws: OperationError.self) {
      try await Self.pull(road, from: store, on: machine)
    }
    #expect(error?.kind == .verificationFailed)
    #expect(store.met == 2)
    #expect(road.files(in: machine.path) == ["state"])
  }

  /// Versions that rest on one another, so that a pull reads several packs, and what the database holds.
  private static func made() async throws -> (Road, source: String) {
    let road = try await Road()
    let path = try road.database(rows: 900)
    let database = DatabaseSource(name: "app", path: path)
    for _ in 0..<3 {
      _ = try await road.push(database)
      try SQLite.run("update t set body = randomblob(900) where id % 7 = 0", on: path)
    }
    _ = try await road.push(database)
    return (road, try await dump(path))
  }

  private static func pull(_ road: Road, from store: any ObjectStore, on machine: Scratch) async throws {
    var target = road.target
    target.store = store
    _ = try await Pull(road.withoutState(machine)).run(
      .latest(database: "app"), from: target, to: .file(machine.file("out.db")))
  }
}
