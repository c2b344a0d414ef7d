import Sealing
import Storage

extension SlotSearch {
  /// Why nothing opens, once all that could be tried was tried. Whoever has the right key must not be left to look for
  /// another one.
  /// - Parameters:
  ///   - repositories: those that are looked for.
  ///   - state: where this machine remembers which slot opened.
  ///   - location: how the target is called.
  func nothingOpens(_ repositories: [RepositoryID], in state: String?, at location: String) -> RepositoryError {
    guard whole.isEmpty else {
      return RepositoryError(
        .wrongKey, "no key slot of the repository at \(location) opens with this key",
        hint: ([Self.lookAtKey] + remarks(repositories, in: state)).joined(separator: " "))
    }
    guard later.isEmpty || !spoilt.isEmpty else {
      return RepositoryError(
        .unsupported, "the key slots of the repository at \(location) are of a kind this program does not know",
        hint: Self.install)
    }
    let bringBack = "Bring back the objects below keys/ from a copy of the target; without them nothing can be read."
    return RepositoryError(
      .damaged, "no key slot of the repository at \(location) can be read",
      hint: later.isEmpty ? bringBack : "\(bringBack) \(Self.tellLater)")
  }

  private static let install = "Install a newer sealift."
  private static let tellLater = "Others there are of a kind that this program does not know: install a newer sealift."
  private static let lookAtKey =
    "Check the passphrase or key file; a printed recovery key goes into a file for --recovery-key-file. `sealift key list`, with a key that works, shows every slot that exists."

  /// What speaks for the key: slots that nobody could try.
  private func remarks(_ repositories: [RepositoryID], in state: String?) -> [String] {
    var remarks: [String] = []
    if let lost = lastOpened(repositories, in: state) {
      remarks.append(lost)
    } else if let one = spoilt.first {
      let more = spoilt.count == 1 ? "" : " and \(spoilt.count - 1) more"
      remarks.append(
        "A key slot there is damaged (\(one.objectName.text)\(more)): if it is this key's, bring it back from a copy of the target, or open with another key."
      )
    }
    if !later.isEmpty { remarks.append(Self.tellLater) }
    return remarks
  }

  /// What became of the slot that this machine opened last, where it cannot be tried.
  private func lastOpened(_ repositories: [RepositoryID], in state: String?) -> String? {
    guard let state else { return nil }
    for repository in repositories {
      guard let last = SlotMemory(in: StateFolder(reading: state, repository: repository)).remembered,
        !whole.contains(last), !later.contains(last)
      else { continue }
      guard let name = spoilt.first(where: { $0.digest == last }) else {
        return
          "The key slot that opened here last is gone: somebody removed that key, or the target lost it. Open with another key."
      }
      return
        "The key slot that opened here last is damaged (\(name.objectName.text)): bring it back from a copy of the target, or open with another key."
    }
    return nil
  }
}
