import Sealing
import Storage

/// A complete manifest that was read and found authentic; its bytes lie in the spool.
struct HeldManifest: Sendable {
  let facts: VersionFacts
  let nextPackNumber: UInt32
  private let place: Range<Int>

  /// - Throws: `.stateFolder`.
  init(_ manifest: StoredManifest, _ bytes: [UInt8], in spool: ScratchSpool) throws(RepositoryError) {
    facts = manifest.facts
    nextPackNumber = manifest.body.nextPackNumber
    place = try spool.add(bytes)
  }

  func open(in spool: ScratchSpool, _ repository: Repository) throws -> StoredManifest {
    try repository.openManifest(try spool.read([place]), name: facts.name)
  }
}

/// The manifests of a chain, each read from the target.
struct ManifestsLook: Sendable {
  let results: [ReadFacts]
  private(set) var held: [VersionName: HeldManifest] = [:]
  /// Objects shorter or longer than their names say.
  private(set) var cut: [(name: VersionName, size: Int)] = []

  /// - Throws: `StoreError`, `.stateFolder`.
  init(_ listed: [ObjectInfo], of chain: ChainID, _ repository: Repository, in spool: ScratchSpool) async throws {
    for info in listed {
      guard let name = VersionName(info.name), name.chain == chain else { continue }
      if name.length != info.size { cut.append((name, info.size)) }
    }
    let names = ChainListing(chain: chain, objects: listed).versions
    let read = try await bounded(
      names, atOnce: repository.store.traits.concurrency, within: Limits.object, of: { $0.length }
    ) { name in
      try await Self.read(name, repository).held(in: spool)
    }
    for (name, result) in zip(names, read) {
      if let manifest = try? result.get() { held[name] = manifest }
    }
    results = zip(names, read).map { ($0, $1.map(\.facts)) }
  }

  private static func read(
    _ name: VersionName, _ repository: Repository
  ) async throws -> Result<(manifest: StoredManifest, bytes: [UInt8]), RepositoryError> {
    try await repository.readable(name) {
      let bytes = try await repository.store.get(name.objectName, range: nil)
      return (manifest: try repository.openManifest(bytes, name: name), bytes: bytes)
    }
  }

  /// Those that are spoilt.
  var unreadable: [VersionName] { failed { !$0.isLater } }

  /// Those that a later program wrote.
  var later: [VersionName] { failed { $0.isLater } }

  private func failed(_ isMeant: (RepositoryError) -> Bool) -> [VersionName] {
    results.compactMap { name, result in
      if case .failure(let problem) = result, isMeant(problem) { return name }
      return nil
    }
  }

  /// Why a manifest cannot be read.
  func problem(of name: VersionName) -> RepositoryError? {
    guard case .failure(let problem) = results.first(where: { $0.name == name })?.result else { return nil }
    return problem
  }
}

extension Result<(manifest: StoredManifest, bytes: [UInt8]), RepositoryError> {
  /// A full disk is no damage.
  fileprivate func held(in spool: ScratchSpool) throws -> Result<HeldManifest, RepositoryError> {
    switch self {
    case .success(let read): .success(try HeldManifest(read.manifest, read.bytes, in: spool))
    case .failure(let problem): .failure(problem)
    }
  }
}
