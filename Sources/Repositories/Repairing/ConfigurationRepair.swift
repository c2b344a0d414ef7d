import Sealing
package import Storage

extension Repository {
  /// Writes back the configuration that this machine remembers, where none can be read any more: under the name that it had,
  /// and under that of its copy. Both are read back and opened.
  /// - Parameters:
  ///   - store: of the repository, for writing.
  ///   - dryRun: write nothing.
  /// - Returns: what was written, or would be; nothing where there is a configuration, or none is remembered.
  /// - Throws: `.damaged` when it cannot be read back; `StoreError`.
  package func bringBackConfiguration(to store: any ObjectStore, dryRun: Bool) async throws -> [ObjectName] {
    guard let remembered = rememberedConfiguration else { return [] }
    let names = [remembered.name, OpeningObjects.twin(of: remembered.name)]
      .filter { $0.number <= NumberedName.last }.sorted { $0.number < $1.number }
    guard !dryRun else { return names.map(\.objectName) }
    let place = DoubtingStore(store)
    for name in names { try await place.put(ObjectBody(remembered.bytes), at: name.objectName, ifAbsent: false) }
    for name in names {
      let back = try await place.get(name.objectName, range: nil)
      guard (try? SealedConfiguration(back, named: name, keys: keys)) != nil else {
        throw RepositoryError(
          .damaged, "the configuration just written to \(store.traits.location) cannot be read back",
          hint: "Run `sealift doctor` on this target.")
      }
    }
    return names.map(\.objectName)
  }
}
