/// What is wrong with a repository, a chain or a version: code, message, hint, cause.
package struct RepositoryError: Error, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// Nothing at the target looks like a repository.
    case noRepository
    /// There is one already.
    case repositoryExists
    /// Two repositories with versions at one target.
    case ambiguousRepository
    /// No slot opens with the secret given.
    case wrongKey
    /// An object is not what its name or its keys say.
    case damaged
    /// Written by a newer program.
    case unsupported
    /// Versions this machine has seen are gone, or an older state was put back.
    case rolledBack
    /// Two different versions claim the same place in the chain: a cloned machine.
    case forked
    /// Versions are missing in the middle, and no tombstone explains it.
    case hole
    /// A version whose packs are not all there; it was never acknowledged.
    case incomplete
    /// No version answers to the name.
    case noSuchVersion
    /// Prunes ran against this push again and again, or what is there is not listed yet.
    case conflict
    /// A copy that is older than what is there finds no chain that it may continue, or begin.
    case noLane
    /// Someone else on this machine is pushing this database.
    case locked
    /// A file of the state folder could not be read or written.
    case stateFolder
    /// The disk is full that a table or a scratch file is on.
    case noSpace
    /// The last slot, or the one in use, was to be removed.
    case slotNeeded
  }

  package var code: Code
  package var message: String
  package var hint: String?
  package var cause: (any Error)?

  package init(_ code: Code, _ message: String, hint: String? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
    self.cause = cause
  }

  package var description: String { hint.map { "\(message)\nhint: \($0)" } ?? message }

  /// The way out for two machines that push as one. Neither can go on in the chain that they share.
  package static let partWays =
    "Give each machine a \"host\" of its own in its configuration, or each another \"fork\" (1, 2) for the database: then both push again. Either version is restored by its id."

  /// What to do about versions that are gone and were not forgotten.
  static let bringBackOrGiveUp =
    "Somebody without the key deleted them, or the target lost them; what is listed is still whole. `sealift repair` brings back what it can, and `sealift forget --lost` (of other hosts' databases with --all-hosts) gives the rest up."

  /// The same where only this machine has seen the other version.
  /// - Parameter acceptance: what to run (`HighWaterMark.acceptance`).
  static func partWaysOrAccept(_ acceptance: String) -> String {
    "\(partWays) If instead an older state was put back there and pushed to since, accept that: \(acceptance)"
  }

  /// What to do about an annotation that cannot be read and is in no copy. A machine that has read it goes on showing it, so
  /// that nothing is stored where it is said there again; and it misses the object once that is removed.
  static let sayAgainAndRemove =
    "Where no copy has it, say again what it said (`sealift pin`, `tag`, `unforget`) on a machine whose `sealift list` does not show that, as one that has read it shows it still; then remove it by hand. Each machine that has read it misses it from then on (`hole`), and its message says how to accept that it is gone."

  /// What to do about versions that are gone and that this machine has seen.
  static let findOutAndRepair =
    "Find out by whom before you go on. On the machine that pushes the database, `sealift repair` brings back what it can."
}
