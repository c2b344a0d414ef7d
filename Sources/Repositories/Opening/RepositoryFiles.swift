package import Sealing
package import Storage

/// Making a repository, and finding those that are there.
package enum RepositoryFiles {
  /// The ids of the repositories at a store, in the order of their names.
  /// - Throws: `.unsupported` for a file that is none of ours and whole; `StoreError`.
  package static func read(from store: any ObjectStore) async throws -> [RepositoryID] {
    let (found, stranger) = try await look(at: store)
    if let stranger { throw stranger }
    return found
  }

  /// The same for who opens one: anybody may put a file there that says nothing, or that its format is newer. It counts
  /// where nothing else can be opened.
  /// - Returns: also what is wrong with such a file.
  static func look(at store: any ObjectStore) async throws -> (found: [RepositoryID], stranger: RepositoryError?) {
    var found: [RepositoryID] = []
    var stranger: RepositoryError?
    for info in try await store.list(prefix: Layout.repositories).sorted(by: { $0.name < $1.name }) {
      guard let name = RepositoryFileName(info.name), name.length == info.size,
        let bytes = try await store.left(of: info.name)
      else { continue }
      // A damaged file still has its name, and the id in it is proved by the slot that opens.
      if Digest.sha256(of: bytes) == name.digest {
        guard let file = try? RepositoryFile(decoding: bytes), file.repository == name.repository else {
          stranger = RepositoryError(
            .unsupported, "\(info.name) was not written in a format this program knows",
            hint: "Install a newer sealift. If nobody has one, somebody put that object there: remove it.")
          continue
        }
      }
      if !found.contains(name.repository) { found.append(name.repository) }
    }
    return (found, stranger)
  }

  /// Whether versions lie at a store, of any repository: then there is one, whatever became of its file.
  package static func areVersions(at store: any ObjectStore) async throws -> Bool {
    try await store.list(prefix: Layout.versions).contains { VersionName($0.name) != nil }
  }

  /// Whether versions of this repository lie at a store. What a manifest says of itself is enough: one that is damaged
  /// further on was one.
  /// - Parameter unread: why one cannot be read that may be its own, unless another could not before.
  static func areVersions(
    of repository: RepositoryID, at store: any ObjectStore, _ unread: inout StoreError?
  ) async throws -> Bool {
    for info in try await store.list(prefix: Layout.versions)
    where VersionName(info.name) != nil && info.size >= OpenedObject.claimLength {
      do throws(StoreError) {
        let start = try await store.get(info.name, range: 0..<OpenedObject.claimLength)
        if OpenedObject.claimedRepository(start) == repository { return true }
      } catch {
        guard [.notFound, .badRange, .unreadable].contains(error.code) else { throw error }
        if error.code == .unreadable { unread = unread ?? error }
      }
    }
    return false
  }

  /// Makes a repository: keyring and configuration first, then the slot, read back and opened, and last the file that
  /// says there is one. A machine that dies in between leaves nothing that another init would mind, nor whoever opens what
  /// that makes; one that can, takes away what it has stored.
  package static func create(
    at store: any ObjectStore, with secret: SlotSecret, cost: SlotCost, now: UInt64,
    random: @escaping RandomSource = systemRandom
  ) async throws -> Repository {
    guard try await read(from: store).isEmpty, try await !areVersions(at: store) else {
      throw RepositoryError(
        .repositoryExists, "there is a repository at \(store.traits.location) already",
        hint:
          "Use it, or name another prefix or folder; `sealift init --if-missing` is content with one that the key opens."
      )
    }
    guard let repository = RepositoryID(try random(16)) else { preconditionFailure("16 random bytes are an id") }
    let master = MasterKey(try random(32))
    let keyring = try Keyring.make(random: random)
    let keys = SealingKeys(repository: repository, keyring: keyring)

    let sealedKeyring = try keyring.seal(master: master, repository: repository, random: random)
    let builder = ObjectBuilder(kind: .configuration, keys: keys, random: random)
    let configuration = try builder.finish(meta: RepositoryConfiguration(createdAt: now).encode())
    let bytes = try KeySlot.seal(
      master: master, secret: secret, repository: repository, cost: cost, createdAt: now, random: random)
    do {
      try await putTwice(sealedKeyring.bytes, below: Layout.keyrings, after: 0, at: store)
      try await putTwice(configuration.bytes, below: Layout.configurations, after: 0, at: store)
      _ = try await KeySlots.store(bytes, secret: secret, repository: repository, after: 0, at: store)
    } catch {
      // The slot first: without it nothing opens the rest. What is not answered now is not waited for once more.
      if (error as? StoreError)?.code != .unavailable {
        let left = [
          (Layout.slots, bytes), (Layout.configurations, configuration.bytes), (Layout.keyrings, sealedKeyring.bytes),
        ]
        await takeAway(left.flatMap { pair(of: $0.1, below: $0.0, after: 0) }, at: store)
      }
      throw error
    }
    // From here on it may be there, whatever is heard of it.
    let file = RepositoryFile(repository: repository).encode()
    let name = RepositoryFileName(repository: repository, length: file.count, digest: .sha256(of: file))
    try await store.put(ObjectBody(file), at: name.objectName, ifAbsent: false)
    return try await Repository.open(at: store, with: secret, random: random)
  }

  /// Best effort, also of who was interrupted: by a task of its own.
  private static func takeAway(_ names: [NumberedName], at store: any ObjectStore) async {
    await Task {
      for name in names { guard (try? await store.delete(name.objectName)) != nil else { return } }
    }.value
  }

  /// Stores the same bytes under two numbers: one object that is damaged or lost must not lock anybody out.
  /// - Returns: the first name.
  /// - Throws: `.conflict` when there are no greater numbers; `StoreError`.
  @discardableResult
  static func putTwice(
    _ bytes: [UInt8], below prefix: String, after highest: UInt64, at store: any ObjectStore
  ) async throws -> NumberedName {
    guard highest <= NumberedName.last - 2 else {
      throw RepositoryError(
        .conflict, "there is no number left below \(prefix): an object there has number \(highest)",
        hint: "No program of ours counts so far: somebody put it there. Remove it by hand.")
    }
    let names = pair(of: bytes, below: prefix, after: highest)
    for name in names { try await store.put(ObjectBody(bytes), at: name.objectName, ifAbsent: false) }
    return names[0]
  }

  private static func pair(of bytes: [UInt8], below prefix: String, after highest: UInt64) -> [NumberedName] {
    [highest + 1, highest + 2].map { number in
      NumberedName(prefix: prefix, number: number, length: bytes.count, digest: .sha256(of: bytes))
    }
  }
}
