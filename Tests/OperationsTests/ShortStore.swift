import Storage
import TestKit

/// Hides one object from listings; it is there when it is asked for.
final class ShortStore: ObjectStore {
  let base: MemoryStore
  let hidden: ObjectName
  var traits: StoreTraits { base.traits }

  init(_ base: MemoryStore, hiding hidden: ObjectName) { (self.base, self.hidden) = (base, hidden) }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await base.list(prefix: prefix).filter { $0.name != hidden }
  }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
