import Repositories
import Sealing

/// An older version is not passed off for one that may be meant and cannot be had: whoever wants it says so, by its id.
extension VersionLookup.Found {
  /// A manifest that cannot be read may be of a newer version.
  /// - Throws: `.damaged`.
  func demandNoneNewerUnread() throws {
    guard let last = history.unreadable.map(\.sequence).max(), last > facts.sequence, history.newest?.id == facts.id
    else { return }
    throw RepositoryError(
      .damaged, "there may be a newer version: manifest \(last) of this chain cannot be read",
      hint: "To take the last one that can be read, name it by its id: \(facts.id.hex.prefix(12)).")
  }

  /// Between this version and the next that can be read one may have been the right answer to a time.
  /// - Throws: `.damaged` for a manifest that cannot be read, `.hole` for one that is gone and was not forgotten.
  func demandNoneLostBeforeNext() throws {
    let next = history.versions.first { $0.sequence > facts.sequence && !history.isForgotten($0) }
    guard let next else { return }
    let present = Set(history.versions.map(\.sequence))
    for sequence in facts.sequence + 1..<next.sequence where !present.contains(sequence) {
      let hint = "To take the version before it, name it by its id: \(facts.id.hex.prefix(12))."
      if history.unreadable.contains(where: { $0.sequence == sequence }) {
        throw RepositoryError(
          .damaged, "a later version may be meant: manifest \(sequence) of this chain cannot be read", hint: hint)
      }
      guard history.forgotten.explains(sequence) else {
        throw RepositoryError(
          .hole, "a later version may be meant: version \(sequence) of this chain is missing and was not forgotten",
          hint: hint)
      }
    }
  }
}
