import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// What the target shows and cannot read: said of that object, as long as anything else can be read there.
@Suite struct UnreadableObjectTests {
  private static func store(
    _ home: Home, _ isUnreadable: @escaping @Sendable (ObjectName) -> Bool
  ) -> HookedStore {
    HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if isUnreadable(name) { throw StoreError(.unreadable, "input/output error") }
      })
  }

  /// A repository with one version, at a store that cannot read what is meant.
  private func opened(
    _ isUnreadable: @escaping @Sendable (ObjectName) -> Bool
  ) async throws -> (home: Home, repository: Repository, manifest: ObjectName) {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 10, seed: 1))
    let manifest = try #require(home.store.content.keys.first { $0.text.hasPrefix("versions/") })
    let store = Self.store(home, isUnreadable)
    return (home, try await Repository.open(at: store, with: Home.secret), manifest)
  }

  @Test(arguments: [1, 2]) func `it is asked for once more, and the second answer counts`(_ failures: Int) async throws
  {
    let asked = Locked(0)
    let (home, repository, manifest) = try await opened { name in
      guard name.text.hasPrefix("versions/") else { return false }
      return asked.withLock { count in
        count += 1
        return count <= failures
      }
    }
    if failures == 1 {
      #expect(try await repository.store.get(manifest, range: nil) == home.store.content[manifest])
    } else {
      let error = await #expect(throws: StoreError.self) { try await repository.store.get(manifest, range: nil) }
      #expect(error?.code == .unreadable && error?.object == manifest)
    }
    #expect(asked.withLock { $0 } == 2)
  }

  @Test func `a disk that was pulled out says nothing of an object`() async throws {
    let isGone = Locked(false)
    let (_, repository, manifest) = try await opened { _ in isGone.withLock { $0 } }
    isGone.withLock { $0 = true }
    for name in [manifest, RepositoryFileName(of: repository.id).objectName] {
      let error = await #expect(throws: StoreError.self) { try await repository.store.get(name, range: nil) }
      #expect(error?.code == .unavailable && error?.object == nil)
      #expect(error?.message.hasPrefix("input/output error") == true)
    }
  }

  @Test func `a repository file that cannot be read hides nothing else, and a repair stores it anew`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let image = home.noise(4096, seed: 1)
    let entry = try await made.pack([made.raw([image])])
    made.place(pack: 1, frame: 0, count: 1)
    _ = try await made.manifest(image: image)
    let pack = Layout.pack(entry.name, of: home.chain)
    let file = RepositoryFileName(of: home.repository.id).objectName
    let store = Self.store(home) { $0 == pack || $0 == file }
    let repository = try await Repository.open(at: store, with: Home.secret)
    let state = try home.state
    let report = try await RepositoryCheck(repository, state: state, tables: state.path, subset: .all).run()
    #expect(report.allFindings.filter(\.isDamage).map(\.object).sorted() == [pack.text, file.text])
    let finding = try #require(report.findings.first { $0.object == file.text })
    #expect(finding.kind == .damaged && finding.what == "the repository file cannot be read: input/output error")
    #expect(try await repository.repairOpening() == [file])
  }

  @Test func `where the repository file was lost, that is an answer`() async throws {
    let isFailing = Locked(false)
    let (home, repository, manifest) = try await opened { name in
      name.text.hasPrefix("versions/") && isFailing.withLock { $0 }
    }
    isFailing.withLock { $0 = true }
    for name in home.store.content.keys where name.text.hasPrefix("repo/") { home.store.content[name] = nil }
    let error = await #expect(throws: StoreError.self) { try await repository.store.get(manifest, range: nil) }
    #expect(error?.code == .unreadable)
  }

  /// All but the file lie there twice.
  @Test(arguments: [Layout.slots, Layout.keyrings, Layout.configurations, Layout.repositories])
  func `one of the objects that open a repository locks nobody out`(_ prefix: String) async throws {
    let home = try await Home()
    let names = home.store.content.keys.filter { $0.text.hasPrefix(prefix) }
    #expect(names.count == (prefix == Layout.repositories ? 1 : 2))
    for name in names {
      let opened = try await Repository.open(at: Self.store(home) { $0 == name }, with: Home.secret)
      #expect(opened.id == home.repository.id)
    }
    guard names.count == 2 else { return }
    // What could be read and does not open says so: a disk is not to be mended for a wrong passphrase.
    let wrong = SlotSecret.keyFile([UInt8](repeating: 8, count: 32))
    for name in names where prefix == Layout.slots {
      let error = await #expect(throws: RepositoryError.self) {
        try await Repository.open(at: Self.store(home) { $0 == name }, with: wrong)
      }
      #expect(error?.code == .wrongKey)
    }
    let error = await #expect(throws: StoreError.self) {
      try await Repository.open(at: Self.store(home) { $0.text.hasPrefix(prefix) }, with: Home.secret)
    }
    #expect(error?.code == .unreadable)
  }

  /// What it holds no reader needs, and what else is read is authentic by the keyring.
  @Test(arguments: ["gone", "damaged", "unreadable"])
  func `a repository without a configuration is read, and nothing is written there`(harm: String) async throws {
    let home = try await Home()
    let pushed = try await home.push(home.image(pages: 100, seed: 1))
    let names = home.store.content.keys.filter { $0.text.hasPrefix(Layout.configurations) }
    #expect(names.count == 2)
    for name in names where harm != "unreadable" {
      if harm == "gone" { home.store.content[name] = nil } else { home.store.content[name]?[20] ^= 1 }
    }
    let store = Self.store(home) { harm == "unreadable" && names.contains($0) }
    let refused = await #expect(throws: (any Error).self) { try await Repository.open(at: store, with: Home.secret) }
    if harm == "unreadable" {
      #expect((refused as? StoreError)?.code == .unreadable)
    } else {
      #expect((refused as? RepositoryError)?.code == .damaged)
    }

    let opened = try await Repository.open(at: store, with: Home.secret, lackingConfiguration: true)
    #expect(opened.lacksConfiguration)
    #expect(throws: (any Error).self) { try opened.demandConfiguration() }
    let state = try home.state
    let report = try await RepositoryCheck(opened, state: state, tables: state.path, subset: .all).run()
    #expect(!report.damaged.isEmpty && report.damaged.allSatisfy { $0.hasPrefix(Layout.configurations) })
    #expect(report.harmed.isEmpty && report.chains.flatMap(\.whole).count == 1)
    let name = pushed.manifest.name.objectName
    let forbidden = await #expect(throws: StoreError.self) { try await opened.store.delete(name) }
    #expect(forbidden?.code == .forbidden && home.store.content[name] != nil)

    // One that asks for what nobody here knows is obeyed by who reads, too.
    let meta: [UInt8] = [1] + RepositoryConfiguration(createdAt: 1).encode().dropFirst()
    let sealed = try ObjectBuilder(kind: .configuration, keys: home.repository.keys, random: systemRandom)
      .finish(meta: meta)
    try await RepositoryFiles.putTwice(sealed.bytes, below: Layout.configurations, after: 2, at: home.store)
    let later = await #expect(throws: RepositoryError.self) {
      try await Repository.open(at: store, with: Home.secret, lackingConfiguration: true)
    }
    #expect(later?.code == .unsupported)
  }

  /// Puts a keyring there twice.
  private static func plant(_ bytes: [UInt8], under numbers: [UInt64], at home: Home) -> [ObjectName] {
    numbers.map { number in
      let name = NumberedName(
        prefix: Layout.keyrings, number: number, length: bytes.count, digest: .sha256(of: bytes))
      home.store.content[name.objectName] = bytes
      return name.objectName
    }
  }

  @Test func `an older keyring does not take the place of one that cannot be read`() async throws {
    let home = try await Home()
    let planted = Self.plant(home.noise(200, seed: 1), under: [3, 4], at: home)
    #expect(try await Repository.open(at: home.store, with: Home.secret).id == home.repository.id)
    // Nor where there are other bytes under the name of its copy.
    for rotten in [nil, planted[0], planted[1]] {
      if let rotten { home.store.content[rotten]?[0] ^= 1 }
      let store = Self.store(home) { planted.contains($0) && $0 != rotten }
      let error = await #expect(throws: StoreError.self) { try await Repository.open(at: store, with: Home.secret) }
      #expect(error?.code == .unreadable)
      if let rotten { home.store.content[rotten]?[0] ^= 1 }
    }
  }

  /// Two inits at once leave keyrings of the same numbers; so may whoever has no key.
  @Test func `beside the keyring of another master key one copy that cannot be read locks nobody out`() async throws {
    let home = try await Home()
    let stranger = try home.repository.keys.keyring.seal(
      master: MasterKey([UInt8](repeating: 1, count: 32)), repository: home.repository.id, random: systemRandom)
    _ = Self.plant(stranger.bytes, under: [1, 2], at: home)
    let keyrings = home.store.content.keys.filter { $0.text.hasPrefix(Layout.keyrings) }
    #expect(keyrings.count == 4)
    let expected = try await Repository.open(at: home.store, with: Home.secret)
    for name in keyrings {
      let opened = try await Repository.open(at: Self.store(home) { $0 == name }, with: Home.secret)
      #expect(opened.keyring == expected.keyring && opened.strangeKeyrings.keys == expected.strangeKeyrings.keys)
    }
    let newest = try #require(keyrings.max { $0.text < $1.text })
    let store = Self.store(home) { Layout.digest(namedBy: $0) == Layout.digest(namedBy: newest) }
    let error = await #expect(throws: StoreError.self) { try await Repository.open(at: store, with: Home.secret) }
    #expect(error?.code == .unreadable)
  }

  @Test func `a pack of which a part cannot be read is damaged, and says how to go on`() async throws {
    let (home, repository, _) = try await opened { $0.text.hasPrefix("packs/") }
    let made = HandmadeVersion(home)
    let entry = try await made.pack([made.raw([home.noise(4096, seed: 1)], .node)])
    let error = await #expect(throws: RepositoryError.self) {
      try await repository.directory(of: entry, chain: home.chain, state: nil)
    }
    #expect(error?.code == .damaged && (error?.cause as? StoreError)?.code == .unreadable)
    #expect(error?.hint?.contains("`sealift repair --pack \(entry.name.hex)`") == true)
  }

  @Test func `a record that cannot be read is passed over by readers, not by who lets go of versions`() async throws {
    let (home, repository, _) = try await opened { $0.text.hasPrefix("notes/") }
    let history = try await repository.history(of: repository.versionListing(of: home.chain))
    let version = try #require(history.newest)
    _ = try await home.repository.annotate(version, [.init(.pin)], now: 1)
    #expect(try await !repository.annotations(of: home.chain, state: nil).isPinned(version))
    let listed = RecordListing(objects: try await repository.store.list(prefix: Layout.annotations(of: home.chain)))
    let error = await #expect(throws: RepositoryError.self) {
      try await repository.everyAnnotation(of: home.chain, listed: listed, state: nil)
    }
    #expect(error?.code == .damaged)
  }
}
