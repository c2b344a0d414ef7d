import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What the state folder keeps of packs ends with them.
@Suite struct PrunedStateTests {
  private func kept(_ state: StateFolder) -> [String] { StateFiles.names(in: state.objects.path) }

  private func isKept(_ pack: Digest, _ state: StateFolder) -> Bool {
    kept(state).contains { $0.hasPrefix(pack.hex) }
  }

  @Test(arguments: [true, false]) func `nothing is kept of packs that a prune deleted, and only of those`(
    mayDelete: Bool
  ) async throws {
    let home = try await PruneHome(versions: 4)
    let state = try home.home.state
    let packs = Set(home.home.packs())
    for pack in packs { state.keep([1, 2, 3], as: UnitList.name(of: pack)) }
    #expect(packs.count == 4 && packs.allSatisfy { isKept($0, state) })
    let store = StagedStore(home.home.store) {
      $0.beforeDelete = { _ async throws(StoreError) in
        if !mayDelete { throw StoreError(.forbidden, "not allowed") }
      }
    }
    try await home.forget(1...2)
    try await home.prune(at: store)
    let left = Set(home.home.packs())
    #expect(left.count == (mayDelete ? 2 : 4))
    for pack in packs.subtracting(left) { #expect(!isKept(pack, state)) }
    for pack in left {
      #expect(kept(state).filter { $0.hasPrefix(pack.hex) }.sorted() == ["\(pack.hex).directory", "\(pack.hex).units"])
    }
  }

  @Test func `nothing is kept of packs that were deleted before the target went away`() async throws {
    let home = try await PruneHome(versions: 4)
    let state = try home.home.state
    let packs = Set(home.home.packs())
    for pack in packs { state.keep([1, 2, 3], as: UnitList.name(of: pack)) }
    let isAway = Locked(false)
    let store = StagedStore(home.home.store) {
      $0.afterDelete = { _ async throws(StoreError) in isAway.withLock { $0 = true } }
      $0.listed = { _, listed async throws(StoreError) in
        if isAway.withLock({ $0 }) { throw StoreError(.unavailable, "the line was cut") }
        return listed
      }
    }
    try await home.forget(1...2)
    await #expect(throws: StoreError.self) { try await home.prune(at: store) }
    let left = Set(home.home.packs())
    #expect(left.count == 2)
    for pack in packs.subtracting(left) { #expect(!isKept(pack, state)) }
  }

  @Test func `lists of units have a limit of their own, and what was used last stays`() throws {
    let scratch = try Scratch()
    let objects = KeptObjects(path: scratch.file("objects"))
    for day in 1...5 {
      for name in ["\(day)", "\(day).units"] {
        objects.write([UInt8](repeating: 1, count: 1000), as: name)
        var times = [timespec](repeating: timespec(tv_sec: time(nil) - day * 86_400, tv_nsec: 0), count: 2)
        #expect(utimensat(AT_FDCWD, "\(objects.path)/\(name)", &times, 0) == 0)
      }
    }
    var limits = KeptObjects.Limits(bytes: 4500, bytesInUse: 4500)
    limits.listBytes = 2500
    objects.tidy(limits)
    #expect(StateFiles.names(in: objects.path).sorted() == ["1", "1.units", "2", "2.units", "3", "4"])
  }
}
