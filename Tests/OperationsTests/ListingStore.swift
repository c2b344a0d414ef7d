import Storage
import TestKit

@testable import Repositories

/// A store whose listings are others.
struct ListingStore: ObjectStore {
  let base: MemoryStore
  /// What a prefix shows.
  let listing: @Sendable (_ prefix: String) async throws(StoreError) -> [ObjectInfo]
  /// The times that it tells are those of who pushed.
  var isFolder = false

  var traits: StoreTraits {
    var traits = base.traits
    if isFolder { traits.folder = "/folder" }
    return traits
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await listing(prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }

  /// Tells when objects were stored.
  static func telling(_ times: [ObjectName: Int], of base: MemoryStore) -> ListingStore {
    ListingStore(base: base) { (prefix) async throws(StoreError) in
      try await base.list(prefix: prefix).map { ObjectInfo(name: $0.name, size: $0.size, stored: times[$0.name]) }
    }
  }

  /// All versions are listed as they were at an earlier moment, those of one chain as they are.
  static func after(_ early: [ObjectInfo], of base: MemoryStore) -> ListingStore {
    ListingStore(base: base) { (prefix) async throws(StoreError) in
      prefix == Layout.versions ? early : try await base.list(prefix: prefix)
    }
  }
}
