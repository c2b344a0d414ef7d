import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// What a drill could not restore is built on by no push, whenever the drill ended.
@Suite struct DoubtedVersionsTests {
  @Test func `what a drill finds while a push is under way counts for the next one`() async throws {
    let home = try await Home()
    let state = try home.state
    var image = home.noise(200 * 4096, seed: 1)
    let first = try await home.push(image)
    image[5] ^= 1
    let second = try await home.push(
      length: image.count,
      read: { [image, chain = home.chain] range in
        if var doubted = try? DoubtedVersions(of: chain, in: state) {
          try? doubted.add(first.manifest.id, of: chain, in: state)
        }
        return Array(image[range])
      })
    #expect(second.bytesNew < image.count / 2, "the drill was quicker than the push")
    #expect(try !DoubtedVersions(of: home.chain, in: state).isEmpty)
    let third = try await home.push(image)
    #expect(!third.unchanged && third.bytesNew >= image.count)
    #expect(try DoubtedVersions(of: home.chain, in: state).isEmpty)
    #expect(try await home.push(image).unchanged)
  }

  @Test func `a push that cannot read what is doubted builds on nothing, and fails`() async throws {
    let home = try await Home()
    let state = try home.state
    let image = home.noise(20 * 4096, seed: 1)
    _ = try await home.push(image)
    let doubted = "\(state.path)/\(home.chain.hex)/doubted"
    try StateFiles.makeFolder("\(doubted)/in the way")
    let error = await #expect(throws: RepositoryError.self) { try await home.push(image) }
    #expect(error?.code == .stateFolder)
    #expect(StateFiles.names(in: doubted) == ["in the way"])
  }

  @Test func `a look at the structure takes back what that alone showed`() async throws {
    let home = try await Home()
    let state = try home.state
    let (one, other) = (Digest.sha256(of: [1]), Digest.sha256(of: [2]))
    func known() throws -> [Bool] {
      let doubted = try DoubtedVersions(of: home.chain, in: state)
      return [doubted.contains(one), doubted.contains(other)]
    }
    var doubted = try DoubtedVersions(of: home.chain, in: state)
    try doubted.add(one, until: .structure, of: home.chain, in: state)
    try doubted.add(other, of: home.chain, in: state)
    try doubted.add(other, until: .structure, of: home.chain, in: state)
    #expect(try known() == [true, true])
    // By another run.
    var again = try DoubtedVersions(of: home.chain, in: state)
    again.remove([one, other], seen: .structure)
    #expect(try known() == [false, true])
    try again.add(one, until: .structure, of: home.chain, in: state)
    try again.add(one, of: home.chain, in: state)
    again.remove([one], seen: .structure)
    #expect(try known() == [true, true])
    again.remove([one, other])
    #expect(try known() == [false, false])
    #expect(!StateFiles.names(in: "\(state.path)/\(home.chain.hex)").contains("doubted"))
  }

  @Test func `what is doubted at one place is not at another`() async throws {
    let home = try await Home()
    let state = try home.state
    let (placed, plain) = (Digest.sha256(of: [1]), Digest.sha256(of: [2]))
    let here = StorePlace(name: String(repeating: "a", count: 32))
    let there = StorePlace(name: String(repeating: "b", count: 32))
    func known(at place: StorePlace?) throws -> [Bool] {
      let doubted = try DoubtedVersions(of: home.chain, in: state, at: place)
      let harmed = try HarmedVersions(of: home.chain, in: state, at: place)
      #expect([placed, plain].map(doubted.contains) == [placed, plain].map(harmed.contains))
      #expect(doubted.isEmpty == ![placed, plain].contains(where: doubted.contains))
      return [placed, plain].map(doubted.contains)
    }
    var doubted = try DoubtedVersions(of: home.chain, in: state, at: here)
    try doubted.add(placed, until: .structure, of: home.chain, in: state)
    var harmed = try HarmedVersions(of: home.chain, in: state, at: here)
    try harmed.add([placed: .init(.structure)], of: home.chain, in: state)
    #expect(try [here, there, nil].map(known) == [[true, false], [false, false], [true, false]])
    // An earlier build did not say where.
    var old = try DoubtedVersions(of: home.chain, in: state)
    try old.add(plain, of: home.chain, in: state)
    var before = try HarmedVersions(of: home.chain, in: state)
    try before.add([plain: .init(.content)], of: home.chain, in: state)
    #expect(try [here, there, nil].map(known) == [[true, true], [false, true], [true, true]])
    // Who looks there says nothing of here.
    var other = try DoubtedVersions(of: home.chain, in: state, at: there)
    other.remove([placed, plain])
    var others = try HarmedVersions(of: home.chain, in: state, at: there)
    others.remove([placed, plain])
    #expect(try [here, there].map(known) == [[true, false], [false, false]])
    var last = try DoubtedVersions(of: home.chain, in: state, at: here)
    last.remove([placed], seen: .structure)
    var lasts = try HarmedVersions(of: home.chain, in: state, at: here)
    lasts.remove([placed], seen: .structure)
    #expect(try [here, there, nil].map(known) == [[false, false], [false, false], [false, false]])
  }

  /// An earlier build knew a folder by the path that it was given.
  @Test func `what was noted under the former name of a place counts there, and is taken back`() async throws {
    let home = try await Home()
    let state = try home.state
    let version = Digest.sha256(of: [1])
    let before = StorePlace(name: String(repeating: "a", count: 32))
    let now = StorePlace(name: String(repeating: "b", count: 32), formerName: before.name)
    let elsewhere = StorePlace(name: now.name)
    func known(at place: StorePlace) throws -> [Bool] {
      let doubted = try DoubtedVersions(of: home.chain, in: state, at: place)
      let harmed = try HarmedVersions(of: home.chain, in: state, at: place)
      let damaged = try DamagedPacks(of: home.chain, in: state, at: place)
      #expect(doubted.isEmpty != doubted.contains(version))
      return [doubted.contains(version), harmed.contains(version), damaged.contains(version)]
    }
    var doubted = try DoubtedVersions(of: home.chain, in: state, at: before)
    try doubted.add(version, of: home.chain, in: state)
    var harmed = try HarmedVersions(of: home.chain, in: state, at: before)
    try harmed.add([version: .init(.content)], of: home.chain, in: state)
    var damaged = try DamagedPacks(of: home.chain, in: state, at: before)
    try damaged.add([version], of: home.chain, in: state)
    #expect(try known(at: now) == [true, true, true])
    #expect(try known(at: elsewhere) == [false, false, false])
    var later = try DoubtedVersions(of: home.chain, in: state, at: now)
    later.remove([version])
    var laterHarms = try HarmedVersions(of: home.chain, in: state, at: now)
    laterHarms.remove([version])
    #expect(try known(at: before) == [false, false, true])
  }

  /// Its push was cut behind the manifest, and the next one found nothing new: its packs stand in the journal ever since.
  @Test func `what a journal lists of a doubted version is not built on`() async throws {
    let home = try await Home()
    let state = try home.state
    let image = home.noise(200 * 4096, seed: 1)
    let cut = HookedStore(
      home.store,
      afterPut: { name async throws(StoreError) in
        if name.text.hasPrefix(Layout.versions) { throw StoreError(.unavailable, "the answer is lost") }
      })
    await #expect(throws: StoreError.self) { try await home.push(image, at: cut) }
    let second = try await home.push(image)
    #expect(second.unchanged)
    #expect(try !PushJournal(home.chain, in: state).entries.isEmpty)
    var doubted = try DoubtedVersions(of: home.chain, in: state)
    try doubted.add(second.manifest.id, of: home.chain, in: state)
    let spoilt = home.packs()
    let third = try await home.push(image)
    #expect(!third.unchanged && third.bytesNew >= image.count)
    for pack in spoilt { home.store.content[Layout.pack(pack, of: home.chain)] = nil }
    #expect(try await home.read(third.manifest) == image)
  }

  /// Which of the leftovers it needs cannot be told.
  @Test(arguments: [true, false])
  func `of a doubted version with a table that cannot be read, no leftover is built on`(isReadable: Bool) async throws {
    let home = try await Home()
    let state = try home.state
    let stored = try await home.push(home.noise(200 * 4096, seed: 1)).manifest
    let packs = try #require(try await home.repository.packs(of: stored, state: nil))
    let manifest = isReadable ? stored : stored.withoutTable
    let presence = try await Presence(home.repository, chain: home.chain, state: state)
    var loader = try KnownPacksLoader(home.repository, chain: home.chain, state: state, presence: presence)
    #expect(presence.holds(packs))
    try await loader.avoid(manifest)
    try await loader.add(partials: [], journal: packs)
    #expect(loader.known.entries.isEmpty)
    #expect(loader.nextNumber > packs.map(\.number).max() ?? .max)
  }
}

extension StoredManifest {
  /// The same, but that its pack table is said to lie where nothing is.
  fileprivate var withoutTable: StoredManifest {
    let body = ManifestBody(
      state: body.state, chain: body.chain, sequence: body.sequence, revision: body.revision, core: body.core,
      bytesDecoded: body.bytesDecoded, bytesFetched: body.bytesFetched, newBytes: body.newBytes,
      nextPackNumber: body.nextPackNumber, tags: body.tags, note: body.note, packTable: [.here(frame: 99, unit: 0)],
      maps: body.maps, remarks: body.remarks)
    return StoredManifest(name: name, object: object, body: body, core: core, id: id)
  }
}
