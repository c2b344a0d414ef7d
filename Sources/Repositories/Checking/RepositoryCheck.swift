package import Sealing
import Storage

/// Looks at everything in a repository, and changes nothing.
package struct RepositoryCheck: Sendable {
  private let repository: Repository
  private let state: StateFolder
  private let folder: String
  private let subset: CheckSubset?
  private let suspects: Set<Digest>

  /// - Parameters:
  ///   - state: where only some databases are asked for, what it has kept may say whose a chain is, and no more.
  ///   - folder: for files without names.
  ///   - subset: which packs to read whole; `nil` looks at the structure only.
  ///   - suspects: packs to take for damaged without a look.
  package init(
    _ repository: Repository, state: StateFolder, tables folder: String, subset: CheckSubset?,
    suspects: Set<Digest> = []
  ) {
    self.repository = repository
    self.state = state
    self.folder = folder
    self.subset = subset
    self.suspects = suspects
  }

  /// - Parameters:
  ///   - databases: only chains of these; all when empty.
  ///   - onProgress: bytes of packs fetched since the last call.
  /// - Throws: `StoreError`, `.stateFolder`, `.noSuchVersion` when a database has no versions here,
  ///   and no chain is left that may be of it.
  package func run(
    databases: [String] = [], onProgress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> CheckReport {
    var report = CheckReport()
    var opening = OpeningObjects(of: repository)
    try await opening.look()
    report.findings = opening.findings
    report.unmendable = opening.unmendable
    report.unknown = opening.unknown
    let shown = try await shown()
    report.unknown += shown.unknown
    var left = subset?.budget ?? 0
    // In turn: each is held in memory as a whole, and uses all that the target gives at once.
    for chain in try await chains(of: databases, among: shown) {
      let check = ChainCheck(
        repository, chain: chain, state: state, tables: folder, subset: subset, suspects: suspects,
        onProgress: onProgress)
      report.chains.append(try await check.run(left: &left))
    }
    // A chain of which no manifest opens may be of any database: that it is damaged is what there is to say.
    let isNameless = report.chains.contains { $0.database == nil && !$0.isSound }
    let found = report.chains.compactMap(\.database)
    if !isNameless, let absent = databases.first(where: { !found.containsName($0) }) {
      throw RepositoryError(
        .noSuchVersion, "there is no version of '\(absent)' at \(repository.store.traits.location)",
        hint: "`sealift list` shows what is there.")
    }
    return report
  }

  /// What listings of the chains showed.
  private struct Shown {
    /// Every chain of which the target shows something, or this machine has seen something.
    let chains: [ChainID]
    /// The manifests of those that have some.
    let listings: [ChainListing]
    let unknown: Int
  }

  /// Only what lies below our own prefixes: the rest of a target is somebody else's, and may be closed to us.
  private func shown() async throws -> Shown {
    let store = repository.store
    var chains = Set(state.markedChains().compactMap { ChainID(hex: $0) })
    var unknown = 0
    let manifests = try await store.list(prefix: Layout.versions)
    for info in manifests {
      if let name = VersionName(info.name) { chains.insert(name.chain) } else { unknown += 1 }
    }
    for info in try await store.list(prefix: Layout.allPacks) {
      if Layout.packDigest(info.name) != nil, let chain = Layout.chain(info.name) {
        chains.insert(chain)
      } else {
        unknown += 1
      }
    }
    for prefix in [Layout.allTombstones, Layout.allAnnotations, Layout.allCondemned] {
      for info in try await store.list(prefix: prefix) where !Self.isRecord(info.name, below: prefix) { unknown += 1 }
    }
    return Shown(
      chains: chains.sorted { $0.hex < $1.hex }, listings: ChainListing.byChain(manifests), unknown: unknown)
  }

  private static func isRecord(_ name: ObjectName, below prefix: String) -> Bool {
    guard let chain = Layout.chain(name) else { return false }
    return RecordName(name, prefix: "\(prefix)\(chain.hex)/") != nil
  }

  /// All but those whose newest version is of another database. That may be what this machine has kept of it: its bytes
  /// are authentic. The chains that are left are judged by what stands at the target alone.
  private func chains(of databases: [String], among shown: Shown) async throws -> [ChainID] {
    guard !databases.isEmpty else { return shown.chains }
    let names = try await repository.atEnds(of: shown.listings) { [repository, state] listing -> String? in
      let end = try await repository.end(of: listing, state: state, isEnough: { _ in true }, concerns: { _ in false })
      return end.newest?.version?.database
    }
    let others = zip(shown.listings, names).filter { _, name in name.map { !databases.containsName($0) } ?? false }
    let strange = Set(others.map { $0.0.chain })
    return shown.chains.filter { !strange.contains($0) }
  }
}
