import TestKit
import Testing

@testable import Sealing

/// What bodies say must come back, and what breaks a rule must be refused, even under the right key.
@Suite struct BodyTests {
  @Test func `units of many lengths begin where those before them end`() {
    let each = [3, 1, 4, 1, 5]
    let lengths = UnitLengths(each)
    #expect(Array(lengths) == each && lengths.total == 14)
    #expect((0...5).map { lengths.offset(of: $0) } == [0, 3, 4, 8, 9, 14])
    #expect((0...2).map { UnitLengths([7, 7]).offset(of: $0) } == [0, 7, 14])
  }

  @Test func `Every body comes back as it went`() throws {
    #expect(try Core(decoding: Samples.core.encode()) == Samples.core)
    #expect(try ManifestBody(decoding: Samples.body.encode()) == Samples.body)
    #expect(try ManifestBody(decoding: Samples.partial.encode()) == Samples.partial)
    #expect(try MapLeaf(decoding: Samples.leaf.encode()) == Samples.leaf)
    #expect(try MapBranch(decoding: Samples.branch.encode()) == Samples.branch)
    #expect(try PackTableLeaf(decoding: Samples.table.encode()) == Samples.table)
    #expect(try CondemnedRecord(decoding: Samples.condemned.encode()) == Samples.condemned)
    #expect(try Tombstone(decoding: Samples.tombstone.encode()) == Samples.tombstone)
    #expect(try Annotation(decoding: Samples.annotation.encode()) == Samples.annotation)
    #expect(try RepositoryConfiguration(decoding: Samples.configuration.encode()) == Samples.configuration)
    let file = RepositoryFile(repository: Fixed.repository)
    #expect(try RepositoryFile(decoding: file.encode()) == file)
    #expect(try Keyring(decoding: Fixed.keyring.encode()).encode() == Fixed.keyring.encode())
  }

  @Test(arguments: [
    "", "/", "/etc/passwd", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b", "./a", "a\0b",
    String(repeating: "a", count: 4097),
  ])
  func `A path that leaves its folder is refused`(path: String) {
    let members = Samples.members + [member(path, .folder)]
    #expect(failure { _ = try Core(decoding: core(members: members).encode()) } == .malformed)
  }

  @Test func `Of hostile paths only those are taken that stay in their folder`() throws {
    var refused = 0
    for path in HostilePaths.all {
      // Longer ones than a text of the format may be cannot be written.
      guard path.utf8.count < 60_000 else { continue }
      let members = Samples.members + [member(path, .folder)]
      if failure({ _ = try Core(decoding: core(members: members).encode()) }) != nil {
        refused += 1
      } else {
        // What a kernel does with them: a component at a time, below the folder.
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        try #require(!path.hasPrefix("/") && !path.contains("\0") && !parts.contains("..") && !parts.contains("."))
        try #require(!parts.contains(""))
      }
      Fault.hostileNames.met("path of a member")
    }
    #expect(refused > 60)
  }

  @Test(arguments: ["a", "...", ".a", "a..", "a b/ü/\u{1F600}", "C:\\x", String(repeating: "a", count: 4096)])
  func `Every other path is taken, byte for byte`(path: String) throws {
    let decoded = try Core(decoding: core(members: Samples.members + [member(path, .folder)]).encode())
    #expect(decoded.members.last.map { Array($0.path.utf8) } == Array(path.utf8))
  }

  @Test func `Members that do not fit together are refused`() {
    let file = Samples.members[2].content
    let database = Samples.members[0]
    let wrong: [[Core.Member]] = [
      [], [member("a", file)], [database, database], [database, member("b", database.content)],
      [member("sub/app.db", database.content)],
      [database, member("x", .folder), member("x", .folder)],
      [database, member("out", .link(target: "/")), member("out/file", file)],
      [database, member("out/file", file), member("out", .link(target: "/"))],
      [database, member("f", file), member("f/deep/file", .folder)],
      [database, member("l", .link(target: ""))], [database, member("l", .link(target: "a\0b"))],
      [Core.Member(path: "m", mode: 0o10000, modified: 0, content: database.content)],
    ]
    for members in wrong {
      #expect(failure { _ = try Core(decoding: core(members: members).encode()) } == .malformed)
    }
  }

  @Test func `Two paths that only look alike are two paths`() throws {
    let alike = [member("e\u{301}", .folder), member("\u{E9}", .folder)]
    #expect(try Core(decoding: core(members: Samples.members + alike).encode()).members.count == 6)
  }

  @Test(
    arguments: [
      (4096, 17, 69_631), (4096, 16, 69_632), (4095, 17, 69_615), (256, 1, 256), (131_072, 1, 131_072),
      (512, 1 << 32, 1 << 41), (65_536, 1 << 48, 0), (0, 0, 0),
    ] as [(UInt32, UInt64, UInt64)])
  func `Units that do not add up are refused`(size: UInt32, count: UInt64, length: UInt64) {
    let image = Core.FileContent(
      unitType: .page, unitSize: size, unitCount: count, length: length, imageDigest: .zero, sha256: .zero)
    #expect(failure { _ = try Core(decoding: core(members: [member("m", .database(image))]).encode()) } == .malformed)
  }

  /// The type of the units of the first member, and of a file.
  @Test(
    arguments: [
      (2, .malformed), (3, .malformed), (4, .unsupported), (0, .unsupported), (255, .unsupported),
    ] as [(UInt8, SealError.Code)])
  func `Units of a type of tomorrow are refused as such`(type: UInt8, code: SealError.Code) throws {
    let image = Core.FileContent(
      unitType: .page, unitSize: 512, unitCount: 2, length: 1024, imageDigest: .zero, sha256: .zero)
    let file = Core.FileContent(
      unitType: .block, unitSize: 65_536, unitCount: 1, length: 2, imageDigest: .zero, sha256: .zero)
    let members = [member("m", .database(image)), member("f", .file(file))]
    let encoded = core(members: members).encode()
    let sizes: [[UInt8]] = [[1, 0, 0, 2, 0], [2, 0, 1, 0, 0]]
    for (known, size) in zip([1, 2] as [UInt8], sizes) where known != type {
      let places = encoded.indices.filter { encoded[$0...].starts(with: size) }
      try #require(places.count == 1)
      var bytes = encoded
      bytes[places[0]] = type
      #expect(failure { _ = try Core(decoding: bytes) } == code)
    }
  }

  @Test(
    arguments: [
      (0, 1), (1, 0), (2, 65_536), (1, 65_537), (1, .max), (.max, .max),
    ] as [(UInt64, UInt64)])
  func `Blocks that do not add up are refused`(count: UInt64, length: UInt64) {
    let file = Core.FileContent(
      unitType: .block, unitSize: 65_536, unitCount: count, length: length, imageDigest: .zero, sha256: .zero)
    let members = [Samples.members[0], member("f", .file(file))]
    #expect(failure { _ = try Core(decoding: core(members: members).encode()) } == .malformed)
  }

  @Test func `The core of another version, and impossible sequences, are refused`() {
    #expect(failure { _ = try Core(decoding: core(sequence: 0).encode()) } == .malformed)
    #expect(failure { _ = try Core(decoding: core(sequence: 1).encode()) } == .malformed)
    #expect(failure { _ = try Core(decoding: core(previous: .zero).encode()) } == .malformed)
    #expect(failure { _ = try Core(decoding: core(host: "").encode()) } == .malformed)
    #expect(failure { _ = try Core(decoding: core(host: "a\0b").encode()) } == .malformed)
    #expect(failure { _ = try ManifestBody(decoding: body(core: core(sequence: 43).encode()).encode()) } == .malformed)
    #expect(failure { _ = try ManifestBody(decoding: body(core: []).encode()) } == .malformed)
    #expect(failure { _ = try ManifestBody(decoding: body(state: .partial).encode()) } == .malformed)
    #expect(failure { _ = try ManifestBody(decoding: body(state: .partial, core: []).encode()) } == .malformed)
  }

  @Test func `A body holds tags and a note that 16 bits can count, and no more`() {
    let long = String(repeating: "t", count: 65_535)
    let many = Array(repeating: "", count: 65_535)
    let right: [([String], String)] = [(many, ""), ([long], long)]
    for (tags, note) in right {
      #expect(failure { try body(tags: tags, note: note).demandFittingTexts() } == nil)
      #expect(ManifestBody.held(tags) == tags)
    }
    let wrong: [([String], String)] = [(many + [""], ""), ([long + "t"], ""), ([], long + "t")]
    for (tags, note) in wrong {
      #expect(failure { try body(tags: tags, note: note).demandFittingTexts() } == .malformed)
    }
    #expect(ManifestBody.held(["a", long + "t", "b"]) == ["a", "b"])
    #expect(ManifestBody.held([long + "t"] + many + ["b"]) == many)
  }

  @Test func `Maps and pack numbers that cannot be are refused`() {
    let here = Location(pack: 0, frame: 0, unit: 0)
    let wrong: [[ManifestBody.MapRoot]] = [
      [], [.init(depth: 1, location: here)], Samples.body.maps + [.init(depth: 1, location: here)],
      [.init(depth: 2, location: here), .init(depth: 1, location: here)],
      [.init(depth: 1, location: here), .init(depth: 0, location: here)],
      [.init(depth: 1, location: here), .init(depth: 1, location: .init(pack: 4, frame: 0, unit: 0))],
      [.init(depth: 1, location: here), .init(depth: 1, location: .init(pack: 0xFFFF_FFFF, frame: 0, unit: 0))],
    ]
    for maps in wrong {
      #expect(failure { _ = try ManifestBody(decoding: body(maps: maps).encode()) } == .malformed)
    }
    for next in [0, 3, 0xFFFF_FFFF] as [UInt32] {
      #expect(failure { _ = try ManifestBody(decoding: body(next: next).encode()) } == .malformed)
    }
  }

  @Test func `Nodes that cannot be are refused`() {
    func leaf(_ runs: (UInt32, UInt32, UInt16, UInt16)...) -> [UInt8] {
      MapLeaf(runs: runs.map { .init(pack: $0.0, frame: $0.1, firstUnit: $0.2, count: $0.3) }).encode()
    }
    let zeros: UInt32 = 0xFFFF_FFFF
    for node in [
      leaf(), leaf((1, 0, 0, 0)), leaf((1, 0, 0, 1025)), leaf((1, 0, 0, 1000), (2, 0, 0, 25)), leaf((zeros, 1, 0, 1)),
      leaf((zeros, 0, 1, 1)), leaf((0xFFFF_FFFE, 0, 0, 1)), leaf((1, 0, 65_535, 2)), leaf((1, 0, 0, 1)) + [0],
      Samples.branch.encode(), [],
    ] {
      #expect(failure { _ = try MapLeaf(decoding: node) } == .malformed)
    }
    func branch(_ level: UInt8, _ count: Int, pack: UInt32 = 1) -> [UInt8] {
      MapBranch(level: level, children: Array(repeating: .init(pack: pack, frame: 0, unit: 0), count: count)).encode()
    }
    #expect(failure { _ = try MapBranch(decoding: branch(3, 256)) } == nil)
    for node in [
      branch(0, 1), branch(4, 1), branch(1, 0), branch(1, 257), branch(1, 1, pack: zeros), branch(1, 1) + [0],
      branch(1, 1).dropLast(), Samples.leaf.encode(),
    ] {
      #expect(failure { _ = try MapBranch(decoding: node) } == .malformed)
    }
    func table(_ numbers: [UInt32]) -> [UInt8] {
      let entry = Samples.entries[0]
      return PackTableLeaf(
        entries: numbers.map {
          PackEntry(
            number: $0, name: entry.name, length: entry.length, directoryLength: entry.directoryLength,
            version: UInt8(ObjectFormat.version),
            aead: 1, kem: 0, epoch: 1, salt: entry.salt)
        }
      ).encode()
    }
    #expect(failure { _ = try PackTableLeaf(decoding: table(Array(1...512))) } == nil)
    for numbers in [[], Array(1...513), [0], [2, 1], [1, 1], [0xFFFF_FFFE], [0xFFFF_FFFF]] as [[UInt32]] {
      #expect(failure { _ = try PackTableLeaf(decoding: table(numbers)) } == .malformed)
    }
  }

  @Test(
    arguments: [
      (36, 0, .malformed), (44, 2, .unsupported), (45, 2, .unsupported), (46, 1, .unsupported),
      (47, 1, .malformed), (51, 0, .malformed), (36, 0xFF, .malformed), (40, 0xFF, .malformed),
    ] as [(Int, UInt8, SealError.Code)])
  func `A pack entry that cannot be is refused`(offset: Int, value: UInt8, code: SealError.Code) {
    var entry = Samples.entries[0].encode()
    // Length and directory length are made impossible as a whole, the single bytes one by one.
    if offset == 36, value == 0 { for index in 36..<40 { entry[index] = 0 } } else { entry[offset] = value }
    #expect(failure { _ = try PackEntry(decoding: entry) } == code)
  }

  @Test func `Ranges of a tombstone ascend and do not touch`() {
    func tombstone(_ ranges: (UInt64, UInt64)...) -> [UInt8] {
      Tombstone(
        chain: Fixed.chain, time: 0,
        ranges: ranges.map { .init(first: $0.0, last: $0.1, previousOfFirst: .zero, coreHashOfLast: .zero) }
      ).encode()
    }
    #expect(failure { _ = try Tombstone(decoding: tombstone((1, 2), (4, 4), (6, .max))) } == nil)
    for ranges in [
      tombstone((0, 1)), tombstone((2, 1)), tombstone((1, 2), (3, 4)), tombstone((1, 2), (2, 4)),
      tombstone((5, 6), (1, 2)), tombstone((1, .max), (1, 2)),
    ] {
      #expect(failure { _ = try Tombstone(decoding: ranges) } == .malformed)
    }
  }

  @Test func `Epochs of a keyring ascend and hold the current one`() {
    var bytes = Fixed.keyring.encode()
    bytes[4] = 3
    #expect(failure { _ = try Keyring(decoding: bytes) } == .malformed)
    bytes = Fixed.keyring.encode()
    bytes[7 + 36 + 3] = 1
    #expect(failure { _ = try Keyring(decoding: bytes) } == .malformed)
  }

  @Test(arguments: [(0x7FFF, nil), (0x8000, .unsupported), (0xFFFF, .unsupported)] as [(UInt16, SealError.Code?)])
  func `Unknown extensions are passed over, unknown and critical ones refused`(type: UInt16, code: SealError.Code?) {
    for meta in [Samples.core.encode(), Samples.configuration.encode(), Samples.partial.encode()] {
      var writer = ByteWriter()
      writer.write(meta.dropLast(2))
      writer.write(UInt16(1))
      writer.write(type)
      writer.write(UInt32(3))
      writer.write([1, 2, 3])
      let result = failure {
        switch meta {
        case Samples.core.encode(): _ = try Core(decoding: writer.bytes)
        case Samples.partial.encode(): _ = try ManifestBody(decoding: writer.bytes)
        default: _ = try RepositoryConfiguration(decoding: writer.bytes)
        }
      }
      #expect(result == code)
    }
  }

  @Test func `Extensions out of order, doubled or cut are refused`() {
    for tail: [UInt8] in [
      [0, 2, 0, 5, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0], [0, 2, 0, 5, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0],
      [0, 1, 0, 5, 0, 0, 0, 1], [0, 1], [0xFF, 0xFF], [0, 1, 0, 5, 0xFF, 0xFF, 0xFF, 0xFF],
    ] {
      let bytes = Array(Samples.configuration.encode().dropLast(2)) + tail
      #expect(failure { _ = try RepositoryConfiguration(decoding: bytes) } == .malformed)
    }
  }

  @Test func `Features, algorithms and annotations of tomorrow are refused as such`() {
    let configuration = Samples.configuration.encode()
    for offset in 0..<12 {
      var bytes = configuration
      bytes[offset] ^= 2
      #expect(failure { _ = try RepositoryConfiguration(decoding: bytes) } == .unsupported)
    }
    var annotation = Samples.annotation.encode()
    annotation[1 + 16 + 8 + 32 + 8 + 2] = 9
    #expect(failure { _ = try Annotation(decoding: annotation) } == .unsupported)
    var condemned = Samples.condemned.encode()
    condemned[1 + 16 + 8 + 4] = 2
    #expect(failure { _ = try CondemnedRecord(decoding: condemned) } == .unsupported)
  }

  @Test func `An annotation of version 0 is refused`() throws {
    let bytes = Samples.annotation.encode()
    for sequence: UInt8 in [0, 1] {
      var bent = bytes
      bent[1 + 16 + 7] = sequence
      let expected: SealError.Code? = sequence == 0 ? .malformed : nil
      #expect(failure { _ = try Annotation(decoding: bent) } == expected)
    }
  }

  @Test func `A text too long is cut between characters`() throws {
    for character in ["a", "é", "€", "\u{1F600}"] {
      var writer = ByteWriter()
      writer.write(string: String(repeating: character, count: 70_000))
      var reader = ByteReader(writer.bytes, "text")
      let length = character.utf8.count
      #expect(try reader.readString() == String(repeating: character, count: 65_535 / length))
    }
  }

  private func member(_ path: String, _ content: Core.Member.Content) -> Core.Member {
    Core.Member(path: path, mode: 0o600, modified: 0, content: content)
  }

  private func core(
    sequence: UInt64 = 42, previous: Digest = Fixed.digest("core 41"), host: String = "host",
    members: [Core.Member] = Samples.members
  ) -> Core {
    Core(
      chain: Fixed.chain, sequence: sequence, previous: previous, time: Fixed.time, host: host, database: "app",
      method: .vacuum, flags: [], members: members)
  }

  private func body(
    state: ManifestBody.State = .complete, core: [UInt8] = Samples.core.encode(), next: UInt32 = 4,
    maps: [ManifestBody.MapRoot] = Samples.body.maps, tags: [String] = [], note: String = ""
  ) -> ManifestBody {
    ManifestBody(
      state: state, chain: Fixed.chain, sequence: 42, revision: 0, core: core, bytesDecoded: 0, bytesFetched: 0,
      newBytes: 0, nextPackNumber: next, tags: tags, note: note, packTable: Samples.body.packTable, maps: maps)
  }
}
