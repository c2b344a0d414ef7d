import Sealing
import Storage

/// The content of a chain's versions: tables, maps, packs.
struct ContentCheck {
  private let repository: Repository
  private let chain: ChainID
  /// In bytes, of the packs that are there.
  private var sizes: [Digest: Int]
  private let condemned: Set<Digest>
  /// Packs that somebody says are damaged: they are not even looked at. Where there are some, versions that need
  /// nothing damaged are taken for whole.
  private let suspects: Set<Digest>
  /// By place, manifests of which only a newer program can say whether they are the ones that count there.
  private let unjudged: [UInt64: [VersionName]]
  private let spool: ScratchSpool
  private let folder: String
  private let frames: ChainFrames

  /// Versions that count, with the numbers of their manifests' own objects.
  private var versions: [(object: UInt32, manifest: HeldManifest)] = []
  /// Packs that versions which count need.
  private var needed: [Digest: PackEntry] = [:]
  /// Everything that any manifest refers to.
  private var referenced: Set<Digest> = []
  private var findings: [Digest: CheckFinding] = [:]
  private var manifestFindings: [CheckFinding] = []
  private var reading: (fingerprints: FileTable<UInt8>, outcome: PackReading.Outcome)?
  private var judged: [CheckedVersion] = []

  /// - Throws: `.stateFolder`.
  init(
    _ repository: Repository, _ chain: ChainID, sizes: [Digest: Int], condemned: Set<Digest>,
    suspects: Set<Digest>, unjudged: [VersionName], spool: ScratchSpool, folder: String
  ) throws {
    self.repository = repository
    self.chain = chain
    self.sizes = sizes
    self.condemned = condemned
    self.suspects = suspects
    self.unjudged = Dictionary(grouping: unjudged, by: \.sequence)
    self.spool = spool
    self.folder = folder
    frames = try ChainFrames(in: folder)
  }

  // MARK: Structure

  /// Learns which packs are needed, and what they say of themselves. Each is looked at once, however many versions need it.
  /// - Parameter onProgress: bytes of directories looked at since the last call.
  mutating func load(
    _ held: [VersionName: HeldManifest], counting: [VersionFacts], onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let names = Set(counting.map(\.name))
    let all = held.values.sorted { ($0.facts.sequence, $0.facts.revision) < ($1.facts.sequence, $1.facts.revision) }
    var holders: [Digest: PackEntry] = [:]
    for manifest in all {
      for holder in PackTableLook.holders(of: try manifest.open(in: spool, repository)) {
        holders[holder.name] = holder
        referenced.insert(holder.name)
        if names.contains(manifest.facts.name) { needed[holder.name] = holder }
      }
    }
    try await load(Array(holders.values), onProgress)

    let decoder = FrameDecoder(keys: repository.keys)
    for manifest in all {
      let opened = try manifest.open(in: spool, repository)
      let table = try PackTableLook(of: opened, frames: frames, spool: spool, with: decoder)
      referenced.formUnion(table.entries.map(\.name))
      guard names.contains(manifest.facts.name) else { continue }
      for entry in table.entries { needed[entry.name] = entry }
      versions.append((try add(opened, with: decoder), manifest))
    }
    try await load(needed.values.filter { holders[$0.name] == nil }, onProgress)
    for (name, _) in needed where condemned.contains(name) && findings[name] == nil {
      findings[name] = CheckFinding(
        Layout.pack(name, of: chain), .condemned, "a prune noted a pack for deletion that a version needs",
        hint: "A prune that sees the version does not delete it. The next push stores what it holds anew.")
    }
  }

  /// A manifest's own frames: riders, and nodes.
  private func add(_ manifest: StoredManifest, with decoder: FrameDecoder) throws -> UInt32 {
    let object = frames.intern(manifest.name.digest)
    var content: [Int: Int] = [:]
    for (index, record) in manifest.object.directory.frames.enumerated() where record.type == .node {
      guard let plain = try unlessDamaged({ try manifest.object.decodeFrame(index, with: decoder) }) else { continue }
      content[index] = try spool.add(plain).lowerBound
    }
    try frames.add(object, manifest.object.directory, content: content)
    return object
  }

  private mutating func load(_ entries: [PackEntry], _ onProgress: @escaping @Sendable (Int) -> Void) async throws {
    for entry in entries where suspects.contains(entry.name) {
      _ = frames.intern(entry.name, entry)
      findings[entry.name] = CheckFinding(Layout.pack(entry.name, of: chain), .damaged, "a pack is said to be damaged")
    }
    let ordered = entries.filter { !suspects.contains($0.name) }.sorted { ($0.number, $0.name) < ($1.number, $1.name) }
    // A few at a time: a directory is large.
    for start in stride(from: 0, to: ordered.count, by: 16) {
      let group = Array(ordered[start..<min(start + 16, ordered.count)])
      let looks = try await bounded(group, atOnce: repository.store.traits.concurrency) {
        [repository, chain, sizes, spool] entry in
        let look = try await PackLook(
          entry, size: sizes[entry.name], chain: chain, repository: repository, spool: spool)
        onProgress(Int(entry.directoryLength))
        return look
      }
      for look in looks {
        let object = frames.intern(look.entry.name, look.entry)
        if let finding = look.finding { findings[look.entry.name] = finding }
        // A listing may come late. What is there all the same is to be read too.
        if let size = look.size { sizes[look.entry.name] = size }
        if let directory = look.directory { try frames.add(object, directory, content: look.nodes) }
      }
    }
  }

  // MARK: Data

  /// Reads packs that versions which count need.
  mutating func read(
    _ subset: CheckSubset, _ left: inout Int, onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let there = sizes.filter { needed[$0.key] != nil && !suspects.contains($0.key) }
    let chosen = try subset.choice(of: there, left: &left) { () throws(RepositoryError) in
      try ReadingWeight(frames, in: folder)
    }
    // Riders rest on packs; they are decoded when all of those are.
    let plan = try ReadingPlan(
      chosen, manifests: chosen.count == there.count ? versions : [], of: frames, in: folder)
    let packs = try PackReading(plan, of: frames, repository, chain: chain, spool: spool, in: folder)
    let outcome = try await packs.run(onProgress: onProgress)
    for (name, finding) in outcome.findings {
      if needed[name] == nil {
        manifestFindings.append(finding)
      } else if findings[name]?.isDamage != true {
        // Only now all of its bytes were compared with its name.
        findings[name] = finding
      }
    }
    reading = (packs.fingerprints, outcome)
  }

  // MARK: Judgement

  /// Follows every version, and says which are harmed, and by what.
  mutating func judge() throws {
    let marks = try FrameMarks(frames: frames.count, in: folder)
    let decoder = FrameDecoder(keys: repository.keys)
    for (object, held) in versions {
      try Task.checkCancellation()
      let manifest = try held.open(in: spool, repository)
      guard let core = manifest.core else { continue }
      let table = try PackTableLook(of: manifest, frames: frames, spool: spool, with: decoder)
      guard mayBeHarmed(manifest, table) else {
        judged.append(checked(held.facts))
        continue
      }
      var walk = VersionWalk(
        manifest, core, own: object, frames: frames, spool: spool, marks: marks,
        fingerprints: reading?.fingerprints, keys: repository.keys)
      try walk.follow(table)
      judge(walk, held.facts, own: object)
    }
  }

  /// Whoever names a pack waits until the versions that need it are known, and to follow one takes a second: years of
  /// hourly ones took hours before the first page was saved.
  private func mayBeHarmed(_ manifest: StoredManifest, _ table: PackTableLook) -> Bool {
    guard !suspects.isEmpty, table.lost.isEmpty, table.wrong == nil, !table.isLater else { return true }
    return (table.entries + PackTableLook.holders(of: manifest)).contains { findings[$0.name] != nil }
  }

  private func checked(
    _ facts: VersionFacts, objects: [String] = [], later: [String] = [], sparesDatabase: Bool = false
  ) -> CheckedVersion {
    CheckedVersion(
      chain: chain, sequence: facts.sequence, id: facts.id, facts: facts, objects: objects, later: later,
      sparesDatabase: sparesDatabase && !objects.isEmpty)
  }

  private mutating func judge(_ walk: VersionWalk, _ facts: VersionFacts, own: UInt32) {
    let place = facts.name.objectName
    var objects = walk.harm.filter { !isLater($0) }.map { name(of: $0, own: own, place) }.sorted()
    var later = walk.harm.filter { isLater($0) }.map { name(of: $0, own: own, place) }.sorted()
    if walk.isLater {
      manifestFindings.append(CheckFinding.later(place, "a pack table"))
      later.append(place.text)
    }
    if let wrong = walk.wrong {
      manifestFindings.append(CheckFinding(place, .wrong, wrong))
      objects.append(place.text)
    }
    if objects.isEmpty, later.isEmpty, let dear = Self.costliness(of: walk) {
      manifestFindings.append(CheckFinding(place, .costly, dear))
    }
    if !objects.isEmpty, let others = unjudged[facts.sequence] {
      // What harms this revision need not harm the version.
      (objects, later) = ([], later + others.map(\.objectName.text))
    }
    judged.append(checked(facts, objects: objects, later: later, sparesDatabase: walk.sparesDatabase))
  }

  /// Whether nothing but its format keeps a pack from being read.
  private func isLater(_ object: UInt32) -> Bool { findings[frames.objects[Int(object)].name]?.kind == .later }

  private func name(of object: UInt32, own: UInt32, _ place: ObjectName) -> String {
    object == own ? place.text : Layout.pack(frames.objects[Int(object)].name, of: chain).text
  }

  /// What the manifest says that restoring costs, and how much that may be. Small versions may cost anything.
  private static func costliness(of walk: VersionWalk) -> String? {
    var cost = walk.cost
    let body = walk.manifest.body
    // Three times the length that a manifest states may be more than can be counted.
    cost.length = min(cost.length, .max / 3)
    if body.bytesDecoded != UInt64(cost.decoded) || body.bytesFetched != UInt64(cost.fetched) {
      return
        "restoring it decodes \(cost.decoded) and fetches \(cost.fetched) bytes, not \(body.bytesDecoded) and \(body.bytesFetched) as it says"
    }
    guard cost.decoded > 4 << 20 else { return nil }
    if cost.decoded > 3 * cost.length { return "restoring it decodes more than three times its length" }
    guard cost.wholeDecoded > 0 else { return nil }
    let whole = Double(cost.wholeFetched) / Double(cost.wholeDecoded) * Double(cost.content)
    return Double(cost.fetched) > 2 * max(whole, 1_048_576)
      ? "restoring it fetches more than twice what it would take whole" : nil
  }

  func report(to checked: inout CheckedChain) {
    let ofPacks = findings.filter { needed[$0.key] != nil }
    checked.findings += ofPacks.values + manifestFindings
    checked.versions += judged
    checked.packs = needed.count
    checked.packsRead = reading?.outcome.packs ?? 0
    checked.bytesRead = reading?.outcome.bytes ?? 0
    let idle = sizes.filter { !referenced.contains($0.key) }
    checked.unreferenced = idle.count
    checked.unreferencedBytes = idle.values.clampedSum
    let damaged = ofPacks.filter { $0.value.isDamage }
    checked.damagedPacks = damaged.keys.sorted()
    checked.spoiltPacks = damaged.filter { !$0.value.isGone }.keys.sorted()
  }
}
