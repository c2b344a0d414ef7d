import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Deletion is decided on complete, fresh information or not at all: every doubt there is, one at a time.
@Suite struct PruneRefusalTests {
  private func name(_ home: PruneHome, _ sequence: UInt64) throws -> ObjectName {
    try #require(home.safe.withLock { $0[sequence] }).name.objectName
  }

  /// Four versions, the first of them forgotten: there is something to delete.
  private func chain() async throws -> PruneHome {
    let home = try await PruneHome(versions: 4)
    try await home.forget(1...1)
    return home
  }

  @Test func `a hole`() async throws {
    let home = try await chain()
    home.home.store.content[try name(home, 3)] = nil
    try await home.expectRefusal([.hole])
    home.home.forgetState()
    try await home.expectRefusal([.hole])
  }

  @Test func `a tombstone that ends in nothing`() async throws {
    let home = try await PruneHome(versions: 4)
    try await home.forget(2...2)
    try await home.prune()
    home.home.store.content[try name(home, 1)] = nil
    home.home.store.content[Layout.pack(.sha256(of: [1]), of: home.home.chain)] = [1]
    home.home.forgetState()
    try await home.expectRefusal([.hole])
  }

  @Test func `the newest version is gone, or all of them`() async throws {
    let home = try await chain()
    home.home.store.content[try name(home, 4)] = nil
    try await home.expectRefusal([.rolledBack])
    for sequence in [2, 3] as [UInt64] { home.home.store.content[try name(home, sequence)] = nil }
    for info in try await home.home.store.list(prefix: "versions/") { home.home.store.content[info.name] = nil }
    try await home.expectRefusal([.rolledBack])
  }

  @Test func `another version in the place of the one this machine has seen`() async throws {
    let home = try await chain()
    let clone = try await Home(sharing: home.home, content: home.home.store.content)
    let mine = try await home.push()
    let theirs = try await clone.push(home.image(77)).manifest
    #expect(theirs.name.sequence == 5)
    home.home.store.content.merge(clone.store.content) { first, _ in first }
    home.home.store.content[mine.name.objectName] = nil
    try await home.expectRefusal([.forked])
  }

  @Test func `a version that does not continue the one before`() async throws {
    let home = try await PruneHome(versions: 1)
    let clone = try await Home(sharing: home.home, content: home.home.store.content)
    try await home.push()
    let other = try await clone.push(home.image(77)).manifest
    let next = try await clone.push(home.image(78)).manifest
    home.home.store.content.merge(clone.store.content) { first, _ in first }
    // The version that this one continues is gone, and another one stands in its place.
    home.home.store.content[other.name.objectName] = nil
    #expect(next.name.sequence == 3)
    try await home.expectRefusal([.forked])
  }

  @Test(arguments: [2, 3, 4] as [UInt64])
  func `a manifest that cannot be read`(sequence: UInt64) async throws {
    let home = try await PruneHome(versions: 4)
    let name = try name(home, sequence)
    try await home.forget(1...1)
    home.home.forgetState()
    home.home.store.content[name]?[300] ^= 1
    try await home.expectRefusal([.damaged])
  }

  /// What a forgotten version needs nobody has to know: it is deleted as any other.
  @Test(arguments: [false, true])
  func `a manifest that cannot be read, of a version that was forgotten`(isCut: Bool) async throws {
    let home = try await chain()
    let name = try #require(home.names.filter { $0.hasPrefix("versions/") }.min())
    home.home.forgetState()
    if isCut {
      home.home.store.content[Layout.known(name)]?.removeLast()
    } else {
      home.home.store.content[Layout.known(name)]?[300] ^= 1
    }
    let said = try await home.prune(dryRun: true)
    let pruned = try await home.prune()
    #expect(pruned.freed.objects == 2 && said.freed == pruned.freed && !home.names.contains(name))
    try await home.expectAllSafe()
  }

  /// Taken back, it counts, and so does all that only it can tell of.
  @Test func `a manifest that cannot be read, of a version that was taken back`() async throws {
    let home = try await PruneHome(versions: 4)
    let taken = try #require(home.safe.withLock { $0[1] })
    let tombstone = try await home.forget(1...2)
    #expect(try await home.unforget(taken, from: tombstone))
    home.home.forgetState()
    home.home.store.content[taken.name.objectName]?[300] ^= 1
    try await home.expectRefusal([.damaged])
  }

  @Test func `a condemned record or an annotation that cannot be read`() async throws {
    for prefix in ["gone/", "notes/"] {
      let home = try await chain()
      let version = try #require(home.safe.withLock { $0[2] })
      let manifest = try await home.home.repository.readManifest(version.name)
      try await home.home.condemn([.sha256(of: [1])])
      try await home.home.repository.annotate(manifest.facts, [.init(.pin)], now: 1)
      let name = try #require(home.home.store.content.keys.first { $0.text.hasPrefix(prefix) })
      home.home.forgetState()
      home.home.store.content[name]?[300] ^= 1
      try await home.expectRefusal([.damaged])
      // Cut, it is a put that never ended, and says nothing.
      home.home.store.content[name]?.removeLast()
      try await home.prune()
      try await home.expectAllSafe()
    }
  }

  @Test func `a version that lacks a pack`() async throws {
    for isCut in [false, true] {
      let home = try await chain()
      let version = try #require(home.safe.withLock { $0[2] })
      let manifest = try await home.home.repository.readManifest(version.name)
      let table = try await PackTable(of: manifest, repository: home.home.repository, state: nil).all
      let pack = Layout.pack(try #require(table.first).name, of: home.home.chain)
      home.home.store.content[pack] = isCut ? [1] : nil
      try await home.expectRefusal([.incomplete])
    }
  }

  @Test(arguments: ["versions/", "packs/", "tomb/", "notes/", "gone/"])
  func `a listing that fails`(prefix: String) async throws {
    for isSecond in [false, true] {
      let home = try await chain()
      let isLooking = Locked(!isSecond)
      let store = StagedStore(home.home.store) {
        $0.afterPut = { _ async throws(StoreError) in isLooking.withLock { $0 = true } }
        $0.listed = { listed, objects async throws(StoreError) in
          if isLooking.withLock({ $0 }), listed.hasPrefix(prefix) {
            throw StoreError(.unavailable, "the line was cut")
          }
          return objects
        }
      }
      let before = home.names
      let error = await #expect(throws: StoreError.self) { try await home.prune(at: store) }
      #expect(error?.code == .unavailable)
      #expect(home.names.subtracting(before).count == (isSecond ? 1 : 0))
      #expect(before.subtracting(home.names).isEmpty)
    }
  }

  /// A listing that leaves one object out, in the whole run or from the record on: nothing that is safe is lost.
  @Test(arguments: [false, true])
  func `a listing that came up short`(onlySecond: Bool) async throws {
    let home = try await PruneHome(versions: 5)
    let taken = try #require(home.safe.withLock { $0[2] })
    let manifest = try await home.home.repository.readManifest(taken.name)
    let tombstone = try await home.forget(1...3)
    _ = try await home.home.repository.unforget(
      manifest.facts, from: [tombstone], now: PruneHome.now, state: home.home.state)
    home.safe.withLock { $0[2] = taken }
    let whole = home.home.store.content
    let hidden = whole.keys.filter { name in
      ["versions/", "packs/", "tomb/", "notes/"].contains { name.text.hasPrefix($0) }
    }
    #expect(hidden.count == 12)
    for name in hidden {
      home.home.store.content = whole
      let isShort = Locked(!onlySecond)
      let store = StagedStore(home.home.store) {
        $0.afterPut = { _ async throws(StoreError) in isShort.withLock { $0 = true } }
        $0.listed = { _, listed async throws(StoreError) in
          isShort.withLock { $0 } ? listed.filter { $0.name != name } : listed
        }
      }
      _ = try? await home.prune(at: store)
      try await home.expectAllSafe()
    }
  }

  /// Revision 0 has all its packs, one of them damaged, and passes for whole: only who wrote revision 1 can tell.
  @Test(arguments: ["as it is", "without the list of versions", "without the word"])
  func `a repair that no look shows`(state how: String) async throws {
    let home = try await PruneHome(versions: 2)
    let version = try #require(home.safe.withLock { $0[1] })
    let manifest = try await home.home.repository.readManifest(version.name)
    let pack = try #require(
      try await PackTable(of: manifest, repository: home.home.repository, state: nil).all.first?.name)
    home.home.store.content[Layout.pack(pack, of: home.home.chain)]?[3000] ^= 1
    let state = try home.home.state
    var damaged = try DamagedPacks(of: home.home.chain, in: state)
    try damaged.add([pack], of: home.home.chain, in: state)
    let scratch = try Scratch()
    try writeFile(scratch.file("image"), version.image)
    let local = try LocalPages(
      [scratch.file("image")], pageSize: 4096, keys: home.home.repository.keys, tables: scratch.path)
    let before = home.names
    let rewrite = VersionRewrite(home.home.repository, chain: home.home.chain, state: state, tables: scratch.path)
    #expect(try await rewrite.run(manifest, from: local, dryRun: false))
    let written = try #require(home.names.subtracting(before).first { $0.hasPrefix("versions/") })

    let listing = try await home.home.repository.versionListing(of: home.home.chain)
    _ = try await home.home.repository.history(of: listing, state: state)
    let folder = "\(state.path)/\(home.home.chain.hex)"
    if how == "without the list of versions" { StateFiles.remove("\(folder)/versions") }
    if how == "without the word" {
      for name in StateFiles.names(in: "\(folder)/words") { StateFiles.remove("\(folder)/words/\(name)") }
    }
    let short = StagedStore(home.home.store) {
      $0.listed = { _, listed async throws(StoreError) in listed.filter { $0.name.text != written } }
    }
    // A listing that came up short makes this machine forget nothing.
    _ = try await home.repository(at: short).history(
      of: home.repository(at: short).versionListing(of: home.home.chain), state: state)
    try await home.expectRefusal([.hole], at: short)
    try await home.prune()
    try await home.expectAllSafe()
  }

  /// What they say stays may be what a short listing leaves out.
  @Test func `words of this machine that cannot be read`() async throws {
    let home = try await chain()
    let words = "\(try home.home.state.path)/\(home.home.chain.hex)/words"
    try? removeFile(words)
    try #require(symlink("words", words) == 0)
    try await home.expectRefusal([.stateFolder], at: home.home.store)
    try removeFile(words)
    try await home.prune()
  }

  @Test func `a record that is not listed after it was stored`() async throws {
    let home = try await chain()
    let store = StagedStore(home.home.store) {
      $0.listed = { prefix, listed async throws(StoreError) in prefix.hasPrefix("gone/") ? [] : listed }
    }
    let before = home.names
    let error = await #expect(throws: RepositoryError.self) { try await home.prune(at: store) }
    #expect(error?.code == .conflict)
    #expect(before.subtracting(home.names).isEmpty)
  }

  @Test func `a record that was listed and is not any more`() async throws {
    let home = try await chain()
    try await home.home.condemn([.sha256(of: [1])])
    let first = try #require(home.home.store.content.keys.first { $0.text.hasPrefix("gone/") })
    let isSecond = Locked(false)
    let store = StagedStore(home.home.store) {
      $0.afterPut = { _ async throws(StoreError) in isSecond.withLock { $0 = true } }
      $0.listed = { _, listed async throws(StoreError) in
        isSecond.withLock { $0 } ? listed.filter { $0.name != first } : listed
      }
    }
    let before = home.names
    let error = await #expect(throws: RepositoryError.self) { try await home.prune(at: store) }
    #expect(error?.code == .rolledBack)
    #expect(before.subtracting(home.names).isEmpty)
  }
}
