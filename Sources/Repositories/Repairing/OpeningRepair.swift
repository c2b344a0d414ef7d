import Sealing
package import Storage

extension Repository {
  /// Stores anew what opens the repository, where a copy of it was lost: slots, keyrings and configurations under new
  /// numbers, from a copy that is whole; the repository file under the only name it can have.
  /// - Parameter onRemoved: told the id of a key slot that another machine removed while this stored it anew: it stays
  ///   removed.
  /// - Returns: what was written.
  /// - Throws: `.conflict` when such a slot cannot be taken away again.
  package func repairOpening(onRemoved: (String) -> Void = { _ in }) async throws -> [ObjectName] {
    var opening = OpeningObjects(of: self)
    try await opening.look()
    var written: [ObjectName] = []
    for (prefix, bytes) in opening.lacking {
      let listed = try await store.list(prefix: prefix)
      let names = listed.compactMap { NumberedName($0.name, prefix: prefix) }
      // A key that was removed since must not come back.
      let copies = listed.whole(below: prefix).filter { $0.digest == .sha256(of: bytes) }
      guard prefix != Layout.slots || !copies.isEmpty else { continue }
      let highest = names.map(\.number).max() ?? 0
      let name = try await RepositoryFiles.putTwice(bytes, below: prefix, after: highest, at: store)
      if prefix == Layout.slots, try await KeySlots(of: self).takeBack(bytes, name, beside: copies) {
        onRemoved(KeySlots.id(of: name))
        continue
      }
      written.append(name.objectName)
    }
    if opening.lacksFile {
      let file = RepositoryFile(repository: id).encode()
      let name = RepositoryFileName(repository: id, length: file.count, digest: .sha256(of: file))
      try await store.put(ObjectBody(file), at: name.objectName, ifAbsent: false)
      written.append(name.objectName)
    }
    return written
  }
}
