import Sealing
import Storage

/// The records of a chain: tombstones, condemned records, annotations. Each must be whole and authentic; one that is not
/// there any more leaves no trace of its own: of annotations this machine may know (`lostWords`).
struct RecordsLook {
  private let repository: Repository
  private let chain: ChainID
  private(set) var findings: [CheckFinding] = []
  /// Packs, and manifests, that are about to be deleted.
  private(set) var condemned: Set<Digest> = []
  /// Annotations that say that a version was found damaged, or whole again.
  private(set) var damage: [Said] = []
  private var notes = RecordListing.empty

  typealias Said = (name: RecordName, annotation: Annotation, epoch: UInt32)

  init(_ repository: Repository, of chain: ChainID) async throws {
    self.repository = repository
    self.chain = chain
    try await look(.tombstone, below: Layout.tombstones(of: chain))
    try await look(.annotation, below: Layout.annotations(of: chain))
    try await look(.condemned, below: Layout.condemned(of: chain))
  }

  /// What this machine said of versions, or has read of them, and is not listed. Another command of it may have said it
  /// behind the listing: it is looked for once more. Where nobody can read what this machine has said, that is not told here.
  func lostWords(in state: StateFolder) async throws -> RepositoryError? {
    do throws(RepositoryError) {
      try OwnWords(of: chain, in: state).demandAll(among: notes)
      return nil
    } catch {
      guard error.code == .hole else { return nil }
    }
    do {
      try await RecordListings(repository.store).demandOwnWords(of: chain, state: state)
      return nil
    } catch let error as RepositoryError {
      return error.code == .hole ? error : nil
    }
  }

  private mutating func look(_ kind: ObjectKind, below prefix: String) async throws {
    var names: [RecordName] = []
    let listed = try await repository.store.list(prefix: prefix)
    if kind == .annotation { notes = RecordListing(objects: listed) }
    for info in listed {
      guard let name = RecordName(info.name, prefix: prefix) else { continue }
      if name.length == info.size {
        names.append(name)
      } else {
        findings.append(
          CheckFinding(
            name.objectName, .cut, "\(Self.title(kind)) is cut, or was never stored to its end",
            hint:
              "Nobody reads it. Bring it back from a copy of the target, or say again what is missing (`sealift list` tells), and remove the object by hand."
          ))
      }
    }
    let looks = try await bounded(
      names, atOnce: repository.store.traits.concurrency, within: Limits.object, of: { $0.length }
    ) { [repository, chain] name in
      try await Self.look(name, kind, of: chain, in: repository)
    }
    for look in looks {
      if let finding = look.finding { findings.append(finding) }
      condemned.formUnion(look.condemned)
      if let said = look.damage { damage.append(said) }
    }
  }

  private typealias Look = (finding: CheckFinding?, condemned: [Digest], damage: Said?)

  private static func look(
    _ name: RecordName, _ kind: ObjectKind, of chain: ChainID, in repository: Repository
  ) async throws -> Look {
    // A prune may have merged it into another since the listing.
    guard let bytes = try await repository.store.left(of: name.objectName) else { return (nil, [], nil) }
    var isOpen = false
    do {
      let object = try OpenedObject.open(bytes, kind: kind, name: name.digest, keys: repository.keys)
      isOpen = true
      let meta = object.directory.meta
      switch kind {
      case .tombstone: return (try wrong(Tombstone(decoding: meta).chain == chain, name, kind), [], nil)
      case .annotation:
        let annotation = try Annotation(decoding: meta)
        var damage: Said?
        if annotation.items.contains(where: { $0.kind == .foundDamaged }) { damage = (name, annotation, object.epoch) }
        return (wrong(annotation.chain == chain, name, kind), [], damage)
      default:
        let record = try CondemnedRecord(decoding: meta)
        return (wrong(record.chain == chain, name, kind), record.chain == chain ? record.packs : [], nil)
      }
    } catch let error where error.isLater {
      // What an annotation says that nobody knows here is passed over on purpose (`Docs/Format.md` §8.3).
      let isPassedOver = isOpen && kind == .annotation
      return (CheckFinding.later(name.objectName, title(kind), isPassedOver: isPassedOver), [], nil)
    } catch {
      guard error.isDamage else { throw error }
      return (
        CheckFinding(name.objectName, .damaged, "\(title(kind)) cannot be read: \(error)", hint: hint(kind)), [], nil
      )
    }
  }

  private static func wrong(_ isOfChain: Bool, _ name: RecordName, _ kind: ObjectKind) -> CheckFinding? {
    isOfChain ? nil : CheckFinding(name.objectName, .wrong, "\(title(kind)) belongs to another chain")
  }

  private static func hint(_ kind: ObjectKind) -> String {
    let what = kind == .condemned ? "pushed" : "forgotten or pruned"
    let stays = "Nothing is \(what) until it is brought back from a copy of the target, or removed by hand."
    return kind == .annotation ? "\(stays) \(RepositoryError.sayAgainAndRemove)" : stays
  }

  private static func title(_ kind: ObjectKind) -> String {
    switch kind {
    case .tombstone: "a tombstone"
    case .annotation: "an annotation"
    default: "a condemned record"
    }
  }
}
