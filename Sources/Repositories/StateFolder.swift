import Glibc
package import Sealing

/// The local side of one repository: what this machine remembers of it.
///
/// ```
/// <state>/<repository id>/objects/<name>         sealed directories and manifests, kept to save requests
/// <state>/<repository id>/<chain id>/mark.json   the newest version this machine pushed or saw (its high-water mark)
/// <state>/<repository id>/<chain id>/journal     packs of a push that has not ended
/// <state>/<repository id>/<chain id>/lock        held while a push runs
/// ```
package struct StateFolder: Sendable {
  package let path: String
  package let repository: RepositoryID

  package init(_ state: String, repository: RepositoryID) throws(RepositoryError) {
    self.path = "\(state)/\(repository.hex)"
    self.repository = repository
    try StateFiles.makeFolder("\(path)/objects")
  }

  func folder(of chain: ChainID) throws(RepositoryError) -> String {
    let folder = "\(path)/\(chain.hex)"
    try StateFiles.makeFolder(folder)
    return folder
  }

  /// Hexadecimal ids of the chains that have a mark here.
  package func markedChains() -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var chains: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.utf8.count == 32, access("\(path)/\(name)/mark.json", F_OK) == 0 { chains.append(name) }
    }
    return chains.sorted()
  }

  /// Sealed bytes kept from an earlier read, or `nil`. Whoever uses them opens them again: nothing here is trusted.
  func kept(_ name: String) -> [UInt8]? { try? StateFiles.read("\(path)/objects/\(name)") }

  /// Keeps sealed bytes. A cache that cannot be written is no reason to fail.
  func keep(_ bytes: [UInt8], as name: String) {
    try? StateFiles.write(bytes, to: "\(path)/objects/\(name)", durably: false)
  }
}

/// The lock of one chain on this machine, released when the value goes, also when the process is killed.
package final class ChainLock: Sendable {
  private let descriptor: Int32

  /// - Throws: `.locked` when another process holds it.
  package init(_ chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    let path = try state.folder(of: chain) + "/lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw RepositoryError(.stateFolder, "cannot open \(path): \(String(cString: strerror(errno)))")
    }
    guard Self.lock(descriptor) else {
      close(descriptor)
      throw RepositoryError(
        .locked, "another push of this database is running on this machine",
        hint: "Wait until it has ended, then push again.")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// A reader that raises the mark holds the lock for an instant; a push holds it for long: half a second tells them apart.
  private static func lock(_ descriptor: Int32) -> Bool {
    for _ in 0..<25 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      usleep(20_000)
    }
    return false
  }
}
