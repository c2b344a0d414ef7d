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
  /// - Throws: `StoreError`, `.stateFolder`, `.noSuchVersion` when a database has no versions here.
  package func run(
    databases: [String] = [], onProgress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> CheckReport {
    var report = CheckReport()
    var opening = OpeningObjects(of: repository)
    try await opening.look()
    report.findings = opening.findings
    report.unknown = opening.unknown
    let (chains, unknown) = try await chains()
    report.unknown += unknown
    var left = subset?.budget ?? 0
    for chain in chains {
      if !databases.isEmpty, let name = try await database(of: chain), !databases.contains(name) { continue }
      let check = ChainCheck(
        repository, chain: chain, state: state, tables: folder, subset: subset, suspects: suspects,
        onProgress: onProgress)
      report.chains.append(try await check.run(left: &left))
    }
    let found = Set(report.chains.compactMap(\.database))
    if let absent = databases.first(where: { !found.contains($0) }) {
      throw RepositoryError(
        .noSuchVersion, "there is no version of '\(absent)' at \(repository.store.traits.location)",
        hint: "`sealift list` shows what is there.")
    }
    return report
  }

  /// Every chain of which the target shows something, or this machine has seen something.
  private func chains() async throws -> (chains: [ChainID], unknown: Int) {
    let known = [
      Layout.repositories, Layout.slots, Layout.keyrings, Layout.configurations, "tmp/", Layout.versions, "packs/",
      Layout.allTombstones, Layout.allAnnotations, "gone/",
    ]
    var ids = Set(state.markedChains())
    var unknown = 0
    for info in try await repository.store.list(prefix: "") {
      guard let prefix = known.first(where: { info.name.text.hasPrefix($0) }) else {
        unknown += 1
        continue
      }
      let parts = info.name.text.split(separator: "/", omittingEmptySubsequences: false)
      if prefix == Layout.versions, parts.count == 3 { ids.insert(String(parts[1])) }
      if prefix == "packs/" {
        if parts.count == 3, Layout.packDigest(info.name) != nil { ids.insert(String(parts[1])) } else { unknown += 1 }
      }
    }
    return (ids.sorted().compactMap { ChainID(hex: $0) }, unknown)
  }

  /// Whose versions they are; `nil` when none can be read.
  private func database(of chain: ChainID) async throws -> String? {
    let objects = try await repository.store.list(prefix: Layout.versions(of: chain))
    let listing = ChainListing(chain: chain, objects: objects)
    return try await repository.newest(of: listing).newest?.core?.database
  }
}
