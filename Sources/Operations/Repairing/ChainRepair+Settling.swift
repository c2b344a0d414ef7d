import Repositories
import Sealing
import Storage

/// What is known of versions that a repair has written anew, and of packs that it met on the way.
extension ChainRepair {
  /// Versions that need some frame of damaged packs. As long as whole ones do, of which other frames are damaged, no prune
  /// takes such a pack, and every check finds it.
  func versions(of all: [CheckedVersion], needing damaged: Set<Digest>) async throws -> [Needing] {
    guard !damaged.isEmpty else { return [] }
    var leaning: [Needing] = []
    for version in all {
      guard let facts = version.facts, let packs = try await repository.packs(of: facts, state: state) else { continue }
      if packs.contains(where: { damaged.contains($0.name) }) {
        leaning.append(Needing(version: version, id: facts.id, packs: Set(packs.map(\.name))))
      }
    }
    return leaning
  }

  /// Versions that were written anew before it was seen that packs which they need are spoilt: whether they need what is
  /// spoilt of them nobody has looked.
  var withdrawn: [Needing] { saved.filter { !$0.packs.isDisjoint(with: unnamed) } }

  /// Says of the versions that were written anew what is known at the end: some later one may have been read from a pack
  /// that is spoilt, and that one of them needs.
  mutating func settle(_ annotations: Annotations, _ outcome: inout RepairRepository.Outcome) async throws {
    let ids = Set(withdrawn.compactMap(\.id).map(\.hex))
    outcome.saved.removeAll { version in version.id.map { ids.contains($0) } ?? false }
    // None of these waits for another one: what fails is told when all were tried.
    var problem: (any Error)?
    do { try remember(withdrawn) } catch { problem = error }
    do { try await tellUnnamed(&outcome) } catch { problem = problem ?? error }
    do { try await tellSaved(annotations) } catch { problem = problem ?? error }
    if let problem { throw problem }
  }

  /// Takes back what was known of versions that are written anew. What was said of one of them stands again where a spoilt
  /// pack that it needs was met since.
  mutating func tellSaved(_ annotations: Annotations) async throws {
    guard !request.dryRun else { return }
    for version in saved where version.version.isHarmed {
      guard let id = version.id else { continue }
      let isWhole = version.packs.isDisjoint(with: unnamed)
      if let before = takenBack[id] {
        guard !isWhole else { continue }
        try await putBack(before, of: version.version, id, annotations)
        takenBack[id] = nil
      } else if isWhole {
        takenBack[id] = try await takeBack(of: version.version, id, annotations)
      }
    }
  }

  private func takeBack(
    of version: CheckedVersion, _ id: Digest, _ annotations: Annotations
  ) async throws -> TakenBack {
    let doubted = try? DoubtedVersions(of: chain.chain, in: state, at: repository.place)
    takeBackDoubts(of: id)
    return TakenBack(time: try await unflag(version, annotations), isDoubted: doubted?.contains(id) ?? false)
  }

  /// That it is harmed this machine remembers by now. The word must be later than the one that took it back.
  private func putBack(
    _ before: TakenBack, of version: CheckedVersion, _ id: Digest, _ annotations: Annotations
  ) async throws {
    if before.isDoubted, var doubted = try? DoubtedVersions(of: chain.chain, in: state, at: repository.place) {
      try? doubted.add(id, of: chain.chain, in: state)
    }
    guard let time = before.time, let facts = version.facts, let damage = annotations.damage(of: facts) else { return }
    let now = annotations.time(for: facts, now: max(world.now(), time == .max ? time : time + 1))
    try await repository.annotate(facts, [.init(.foundDamaged, damage)], now: now, state: state)
  }

  /// Tells of packs that were found spoilt only while versions were read to be saved, as long as some version needs them.
  private func tellUnnamed(_ outcome: inout RepairRepository.Outcome) async throws {
    guard !unnamed.isEmpty else { return }
    let anew = Set(saved.map(\.version.sequence))
    let others = try await versions(of: chain.whole, needing: unnamed).filter { !anew.contains($0.version.sequence) }
    let lost = try await versions(of: chain.harmed, needing: unnamed).filter { !anew.contains($0.version.sequence) }
    for pack in unnamed.sorted() {
      let mendable = (others + withdrawn).filter { $0.packs.contains(pack) }
      // What is lost is told already: it names a pack that nothing else would.
      let needing = mendable.isEmpty ? lost.filter { $0.packs.contains(pack) } : mendable
      guard let first = needing.first else { continue }
      let id = first.id.map { String($0.hex.prefix(8)) } ?? "\(first.version.sequence)"
      let who = needing.count == 1 ? "version \(id) needs" : "version \(id) and \(needing.count - 1) more need"
      let object = Layout.pack(pack, of: chain.chain).text
      outcome.failures.append(
        OperationError(
          .verificationFailed, code: "damaged", "\(object) is damaged, too, and \(who) it still",
          hint: mendable.isEmpty
            ? "`sealift repair` reads all of that version, and says what of it is lost."
            : "`sealift --target \(shellWord(target.name)) repair --pack \(object)` writes anew what needs it."))
    }
  }

  /// Until somebody reads them whole, or they are written anew once more, they may be harmed. A dry run wrote none.
  func remember(_ versions: [Needing]) throws {
    var found: [Digest: HarmedVersions.Harm] = [:]
    for version in versions {
      guard let id = version.id else { continue }
      found[id] = HarmedVersions.Harm(.content, by: version.packs.intersection(unnamed))
    }
    guard !found.isEmpty else { return }
    var harmed = try HarmedVersions(of: chain.chain, in: state, at: repository.place)
    try harmed.add(found, of: chain.chain, in: state)
  }
}
