import Repositories
import Sealing
import Snapshots
import Storage

extension Push {
  /// The targets that need a snapshot; the others have this content already, and say so in the outcome.
  func withoutUnchanged(
    _ request: Request, _ host: String, _ signature: SourceSignature, _ capture: CompanionCapture,
    _ outcome: inout Outcome
  ) async -> [TargetAccess] {
    guard !request.keepsEqual, !request.dryRun else { return request.targets }
    let turns = PushTurns(of: request.database, world)
    var waiting: [TargetAccess] = []
    for target in request.targets {
      // Those that wait are not held up by an answer that may drip: when it is its turn, equal content is found all the same.
      let mayAsk = waiting.isEmpty || turns.began(at: target.name) == nil
      if let version = await unchanged(request, host, signature, capture, at: target, turns, mayAsk: mayAsk) {
        outcome.pushed.append(Pushed(version: version, unchanged: true, dryRun: false))
      } else {
        waiting.append(target)
      }
    }
    return waiting
  }

  /// The version that a target has of a database that did not change since: found by `stat` alone.
  ///
  /// Once in a while three listings prove that the version is still there and still the newest, that the packs are there
  /// that it needs, and that nobody said anything of it since; what was said is read, because it may be that a drill on
  /// another machine could not restore it. A folder is looked at each time, though not at each of its packs.
  func unchanged(
    _ request: Request, _ host: String, _ signature: SourceSignature, _ capture: CompanionCapture,
    at target: TargetAccess, _ turns: PushTurns, mayAsk: Bool
  ) async -> VersionSummary? {
    let path = SourceMemory.path(world, request.database, host: host, store: target.store.traits.identity)
    guard var memory = SourceMemory.read(path), memory.source == .init(request.database), memory.signature == signature,
      memory.companions == capture.digest?.hex, memory.isAsChecked, memory.isOf(target.store.place),
      !isDoubted(memory, at: target)
    else { return nil }
    let now = world.now()
    // A disk may have been changed for another one that is mounted at the same place: that costs no request to see.
    let isFresh = now >= memory.seenAt && now - memory.seenAt < request.verifyRemoteEvery
    // A target's name may be another one since, in the configuration or on the command line.
    memory.version.target = target.name
    memory.version.wordsUnread = true
    if isFresh, !target.store.traits.isLocal {
      // A push that was stopped there was of this content once more: there is none left that could be held up.
      turns.end(at: target.name)
      return memory.version
    }
    guard mayAsk else { return nil }
    let version = await turns.asking(target.name) { [memory] in
      await confirmed(memory, isFresh: isFresh, now: now, at: target, path)
    }
    if version != nil { turns.end(at: target.name) }
    return version
  }

  /// The version that is remembered, where the target shows that it is the newest still.
  /// - Parameters:
  ///   - isFresh: what was said of it need not be asked for.
  ///   - path: of what is remembered.
  private func confirmed(
    _ memory: SourceMemory, isFresh: Bool, now: UInt64, at target: TargetAccess, _ path: String
  ) async -> VersionSummary? {
    guard let chain = ChainID(hex: memory.chain),
      let listed = try? await target.store.list(prefix: Layout.versions(of: chain)),
      memory.isOfNewest(in: ChainListing(chain: chain, objects: listed))
    else { return nil }
    var seen = memory
    guard await opens(&seen, at: target), await holdsPacks(&seen, of: chain, isFresh: isFresh, at: target) else {
      return nil
    }
    if !isFresh {
      guard let annotations = await harmlessAnnotations(of: memory, at: target) else { return nil }
      (seen.annotations, seen.seenAt) = (annotations, now)
    }
    if !isFresh || !seen.showsSame(as: memory) { seen.write(path) }
    return memory.version
  }

  /// Whether a folder has what the repository is opened with. Where that is other than before, it is opened: a key may have
  /// been added, or the last keyring lost. At a server that would be three more requests.
  private func opens(_ memory: inout SourceMemory, at target: TargetAccess) async -> Bool {
    guard target.store.traits.isLocal else { return true }
    guard let opening = await target.openingListed() else { return false }
    if opening == memory.opening { return true }
    guard (try? await target.open(world)) != nil else { return false }
    memory.opening = opening
    return true
  }

  /// Whether the packs are there that the version needs. At a folder, which looks at each file that it lists, one of them
  /// stands for all from one listing to the next.
  private func holdsPacks(
    _ memory: inout SourceMemory, of chain: ChainID, isFresh: Bool, at target: TargetAccess
  ) async -> Bool {
    if isFresh, await isThere(memory.listed?.sample, of: chain, at: target) { return true }
    guard let listed = await packsListed(with: memory, of: chain, at: target) else { return false }
    memory.listed = listed
    return true
  }

  private func isThere(_ pack: SourceMemory.Packs.Sample?, of chain: ChainID, at target: TargetAccess) async -> Bool {
    guard let pack, let name = Hex.decode(pack.name).flatMap({ Digest($0) }),
      let shown = try? await target.store.head(Layout.pack(name, of: chain))
    else { return false }
    return shown.size == pack.length
  }

  /// What the listing of the chain's packs comes to; `nil` when one is missing or cut that the version needs, or when that
  /// cannot be known. Which it needs is asked for, with a key, only where the listing is another one than before: a prune
  /// takes what no version needs.
  private func packsListed(
    with memory: SourceMemory, of chain: ChainID, at target: TargetAccess
  ) async -> SourceMemory.Packs? {
    guard let objects = try? await target.store.list(prefix: Layout.packs(of: chain)) else { return nil }
    let listing = PackListing(objects, of: chain)
    let listed = SourceMemory.Packs(listing)
    if listed.digest == memory.listed?.digest { return listed }
    guard let name = ObjectName(memory.object).flatMap(VersionName.init),
      let repository = try? await target.open(world),
      let state = try? StateFolder(world.stateFolder, repository: repository.id),
      let manifest = try? await repository.readManifest(name, state: state),
      let needed = try? await repository.packs(of: manifest.facts, state: state),
      listing.holds(needed)
    else { return nil }
    return listed
  }

  /// Only a settled signature proves anything: a write within the clock's grain would not show.
  /// - Parameter opening: what a folder listed to open the repository with, before it was opened.
  func remember(
    _ version: VersionSummary, _ result: PushSession.Result, _ source: SourceMemory.Source, _ snapshot: Snapshot,
    _ companions: Digest?, _ repository: Repository, openedWith opening: String?, at path: String
  ) {
    guard snapshot.source.isSettled else { return }
    let manifest = result.manifest
    let memory = SourceMemory(
      source: source, signature: snapshot.source, companions: companions?.hex, repository: repository.id.hex,
      chain: manifest.name.chain.hex,
      object: manifest.name.objectName.text, version: version, seenAt: world.now(),
      release: version.notCheckable ? CheckOutcome.release : nil,
      listed: result.listed.map(SourceMemory.Packs.init), opening: opening, place: repository.place.name)
    memory.write(path)
  }

  /// A drill on this machine could not restore the version that is remembered, or the one before it, or a check found it
  /// harmed, there or at a place that nobody noted; or that is not known.
  private func isDoubted(_ memory: SourceMemory, at target: TargetAccess) -> Bool {
    guard let repository = RepositoryID(hex: memory.repository), let chain = ChainID(hex: memory.chain) else {
      return true
    }
    let state = StateFolder(reading: world.stateFolder, repository: repository)
    let place = target.store.place
    guard let version = Hex.decode(memory.version.id).flatMap({ Digest($0) }),
      let harmed = try? HarmedVersions(of: chain, in: state, at: place), !harmed.contains(version)
    else { return true }
    return (try? DoubtedVersions(of: chain, in: state, at: place).isEmpty) != true
  }

  /// What the names of a chain's annotations come to; `nil` when one of them says that the version is damaged, or when
  /// that cannot be known.
  private func harmlessAnnotations(of memory: SourceMemory, at target: TargetAccess) async -> String? {
    guard let chain = ChainID(hex: memory.chain),
      let listed = try? await target.store.list(prefix: Layout.annotations(of: chain))
    else { return nil }
    let names = Digest.sha256(of: Array(listed.map(\.name.text).sorted().joined(separator: "\n").utf8)).hex
    if names == memory.annotations { return names }
    // Nobody deletes one: where some were listed once, nothing says that none of them told of damage.
    if listed.isEmpty { return memory.annotations == nil ? names : nil }
    guard let version = Hex.decode(memory.version.id).flatMap({ Digest($0) }),
      let repository = try? await target.open(world),
      let state = try? StateFolder(world.stateFolder, repository: repository.id),
      let said = try? await repository.annotations(
        of: chain, listed: RecordListing(objects: listed), state: state),
      said.damage(of: Annotations.Subject(sequence: memory.version.sequence, id: version)) == nil
    else { return nil }
    return names
  }
}

extension SourceMemory {
  /// Whether the SQLite that works here says of the version what is remembered: a later one may be able to check what an
  /// earlier one could not, and to find damage in it.
  fileprivate var isAsChecked: Bool { !version.notCheckable || release == CheckOutcome.release }

  /// Whether it was pushed there, and not to where a link led before.
  fileprivate func isOf(_ place: StorePlace) -> Bool { self.place.map { $0 == place.name } ?? true }

  /// Whether the target showed the same packs, and opens with the same.
  fileprivate func showsSame(as other: SourceMemory) -> Bool { listed == other.listed && opening == other.opening }

  /// Whether the version that is remembered is there, and none after it. A machine that was put back to an earlier state
  /// remembers what was the newest then.
  fileprivate func isOfNewest(in listing: ChainListing) -> Bool {
    listing.versions.contains { $0.sequence == listing.highestSequence && $0.objectName.text == object }
  }
}
