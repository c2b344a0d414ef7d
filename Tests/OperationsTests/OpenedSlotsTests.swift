import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// A passphrase costs half a second and 128 MiB, and a run may push thousands of databases.
@Suite struct OpenedSlotsTests {
  @Test func `of the databases of a run the first one opens the key slot`() async throws {
    let road = try await Road()
    let opened = Locked(0)
    var world = road.world
    world.openedSlots = OpenedSlots { slot, secret, repository throws(SealError) in
      opened.withLock { $0 += 1 }
      return try KeySlot.open(slot, secret: secret, repository: repository)
    }
    for (name, path) in try [("app", road.database(rows: 20)), ("orders", road.orders(rows: 20))] {
      let database = DatabaseSource(name: name, path: path)
      let outcome = try await Push(world).run(Push.Request(database: database, targets: [road.target]))
      #expect(outcome.failures.isEmpty && outcome.pushed.count == 1)
    }
    #expect(opened.withLock { $0 } == 1)
  }

  /// Who asks for a secret each time it is needed, as the library does, does not expect it to stay.
  @Test func `what was opened is remembered where that is asked for, and by no drill`() async throws {
    let road = try await Road()
    var world = road.world
    #expect(world.openedSlots == nil)
    world.rememberOpenedSlots()
    #expect(world.openedSlots != nil)
    let place = try ScratchPlace(below: road.scratch.file("drill"))
    defer { place.remove() }
    #expect(world.forgetful(in: place).openedSlots == nil)
  }
}
