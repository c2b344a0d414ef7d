import Sealing

extension ChainEnd {
  /// Whether another machine has pushed the newest version, since this one pushed to the chain last. Machines that take
  /// turns go on from one another's versions: the chain is in order, and nothing but this tells.
  ///
  /// A copy is nobody's push. What was forgotten counts no more, and among that is what this machine gave up, however late
  /// it arrived. A version that was written anew stays at its place.
  /// - Parameter notes: takes note that the newest version is what this machine has tried to store: its next attempt takes
  ///   the place of the one by which that is known.
  func isFromElsewhere(_ repository: Repository, state: StateFolder, notes: Bool) throws -> Bool {
    guard var mark = self.mark, let pushed = mark.pushed, let newest = history.newest, newest.name.sequence > pushed
    else { return false }
    guard try !isAttempt(newest, repository, state) else {
      mark.pushed = newest.name.sequence
      if notes { try mark.write(listing.chain, in: state) }
      return false
    }
    return newest.body.remarks.origin == nil && !newestIsForgotten
  }

  /// Whether a version is what this machine tried to store last, in this revision or another one.
  private func isAttempt(_ version: StoredManifest, _ repository: Repository, _ state: StateFolder) throws -> Bool {
    guard let attempt = try ManifestAttempt(of: listing.chain, in: state),
      attempt.name.sequence == version.name.sequence
    else { return false }
    return try attempt.name == version.name || repository.attempted(attempt)?.id == version.id
  }
}
