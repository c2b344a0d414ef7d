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

  /// What makes the folder or collection of a target that is not there.
  package struct Maker: Sendable {
    let demandMakeable: @Sendable () throws -> Void
    let make: @Sendable () throws -> TargetAccess

    /// - Parameters:
    ///   - demandMakeable: throws what would stand in the way, as far as it shows without making anything.
    ///   - make: opens the target so that it is made where it is missing.
    package init(
      demandMakeable: @escaping @Sendable () throws -> Void, make: @escaping @Sendable () throws -> TargetAccess
    ) {
      self.demandMakeable = demandMakeable
      self.make = make
    }
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Parameter maker: for a target that was opened without making it; `nil` where it has to be there, or makes itself.
  /// - Throws: `.usage` with code `repositoryExists` when there is one and `ifMissing` is not given;
  ///   `.wrongKey` when there is one, `ifMissing` is given and the secret does not open it; `.verificationFailed` when there
  ///   is none, where this machine has used one.
  package func run(at target: TargetAccess, ifMissing: Bool, maker: Maker? = nil) async throws -> Outcome {
    do {
      // Looked at before the secret is asked for: nobody types a new passphrase twice only to hear that it was in vain.
      let ground = try await look(at: target, maker)
      if ground == .taken {
        guard ifMissing else {
          throw RepositoryError(
            .repositoryExists, "there is a repository already",
            hint:
              "Use it, or name another prefix or folder; `sealift init --if-missing` is content with one that the key opens."
          )
        }
        return Outcome(repository: try await target.open(world).id.hex, created: false)
      }
      let secret = try await target.unlock().newSlotSecret()
      _ = try HostName.current(world)
      // Not before now: who is refused finds no empty folder in the place of a disk.
      let made = try ground == .missing ? maker?.make() : nil
      let store = made?.store ?? target.store
      let repository = try await RepositoryFiles.create(
        at: store, with: secret, cost: SlotCost.current, now: world.now())
      SourceMemory.forgetAll(world)
      try repository.checkPlace(in: world.stateFolder, isMade: true)
      return Outcome(repository: repository.id.hex, created: true)
    } catch {
      throw OperationError(error, doing: "making a repository at \(target.name)")
    }
  }

  /// What a repository would be made on.
  private enum Ground {
    case taken
    case empty
    case missing
  }

  /// One whose file was lost is there, too: a second one beside it would hide its versions.
  /// - Throws: what forbids making one where there is none.
  private func look(at target: TargetAccess, _ maker: Maker?) async throws -> Ground {
    do {
      let files = try await RepositoryFiles.read(from: target.store)
      if try await files.isEmpty ? RepositoryFiles.areVersions(at: target.store) : true { return .taken }
    } catch let error as StoreError where error.code == .noTarget {
      guard let maker else { throw error }
      try demandUnused(target, error.message)
      try maker.demandMakeable()
      return .missing
    }
    try demandUnused(target, "\(target.store.traits.location) is empty")
    return .empty
  }

  /// A place that this machine has used and that is empty or gone now is no fresh start: a disk that is not mounted, perhaps,
  /// and a repository below its mount point would take every push from then on.
  /// - Parameter finding: what was found there.
  private func demandUnused(_ target: TargetAccess, _ finding: String) throws(RepositoryError) {
    let known = try KnownRepositories(at: target.store, in: world.stateFolder)
    if let flaw = known.flaw(showing: nil, at: target.store.traits.location) { throw flaw }
    guard let other = known.used.first else { return }
    throw RepositoryError(
      .rolledBack, "\(finding), but this machine has used the repository \(other.hex) there",
      hint:
        "A disk is not mounted, another one was put in its place, or it was emptied. To begin anew all the same: rm '\(known.path)', then `sealift init`."
    )
  }
}
