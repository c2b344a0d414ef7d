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

  /// Makes a repository: keyring and configuration first, then the slot, read back and opened, and last the file that
  /// says there is one. A machine that dies in between leaves nothing that another init would mind.
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
    try await putTwice(sealedKeyring.bytes, below: Layout.keyrings, after: 0, at: store)
    let builder = ObjectBuilder(kind: .configuration, keys: keys, random: random)
    let configuration = try builder.finish(meta: RepositoryConfiguration(createdAt: now).encode())
    try await putTwice(configuration.bytes, below: Layout.configurations, after: 0, at: store)
    let bytes = try KeySlot.seal(
      master: master, secret: secret, repository: repository, cost: cost, createdAt: now, random: random)
    _ = try await KeySlots.store(bytes, secret: secret, repository: repository, after: 0, at: store)

    let file = RepositoryFile(repository: repository).encode()
    let name = RepositoryFileName(repository: repository, length: file.count, digest: .sha256(of: file))
    try await store.put(ObjectBody(file), at: name.objectName, ifAbsent: false)
    return try await Repository.open(at: store, with: secret, random: random)
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
    let names = [highest + 1, highest + 2].map { number in
      NumberedName(prefix: prefix, number: number, length: bytes.count, digest: .sha256(of: bytes))
    }
    for name in names { try await store.put(ObjectBody(bytes), at: name.objectName, ifAbsent: false) }
    return names[0]
  }
}
