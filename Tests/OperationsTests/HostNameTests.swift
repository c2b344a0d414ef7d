import Repositories
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// The name that chains belong to is remembered beside the state, and is this machine's.
@Suite struct HostNameTests {
  private func world(_ scratch: Scratch, called name: String, on kind: FileSystemKind) -> World {
    var world = World(stateFolder: scratch.file("state"), now: { 1_800_000_000_000 }, reporter: Notices())
    world.systemName = { name }
    world.fileSystem = { _ in kind }
    return world
  }

  @Test(arguments: [FileSystemKind.nfs, .smb, .fuse("sshfs"), .shared("virtiofs"), .cluster("ceph")])
  func `two machines with one state folder on a network are not one`(_ kind: FileSystemKind) throws {
    let scratch = try Scratch()
    let (one, two) = (world(scratch, called: "one", on: kind), world(scratch, called: "two", on: kind))
    #expect(HostName.known(one) == "one")
    #expect(try HostName.current(one) == "one")
    #expect(try HostName.current(one) == "one")
    let refused = #expect(throws: OperationError.self) { try HostName.current(two) }
    #expect(refused?.kind == .usage && refused?.code == "sharedState")
    #expect(refused?.message.contains("'one'") == true && refused?.message.contains("'two'") == true)
    #expect(refused?.message.contains(kind.name) == true && refused?.hint?.contains("\"host\"") == true)
    // What only reads takes nobody else's versions for its own.
    #expect(HostName.known(two) == "two")
    #expect(try HostName.current(one) == "one", "it was not renamed")
  }

  @Test(arguments: [FileSystemKind.local("ext4"), .local(nil), .overlay, .fuse("gocryptfs")])
  func `a machine that is called otherwise goes on by its first name`(_ kind: FileSystemKind) throws {
    let scratch = try Scratch()
    #expect(try HostName.current(world(scratch, called: "first", on: kind)) == "first")
    let renamed = world(scratch, called: "second", on: kind)
    #expect(try HostName.current(renamed) == "first")
    #expect(HostName.known(renamed) == "first")
  }

  /// Another name would begin a new chain of each database.
  @Test func `a name that is spoilt is refused, and one that a person wrote is not`() throws {
    let scratch = try Scratch()
    #expect(try HostName.current(world(scratch, called: "first", on: .local("ext4"))) == "first")
    let machine = world(scratch, called: "second", on: .local("ext4"))
    #expect(try HostName.current(machine) == "first")
    let path = scratch.file("state/host")
    let good = try fileBytes(path)
    for place in good.indices {
      for change: UInt8 in [1, 2, 4, 0x20, 0x40, 0x80] {
        var bytes = good
        bytes[place] ^= change
        try writeFile(path, bytes)
        let name = try? HostName.current(machine)
        #expect(name == nil || name == "first", "byte \(place)")
        #expect(try fileBytes(path) == bytes)
      }
    }
    for bytes in [[], [10], [32, 32, 10], [0xFF, 10], [0x61, 1, 0x62, 10], Array("one\ntwo\n".utf8)] as [[UInt8]] {
      try writeFile(path, bytes)
      let refused = #expect(throws: RepositoryError.self) { try HostName.current(machine) }
      #expect(refused?.code == .stateFolder && refused?.hint?.contains("> '\(path)'") == true)
      // Who reads takes no name for its own that may be another one.
      #expect(HostName.known(machine) == "second")
      #expect(try fileBytes(path) == bytes)
    }
    for text in ["mine", "mine\n", "mine\r\n"] {
      try writeFile(path, Array(text.utf8))
      #expect(try HostName.current(machine) == "mine")
    }
  }

  @Test func `who says its name, or has kept it, is not asked where it lives`() throws {
    let scratch = try Scratch()
    let asked = Locked(0)
    var own = world(scratch, called: "one", on: .nfs)
    own.fileSystem = { _ in
      asked.withLock { $0 += 1 }
      return .nfs
    }
    for _ in 0..<2 { #expect(try HostName.current(own) == "one") }
    var other = own
    other.systemName = { "two" }
    other.host = "two-by-configuration"
    #expect(try HostName.current(other) == "two-by-configuration")
    #expect(asked.withLock { $0 } == 0)
  }

  @Test func `a push of the second machine is refused, and a restore finds no place`() async throws {
    let road = try await Road()
    let one = world(road.scratch, called: "one", on: .nfs)
    let two = world(road.scratch, called: "two", on: .nfs)
    let database = DatabaseSource(name: "app", path: try road.database(rows: 5))
    let request = Push.Request(database: database, targets: [road.target])
    #expect(try await Push(one).run(request).pushed.map(\.version.host) == ["one"])
    let before = road.store.content
    let refused = await #expect(throws: OperationError.self) { try await Push(two).run(request) }
    #expect(refused?.code == "sharedState" && road.store.content == before)
    let restore = Restore.Request(place: .origin(["app": road.scratch.file("other.db")]))
    let elsewhere = await #expect(throws: OperationError.self) {
      try await Restore(Pull(two)).run(.latest(database: "app"), from: road.target, restore)
    }
    #expect(elsewhere?.code == "otherHost")
  }
}
