import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// The files that say what the records of a chain said: never believed against a listing, never when somebody touched
/// them, and beside what may lie in `objects/`.
@Suite struct KeptRecordsTests {
  private static let kinds = [ObjectKind.condemned, .tombstone, .annotation]

  /// What a look at all records of a chain finds.
  private struct Found: Equatable {
    var condemned: Set<Digest> = []
    var tombstones: Set<Digest> = []
    var note = ""
    /// Records that were fetched for it.
    var fetched = 0
  }

  /// Two versions, the first of which was forgotten again and again, and as many other records.
  private func home(records count: Int) async throws -> (home: Home, version: VersionFacts, condemned: Set<Digest>) {
    let home = try await Home()
    let version = try await home.push(home.image(pages: 4, seed: 1)).manifest.facts
    _ = try await home.push(home.image(pages: 4, seed: 2))
    var condemned: Set<Digest> = []
    for number in 1...count {
      let name = Digest.sha256(of: Array("\(number)".utf8))
      try await home.condemn([name])
      condemned.insert(name)
      try await home.repository.forget([version], now: UInt64(number))
      try await home.repository.annotate(version, [Annotation.Item(.note, "\(number)")], now: UInt64(number))
    }
    home.forgetState()
    return (home, version, condemned)
  }

  /// The same repository, and what is fetched of its records.
  private func watched(_ home: Home) -> (store: HookedStore, fetched: Locked<Int>) {
    let fetched = Locked(0)
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        let isRecord = ["gone/", "tomb/", "notes/"].contains { name.text.hasPrefix($0) }
        if isRecord { fetched.withLock { $0 += 1 } }
      })
    return (store, fetched)
  }

  private func look(_ home: Home, _ version: VersionFacts) async throws -> Found {
    let (store, fetched) = watched(home)
    let repository = Repository(
      store: store, keys: home.repository.keys, random: systemRandom, slot: home.repository.slot)
    let state = try home.state
    let records = try await repository.condemnedRecords(of: home.chain, state: state)
    let tombstones = try await repository.namedTombstones(of: home.chain, listed: nil, state: state)
    let annotations = try await repository.annotations(of: home.chain, state: state)
    return Found(
      condemned: Set(records.flatMap(\.record.packs)), tombstones: Set(tombstones.map(\.name)),
      note: annotations.note(of: version, pushedWith: ""), fetched: fetched.withLock { $0 })
  }

  private func names(_ home: Home, below prefix: String) -> Set<Digest> {
    let names = home.store.content.keys.compactMap { RecordName($0, prefix: "\(prefix)\(home.chain.hex)/") }
    return Set(names.map(\.digest))
  }

  private func path(_ kind: ObjectKind, _ home: Home) throws -> String {
    "\(try home.state.path)/\(home.chain.hex)/kept-\(kind)"
  }

  /// As after months in which many databases were pushed.
  @Test func `what outgrows the folder of objects is not fetched by every push`() async throws {
    let (home, version, condemned) = try await home(records: 60)
    let (store, fetched) = watched(home)
    _ = try await home.push(home.image(pages: 4, seed: 3), at: store)
    #expect(fetched.withLock { $0 } >= 180)
    #expect(try home.state.objects.tidy(KeptObjects.Limits(bytes: 40 * 4096, bytesInUse: 40 * 4096, interval: 0)))
    fetched.withLock { $0 = 0 }
    _ = try await home.push(home.image(pages: 4, seed: 4), at: store)
    #expect(fetched.withLock { $0 } == 0)
    let found = try await look(home, version)
    let tombstones = names(home, below: "tomb/")
    #expect(found == Found(condemned: condemned, tombstones: tombstones, note: "60", fetched: 0))
  }

  @Test func `what is listed counts, whatever was kept`() async throws {
    let (home, version, condemned) = try await home(records: 10)
    let before = try await look(home, version)
    #expect(before.fetched == 30 && before.condemned == condemned && before.tombstones.count == 10)
    let later = Digest.sha256(of: [1])
    try await home.condemn([later])
    for name in home.store.content.keys where name.text.hasPrefix("tomb/") { home.store.content[name] = nil }
    let after = try await look(home, version)
    let all = condemned.union([later])
    #expect(after == Found(condemned: all, tombstones: [], note: "10", fetched: 1))
  }

  @Test(arguments: ["flipped", "cut", "longer", "empty", "zeros", "another kind", "folder"])
  func `a kept file that somebody touched is not believed`(how: String) async throws {
    let (home, version, condemned) = try await home(records: 9)
    let tombstones = names(home, below: "tomb/")
    let expected = Found(condemned: condemned, tombstones: tombstones, note: "9", fetched: 27)
    #expect(try await look(home, version) == expected)
    var files: [[UInt8]] = []
    for kind in Self.kinds { files.append(try #require(try StateFiles.read(path(kind, home)))) }
    for (number, kind) in Self.kinds.enumerated() {
      var bytes = files[number]
      switch how {
      case "flipped": bytes[bytes.count / 2] ^= 1
      case "cut": bytes.removeLast(100)
      case "longer": bytes.append(0)
      case "empty": bytes = []
      case "zeros": bytes = [UInt8](repeating: 0, count: bytes.count)
      default: bytes = files[(number + 1) % files.count]
      }
      let path = try path(kind, home)
      StateFiles.remove(path)
      if how == "folder" { mkdir(path, 0o700) } else { try StateFiles.write(bytes, to: path) }
    }
    #expect(try await look(home, version) == expected)
    // Written anew; or else what was fetched lies in `objects/`.
    #expect(try await look(home, version).fetched == 0)
  }

  @Test func `records of an older release are taken over`() async throws {
    let (home, version, condemned) = try await home(records: 20)
    let state = try home.state
    let records = ["gone/", "tomb/", "notes/"].reduce(into: Set<Digest>()) { $0.formUnion(names(home, below: $1)) }
    for (name, bytes) in home.store.content {
      guard let digest = name.lastComponent.split(separator: "-").last.flatMap(Layout.digest) else { continue }
      if records.contains(digest) { state.keep(bytes, as: digest.hex) }
    }
    #expect(records.count == 60 && records.isSubset(of: Set(state.keptNames.compactMap { Layout.digest($0) })))
    let found = try await look(home, version)
    #expect(found.fetched == 0 && found.condemned == condemned && found.tombstones.count == 20)
    #expect(records.isDisjoint(with: state.keptNames.compactMap { Layout.digest($0) }))
    #expect(try await look(home, version) == found)
  }

  @Test func `few are not worth a file, and a full file takes no more`() async throws {
    let (home, version, _) = try await home(records: KeptRecords.batch - 1)
    _ = try await look(home, version)
    for kind in Self.kinds { #expect(try StateFiles.read(path(kind, home)) == nil) }
    #expect(try await look(home, version).fetched == 0)

    let state = try home.state
    let keys = home.repository.keys
    let read = try await home.repository.records(
      .annotation, of: home.chain, below: Layout.annotations(of: home.chain), listed: nil, state: nil)
    let first = try #require(read.first).content
    let many = (UInt8(0)..<30).map { RecordContent(digest: .sha256(of: [$0]), epoch: first.epoch, meta: first.meta) }
    for (room, expected) in [(0, 20), (-1, 19), (1, 20)] {
      StateFiles.remove(try path(.annotation, home))
      let largest = RecordContent.encode(Array(many.prefix(20))).count + room
      func kept() -> KeptRecords { KeptRecords(.annotation, of: home.chain, in: state, keys: keys, largest: largest) }
      kept().add(many, random: systemRandom)
      let file = try #require(try StateFiles.read(path(.annotation, home)))
      kept().add(many, random: systemRandom)
      #expect(try StateFiles.read(path(.annotation, home)) == file)
      let plain = LocalSeal.open(file, purpose: "annotation records of \(home.chain.hex)", keys: keys)
      let found = try RecordContent.decode(try #require(plain))
      #expect(Set(found.map(\.digest)) == Set(many.prefix(expected).map(\.digest)))
    }
  }
}
