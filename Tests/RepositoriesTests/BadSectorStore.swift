import Storage
import TestKit

@testable import Repositories
@testable import Sealing

/// A target that cannot read some parts of one pack: no range that takes in such bytes, nor the whole of it.
struct BadSectorStore: ObjectStore {
  private let base: MemoryStore
  private let name: ObjectName
  private let isUnreadable: @Sendable (Range<Int>) -> Bool
  var traits: StoreTraits { base.traits }

  /// - Parameter isUnreadable: whether a range cannot be read that takes in bytes of the frames of these indices.
  init(_ home: Home, pack: PackEntry, _ isUnreadable: @escaping @Sendable ([Int]) -> Bool) async throws {
    let directory = try await home.repository.directory(of: pack, chain: home.chain, state: nil)
    let ranges = directory.frames.map(\.sealedRange)
    base = home.store
    name = Layout.pack(pack.name, of: home.chain)
    self.isUnreadable = { range in isUnreadable(ranges.indices.filter { ranges[$0].overlaps(range) }) }
  }

  /// - Parameter frame: what lies in the bad sector.
  init(_ home: Home, pack: PackEntry, frame: Int) async throws {
    try await self.init(home, pack: pack) { $0.contains(frame) }
  }

  /// - Parameter bytes: of the pack, that lie in the bad sector.
  init(_ home: Home, pack: PackEntry, bytes: Range<Int>) {
    base = home.store
    name = Layout.pack(pack.name, of: home.chain)
    isUnreadable = { $0.overlaps(bytes) }
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    if name == self.name, range.map(isUnreadable) ?? true { throw StoreError(.unreadable, "input/output error") }
    return try await base.get(name, range: range)
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
