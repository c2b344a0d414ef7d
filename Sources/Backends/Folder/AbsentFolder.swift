package import Storage

/// The folder of a target that is not there, as a store: it is told from others as if it were there, so that what is
/// remembered of it can be looked up, and every request ends as it does at a server without that place.
package struct AbsentFolder: ObjectStore {
  package let traits: StoreTraits
  /// What every request ends in.
  package let absence: StoreError

  init(path: String, _ absence: StoreError) {
    traits = FolderStore.traits(of: path)
    self.absence = absence
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) { throw absence }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] { throw absence }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { throw absence }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { throw absence }

  package func delete(_ name: ObjectName) async throws(StoreError) { throw absence }
}
