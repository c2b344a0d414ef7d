import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// Two machines make a repository at one place in the same moment: one begins and ends while the other one is between two
/// requests.
@Suite struct RacingInitTests {
  private struct Machine {
    let scratch: Scratch
    let world: World
    let secret: UnlockSecret
    let database: DatabaseSource

    init(_ host: String, key: UInt8) throws {
      scratch = try Scratch()
      world = World(
        stateFolder: scratch.file("state"), host: host, now: { UInt64(time(nil)) * 1000 }, reporter: Notices())
      secret = .keyFile([UInt8](repeating: key, count: 64))
      let path = scratch.file("app.db")
      try SQLite.run("CREATE TABLE t(word TEXT); INSERT INTO t VALUES ('\(host)')", on: path)
      database = DatabaseSource(name: "app", path: path)
    }

    func target(_ store: any ObjectStore) -> TargetAccess {
      TargetAccess(name: "place", store: store, unlock: { [secret] in secret })
    }

    /// - Returns: the repository's id; `nil` where it was refused because there is one.
    func makeRepository(at store: any ObjectStore) async throws -> String? {
      do {
        return try await Initialize(world).run(at: target(store), ifMissing: false).repository
      } catch let error as OperationError where error.code == "repositoryExists" {
        return nil
      }
    }

    /// - Returns: the version that was acknowledged; `nil` where the push was refused by name.
    func push(to store: any ObjectStore) async throws -> String? {
      do {
        let outcome = try await Push(world).run(.init(database: database, targets: [target(store)]))
        if let problem = outcome.failures.first?.error { throw problem }
        return outcome.pushed.first?.version.id
      } catch let error as OperationError {
        #expect([.verificationFailed, .wrongKey].contains(error.kind), "\(error.message)")
        #expect(error.hint != nil, "\(error.message)")
        return nil
      }
    }

    func word(_ version: String, from store: MemoryStore, _ world: World) async throws -> String {
      let path = try scratch.file("again-\(names(in: scratch.path).count).db")
      _ = try await Pull(world).run(.id(prefix: version), from: target(store), to: .file(path))
      return try TestDatabase(path).text("SELECT word FROM t")
    }
  }

  /// - Parameter step: the other one's init runs before this put of the first one's; the last of all, behind its end.
  /// - Returns: how many puts the first one made.
  private func race(atStep step: Int, keys: (UInt8, UInt8)) async throws -> Int {
    let (one, other) = (try Machine("one", key: keys.0), try Machine("other", key: keys.1))
    let store = MemoryStore()
    let puts = Locked(0)
    let made = Locked<String?>(nil)
    let hooked = HookedStore(
      store,
      beforePut: { _ async throws(StoreError) in
        let count = puts.withLock {
          $0 += 1
          return $0
        }
        guard count == step else { return }
        let repository = try? await other.makeRepository(at: store)
        made.withLock { $0 = repository }
      })
    _ = try await one.makeRepository(at: hooked)
    #expect(step > puts.withLock { $0 } || made.withLock { $0 } != nil, "nothing that would forbid it is there yet")

    var acknowledged = 0
    for machine in [one, other] {
      guard let version = try await machine.push(to: store) else { continue }
      acknowledged += 1
      // Also on a machine that has nothing but the key.
      for name in ["state", "fresh"] {
        var world = machine.world
        world.stateFolder = machine.scratch.file(name)
        #expect(try await machine.word(version, from: store, world) == machine.world.host)
      }
    }
    #expect(acknowledged > 0, "step \(step)")
    // Whoever has a key of its own has a repository of its own.
    if step <= puts.withLock({ $0 }), keys.0 != keys.1 { #expect(acknowledged == 2) }
    return puts.withLock { $0 }
  }

  @Test func `of two with versions at one place each opens while the other's file is aside`() async throws {
    let machines = [try Machine("one", key: 3), try Machine("two", key: 3)]
    let place = MemoryStore()
    for machine in machines {
      let own = MemoryStore()
      _ = try await machine.makeRepository(at: own)
      #expect(try await machine.push(to: own) != nil)
      place.content.merge(own.content) { first, _ in first }
    }
    let folder = try Scratch()
    /// On a machine that has nothing but the key.
    func word(_ name: String) async throws -> String {
      var world = machines[0].world
      (world.host, world.stateFolder) = ("new", folder.file("state-\(name)"))
      let path = folder.file("\(name).db")
      _ = try await Pull(world).run(.latest(database: "app"), from: machines[0].target(place), to: .file(path))
      return try TestDatabase(path).text("SELECT word FROM t")
    }
    let files = place.content.filter { $0.key.text.hasPrefix("repo/") }
    try #require(files.count == 2)
    let refusal = await #expect(throws: OperationError.self) { try await word("both") }
    #expect(refusal?.code == "ambiguousRepository")
    for file in files.keys { #expect(refusal?.hint?.contains(file.text) == true, "\(refusal?.hint ?? "")") }
    var words: [String] = []
    for (number, file) in files.enumerated() {
      place.content[file.key] = nil
      words.append(try await word("\(number)"))
      place.content[file.key] = file.value
    }
    #expect(words.sorted() == ["one", "two"])
  }

  /// Both were made before the other could be seen, and both are empty while the first versions are on their way.
  @Test func `two that were pushed to at once are told by name, and not acknowledged twice`() async throws {
    var made: [(id: String, machine: Machine, store: MemoryStore)] = []
    for host in ["one", "other"] {
      let machine = try Machine(host, key: 3)
      let store = MemoryStore(identity: "place of two at once")
      made.append((try #require(try await machine.makeRepository(at: store)), machine, store))
    }
    // Of two that are empty, who looks later takes the one whose id is the lesser.
    made.sort { $0.id < $1.id }
    let (one, other, store, late) = (made[0].machine, made[1].machine, made[1].store, made[0].store.content)
    let acknowledged = Locked<[String]>([])
    let isDone = Locked(false)
    let hooked = HookedStore(
      store,
      beforePut: { name async throws(StoreError) in
        let isFirst =
          name.text.hasPrefix("versions/")
          && isDone.withLock { done in
            defer { done = true }
            return !done
          }
        guard isFirst else { return }
        store.content.merge(late) { first, _ in first }
        let version = try? await one.push(to: store)
        acknowledged.withLock { $0 += [version].compactMap { $0 } }
      })
    for place in [hooked, store] as [any ObjectStore] {
      let outcome = try? await Push(other.world).run(.init(database: other.database, targets: [other.target(place)]))
      #expect(outcome?.pushed.isEmpty == true)
      #expect(outcome?.failures.map(\.error.code) == ["ambiguousRepository"])
    }
    let version = try #require(acknowledged.withLock { $0.first })
    #expect(acknowledged.withLock { $0.count } == 1)
    #expect(try await one.word(version, from: store, one.world) == one.world.host)
    // What the other one has stored stays, and nobody is told to remove it.
    #expect(store.content.keys.count { $0.text.hasPrefix("versions/") } == 2)
    let problems = try await ListVersions(one.world).run(at: one.target(store)).problems
    #expect(problems.contains { $0.hint?.contains("Another repository lies at this place") == true })
    #expect(!problems.contains { $0.hint?.contains("by hand") == true })
  }

  @Test(arguments: [UInt8(3), 4])
  func `what either pushes afterwards is there, or it is told`(_ otherKey: UInt8) async throws {
    var step = 1
    while try await race(atStep: step, keys: (3, otherKey)) >= step { step += 1 }
    #expect(step > 7, "both were tried between all objects of an init")
  }
}
