import Glibc
import TestKit
import Testing

@testable import Operations

/// A version that goes to whoever reads at the other end.
@Suite struct StreamTests {
  @Test func `where nobody reads, cancellation ends it, and no copy is left`() async throws {
    let road = try await Road()
    // More than any pipe takes at once.
    let path = try road.database(rows: 2000)
    _ = try await road.push(DatabaseSource(name: "app", path: path))
    let ends = try #require(PrivatePipe.make())
    defer { for end in [ends.read, ends.write] { close(end) } }
    let pulled = Task { [world = road.world, target = road.target, output = ends.write] in
      _ = try await Pull(world).run(.latest(database: "app"), from: target, to: .descriptor(output))
    }
    let hasBegun = try await eventually {
      var asked = pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0)
      return poll(&asked, 1, 0) > 0
    }
    #expect(hasBegun)
    pulled.cancel()
    let error = await #expect(throws: OperationError.self) { try await pulled.value }
    #expect(error?.kind == .cancelled)
    #expect(road.files(in: road.scratch.file("state/spool")) == ["lock"])
  }
}
