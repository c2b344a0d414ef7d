import Repositories
import Sealing
import Storage

/// `sealift init`: makes a repository at a target.
package struct Initialize: Sendable {
  package struct Outcome: Sendable {
    /// 32 hexadecimal digits.
    package var repository: String
    /// False when there was one already (`ifMissing`).
    package var created: Bool
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Throws: `.usage` with code `repositoryExists` when there is one and `ifMissing` is not given;
  ///   `.wrongKey` when there is one, `ifMissing` is given and the secret does not open it; `.verificationFailed` when there
  ///   is none, where this machine has used one.
  package func run(at target: TargetAccess, ifMissing: Bool) async throws -> Outcome {
    do {
      // Looked at before the secret is asked for: nobody types a new passphrase twice only to hear that there is a repository.
      // One whose file was lost is there, too: a second one beside it would hide its versions.
      let files = try await RepositoryFiles.read(from: target.store)
      if try await files.isEmpty ? RepositoryFiles.areVersions(at: target.store) : true {
        guard ifMissing else {
          throw RepositoryError(
            .repositoryExists, "there is a repository already",
            hint:
              "Use it, or name another prefix or folder; `sealift init --if-missing` is content with one that the key opens."
          )
        }
        return Outcome(repository: try await target.open(world).id.hex, created: false)
      }
      try demandUnused(target)
      let secret = try await target.unlock().slotSecret()
      _ = try HostName.current(world)
      let repository = try await RepositoryFiles.create(
        at: target.store, with: secret, cost: SlotCost.current, now: world.now())
      SourceMemory.forgetAll(world)
      try repository.checkPlace(in: world.stateFolder, isMade: true)
      return Outcome(repository: repository.id.hex, created: true)
    } catch {
      throw OperationError(error, doing: "making a repository at \(target.name)")
    }
  }

  /// A place that this machine has used and that is empty now is no fresh start: a disk that is not mounted, perhaps, and a
  /// repository below its mount point would take every push from then on.
  private func demandUnused(_ target: TargetAccess) throws(RepositoryError) {
    let known = KnownRepositories(at: target.store, in: world.stateFolder)
    guard let other = known.used.first else { return }
    throw RepositoryError(
      .rolledBack,
      "\(target.store.traits.location) is empty, but this machine has used the repository \(other.hex) there",
      hint:
        "A disk is not mounted, another one was put in its place, or it was emptied. To begin anew all the same: rm '\(known.path)', then `sealift init`."
    )
  }
}
