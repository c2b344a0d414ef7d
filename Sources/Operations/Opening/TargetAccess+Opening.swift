import Repositories
import Sealing
package import Storage

extension TargetAccess {
  /// Asks for the secret and opens the repository.
  func open(_ world: World, keepsPlace: Bool = false) async throws -> Repository {
    try await open(with: try await unlock(), world, keepsPlace: keepsPlace)
  }

  /// - Parameters:
  ///   - lackingFile: open also a repository whose file was lost.
  ///   - lackingConfiguration: open also one of which no configuration can be read: what would be written there is refused.
  ///   - isReading: nothing will be written there: it is opened also where this machine cannot read what it has seen there,
  ///     and where no configuration can be read.
  ///   - keepsPlace: it is to change nothing there: what this machine remembers of the place and is spoilt stays, as of who
  ///     reads. What keeps out who writes keeps it out all the same.
  ///   - tellsLoss: say that no configuration can be read.
  ///   - seen: the world that may remember it, where `world` is one that has not seen the target.
  /// - Returns: also whether what is seen there may be noted (`Repository.isPlaceProved`).
  /// - Throws: also `.rolledBack` when this machine has seen a newer keyring, or used another repository there.
  func open(
    with secret: UnlockSecret, _ world: World, lackingFile: Bool = false, lackingConfiguration: Bool = false,
    isReading: Bool = false, keepsPlace: Bool = false, tellsLoss: Bool = true, seen: World? = nil
  ) async throws -> Repository {
    var repository: Repository
    do {
      repository = try await opened(
        with: secret, world, lackingFile: lackingFile, lackingConfiguration: isReading || lackingConfiguration,
        memory: seen?.stateFolder)
    } catch let error as RepositoryError where error.code == .noRepository {
      throw missing(error, world)
    } catch let error as StoreError where error.code == .noTarget {
      throw error.asOfUsed(store, in: world.stateFolder)
    }
    let state = StateFolder(reading: world.stateFolder, repository: repository.id)
    if repository.lostMemoryOfKeyring(in: state) {
      world.reporter.notice(
        "\(name): what this machine remembered of the newest keyring cannot be read: that no older one is in its place is not proved; it is made anew"
      )
    }
    let unread = [
      try unreadable(isReading) { () throws(RepositoryError) in
        try checkPlace(of: repository, world, isKept: isReading || keepsPlace)
      },
      try unreadable(isReading) { () throws(RepositoryError) in try repository.checkKeyring(in: state) },
    ]
    if let problem = unread.compactMap({ $0 }).first {
      world.reporter.notice(
        "\(name): what this machine has seen there cannot be told: \(problem.message); it would not notice if another repository, or an older state, were in its place"
      )
    }
    repository.isPlaceProved = repository.provesPlace(in: world.stateFolder)
    repository.rememberSlot(in: state)
    repository.rememberConfiguration(in: state)
    if repository.lacksFile, !lackingFile {
      world.reporter.notice("\(name): the repository file was lost; `sealift repair` stores it anew")
    }
    if repository.lacksConfiguration, tellsLoss {
      let way =
        repository.remembersConfiguration
        ? "`sealift repair` on this machine has written the objects below config/ back, as it remembers them"
        : "the objects below config/ are brought back from a copy of the target, or by `sealift repair` on a machine that remembers them"
      world.reporter.notice(
        "\(name): no configuration of the repository can be read: whether a newer sealift has set there what this one does not know cannot be told; versions are read all the same, and nothing is written there until \(way)"
      )
    }
    return repository
  }

  /// One that was typed may be mistyped: it is asked for again.
  private func opened(
    with secret: UnlockSecret, _ world: World, lackingFile: Bool, lackingConfiguration: Bool, memory: String?
  ) async throws -> Repository {
    let slots = world.openedSlots ?? OpenedSlots()
    var next = secret
    while true {
      do {
        return try await Repository.open(
          at: store, with: try next.slotSecret(), random: world.random, state: world.stateFolder,
          memory: memory, lackingFile: lackingFile, lackingConfiguration: lackingConfiguration
        ) { slot, secret, repository throws(SealError) in try slots.open(slot, secret, repository) }
      } catch let error as RepositoryError where error.code == .wrongKey {
        guard let another = try await unlockAgain() else { throw error.told(of: next) }
        next = another
      }
    }
  }

  /// Refuses a repository beside another one with versions that the secret opens: two machines made one each at once, and each
  /// has pushed to its own. Asked when there are versions in this one: whichever machine is the later one finds both.
  /// - Throws: `.ambiguousRepository`.
  func demandOnlyOne(_ repository: Repository, _ world: World) async throws {
    let ids = try await store.list(prefix: Layout.repositories).compactMap { RepositoryFileName($0.name)?.repository }
    guard ids.contains(where: { $0 != repository.id }) else { return }
    let secret = try await unlock().slotSecret()
    let slots = world.openedSlots ?? OpenedSlots()
    // Without what this machine remembers: it would look at no other one.
    _ = try await Repository.open(at: store, with: secret, random: world.random) {
      slot, secret, repository throws(SealError) in try slots.open(slot, secret, repository)
    }
  }

  /// Refuses another repository than this machine has used there, and says where nobody knows which one that was. Harm that
  /// was found elsewhere comes along to a place that is new to it.
  /// - Parameter isKept: what is spoilt of what it remembers stays as it is.
  func checkPlace(of repository: Repository, _ world: World, isKept: Bool) throws(RepositoryError) {
    let spoilt = try repository.checkPlace(in: world.stateFolder, isReading: isKept) {
      world.reporter.notice(
        "\(name): this machine has not met the repository there before: what it found harmed of it elsewhere counts there too, until `sealift check --read-data` finds it whole there"
      )
    }
    guard let spoilt else { return }
    let outcome =
      spoilt.isMadeAnew
      ? "it was made anew, and what stood there is in '\(spoilt.path).bad'"
      : "it stays as it is until a command that writes to the target can make it anew; or, once it is known that the right one is there: mv '\(spoilt.path)' '\(spoilt.path).bad'"
    world.reporter.notice(
      "\(name): what this machine remembered of the repositories there is spoilt: that no other one is in its place is not proved; \(outcome)"
    )
  }

  /// Carries out a check against what this machine has seen.
  /// - Returns: why that cannot be read, where who reads goes on without.
  private func unreadable(
    _ isReading: Bool, _ check: () throws(RepositoryError) -> Void
  ) throws(RepositoryError) -> RepositoryError? {
    do throws(RepositoryError) {
      try check()
      return nil
    } catch {
      guard isReading, error.code == .stateFolder else { throw error }
      return error
    }
  }

  /// Nobody is to make a new repository below the mount point of a disk that is not mounted.
  private func missing(_ error: RepositoryError, _ world: World) -> RepositoryError {
    guard let used = try? KnownRepositories(at: store, in: world.stateFolder).used.first else { return error }
    return RepositoryError(
      .noRepository, "\(error.message), but this machine has used the repository \(used.hex) there",
      hint: StoreError.mountIt, cause: error.cause)
  }
}

extension StoreError {
  fileprivate static let mountIt = "Mount the disk, or check the target's address. Nothing was made there."

  /// What is said of a place that is not there, where this machine has used a repository: the way out is no new one.
  /// - Parameters:
  ///   - store: of that place.
  ///   - state: the path of the state folder.
  package func asOfUsed(_ store: any ObjectStore, in state: String) -> StoreError {
    guard code == .noTarget, let used = try? KnownRepositories(at: store, in: state).used.first else { return self }
    return StoreError(
      .noTarget, "\(message), but this machine has used the repository \(used.hex) there", hint: Self.mountIt,
      cause: cause)
  }
}

extension RepositoryError {
  /// The same, with what may be wrong with what was typed.
  fileprivate func told(of secret: UnlockSecret) -> RepositoryError {
    guard secret.isMistypedRecoveryKey else { return self }
    var told = self
    told.message += " (if it is a recovery key, it is mistyped)"
    return told
  }
}
