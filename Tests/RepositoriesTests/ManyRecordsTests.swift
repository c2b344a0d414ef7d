import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// How often tombstones, annotations and listings of packs are asked for, where there are many of them.
@Suite struct ManyRecordsTests {
  private func home(versions count: Int, pages: Int = 4) async throws -> (Home, [StoredManifest]) {
    let home = try await Home()
    var versions: [StoredManifest] = []
    for seed in 0..<count {
      versions.append(try await home.push(home.image(pages: pages, seed: UInt64(seed))).manifest)
    }
    return (home, versions)
  }

  private func repository(_ home: Home, at store: any ObjectStore) -> Repository {
    Repository(store: store, keys: home.repository.keys, random: systemRandom, slot: home.repository.slot)
  }

  /// The same repository, and what is fetched of it.
  private func watched(_ home: Home) -> (Repository, Locked<[String]>) {
    let fetched = Locked<[String]>([])
    let store = HookedStore(
      home.store, beforeGet: { name async throws(StoreError) in fetched.withLock { $0.append(name.text) } })
    return (repository(home, at: store), fetched)
  }

  private func count(_ names: Locked<[String]>, below prefix: String) -> Int {
    names.withLock { $0.count { $0.hasPrefix(prefix) } }
  }

  @Test func `a machine fetches no word of its own`() async throws {
    let (home, versions) = try await home(versions: 2)
    let state = try home.state
    let old = versions[0].facts
    try await home.repository.forget([old], now: 1, state: state)
    try await home.repository.annotate(old, [Annotation.Item(.note, "kept")], now: 2, state: state)
    let (repository, fetched) = watched(home)
    #expect(try await repository.forgotten(of: home.chain, state: state).contains(old))
    let annotations = try await repository.annotations(of: home.chain, state: state)
    #expect(annotations.note(of: old, pushedWith: "") == "kept")
    #expect(fetched.withLock { $0.isEmpty })
    // What is not listed counts no more, kept or not.
    for name in home.store.content.keys where name.text.hasPrefix("tomb/") { home.store.content[name] = nil }
    #expect(try await !repository.forgotten(of: home.chain, state: state).contains(old))
  }

  @Test func `what was read and decides something is noted once, nothing else is`() async throws {
    let (home, versions) = try await home(versions: 1)
    let (facts, state) = (versions[0].facts, try home.state)
    let seen = "\(state.path)/\(home.chain.hex)/words/seen"
    func read() async throws -> [UInt8]? {
      _ = try await home.repository.annotations(of: home.chain, state: state)
      return try StateFiles.read(seen)
    }
    try await home.repository.annotate(facts, [.init(.note, "n"), .init(.removeTag, "t")], now: 1)
    #expect(try await read() == nil)
    try await home.repository.annotate(facts, [.init(.addTag, "a\nb"), .init(.pin)], now: 2)
    let noted = try #require(try await read())
    let text = String(decoding: noted, as: UTF8.self)
    #expect(text.hasPrefix("stay-") && text.hasSuffix(" \(facts.id.hex) tag 'a b', pin\n"), "\(text)")
    // Where all is known nothing is written, not even without the line that says nothing.
    let marked = noted + Array("x\n".utf8)
    try StateFiles.write(marked, to: seen)
    #expect(try await read() == marked)
  }

  @Test func `of a chain that is not meant no tombstone is read, unless a manifest cannot be read`() async throws {
    let (home, versions) = try await home(versions: 3)
    try await home.repository.forget([versions[2].facts], now: 1)
    let (repository, fetched) = watched(home)
    let listing = try await home.repository.versionListing(of: home.chain)
    let meant = try await repository.end(of: listing, isEnough: { _ in true })
    #expect(meant.isForgotten(versions[2].facts) && count(fetched, below: "tomb/") == 1)
    #expect(meant.versions == versions.map(\.facts))
    fetched.withLock { $0 = [] }
    let other = try await repository.end(of: listing, isEnough: { _ in true }, concerns: { _ in false })
    #expect(other.newest == versions[2].facts && fetched.withLock { $0 } == [versions[2].name.objectName.text])
    home.store.content[versions[2].name.objectName]?[200] ^= 1
    let doubtful = try await repository.end(of: listing, isEnough: { _ in true }, concerns: { _ in false })
    #expect(doubtful.newest == versions[1].facts && doubtful.problems.map(\.code) == [.damaged])
    #expect(count(fetched, below: "tomb/") == 1)
  }

  @Test func `a repair of several versions fetches each tombstone once`() async throws {
    let (home, versions) = try await home(versions: 5, pages: 24)
    let scratch = try Scratch()
    for _ in 0..<30 { try await home.repository.forget([versions[0].facts], now: 1) }
    home.forgetState()
    let (repository, fetched) = watched(home)
    let rewrite = VersionRewrite(repository, chain: home.chain, state: try home.state, tables: scratch.path)
    for version in versions.dropFirst() {
      #expect(try await rewrite.run(version, from: nil, dryRun: false))
    }
    #expect(count(fetched, below: "tomb/") == 30)
    let listing = try await home.repository.versionListing(of: home.chain)
    let history = try await home.repository.history(of: listing)
    #expect(history.problems.isEmpty && history.versions.map(\.revision) == [0, 1, 1, 1, 1])
  }

  @Test func `a check lists the packs once, however many versions were written anew`() async throws {
    let (home, versions) = try await home(versions: 20, pages: 24)
    for version in versions { _ = try await home.repository.republish(version, revision: 1, state: nil) }
    let scratch = try Scratch()
    let listed = Locked<[String]>([])
    let store = ListedStore(home.store) { prefix in listed.withLock { $0.append(prefix) } }
    let check = RepositoryCheck(
      repository(home, at: store), state: try home.state, tables: scratch.path, subset: nil)
    let report = try await check.run()
    #expect(report.isSound, "\(report.allFindings.map(\.object))")
    let checked = try #require(report.chains.first).versions
    #expect(checked.count == 20 && checked.allSatisfy { $0.facts?.revision == 1 })
    #expect(count(listed, below: Layout.packs(of: home.chain)) == 1)
  }
}

/// Tells which prefixes are listed.
final class ListedStore: ObjectStore {
  let traits: StoreTraits
  private let base: MemoryStore
  private let onList: @Sendable (String) -> Void

  init(_ base: MemoryStore, onList: @escaping @Sendable (String) -> Void) {
    self.base = base
    self.onList = onList
    traits = base.traits
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    onList(prefix)
    return try await base.list(prefix: prefix)
  }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
