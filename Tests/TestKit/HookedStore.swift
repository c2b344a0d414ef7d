package import Storage

/// A store in memory that asks a test before it does anything, or tells it afterwards.
package final class HookedStore: ObjectStore {
  package typealias Hook = @Sendable (ObjectName) async throws(StoreError) -> Void

  package let traits: StoreTraits
  private let base: MemoryStore
  private let beforePut: Hook
  private let afterPut: Hook
  private let beforeGet: Hook
  private let beforeDelete: Hook
  private let beforeList: @Sendable (String) async throws(StoreError) -> Void
  private let ignoresDeletions: Bool

  package init(
    _ base: MemoryStore, beforePut: @escaping Hook = { _ async throws(StoreError) in },
    afterPut: @escaping Hook = { _ async throws(StoreError) in },
    beforeGet: @escaping Hook = { _ async throws(StoreError) in },
    beforeDelete: @escaping Hook = { _ async throws(StoreError) in },
    beforeList: @escaping @Sendable (String) async throws(StoreError) -> Void = { _ async throws(StoreError) in },
    ignoresDeletions: Bool = false
  ) {
    self.base = base
    self.beforePut = beforePut
    self.afterPut = afterPut
    self.beforeGet = beforeGet
    self.beforeDelete = beforeDelete
    self.beforeList = beforeList
    self.ignoresDeletions = ignoresDeletions
    traits = base.traits
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await beforePut(name)
    try await base.put(body, at: name, ifAbsent: ifAbsent)
    try await afterPut(name)
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await beforeGet(name)
    return try await base.get(name, range: range)
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await beforeList(prefix)
    return try await base.list(prefix: prefix)
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    try await beforeDelete(name)
    if !ignoresDeletions { try await base.delete(name) }
  }
}
