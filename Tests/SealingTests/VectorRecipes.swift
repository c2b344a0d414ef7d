import CZstd

@testable import Sealing

/// How each vector is made. Nothing here is random.
enum VectorRecipes {
  static func all() throws -> [Vector] {
    try objects() + bodies() + nodes()
  }

  private static func objects() throws -> [Vector] {
    try packs() + deltas() + cells() + manifests() + others() + slots() + headers() + directories() + frames()
  }

  static func vector(
    _ name: String, _ about: String, kind: ObjectKind = .pack, expect: String, _ bytes: [UInt8],
    bases: [[UInt8]] = [], objectName: Digest? = nil
  ) -> Vector {
    Vector(
      name: name, expect: expect, about: about, kind: "\(kind)", bytes: bytes, objectName: objectName, bases: bases)
  }

  /// A vector that must be read, with the digest of what it holds.
  static func good(
    _ name: String, _ about: String, kind: ObjectKind = .pack, _ bytes: [UInt8], content: [UInt8],
    bases: [[UInt8]] = []
  ) -> Vector {
    var vector = vector(
      name, about, kind: kind, expect: "success", bytes, bases: bases, objectName: .sha256(of: bytes))
    vector.content = .sha256(of: content)
    return vector
  }

  static func pack(_ frames: [EncodedFrame], bases: [Digest] = []) throws -> [UInt8] {
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, basePacks: bases, random: Fixed.stuckRandom)
    for frame in frames { builder.add(frame) }
    return try builder.finish().bytes
  }

  private static func packs() throws -> [Vector] {
    let pages = [Fixed.page(1), Fixed.page(2), Fixed.page(3)]
    let blocks = [Fixed.page(4, size: 1000), [7]]
    let nodes = [Samples.leaf.encode(), Samples.branch.encode(), Samples.table.encode()]
    let old = Forge(epoch: 1, frames: [try Frames.encoded(.page, pages, level: 0)])
    return [
      good("pack-empty", "no frames", try pack([]), content: []),
      good(
        "pack-raw", "pages as they are", try pack([try Frames.encoded(.page, pages, level: 0)]),
        content: Array(pages.joined())),
      good(
        "pack-zstd", "two frames of compressed pages",
        try pack([try Frames.encoded(.page, pages), try Frames.encoded(.page, [pages[0]])]),
        content: Array(pages.joined()) + pages[0]),
      good(
        "pack-blocks", "blocks, the last one shorter, so lengths are written one by one",
        try pack([try Frames.encoded(.block, blocks)]), content: Array(blocks.joined())),
      good(
        "pack-nodes", "a map leaf, a map branch and a leaf of the pack table",
        try pack([try Frames.encoded(.node, nodes)]), content: Array(nodes.joined())),
      good("pack-old-epoch", "sealed in epoch 1 while 2 is current", try old.sealed(), content: Array(pages.joined())),
    ]
  }

  private static func deltas() throws -> [Vector] {
    func content(_ depth: Int) throws -> [UInt8] {
      try Reading.everything(in: try pack(try Frames.chain(depth: depth)), kind: .pack)
    }
    // Raw content that looks like a formatted dictionary must still be raw content.
    let magic: [UInt8] = [0x37, 0xA4, 0x30, 0xEC] + Fixed.page(5).dropFirst(4)
    var near = magic
    near[100] ^= 1
    let base = try pack([
      try Frames.encoded(.page, [Fixed.page(6), Fixed.page(7)]), try Frames.encoded(.page, [magic]),
    ])
    var mixed = Fixed.page(7)
    mixed[9] ^= 1
    let rest = try pack(
      [
        try Frames.encoded(.page, [Fixed.page(6)], level: 0),
        Frames.delta(
          .page, [mixed], prefix: Fixed.page(7) + Fixed.page(6) + magic,
          bases: [
            .init(pack: 0, frame: 0, firstUnit: 1, count: 1), .init(pack: nil, frame: 0, firstUnit: 0, count: 1),
            .init(pack: 0, frame: 1, firstUnit: 0, count: 1),
          ]),
      ], bases: [.sha256(of: base)])
    return [
      good(
        "delta-depth-1", "a frame on the one before it", try pack(try Frames.chain(depth: 1)), content: try content(1)),
      good("delta-depth-8", "the deepest that is read", try pack(try Frames.chain(depth: 8)), content: try content(8)),
      vector(
        "delta-depth-9", "one deeper than is read", expect: "malformed",
        try Forge(frames: try Frames.chain(depth: 9)).sealed()),
      good(
        "delta-dictionary-magic", "the prefix begins with the magic of zstd's dictionaries",
        try pack([
          try Frames.encoded(.page, [magic], level: 0),
          Frames.delta(
            .page, [near], prefix: magic, bases: [.init(pack: nil, frame: 0, firstUnit: 0, count: 1)]),
        ]), content: magic + near),
      good(
        "delta-other-pack", "a prefix of three runs, from another pack and from the same", rest,
        content: Fixed.page(6) + mixed, bases: [base]),
    ]
  }

  private static func manifests() throws -> [Vector] {
    func content(_ body: ManifestBody) throws -> [UInt8] {
      [Samples.leaf.encode(), Samples.branch.encode(), Samples.table.encode(), Fixed.page(8), body.encode()]
        .flatMap { $0 }
    }
    func body(_ name: String, _ about: String, expect: String = "malformed", _ members: [Core.Member]) throws -> Vector
    {
      let core = Core(
        chain: Fixed.chain, sequence: 1, previous: .zero, time: Fixed.time, host: "host", database: "app",
        method: .pages, flags: [], members: members)
      let maps = members.filter { $0.file != nil }.map { _ in Samples.body.maps[0] }
      let body = ManifestBody(
        state: .complete, chain: Fixed.chain, sequence: 1, revision: 0, core: core.encode(), bytesDecoded: 0,
        bytesFetched: 0, newBytes: 0, nextPackNumber: 1, tags: [], note: "", packTable: [], maps: maps)
      return vector(name, about, kind: .manifest, expect: expect, try Samples.object(.manifest, body.encode()).bytes)
    }
    func member(_ path: String, _ content: Core.Member.Content) -> Core.Member {
      Core.Member(path: path, mode: 0o644, modified: 0, content: content)
    }
    let database = Samples.members[0]
    return [
      good(
        "manifest-complete", "database, companion file, folder and link; riders; tags and note", kind: .manifest,
        try Samples.manifest().bytes, content: try content(Samples.body)),
      good(
        "manifest-partial", "protects packs, is no version", kind: .manifest,
        try Samples.manifest(Samples.partial).bytes,
        content: try content(Samples.partial)),
      try body("manifest-path-parent", "a member at ../a", [database, member("../a", .folder)]),
      try body("manifest-path-absolute", "a member at /etc/a", [database, member("/etc/a", .folder)]),
      try body(
        "manifest-path-below-link", "a member below a link that leads elsewhere",
        [database, member("out", .link(target: "/etc")), member("out/a", .folder)]),
      try body("manifest-two-databases", "two members of type 1", [database, member("b", database.content)]),
      vector(
        "manifest-critical-extension", "an extension that must be known", kind: .manifest, expect: "unsupported",
        try Samples.object(.manifest, Samples.partial.encode().dropLast(2) + [0, 1, 0x80, 0, 0, 0, 0, 0]).bytes),
    ]
  }

  private static func others() throws -> [Vector] {
    var vectors: [Vector] = []
    for (name, kind, meta) in [
      ("condemned", .condemned, Samples.condemned.encode()), ("tombstone", .tombstone, Samples.tombstone.encode()),
      ("annotation", .annotation, Samples.annotation.encode()),
      ("configuration", .configuration, Samples.configuration.encode()),
      (
        "configuration-extension", .configuration,
        Samples.configuration.encode().dropLast(2) + [0, 1, 0, 9, 0, 0, 0, 1, 5]
      ),
    ] as [(String, ObjectKind, [UInt8])] {
      vectors.append(
        good(
          name, "a body with something in every field", kind: kind, try Samples.object(kind, meta).bytes, content: meta)
      )
    }
    let keyring = try Fixed.keyring.seal(master: Fixed.master, repository: Fixed.repository, random: Fixed.stuckRandom)
    let other = try Fixed.keyring.seal(
      master: Fixed.otherMaster, repository: Fixed.repository, random: Fixed.stuckRandom)
    vectors.append(
      good("keyring", "two epochs and a cut", kind: .keyring, keyring.bytes, content: Fixed.keyring.encode()))
    vectors.append(
      vector(
        "keyring-other-master", "sealed under another master key", kind: .keyring, expect: "wrong key", other.bytes))
    let touching = Tombstone(
      chain: Fixed.chain, time: 0,
      ranges: [(1, 2), (3, 4)].map { .init(first: $0.0, last: $0.1, previousOfFirst: .zero, coreHashOfLast: .zero) })
    vectors.append(
      vector(
        "tombstone-touching", "two ranges that are one", kind: .tombstone, expect: "malformed",
        try Samples.object(.tombstone, touching.encode()).bytes))
    var features = Samples.configuration.encode()
    features[8] = 1
    vectors.append(
      vector(
        "configuration-feature", "a feature bit of tomorrow", kind: .configuration, expect: "unsupported",
        try Samples.object(.configuration, features).bytes))
    vectors.append(
      vector(
        "tombstone-frames", "a tombstone with a frame", kind: .tombstone, expect: "malformed",
        try Forge(
          kind: .tombstone, frames: [try Frames.encoded(.page, [Fixed.page(1)])], meta: Samples.tombstone.encode()
        ).sealed()))
    return vectors
  }

  private static func slots() throws -> [Vector] {
    let secrets: [(String, [UInt8], SlotSecret)] = [
      ("passphrase", Array("correct horse".utf8), .passphrase(Array("correct horse".utf8))),
      ("key file", Fixed.keyFile, .keyFile(Fixed.keyFile)),
      ("recovery key", Fixed.recoveryKey, .recoveryKey(Fixed.recoveryKey)),
    ]
    var vectors: [Vector] = []
    func add(
      _ name: String, _ about: String, _ expect: String, _ bytes: [UInt8],
      _ secret: (kind: String, bytes: [UInt8])? = nil,
      kind: String = "slot", content: [UInt8]? = nil
    ) {
      vectors.append(
        Vector(
          name: name, expect: expect, about: about, kind: kind, bytes: bytes, secret: secret,
          content: content.map { .sha256(of: $0) }))
    }
    for (kind, bytes, secret) in secrets {
      let slot = try Samples.slot(secret)
      let suffix = kind.replacing(" ", with: "-")
      add("slot-\(suffix)", "opens", "success", slot, (kind, bytes), content: Fixed.master.bytes)
    }
    let slot = try Samples.slot(.keyFile(Fixed.keyFile))
    let right = (kind: "key file", bytes: Fixed.keyFile)
    func changed(_ offset: Int, _ value: UInt8) -> [UInt8] {
      var bytes = slot
      bytes[offset] = value
      return bytes
    }
    add("slot-other-key-file", "another secret of the same kind", "wrong key", slot, ("key file", Fixed.keyFile + [0]))
    add("slot-other-derivation", "another kind of secret", "wrong key", slot, ("recovery key", Fixed.recoveryKey))
    add("slot-tag", "the last bit flipped", "damaged", changed(175, slot[175] ^ 1), right)
    add("slot-cut", "one byte short", "truncated", Array(slot.dropLast()), right)
    add("slot-long", "one byte too many", "malformed", slot + [0], right)
    add("slot-version", "version 1", "unsupported", changed(8, 1), right)
    add("slot-derivation", "derivation 4", "unsupported", changed(9, 4), right)
    add("slot-cost", "a cost where none belongs", "malformed", changed(10, 17), right)
    add("slot-zeros", "a byte where zeros must be", "malformed", changed(80, 1), right)

    let text = RecoveryKey.text(of: Fixed.recoveryKey)
    add(
      "recovery-key", "as printed", "success", Array(text.utf8), kind: "recovery key", content: Fixed.recoveryKey)
    let typed = text.lowercased().replacing("-", with: " ").replacing("o", with: "0").replacing("i", with: "1")
    add(
      "recovery-key-typed", "as people type it", "success", Array(typed.replacing("b", with: "8").utf8),
      kind: "recovery key", content: Fixed.recoveryKey)
    let wrong = (text.first == "A" ? "B" : "A") + text.dropFirst()
    add("recovery-key-mistyped", "one character wrong", "malformed", Array(wrong.utf8), kind: "recovery key")
    let file = RepositoryFile(repository: Fixed.repository).encode()
    add(
      "repository-file", "64 bytes in the clear", "success", file, kind: "repository file",
      content: Fixed.repository.bytes)
    add("repository-file-cut", "one byte short", "truncated", Array(file.dropLast()), kind: "repository file")
    var later = file
    later[8] = 1
    add("repository-file-version", "version 1", "unsupported", later, kind: "repository file")
    return vectors
  }
}
