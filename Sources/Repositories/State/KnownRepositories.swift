package import Sealing
package import Storage

/// Which repositories this machine has met at one place: a storage that shows another one, which the same key opens, would
/// else pass for an empty place, or for somebody's older content.
///
/// A line of `<state>/places/<hash of the store's identity>` for each id. Only those count whose versions this machine has
/// seen: two machines that make a repository at once agree on one of the two later.
package struct KnownRepositories {
  package let path: String
  private let state: String
  private var ids: [RepositoryID]

  /// - Throws: `.stateFolder` when there may be some that cannot be read: what would be written then forgets them.
  package init(at store: any ObjectStore, in state: String) throws(RepositoryError) {
    self.state = state
    path = "\(state)/places/\(Digest.sha256(of: Array(store.traits.identity.utf8)).hex.prefix(32))"
    let bytes = try StateFiles.read(path, limit: 1 << 20)
    let text = String(decoding: bytes ?? [], as: UTF8.self)
    ids = text.split(separator: "\n").compactMap { RepositoryID(hex: String($0)) }
  }

  func contains(_ id: RepositoryID) -> Bool { ids.contains(id) }

  /// Those with versions that this machine has seen.
  package var used: [RepositoryID] {
    ids.filter { !StateFolder(reading: state, repository: $0).markedChains().isEmpty }
  }

  /// Best effort: a machine that cannot remember is as a new one.
  mutating func add(_ id: RepositoryID) {
    guard !contains(id) else { return }
    ids.append(id)
    try? StateFiles.makeFolder("\(state)/places")
    try? StateFiles.write(Array(ids.map { "\($0.hex)\n" }.joined().utf8), to: path)
  }
}

extension Repository {
  /// Refuses a repository where this machine has used another one, and remembers the first of a place.
  /// - Parameter isMade: it was made just now: whatever lay there before, this one is meant.
  /// - Throws: `.rolledBack`; `.stateFolder` when what this machine remembers of the place cannot be read.
  package func checkPlace(in state: String, isMade: Bool = false) throws(RepositoryError) {
    var known = try KnownRepositories(at: store, in: state)
    guard !known.contains(id) else { return }
    if !isMade, let other = known.used.first {
      throw RepositoryError(
        .rolledBack,
        "\(store.traits.location) shows the repository \(id.hex), but this machine has used \(other.hex) there",
        hint:
          "Another disk, bucket or folder was put in its place. Find out by whom; to accept it: echo \(id.hex) >> '\(known.path)'"
      )
    }
    known.add(id)
  }
}
