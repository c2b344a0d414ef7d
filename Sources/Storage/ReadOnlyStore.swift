/// Reads, and refuses to change anything: for dry runs and for looking at what is not ours to change.
package struct ReadOnlyStore: ObjectStore {
  private let base: any ObjectStore

  package init(_ base: any ObjectStore) { self.base = base }

  package var traits: StoreTraits { base.traits }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    throw StoreError(.forbidden, "\(name) was not stored at \(traits.location): it is only read from here")
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    throw StoreError(.forbidden, "\(name) was not deleted at \(traits.location): it is only read from here")
  }
}
