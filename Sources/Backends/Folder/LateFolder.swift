package import Storage

/// The folder of a target that did not answer when it was to be opened, as a store: every request opens it, until one
/// has. So it is asked again as often as a server that is away for a moment.
package struct LateFolder: ObjectStore {
  package let traits: StoreTraits
  private let path: String
  private let create: Bool
  private let opened = Locked<FolderStore?>(nil)

  init(path: String, create: Bool) {
    traits = FolderStore.traits(of: path)
    self.path = path
    self.create = create
  }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await folder().put(body, at: name, ifAbsent: ifAbsent)
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await folder().get(name, range: range)
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await folder().head(name) }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await folder().list(prefix: prefix)
  }

  package func delete(_ name: ObjectName) async throws(StoreError) { try await folder().delete(name) }

  /// One for all requests: it knows the folder again, and what it made there.
  private func folder() async throws(StoreError) -> FolderStore {
    if let folder = opened.withLock({ $0 }) { return folder }
    let folder = try await onOwnThread { [path, create] () throws(StoreError) in
      try FolderStore(path: path, create: create)
    }
    return opened.withLock { opened in
      let first = opened ?? folder
      opened = first
      return first
    }
  }
}
