import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Pushes, forgets, restores and other prunes between any two steps of a prune: whatever is acknowledged restores.
@Suite struct PruneBesideOthersTests {
  /// The steps of a prune between which something may happen.
  enum Step: String, CaseIterable, Sendable {
    case beforeRecord
    case afterRecord
    case beforeDelete
    case afterDelete
  }

  /// A store on which something happens once, at a step of a prune.
  private func store(
    _ home: PruneHome, at step: Step, _ happens: @escaping @Sendable () async throws -> Void
  ) -> StagedStore {
    let once = Once()
    @Sendable func meet(_ now: Step) async {
      guard now == step, once() else { return }
      do { try await happens() } catch { Issue.record(error) }
    }
    return StagedStore(home.home.store) {
      $0.beforePut = { name async throws(StoreError) in
        if name.text.hasPrefix("gone/") { await meet(.beforeRecord) }
      }
      $0.afterPut = { name async throws(StoreError) in
        if name.text.hasPrefix("gone/") { await meet(.afterRecord) }
      }
      $0.beforeDelete = { _ async throws(StoreError) in await meet(.beforeDelete) }
      $0.afterDelete = { _ async throws(StoreError) in await meet(.afterDelete) }
    }
  }

  @Test(arguments: Step.allCases)
  func `a push that ends meanwhile`(step: Step) async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    try await home.prune(at: store(home, at: step) { try await home.push() })
    #expect(home.safe.withLock { $0.count } == 2)
    try await home.expectAllSafe()
    try await home.prune()
    try await home.expectAllSafe()
  }

  /// The push had stored its packs before the prune looked, and stores its manifest at each step in turn: either the prune
  /// sees the manifest, or the push sees the record.
  @Test(arguments: Step.allCases)
  func `a push whose packs were there first`(step: Step) async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let scratch = try Scratch()
    let state = try StateFolder(scratch.path, repository: home.home.repository.id)
    let pushing = Once()
    let pruned = Locked(0)
    let pushStore = StagedStore(home.home.store) {
      $0.beforePut = { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), pushing() else { return }
        // The packs are there. The prune begins now, and the push goes on when it is at the step.
        let reached = Locked(false)
        let prune = Task {
          try await home.prune(
            at: self.store(home, at: step) {
              reached.withLock { $0 = true }
              await patiently { pruned.withLock { $0 > 0 } }
            }, state: state)
        }
        await patiently { reached.withLock { $0 } }
        Task {
          _ = try? await prune.value
          pruned.withLock { $0 = 2 }
        }
      }
      $0.afterPut = { name async throws(StoreError) in
        if name.text.hasPrefix("versions/") { pruned.withLock { $0 = max($0, 1) } }
      }
    }
    try await home.push(at: pushStore)
    await patiently { pruned.withLock { $0 > 1 } }
    try await home.expectAllSafe()
    try await home.prune()
    try await home.expectAllSafe()
  }

  @Test(arguments: Step.allCases)
  func `a version that is taken back meanwhile`(step: Step) async throws {
    let home = try await PruneHome(versions: 3)
    let version = try #require(home.safe.withLock { $0[1] })
    let tombstone = try await home.forget(1...2)
    let isSafe = Locked(false)
    try await home.prune(
      at: store(home, at: step) {
        // After the manifest went there is nothing to take back.
        let isThere = { home.names.contains(version.name.objectName.text) }
        guard isThere() else { return }
        do {
          let done = try await home.unforget(version, from: tombstone)
          isSafe.withLock { $0 = done }
        } catch let error as StoreError where error.code == .notFound && !isThere() {
          return  // Others are deleted at the same time, and it was one of them.
        }
      })
    try await home.expectAllSafe()
    // Before the record it is safe; after it nobody is told so.
    #expect(isSafe.withLock { $0 } == (step == .beforeRecord))
    if step == .afterRecord {
      // The second look saw the annotation: nothing was deleted, the version is only not acknowledged under this name.
      #expect(home.names.contains(version.name.objectName.text))
    }
  }

  @Test(arguments: Step.allCases)
  func `a version that is forgotten meanwhile`(step: Step) async throws {
    let home = try await PruneHome(versions: 4)
    try await home.forget(1...1)
    let version = try #require(home.safe.withLock { $0[2] })
    let manifest = try await home.home.repository.readManifest(version.name)
    // Named in an earlier record by chance: its packs may go only when its manifest does.
    try await home.home.condemn(
      PackTable(of: manifest, repository: home.home.repository, state: nil).all.map(\.name))
    try await home.prune(at: store(home, at: step) { try await home.forget(2...2) })
    #expect(try await home.home.read(manifest) == version.image)
    try await home.expectAllSafe()
    #expect(try await home.prune().freed.objects == 2)
    try await home.expectAllSafe()
  }

  @Test(arguments: Step.allCases)
  func `another prune meanwhile`(step: Step) async throws {
    let home = try await PruneHome(versions: 4)
    try await home.forget(2...3)
    try await home.prune(at: store(home, at: step) { try await home.prune() })
    #expect(home.count(below: "versions/") == 2 && home.count(below: "packs/") == 2)
    try await home.expectAllSafe()
  }

  @Test(arguments: Step.allCases)
  func `a restore that began before`(step: Step) async throws {
    let home = try await PruneHome(versions: 4)
    try await home.forget(1...2)
    let version = try #require(home.safe.withLock { $0[3] })
    let manifest = try await home.home.repository.readManifest(version.name)
    let once = Once()
    let reading = StagedStore(home.home.store) {
      $0.beforeGet = { name async throws(StoreError) in
        guard name.text.hasPrefix("packs/"), once() else { return }
        do { try await home.prune() } catch { Issue.record(error) }
      }
    }
    #expect(try await home.home.read(manifest, from: reading) == version.image)
    #expect(home.count(below: "packs/") == 2)
  }

  @Test func `an acknowledged version that a record names by mistake stays`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.home.condemn(home.home.packs())
    try await home.forget(1...1)
    try await home.prune()
    #expect(home.count(below: "packs/") == 2)
    try await home.expectAllSafe()
    // The next push does not rely on them.
    try await home.push()
    try await home.prune()
    try await home.expectAllSafe()
  }

  /// Stopped after each request in turn, and run again.
  @Test func `a prune that was killed after any step`() async throws {
    let home = try await PruneHome(versions: 4)
    let safe = home.safe.withLock { $0 }
    try await home.forget(1...2)
    let whole = home.home.store.content
    let clean = try await home.prune()
    let names = home.names.filter { !$0.hasPrefix("gone/") }
    var requests = 0
    var isWhole = false
    while !isWhole {
      home.home.store.content = whole
      let left = Locked(requests)
      @Sendable func live() throws(StoreError) {
        let isDead = left.withLock { left in
          left -= 1
          return left < 0
        }
        if isDead { throw StoreError(.cancelled, "killed") }
      }
      let store = StagedStore(home.home.store) {
        $0.beforePut = { _ async throws(StoreError) in try live() }
        $0.afterPut = { _ async throws(StoreError) in try live() }
        $0.beforeDelete = { _ async throws(StoreError) in try live() }
        $0.afterDelete = { _ async throws(StoreError) in try live() }
        $0.listed = { _, listed async throws(StoreError) in
          try live()
          return listed
        }
      }
      do {
        try await home.prune(at: store)
        isWhole = true
      } catch let error as StoreError {
        #expect(error.code == .cancelled)
      }
      try await home.expectAllSafe()
      let second = try await home.prune()
      #expect(second.freed.objects <= clean.freed.objects)
      #expect(home.names.filter { !$0.hasPrefix("gone/") } == names, "after \(requests) requests")
      #expect(home.count(below: "gone/") <= 2)
      requests += 1
    }
    #expect(requests > 15)
    #expect(safe.count == 4)
  }

  /// Answers that got lost on the way, requests that arrive a second time and much later.
  @Test func `late duplicates of deletions and uploads`() async throws {
    let home = try await PruneHome(versions: 4)
    try await home.forget(1...2)
    let whole = home.home.store.content
    try await home.prune()
    let deleted = whole.filter { home.home.store.content[$0.key] == nil }
    #expect(deleted.count == 4)
    try await home.push()
    for name in deleted.keys { try await home.home.store.delete(name) }
    try await home.expectAllSafe()
    for (name, bytes) in deleted { try await home.home.store.put(ObjectBody(bytes), at: name, ifAbsent: false) }
    try await home.expectAllSafe()
    try await home.push()
    let records = home.count(below: "gone/")
    #expect(try await home.prune().freed.objects == 4)
    #expect(home.count(below: "gone/") == records)
    try await home.expectAllSafe()
    // Manifests alone, without their packs: forgotten, so nobody misses those.
    for (name, bytes) in deleted where name.text.hasPrefix("versions/") { home.home.store.content[name] = bytes }
    #expect(try await home.prune().freed.objects == 2)
    try await home.expectAllSafe()
  }

  @Test func `four prunes, pushes and restores at once`() async throws {
    let home = try await PruneHome(versions: 5)
    try await home.forget(1...4)
    // Some may refuse, as others are in their way.
    let done = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let scratch = try Scratch()
          let state = try StateFolder(scratch.path, repository: home.home.repository.id)
          for _ in 0..<6 where (try? await home.prune(state: state)) != nil { done.withLock { $0 += 1 } }
        }
      }
      group.addTask { for _ in 0..<6 { try await home.push() } }
      group.addTask {
        for _ in 0..<12 {
          let version = try #require(home.safe.withLock { $0.values.randomElement() })
          let manifest = try await home.home.repository.readManifest(version.name)
          #expect(try await home.home.read(manifest) == version.image)
        }
      }
      try await group.waitForAll()
    }
    #expect(done.withLock { $0 } > 0)
    try await home.expectAllSafe()
    try await home.prune()
    #expect(home.safe.withLock { $0.count } == 7)
    try await home.expectAllSafe()
  }
}

/// Waits until something has come to pass, two minutes at most: a test that was broken on purpose must end.
private func patiently(_ hasCome: @Sendable () -> Bool) async {
  for _ in 0..<120_000 where !hasCome() { try? await Task.sleep(for: .milliseconds(1)) }
}
