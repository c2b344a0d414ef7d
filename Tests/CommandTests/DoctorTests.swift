import TestKit
import Testing

@testable import Operations
@testable import SealiftTool
@testable import Storage

/// Credentials, networks and addresses say nothing of a server: `doctor` does not warn of it, nor forget what it saw.
@Suite struct DoctorTests {
  private struct Silence: Reporter {
    func progress(_ progress: Progress) {}
    func notice(_ text: String) {}
  }

  private let scratch: Scratch
  private let world: World
  private let terminal: Terminal

  init() throws {
    scratch = try Scratch()
    world = World(stateFolder: scratch.path, now: { 1_800_000_000_000 }, reporter: Silence())
    var manner = Terminal.Manner()
    manner.json = true
    terminal = Terminal(manner)
  }

  /// A target that was seen to list at once.
  private func target(_ store: any ObjectStore) throws -> TargetAccess {
    let target = TargetAccess(name: "nas", store: store, unlock: { .keyFile([]) })
    try ListingProof.note([], of: target, world)
    #expect(ListingProof.holds(for: target, world))
    return target
  }

  @Test(
    arguments: [
      (.unauthenticated, 1), (.noTarget, 10), (.unavailable, 1), (.tls, 1), (.clockSkew, 1), (.redirected, 1),
    ] as [(StoreError.Code, Int32)])
  func `a target that cannot be asked is told as what stands in the way`(
    _ code: StoreError.Code, _ status: Int32
  ) async throws {
    let store = FaultyStore(MemoryStore())
    store.plan(.list, .failure(StoreError(code, "m", hint: "h")), times: 1000)
    let target = try target(store)
    let error = await #expect(throws: OperationError.self) {
      _ = try await Doctor.examine(target, world, terminal)
    }
    #expect(error?.code == code.rawValue && error?.hint == "h")
    #expect(error.map { ExitStatus($0.kind).rawValue } == status)
    #expect(store.count(.put) == 0)
    #expect(ListingProof.holds(for: target, world))
  }

  @Test(arguments: [FaultyStore.Call.put, .get])
  func `trials that were cut short are named`(_ call: FaultyStore.Call) async throws {
    let store = FaultyStore(MemoryStore())
    let error = StoreError(call == .put ? .forbidden : .unavailable, "m", hint: "h")
    store.plan(call, .none, times: call == .put ? 0 : 4)
    store.plan(call, .failure(error), times: 1000)
    let target = try target(store)
    let told = await #expect(throws: OperationError.self) {
      _ = try await Doctor.examine(target, world, terminal)
    }
    #expect(told?.code == error.code.rawValue && told?.hint == "h")
    #expect(terminal.notices.contains { $0.hasPrefix("nas: not tried: it gives back what was stored") })
    #expect(ListingProof.holds(for: target, world))
  }

  @Test(arguments: [0, 3, 40])
  func `a full target is told as that, and not as one that breaks its promises`(_ stored: Int) async throws {
    let store = FaultyStore(MemoryStore())
    store.plan(.put, .none, times: stored)
    store.plan(.put, .failure(StoreError(.full, "there is no room for it", hint: "h")), times: 1000)
    let target = try target(store)
    let error = await #expect(throws: OperationError.self) {
      _ = try await Doctor.examine(target, world, terminal)
    }
    #expect(error?.code == "full" && error?.hint == "h" && error?.message == "trying nas: there is no room for it")
    #expect(error.map { ExitStatus($0.kind) } == .failed)
    #expect(terminal.notices.contains { $0.hasPrefix("nas: not tried: ") })
    #expect(!terminal.notices.contains { $0.contains("below doctor/") })
    #expect(ListingProof.holds(for: target, world))
  }

  @Test func `credentials that may not delete are fine for pushing`() async throws {
    let store = FaultyStore(MemoryStore())
    store.plan(.delete, .failure(StoreError(.forbidden, "m", hint: "h")), times: 1000)
    let target = try target(store)
    let examination = try await Doctor.examine(target, world, terminal)
    #expect(!examination.isSick && examination.mayNotDelete)
    let complaint = try #require(Doctor.complaint([examination]))
    #expect(complaint.code == "forbidden" && ExitStatus(complaint.kind) == .failed)
    #expect(complaint.hint?.contains("For pushing they are fine") == true)
    #expect(terminal.notices.contains { $0.contains("not tried: it forgets what was deleted") })
    #expect(terminal.notices.contains { $0.contains("below doctor/") })
    #expect(ListingProof.holds(for: target, world))
  }

  @Test func `a lock without effect is told, and is no broken promise`() async throws {
    let examination = try await Doctor.examine(try target(MemoryStore()), world, terminal) { "it locks nothing" }
    #expect(terminal.notices == ["nas: it locks nothing"])
    #expect(!examination.isSick && Doctor.complaint([examination]) == nil)
  }

  @Test func `a promise that is broken is still a warning, and takes the proof away`() async throws {
    let target = try target(HookedStore(MemoryStore(), ignoresDeletions: true))
    let examination = try await Doctor.examine(target, world, terminal)
    #expect(examination.isSick)
    #expect(Doctor.complaint([examination])?.code == "promiseBroken")
    #expect(!ListingProof.holds(for: target, world))
  }

  @Test func `trials that are interrupted leave nothing behind`() async throws {
    let store = MemoryStore()
    let puts = Locked(0)
    let stopping = HookedStore(
      store,
      afterPut: { _ async throws(StoreError) in
        if puts.withLock({
          $0 += 1; return $0
        }) == 5 {
          withUnsafeCurrentTask { $0?.cancel() }
        }
      })
    // Like the stores of servers, which do nothing for a task that was cancelled.
    let target = try target(ThrottledStore(stopping, concurrency: 4))
    await #expect(throws: (any Error).self) { _ = try await Doctor.examine(target, world, terminal) }
    #expect(puts.withLock { $0 } >= 5 && store.content.isEmpty)
  }

  @Test func `where all is well there is nothing to complain of`() async throws {
    let examination = try await Doctor.examine(try target(MemoryStore()), world, terminal)
    #expect(Doctor.complaint([examination]) == nil && terminal.notices.isEmpty)
    #expect(examination.findings.count == StoreContract.promiseCount + 1)
  }
}
