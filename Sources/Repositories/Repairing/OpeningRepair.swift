import Sealing
package import Storage

extension Repository {
  /// Stores anew what opens the repository, where a copy of it was lost: slots, keyrings and configurations under new
  /// numbers, from a copy that is whole; the repository file under the only name it can have.
  /// - Returns: what was written.
  package func repairOpening() async throws -> [ObjectName] {
    var opening = OpeningObjects(of: self)
    try await opening.look()
    var written: [ObjectName] = []
    for (prefix, bytes) in opening.lacking {
      let listed = try await store.list(prefix: prefix)
      let names = listed.compactMap { NumberedName($0.name, prefix: prefix) }
      // A key that was removed since must not come back.
      guard prefix != Layout.slots || names.contains(where: { $0.digest == .sha256(of: bytes) }) else { continue }
      let highest = names.map(\.number).max() ?? 0
      let name = try await RepositoryFiles.putTwice(bytes, below: prefix, after: highest, at: store)
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
