import Sealing
import Storage

extension Repository {
  /// The one with the highest number that is authentic; nothing older takes its place, which would bring back keys that
  /// were retired.
  /// - Parameter strange: gets those that are passed over though they are what their names say.
  static func newestKeyring(
    _ names: [NumberedName], master: MasterKey, repository: RepositoryID, at store: any ObjectStore,
    passing strange: inout [NumberedName: SealError]
  ) async throws -> (Keyring, NumberedName) {
    var problem: (any Error)?
    for name in NumberedName.newestFirst(names) {
      guard let bytes = try await readKeyring(name, among: names, at: store) else { continue }
      do throws(SealError) {
        return (try Keyring.open(bytes, name: name.digest, master: master, repository: repository), name)
      } catch {
        guard OpenedObject.isAuthentic(bytes, despite: error) else {
          problem = error
          if Digest.sha256(of: bytes) == name.digest { strange[name] = error }
          continue
        }
        guard error.code == .unsupported else {
          throw RepositoryError.malformed("keyring", below: Layout.keyrings, error)
        }
        throw RepositoryError(
          .unsupported, "this program cannot read the keyring of the repository", hint: "Install a newer sealift.",
          cause: error)
      }
    }
    throw RepositoryError(
      .damaged, "the key opens the repository, but no keyring can be read",
      hint: "Bring back the objects below keyring/ from a copy of the target; without them nothing can be read.",
      cause: problem)
  }

  /// The keyring of a name, or `nil` when it is gone. Where it cannot be read, only a whole copy of its own bytes stands
  /// in: another keyring in its place might be an older one.
  private static func readKeyring(
    _ name: NumberedName, among names: [NumberedName], at store: any ObjectStore
  ) async throws -> [UInt8]? {
    var problem: StoreError?
    let bytes = try await store.present(name.objectName, &problem)
    guard let unread = problem else { return bytes }
    for other in names where other.digest == name.digest && other != name {
      let copy = try await store.present(other.objectName, &problem)
      if let copy, Digest.sha256(of: copy) == name.digest { return copy }
    }
    throw unread
  }
}

extension RepositoryError {
  /// Whoever wrote it had the key; nothing older takes its place all the same.
  static func malformed(_ what: String, below prefix: String, _ cause: SealError) -> RepositoryError {
    RepositoryError(
      .damaged, "the \(what) of the repository breaks the rules of its format",
      hint: "A program that had the key wrote it so. Bring back the objects below \(prefix) from a copy of the target.",
      cause: cause)
  }
}
