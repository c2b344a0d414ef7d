import Platform
package import Storage

/// The folder of a target that did not answer when it was to be opened, as a store: every request opens it, until one
/// has. So it is asked again as often as a server that is away for a moment. Where the mount went away meanwhile, the
/// folder below it is not the target.
package struct LateFolder: ObjectStore {
  /// Which folder it is shows when it is there.
  package var traits: StoreTraits {
    var traits = own
    if let folder = opened.withLock({ $0 }) { traits.place = folder.traits.place }
    return traits
  }

  private let own: StoreTraits
  private let path: String
  /// What a path lies in now: the system's own list, no server is asked.
  private let mount: @Sendable (String) -> MountTable.Mount?
  /// Where that was mounted when it did not answer; `nil` where the system does not tell.
  private let point: String?
  private let opened = Locked<FolderStore?>(nil)

  /// - Parameter mount: tests have it elsewhere.
  init(
    path: String, mount: @escaping @Sendable (String) -> MountTable.Mount? = { MountTable.current.mount(holding: $0) }
  ) {
    own = FolderStore.traits(of: path)
    self.path = path
    self.mount = mount
    point = mount(path)?.point
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
    let folder = try await onOwnThread { () throws(StoreError) in try openMounted() }
    return opened.withLock { opened in
      let first = opened ?? folder
      opened = first
      return first
    }
  }

  /// Where an automatic mount went away meanwhile, only opening the path brings it back: so it is looked for behind that.
  /// To open the wrong folder changes nothing in it.
  private func openMounted() throws(StoreError) -> FolderStore {
    if mount(path)?.type != "autofs" { try demandMounted() }
    do throws(StoreError) {
      let folder = try FolderStore(path: path)
      try demandMounted()
      return folder
    } catch {
      // A mount that did not come says more than what is not there without it, and is asked for again.
      try demandMounted()
      throw error
    }
  }

  /// One that came on top of it, as an automatic mount does, is nearer to the folder, and fine.
  private func demandMounted() throws(StoreError) {
    guard let point, (mount(path)?.point ?? "").utf8.count < point.utf8.count else { return }
    throw StoreError(
      .unavailable, "what was mounted at \(point) is not any more, and \(path) lies in it",
      hint: "Check that the disk is mounted.", retry: .later(after: nil))
  }
}
