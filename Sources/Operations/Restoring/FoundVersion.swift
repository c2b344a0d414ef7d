import Repositories
import Sealing
import Storage

/// A version that was found at a target, ready to be read.
struct FoundVersion: Sendable {
  let summary: VersionSummary
  let manifest: StoredManifest
  let repository: Repository
  let state: StateFolder?
  /// What comes with the database is left where it is: at the target, and at the destination.
  var leavesCompanions = false
  /// Paths of members that belong to other databases, which are restored from versions of their own.
  private(set) var leftToOthers: Set<[UInt8]> = []
  /// Of a damaged version: the newest one of its chain that was sound when it was pushed, where that is known.
  var standIn: StandIn?

  struct StandIn: Sendable {
    let id: String
    /// Milliseconds since 1970 UTC.
    let time: UInt64
  }

  /// What it holds is a database image.
  var isImage: Bool { manifest.core?.members.first?.file?.unitType == .page }

  /// Permission bits of a new file with it: an image belongs to whoever restores it, another file comes back as it was.
  var permissions: UInt32 { isImage ? 0o600 : manifest.core?.members.first.map { $0.mode & 0o777 } ?? 0o600 }

  /// The members that come with the database, as far as they are restored.
  var companionMembers: ArraySlice<Core.Member> {
    guard !leavesCompanions, let members = manifest.core?.members.dropFirst() else { return [] }
    return leftToOthers.isEmpty ? members : members.filter { !leftToOthers.contains(MemberPath.key($0.path)) }[...]
  }

  /// Their paths.
  var companions: [String] { companionMembers.map(\.path) }

  /// Leaves out what would come to lie in places of others.
  /// - Returns: those members.
  mutating func leave(
    to claims: ClaimedPlaces, _ request: Restore.Request, beside path: String
  ) -> [(member: Core.Member, places: [String])] {
    guard !claims.isEmpty else { return [] }
    let theirs = RestorePlaces.ofMembers(of: self, request, beside: path).filter { member in
      member.places.contains(where: claims.holds)
    }
    leftToOthers.formUnion(theirs.map { MemberPath.key($0.member.path) })
    return theirs
  }

  /// - Parameter words: what was said of the version since it was pushed; `nil` where that could not be read.
  init(
    _ manifest: StoredManifest, _ repository: Repository, _ state: StateFolder?, target: String, words: Annotations?,
    isForgotten: Bool
  ) throws {
    guard var summary = VersionSummary(manifest.facts, target: target, words: words) else {
      throw RepositoryError(.incomplete, "the manifest is no version")
    }
    summary.forgotten = isForgotten
    self.summary = summary
    self.manifest = manifest
    self.repository = repository
    self.state = state
  }

  /// - Parameter expect: head codes; refused with `.verificationFailed` when the chain does not contain one of them.
  static func find(
    _ selector: VersionSelector, at target: TargetAccess, _ world: World, expect: [String]
  ) async throws -> FoundVersion {
    let lookup = try await VersionLookup(at: target, world)
    let found = try await lookup.find(selector, whole: !expect.isEmpty)
    for head in try expect.map(HeadCode.init(parsing:)) { try head.check(found.history) }
    // They are listed already. That they cannot be read holds no restore up.
    async let said = lookup.annotationsTellingLoss(of: found.history)
    let manifest = try await lookup.manifest(of: found)
    let words = try? await said
    var version = try FoundVersion(
      manifest, lookup.repository, lookup.state, target: target.name, words: words,
      isForgotten: found.history.isForgotten(found.facts))
    if version.summary.isFlawed {
      // The rest of the chain is read for it, which is a person's way out. That it cannot be read holds no restore up.
      let history = (try? await lookup.histories(of: [found.history.chain]))?.first ?? found.history
      version.standIn = newestSound(besides: found.facts, in: history, words)
    }
    return version
  }

  /// - Parameter history: of its chain, read whole where that can be.
  static func newestSound(besides flawed: VersionFacts, in history: ChainHistory, _ words: Annotations?) -> StandIn? {
    let flaws: Core.Flags = [.damaged, .notCheckable]
    let sound = history.versions.last { facts in
      facts.id != flawed.id && facts.version?.flags.isDisjoint(with: flaws) == true
        && words?.damage(of: facts) == nil && !history.isForgotten(facts)
    }
    return sound?.version.map { StandIn(id: $0.id.hex, time: $0.time) }
  }

  /// - Parameter tables: the folder for nameless files of what grows with the version; `nil` is the state folder.
  func reader(tables: String?) async throws -> VersionReader {
    try await VersionReader(manifest, repository: repository, state: state, tables: tables)
  }
}

extension VersionSummary {
  /// It was damaged when it was pushed, or was found to be since.
  var isFlawed: Bool { damaged || foundDamaged != nil }
}
