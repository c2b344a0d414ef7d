import Repositories
import Sealing

extension CheckRepository {
  /// What was found outlasts the run, on this machine alone: the next push builds on nothing of it, `status` tells of
  /// harmed versions until they are whole, and to `forget` none takes another's place.
  /// - Returns: versions that are whole as far as somebody looked now, and that an earlier check found harmed otherwise.
  func remember(
    _ report: CheckReport, _ subset: CheckSubset?, _ repository: Repository, at target: String
  ) -> Set<Digest> {
    let state = StateFolder(reading: world.stateFolder, repository: repository.id)
    var left: Set<Digest> = []
    for chain in report.chains {
      do {
        let rest = try Self.note(chain, subset, in: state)
        left.formUnion(rest)
      } catch {
        let harmed = chain.harmed
        guard !harmed.isEmpty || !chain.spoiltPacks.isEmpty else { continue }
        for id in harmed.compactMap(\.id) { SourceMemory.forget(id, world) }
        world.reporter.notice(
          "\(target): what was found cannot be remembered, and the next push may build on it: \(error.message)")
      }
    }
    return left
  }

  private static func note(
    _ chain: CheckedChain, _ subset: CheckSubset?, in state: StateFolder
  ) throws(RepositoryError) -> [Digest] {
    let isReadWhole = subset == .all || subset != nil && chain.packsRead == chain.packs
    let proof: HarmedVersions.Proof = isReadWhole ? .content : .structure
    let whole = chain.whole.compactMap(\.id)
    let spoilt = chain.spoilt

    var harmed = try HarmedVersions(of: chain.chain, in: state)
    harmed.remove(whole, seen: proof)
    let hidden = subset == nil ? [] : Set(spoilt.compactMap(\.id))
    var found: [Digest: HarmedVersions.Proof] = [:]
    for id in chain.harmed.compactMap(\.id) { found[id] = hidden.contains(id) ? .content : .structure }
    try harmed.add(found, of: chain.chain, in: state)

    // The end of the chain alone: what older versions need a push looks for in no other place.
    var doubted = try DoubtedVersions(of: chain.chain, in: state)
    let settled = whole + chain.whole.map { chain.chain.unknown(at: $0.sequence) }
    doubted.remove(settled, seen: proof)
    let newest = chain.versions.last { $0.facts != nil }?.sequence ?? 0
    for version in spoilt where version.sequence >= newest {
      // No push refers to what a manifest alone holds, nor calls a version unchanged that is known to be harmed.
      guard version.facts != nil || version.id == nil else { continue }
      let id = version.id ?? chain.chain.unknown(at: version.sequence)
      try doubted.add(id, until: subset == nil ? .structure : .content, of: chain.chain, in: state)
    }
    // Of such a pack a version that is whole may need another part.
    var damaged = DamagedPacks(of: chain.chain, in: state)
    try damaged.add(chain.spoiltPacks, of: chain.chain, in: state)
    return whole.filter { harmed.contains($0) }
  }
}
