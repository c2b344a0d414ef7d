import Sealing
import Storage

extension Repository {
  /// Looks whether the repository asks for what this program does not know.
  /// - Returns: the configuration that counts, or why nothing tells.
  /// - Throws: `.unsupported`, `.damaged` for what the configuration that counts says; `StoreError`.
  static func newestConfiguration(
    _ names: [NumberedName], keys: SealingKeys, at store: any ObjectStore
  ) async throws -> (configuration: SealedConfiguration?, loss: (any Error)?) {
    var problem: SealError?
    var unread: StoreError?
    for name in NumberedName.newestFirst(names) {
      guard let bytes = try await store.present(name.objectName, &unread) else { continue }
      do throws(SealError) {
        let configuration = try SealedConfiguration(bytes, named: name, keys: keys)
        return (configuration, nil)
      } catch {
        guard OpenedObject.isAuthentic(bytes, despite: error) else {
          // Anybody can write that a format is newer: it counts where nothing else can be read.
          if error.code == .unsupported { problem = error }
          continue
        }
        guard error.code == .unsupported else {
          throw RepositoryError.malformed("configuration", below: Layout.configurations, error)
        }
        throw RepositoryError.unsupported(error)
      }
    }
    if let problem { throw RepositoryError.unsupported(problem) }
    if let unread { return (nil, unread) }
    let loss = RepositoryError(
      .damaged, "no configuration of repository \(keys.repository.hex) can be read",
      hint:
        "Where another machine has pushed or read there, `sealift repair` on that one writes the objects below config/ back, as it remembers them. Else bring them back from a copy of the target, or go on at a new target: `sealift copy` brings the versions there. Until then versions are listed, checked and restored, and nothing is written there."
    )
    return (nil, loss)
  }

  /// The same loss, where this machine remembers what is lost.
  static func broughtBack(_ loss: any Error) -> any Error {
    let hint =
      "`sealift repair` on this machine writes the objects below config/ back, as it remembers them. Until then versions are listed, checked and restored, and nothing is written there."
    if var told = loss as? RepositoryError {
      told.hint = hint
      return told
    }
    guard var told = loss as? StoreError else { return loss }
    told.hint = [told.hint, hint].compactMap { $0 }.joined(separator: " ")
    return told
  }
}

extension RepositoryError {
  fileprivate static func unsupported(_ cause: SealError) -> RepositoryError {
    RepositoryError(
      .unsupported, "the repository uses a feature this program does not know", hint: "Install a newer sealift.",
      cause: cause)
  }
}
