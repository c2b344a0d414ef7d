package import Sealing
import Storage

/// The slots of a repository: each wraps the one master key with another secret.
package struct KeySlots: Sendable {
  package struct Entry: Sendable {
    package let name: NumberedName
    /// `nil` where no copy of it is whole.
    package let derivation: KeySlot.Derivation?
    package let createdAt: UInt64?
    /// As people name it: the first 8 hexadecimal digits of its hash.
    package var id: String { KeySlots.id(of: name) }
    package var isDamaged: Bool { derivation == nil }
  }

  let repository: Repository

  package init(of repository: Repository) { self.repository = repository }

  static func id(of name: NumberedName) -> String { String(name.digest.hex.prefix(8)) }

  /// Every slot that belongs to this repository, oldest first, and those that are damaged, whosever they were.
  package func list() async throws -> [Entry] {
    var entries: [Digest: Entry] = [:]
    var others: Set<Digest> = []
    for name in try await names().sorted(by: { $0.number < $1.number }) where entries[name.digest]?.isDamaged != false {
      switch try await look(at: name) {
      case .own(let slot):
        entries[name.digest] = Entry(name: name, derivation: slot.derivation, createdAt: slot.createdAt)
      case .damaged where entries[name.digest] == nil && !others.contains(name.digest):
        entries[name.digest] = Entry(name: name, derivation: nil, createdAt: nil)
      case .damaged, .gone: break
      case .another:
        others.insert(name.digest)
        entries[name.digest] = nil
      }
    }
    return entries.values.sorted { ($0.name.number, $0.name.digest.hex) < ($1.name.number, $1.name.digest.hex) }
  }

  /// What lies under the name of a slot.
  private enum Look {
    case own(KeySlot.Description)
    /// Of another repository, or of a later format.
    case another
    case damaged
    case gone
  }

  private func look(at name: NumberedName) async throws -> Look {
    guard name.length <= KeySlot.longest else { return .damaged }
    guard let bytes = try await repository.store.left(of: name.objectName) else { return .gone }
    guard Digest.sha256(of: bytes) == name.digest else { return .damaged }
    do throws(SealError) {
      let description = try KeySlot.describe(bytes)
      return description.repository == repository.id ? .own(description) : .another
    } catch {
      return error.isLater ? .another : .damaged
    }
  }

  /// The names of all slots, also of those that are cut; each slot has two.
  private func names() async throws -> [NumberedName] {
    try await repository.store.list(prefix: Layout.slots).compactMap { NumberedName($0.name, prefix: Layout.slots) }
  }

  /// Adds a slot for another secret: written under a new name, read back, opened. Nothing that was there is touched.
  /// - Parameter current: the secret that opened the repository; it opens the slot whose master key is wrapped anew.
  package func add(_ secret: SlotSecret, current: SlotSecret, cost: SlotCost, now: UInt64) async throws -> Entry {
    let held = try await repository.store.get(repository.slot.objectName, range: nil)
    let master = try KeySlot.open(held, secret: current, repository: repository.id)
    let bytes = try KeySlot.seal(
      master: master, secret: secret, repository: repository.id, cost: cost, createdAt: now, random: repository.random)
    let highest = try await names().map(\.number).max() ?? 0
    let name = try await Self.store(
      bytes, secret: secret, repository: repository.id, after: highest, at: repository.store)
    return Entry(name: name, derivation: try KeySlot.describe(bytes).derivation, createdAt: now)
  }

  /// Removes the slot named by an unambiguous prefix of its id; never the last one, also where machines remove one another's
  /// at once, and die of it: of its two copies the first goes, and the second only when another slot still has both of its
  /// own. Whoever looks last of all finds none that has, and puts back what it took. One that is damaged is no other one, and
  /// may go.
  /// - Throws: `.noSuchVersion`, `.slotNeeded`, `.conflict`; `StoreError`.
  package func remove(_ prefix: String, force: Bool) async throws -> Entry {
    let entries = try await list()
    let matching = entries.filter { $0.name.digest.hex.hasPrefix(prefix.lowercased()) }
    guard !prefix.isEmpty, let entry = matching.first, matching.count == 1 else {
      throw RepositoryError(
        .noSuchVersion,
        matching.isEmpty ? "no key slot is called '\(prefix)'" : "'\(prefix)' names \(matching.count) key slots",
        hint: "`sealift key list` shows them.")
    }
    guard entries.contains(where: { !$0.isDamaged && $0.name.digest != entry.name.digest }) else {
      throw RepositoryError(
        .slotNeeded, "\(entry.id) is the only key slot: without it nothing can ever be read again",
        hint: "Add another key first with `sealift key add`.")
    }
    guard force || entry.name.digest != repository.slot.digest else {
      throw RepositoryError(
        .slotNeeded, "\(entry.id) is the key slot in use",
        hint: "Use another key to remove it, or say --force.")
    }
    guard try await isAnotherWhole(than: entry.name.digest) else {
      throw RepositoryError(
        .slotNeeded, "no other key slot has both of its copies: one of them lost would leave nothing",
        hint: "`sealift repair` stores the second copy again; if another machine is removing a key now, let it end.")
    }
    let held = try await entry.isDamaged ? nil : repository.store.get(entry.name.objectName, range: nil)
    let copies = try await names().filter { $0.digest == entry.name.digest }
    for (index, copy) in copies.enumerated() {
      try await delete(copy)
      if index == 0, try await !isAnotherWhole(than: entry.name.digest), let held { try await putBack(held, at: copy) }
    }
    // A repair on another machine may have stored it again meanwhile.
    for copy in try await names() where copy.digest == entry.name.digest { try await delete(copy) }
    return entry
  }

  /// Takes away what a repair has just stored of a slot, where another machine has removed that slot meanwhile and has said so.
  /// Whoever removes one looks for its copies last of all, and has not seen what came behind that. As `remove`, it never takes
  /// the last one.
  /// - Parameters:
  ///   - first: the first of the two new names.
  ///   - copies: those that were there before.
  /// - Returns: whether it was removed.
  /// - Throws: `.conflict` when it cannot be deleted; `StoreError`.
  func takeBack(_ bytes: [UInt8], _ first: NumberedName, beside copies: [NumberedName]) async throws -> Bool {
    for copy in copies where try await repository.store.head(copy.objectName)?.size == copy.length { return false }
    guard try await isAnotherWhole(than: first.digest) else { return false }
    let second = NumberedName(
      prefix: first.prefix, number: first.number + 1, length: first.length, digest: first.digest)
    do {
      try await delete(first)
      guard try await isAnotherWhole(than: first.digest) else {
        try await repository.store.put(ObjectBody(bytes), at: first.objectName, ifAbsent: false)
        return false
      }
      try await delete(second)
    } catch let error as StoreError where error.code == .forbidden {
      let id = Self.id(of: first)
      throw RepositoryError(
        .conflict, "key slot \(id) was removed while it was stored anew, and is there again",
        hint: "Remove it again with credentials that may delete: `sealift key remove \(id)`.", cause: error)
    }
    return true
  }

  /// Whoever has that key opens the repository as long as the slot is there.
  private func delete(_ copy: NumberedName) async throws {
    try await repository.store.delete(copy.objectName)
    try await repository.store.demandGone(copy.objectName)
  }

  /// Another slot has two copies that can be read.
  private func isAnotherWhole(than digest: Digest) async throws -> Bool {
    var copies: [Digest: Int] = [:]
    for name in try await names() where name.digest != digest {
      guard case .own = try await look(at: name) else { continue }
      copies[name.digest, default: 0] += 1
      if copies[name.digest] == 2 { return true }
    }
    return false
  }

  private func putBack(_ slot: [UInt8], at copy: NumberedName) async throws {
    try await repository.store.put(ObjectBody(slot), at: copy.objectName, ifAbsent: false)
    throw RepositoryError(
      .conflict, "another machine removed the other keys at the same time: this one was put back, as the last one",
      hint: "`sealift key list` shows what there is.")
  }

  /// Puts a slot, reads it back and opens it: only then may an old one go.
  static func store(
    _ bytes: [UInt8], secret: SlotSecret, repository: RepositoryID, after highest: UInt64, at store: any ObjectStore
  ) async throws -> NumberedName {
    let name = try await RepositoryFiles.putTwice(bytes, below: Layout.slots, after: highest, at: store)
    let back = try await store.get(name.objectName, range: nil)
    do throws(SealError) {
      if back == bytes {
        _ = try KeySlot.open(back, secret: secret, repository: repository)
        return name
      }
    } catch  where error.code == .failed {
      throw error
    } catch {}
    throw RepositoryError(
      .damaged, "the key slot just written to \(store.traits.location) cannot be read back",
      hint: "Run `sealift doctor` on this target.")
  }
}
