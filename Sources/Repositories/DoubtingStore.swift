import Sealing
import Storage

/// Asks once more for an object whose bytes are not those that its name says, and for what is said not to be there, or to be
/// shorter: a page of a proxy, or an answer that came garbled, says nothing of the object. The second answer counts,
/// whatever it is.
///
/// Parts have no hash: whoever opens one asks again (`Repository.part`, `WaveDecoder`).
struct DoubtingStore: ObjectStore {
  private let base: any ObjectStore

  init(_ base: any ObjectStore) { self.base = base }

  var traits: StoreTraits { base.traits }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    do {
      let bytes = try await base.get(name, range: range)
      if range?.count == bytes.count || range == nil && Self.areNamed(bytes, name) { return bytes }
    } catch {
      guard [.notFound, .badRange].contains(error.code) else { throw error }
    }
    return try await base.get(name, range: range)
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }

  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }

  private static func areNamed(_ bytes: [UInt8], _ name: ObjectName) -> Bool {
    Layout.digest(namedBy: name).map { $0 == .sha256(of: bytes) } ?? true
  }
}
