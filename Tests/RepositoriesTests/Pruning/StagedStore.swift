import Storage
import TestKit

/// A store in memory on whose stage other machines act: a test is asked before and after everything, and decides what a
/// listing shows.
final class StagedStore: ObjectStore {
  typealias Hook = @Sendable (ObjectName) async throws(StoreError) -> Void

  struct Hooks: Sendable {
    var beforePut: Hook = { _ async throws(StoreError) in }
    var afterPut: Hook = { _ async throws(StoreError) in }
    var beforeGet: Hook = { _ async throws(StoreError) in }
    var beforeHead: Hook = { _ async throws(StoreError) in }
    var beforeDelete: Hook = { _ async throws(StoreError) in }
    var afterDelete: Hook = { _ async throws(StoreError) in }
    /// Given the prefix and what is there.
    var listed: @Sendable (String, [ObjectInfo]) async throws(StoreError) -> [ObjectInfo] = {
      _, listed async throws(StoreError) in listed
    }
  }

  let traits: StoreTraits
  private let base: MemoryStore
  private let hooks: Hooks

  init(_ base: MemoryStore, _ change: (inout Hooks) -> Void = { _ in }) {
    self.base = base
    traits = base.traits
    var hooks = Hooks()
    change(&hooks)
    self.hooks = hooks
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await hooks.beforePut(name)
    try await base.put(body, at: name, ifAbsent: ifAbsent)
    try await hooks.afterPut(name)
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await hooks.beforeGet(name)
    return try await base.get(name, range: range)
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try await hooks.beforeHead(name)
    return try await base.head(name)
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await hooks.listed(prefix, try await base.list(prefix: prefix))
  }

  func delete(_ name: ObjectName) async throws(StoreError) {
    try await hooks.beforeDelete(name)
    try await base.delete(name)
    try await hooks.afterDelete(name)
  }
}

/// Lets something happen once.
final class Once: Sendable {
  private let done = Locked(false)

  func callAsFunction() -> Bool {
    done.withLock { done in
      defer { done = true }
      return !done
    }
  }
}
