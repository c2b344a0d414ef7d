import Storage
import TestKit

/// Tells of every pack that is fetched whole.
struct CountingStore: ObjectStore {
  let base: MemoryStore
  let onWhole: @Sendable (ObjectName) -> Void
  var traits: StoreTraits { base.traits }

  init(_ base: MemoryStore, onWhole: @escaping @Sendable (ObjectName) -> Void) {
    self.base = base
    self.onWhole = onWhole
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    if range == nil, name.text.hasPrefix("packs/") { onWhole(name) }
    return try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
