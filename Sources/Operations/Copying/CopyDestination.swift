import FoundationEssentials
import Repositories
import Sealing
import Snapshots
import Storage

/// The repository that versions are copied to, and what is known to be there.
final class CopyDestination {
  /// What tells a version from all others, in any repository.
  private struct Identity: Hashable {
    let host: String
    let database: String
    let time: UInt64
    let sha256: Digest

    init(_ version: VersionFacts.Version) {
      host = version.host
      database = version.database
      time = version.time
      sha256 = version.file.sha256
    }
  }

  let repository: Repository
  let state: StateFolder
  let name: String
  private let world: World
  private var there: [Identity: VersionSummary] = [:]
  private var lanes: CopyLanes
  private var bases: [ChainID: BaseFolder] = [:]

  /// - Throws: `.usage` when it is the repository that is copied from.
  init(_ target: TargetAccess, _ world: World, not origin: Repository, for plan: CopyPlan) async throws {
    let lookup = try await VersionLookup(at: target, world)
    guard lookup.repository.id != origin.id else {
      throw OperationError(
        .usage, code: "sameRepository", "both targets hold the same repository, \(origin.id.hex)",
        hint: "Name the target of another repository with --to; make one with `sealift init`.")
    }
    repository = lookup.repository
    state = try StateFolder(world.stateFolder, repository: repository.id)
    name = target.name
    self.world = world
    lanes = CopyLanes(repository.keys.keyring)
    for history in try await lookup.histories() {
      let versions = history.versions.filter { facts in
        facts.version.map { plan.databases.contains([$0.host, $0.database]) } ?? false
      }
      guard let newest = versions.last else { continue }
      // Only the newest may be of a push that was cut before anybody was told.
      let isWhole = try await repository.isWhole(newest, state: state)
      for facts in isWhole ? versions : versions.dropLast() { note(facts) }
    }
  }

  /// The version that is there, if it is.
  func holds(_ facts: VersionFacts) -> VersionSummary? { facts.version.flatMap { there[Identity($0)] } }

  func note(_ facts: VersionFacts) {
    guard let version = facts.version else { return }
    there[Identity(version)] = VersionSummary(facts, target: name)
    lanes.add(facts.chain, time: version.time)
  }

  /// The chain that a version goes to, and its fork number there.
  func place(_ core: Core, fork: UInt32) throws -> (chain: ChainID, fork: UInt32) {
    try lanes.place(host: core.host, database: core.database, fork: fork, time: core.time)
  }

  /// The images of earlier copies of a chain, for deltas: of this run only.
  func bases(of chain: ChainID, _ core: Core, fork: UInt32, level: Int, in place: ScratchPlace) -> BaseFolder? {
    if let held = bases[chain] { return held }
    let source = DatabaseSource(
      name: core.database, path: "copy", compressionLevel: level, baseFolder: Self.bases(place), fork: fork)
    bases[chain] = BaseFolder(of: source, host: core.host, world)
    return bases[chain]
  }

  private static func bases(_ place: ScratchPlace) -> String { "\(place.path)/bases" }

  func forgetBases(in place: ScratchPlace) {
    bases = [:]
    try? FileManager.default.removeItem(atPath: Self.bases(place))
  }
}
