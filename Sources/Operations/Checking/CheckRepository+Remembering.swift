import Repositories
import Sealing
import Storage

extension CheckRepository {
  /// What was found outlasts the run, on this machine and for this place alone: the next push builds on nothing of it, `status` tells of
  /// harmed versions until they are whole, and to `forget` none takes another's place.
  /// - Returns: versions that are whole as far as somebody looked now, and that an earlier check or drill found harmed
  ///   otherwise.
  func remember(
    _ report: CheckReport, _ subset: CheckSubset?, _ repository: Repository, at target: String
  ) async -> Set<Digest> {
    let state = StateFolder(reading: world.stateFolder, repository: repository.id)
    var left: Set<Digest> = []
    for chain in report.chains {
      let rewritten = await Self.rewritten(in: chain, repository, state)
      do {
        let rest = try Self.note(chain, subset, rewritten, in: state, at: repository.place)
        left.formUnion(rest)
      } catch {
        let harmed = chain.harmed
        guard !harmed.isEmpty || !chain.spoiltPacks.isEmpty else { continue }
        for id in harmed.compactMap(\.id) { SourceMemory.forget(id, world) }
        let wayOut = error.hint.map { ". \($0)" } ?? ""
        world.reporter.notice("\(target): what was found cannot be remembered: \(error.message)\(wayOut)")
      }
    }
    return left
  }

  /// Versions that are whole as far as somebody looked, and need nothing any more of what was found damaged of them. That
  /// a revision is higher proves nothing: who takes a forgotten version back may write its manifest alone anew.
  private static func rewritten(
    in chain: CheckedChain, _ repository: Repository, _ state: StateFolder
  ) async -> [Digest] {
    guard let harmed = try? HarmedVersions(of: chain.chain, in: state, at: repository.place) else {
      return []
    }
    var rewritten: [Digest] = []
    for facts in chain.whole.compactMap(\.facts) {
      guard let spoilt = harmed.packs(harming: facts.id),
        let needed = try? await repository.packs(of: facts, state: state)
      else { continue }
      if needed.allSatisfy({ !spoilt.contains($0.name) }) { rewritten.append(facts.id) }
    }
    return rewritten
  }

  /// Each kind of what was found has a file of its own, and one that is spoilt keeps nothing out of the others: a push, which
  /// goes by two of them, would build on what is damaged else.
  /// - Returns: versions that are whole as far as somebody looked, and are harmed all the same.
  /// - Throws: what went wrong first, after all that can be noted is.
  private static func note(
    _ chain: CheckedChain, _ subset: CheckSubset?, _ rewritten: [Digest], in state: StateFolder, at place: StorePlace
  ) throws(RepositoryError) -> [Digest] {
    var left: [Digest] = []
    var problem: RepositoryError?
    do throws(RepositoryError) { try noteDamage(chain, in: state, at: place) } catch { problem = error }
    do throws(RepositoryError) { left = try noteHarms(chain, subset, rewritten, in: state, at: place) } catch {
      problem = problem ?? error
    }
    do throws(RepositoryError) { try noteDoubts(chain, subset, rewritten, in: state, at: place) } catch {
      problem = problem ?? error
    }
    if let problem { throw problem }
    return left
  }

  /// Of such a pack a version that is whole may need another part.
  private static func noteDamage(
    _ chain: CheckedChain, in state: StateFolder, at place: StorePlace
  ) throws(RepositoryError) {
    var damaged = try DamagedPacks(of: chain.chain, in: state, at: place)
    try damaged.add(chain.spoiltPacks, of: chain.chain, in: state)
  }

  private static func noteHarms(
    _ chain: CheckedChain, _ subset: CheckSubset?, _ rewritten: [Digest], in state: StateFolder, at place: StorePlace
  ) throws(RepositoryError) -> [Digest] {
    let whole = chain.whole.compactMap(\.id)
    var harmed = try HarmedVersions(of: chain.chain, in: state, at: place)
    harmed.remove(whole, seen: proof(chain, subset))
    harmed.remove(rewritten)
    // That a manifest can be read again every check sees.
    let hidden = subset == nil ? [] : Set(chain.spoilt.filter { $0.facts != nil }.compactMap(\.id))
    let before = try? DoubtedVersions(of: chain.chain, in: state, at: place)
    var found: [Digest: HarmedVersions.Harm] = [:]
    for version in chain.harmed {
      guard let id = version.id else { continue }
      let proof: HarmedVersions.Proof = hidden.contains(id) ? .content : .structure
      // A doubt without a harm is a drill's, which does not say what it could not have.
      let isDrilled = before?.contains(id) == true && !harmed.contains(id)
      found[id] = HarmedVersions.Harm(proof, by: isDrilled ? [] : packs(harming: version))
    }
    try harmed.add(found, of: chain.chain, in: state)
    return whole.filter { harmed.contains($0) }
  }

  /// The end of the chain alone: what older versions need a push looks for in no other place.
  private static func noteDoubts(
    _ chain: CheckedChain, _ subset: CheckSubset?, _ rewritten: [Digest], in state: StateFolder, at place: StorePlace
  ) throws(RepositoryError) {
    let whole = chain.whole.compactMap(\.id)
    var doubted = try DoubtedVersions(of: chain.chain, in: state, at: place)
    let settled = whole + chain.whole.map { chain.chain.unknown(at: $0.sequence) }
    doubted.remove(settled, seen: proof(chain, subset))
    doubted.remove(rewritten)
    let newest = chain.versions.last { $0.facts != nil }?.sequence ?? 0
    for version in chain.spoilt where version.sequence >= newest {
      let id = version.id ?? chain.chain.unknown(at: version.sequence)
      // Of a version whose manifest nobody can read no pack was looked at, and this machine may know them all the same: a
      // manifest that can be read again is looked through by any check.
      let isOfStructure = subset == nil || version.facts == nil
      try doubted.add(id, until: isOfStructure ? .structure : .content, of: chain.chain, in: state)
    }
  }

  /// How hard versions that are whole were looked at.
  private static func proof(_ chain: CheckedChain, _ subset: CheckSubset?) -> HarmedVersions.Proof {
    let isReadWhole = subset == .all || subset != nil && chain.packsRead == chain.packs
    return isReadWhole ? .content : .structure
  }

  /// None where something else harms it, too.
  private static func packs(harming version: CheckedVersion) -> Set<Digest> {
    let packs = version.objects.compactMap { text in
      text.hasPrefix(Layout.packs(of: version.chain)) ? ObjectName(text).flatMap(Layout.packDigest) : nil
    }
    return packs.count == version.objects.count ? Set(packs) : []
  }
}
