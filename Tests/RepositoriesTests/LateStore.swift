import Storage
import TestKit

/// A store in memory to which some `PUT`s come late: whoever sent them is told that they failed.
final class LateStore: ObjectStore {
  let traits: StoreTraits
  private let base: MemoryStore
  private let held = Locked<[ObjectName: [UInt8]]>([:])
  private let prefixes: [String]

  /// - Parameter prefixes: below which every `PUT` is held back.
  init(_ base: MemoryStore, holding prefixes: String...) {
    self.base = base
    self.prefixes = prefixes
    traits = base.traits
  }

  /// What is still on its way.
  var names: [ObjectName] { held.withLock { $0.keys.sorted() } }

  /// All that was held back arrives.
  func deliver() {
    let late = held.withLock { $0 }
    base.content.merge(late) { _, new in new }
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    guard prefixes.contains(where: { name.text.hasPrefix($0) }) else {
      return try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
    held.withLock { $0[name] = body.bytes }
    throw StoreError(.unavailable, "no answer came")
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
