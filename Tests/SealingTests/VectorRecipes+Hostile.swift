import CZstd

@testable import Sealing

/// Objects that no honest writer makes, most of them under the right keys.
extension VectorRecipes {
  static func headers() throws -> [Vector] {
    let honest = try Samples.pack().bytes
    func forged(_ offset: Int, _ value: UInt8) throws -> [UInt8] {
      try Forge(
        frames: [try Frames.encoded(.page, [Fixed.page(1)])],
        header: { header in
          var header = header
          header[offset] = value
          return header
        }
      ).sealed()
    }
    func flipped(_ offset: Int) -> [UInt8] {
      var bytes = honest
      bytes[offset] ^= 1
      return bytes
    }
    let directory = honest.count - 4 - (try Samples.pack().directoryLength)
    return [
      vector("header-magic", "another magic", expect: "damaged", try forged(3, 0x55)),
      vector(
        "header-version", "the version after this one", expect: "unsupported",
        try forged(8, UInt8(ObjectFormat.version) + 1)),
      vector("header-aead", "AEAD 2", expect: "unsupported", try forged(9, 2)),
      vector("header-kind", "kind 8", expect: "unsupported", try forged(10, 8)),
      vector("header-kem", "KEM 1", expect: "unsupported", try forged(11, 1)),
      vector("header-epoch-unknown", "an epoch that the keyring does not hold", expect: "damaged", try forged(15, 9)),
      vector("header-epoch-zero", "epoch 0 outside of a keyring", expect: "damaged", try forged(15, 0)),
      vector("header-reserved", "a byte where zeros must be, authentic", expect: "malformed", try forged(70, 1)),
      vector(
        "header-other-kind", "a tombstone where a pack belongs", expect: "damaged",
        try Samples.object(.tombstone, Samples.tombstone.encode()).bytes),
      vector("header-other-repository", "of another repository", expect: "damaged", flipped(20)),
      vector("header-commitment", "one bit of the commitment", expect: "damaged", flipped(100)),
      vector("object-frame-bit", "one bit of a frame", expect: "damaged", flipped(140)),
      vector("object-directory-bit", "one bit of the directory frame", expect: "damaged", flipped(directory + 9)),
      vector("object-name", "another name", expect: "damaged", honest, objectName: Fixed.digest("another name")),
      vector("object-cut", "cut below the least length", expect: "truncated", Array(honest.prefix(4000))),
      vector(
        "object-directory-length", "a directory longer than the object", expect: "truncated",
        Array(honest.dropLast(4)) + [0, 0, 0x10, 0]),
      vector(
        "object-directory-short", "a directory below the least length", expect: "damaged",
        Array(honest.dropLast(4)) + [0, 0, 0, 26]),
    ]
  }

  static func directories() throws -> [Vector] {
    let page = try Frames.encoded(.page, [Fixed.page(1)], level: 0)
    let other = Fixed.digest("a base pack")
    func delta(_ runs: [BaseRun]) -> EncodedFrame {
      Frames.delta(.page, [Fixed.page(2)], prefix: Fixed.page(1), bases: runs)
    }
    func make(_ frames: [EncodedFrame], bases: [Digest] = [], _ change: @escaping ([UInt8]) -> [UInt8] = { $0 }) throws
      -> [UInt8]
    {
      try Forge(frames: frames, basePacks: bases, directory: change).sealed()
    }
    func set(_ offset: Int, _ value: UInt8) -> ([UInt8]) -> [UInt8] {
      { directory in
        var directory = directory
        directory[offset] = value
        return directory
      }
    }
    let own = BaseRun(pack: nil, frame: 0, firstUnit: 0, count: 1)
    let many = (0..<65).map { BaseRun(pack: nil, frame: $0, firstUnit: 0, count: 1) }
    let manyFrames = try (0..<65).map { try Frames.encoded(.page, [Fixed.page($0)], level: 0) }
    let manyPrefix = (0..<65).flatMap { Fixed.page($0) }
    // Offsets in a directory without bases: version 0, count of bases 1, of frames 3, first record 7.
    return try [
      ("directory-version", "directory version 1", "unsupported", make([page], set(0, 1))),
      ("directory-codec", "codec 5", "unsupported", make([page], set(11, 5))),
      ("directory-unit-type", "unit type 4", "unsupported", make([page], set(12, 4))),
      ("directory-no-units", "a frame without units", "malformed", make([page], set(14, 0))),
      ("directory-page-length", "a page of 513 bytes", "malformed", make([page], set(18, 1))),
      ("directory-gap", "a byte between frame and directory", "malformed", Forge(frames: [page], gap: 1).sealed()),
      ("directory-overlap", "a frame longer than it is", "malformed", make([page], set(9, 3))),
      ("directory-count", "more frames than bytes", "malformed", make([page], set(3, 0xFF))),
      (
        "directory-long-form", "equal lengths written one by one", "malformed",
        make([try Frames.encoded(.block, [[1], [2]], level: 0)]) { bytes in
          bytes[..<15] + [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1] + bytes[19...]
        }
      ),
      (
        "directory-padding", "padding that is not zeros", "malformed",
        Forge(frames: [page], padded: { $0.dropLast() + [1] }).sealed()
      ),
      ("directory-meta", "a pack with a body", "malformed", Forge(frames: [page], meta: [1]).sealed()),
      ("bases-unused", "a base pack that no frame uses", "malformed", make([page], bases: [other])),
      (
        "bases-twice", "a base pack listed twice", "malformed",
        make(
          [
            page,
            delta([.init(pack: 0, frame: 0, firstUnit: 0, count: 1), .init(pack: 1, frame: 0, firstUnit: 0, count: 1)]),
          ], bases: [other, other])
      ),
      (
        "bases-unlisted", "a run in a base pack that is not listed", "malformed",
        make([page, delta([.init(pack: 1, frame: 0, firstUnit: 0, count: 1)])], bases: [other])
      ),
      ("bases-none", "a delta without runs", "malformed", make([page, delta([])])),
      (
        "bases-itself", "a delta on itself", "malformed",
        make([page, delta([.init(pack: nil, frame: 1, firstUnit: 0, count: 1)])])
      ),
      (
        "bases-empty-run", "a run of no units", "malformed",
        make([page, delta([own, .init(pack: nil, frame: 0, firstUnit: 0, count: 0)])])
      ),
      (
        "bases-beyond", "a run beyond the units of its frame", "malformed",
        make([page, delta([.init(pack: nil, frame: 0, firstUnit: 1, count: 1)])])
      ),
      (
        "bases-other-type", "pages on blocks", "malformed",
        make([try Frames.encoded(.block, [Fixed.page(1)], level: 0), delta([own])])
      ),
      (
        "bases-other-length", "pages on pages of another length", "malformed",
        make([try Frames.encoded(.page, [Fixed.page(1, size: 1024)], level: 0), delta([own])])
      ),
      (
        "bases-65-frames", "a prefix from 65 frames", "malformed",
        make(manyFrames + [Frames.delta(.page, [Fixed.page(2)], prefix: manyPrefix, bases: many)])
      ),
    ].map { vector($0.0, $0.1, expect: $0.2, $0.3) }
  }

  static func frames() throws -> [Vector] {
    let pages = [Fixed.page(1), Fixed.page(2)]
    let plain = Array(pages.joined())
    let good = Frames.compress(plain)
    func make(_ payload: [UInt8], _ units: [[UInt8]] = pages) throws -> [UInt8] {
      try Forge(frames: [Frames.made(.zstd, .page, units, payload: payload)]).sealed()
    }
    // Magic, then a descriptor: no single segment, content size of four bytes; a window of 4 MiB.
    let start: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
    let rawBlock: [UInt8] = [0x01 | UInt8(plain.count << 3 & 0xFF), UInt8(plain.count >> 5), 0] + plain
    let size: [UInt8] = [0, 4, 0, 0]
    let lying = EncodedFrame(
      codec: .raw, type: .page, unitLengths: UnitLengths(uniform: 512, count: 1),
      fingerprints: [Fingerprint(of: Fixed.digest("another page"))], payload: pages[0])
    return try [
      ("zstd-window-2-mib", "the largest window", "success", make(start + [0x80, 11 << 3] + size + rawBlock)),
      ("zstd-window-4-mib", "a window beyond 2 MiB", "malformed", make(start + [0x80, 12 << 3] + size + rawBlock)),
      (
        "zstd-window-2.25-mib", "a window a little beyond", "malformed",
        make(start + [0x80, 11 << 3 | 1] + size + rawBlock)
      ),
      (
        "zstd-no-size", "no content size", "malformed",
        make(Frames.compress(plain, prefix: [], [(ZSTD_c_contentSizeFlag, 0)]))
      ),
      ("zstd-other-size", "another content size", "malformed", make(Frames.compress(plain + [0]))),
      ("zstd-dictionary-id", "a dictionary id", "malformed", make(start + [0x81, 0] + [7] + size + rawBlock)),
      (
        "zstd-checksum", "with zstd's own checksum", "success",
        make(Frames.compress(plain, prefix: [], [(ZSTD_c_checksumFlag, 1)]))
      ),
      ("zstd-trailing", "a byte after the zstd frame", "malformed", make(good + [0])),
      ("zstd-two-frames", "two zstd frames", "malformed", make(Frames.compress(pages[0]) + Frames.compress(pages[1]))),
      (
        "zstd-dictionary-id-zero", "a dictionary id of zero", "malformed",
        make(start + [0x81, 0] + [0] + size + rawBlock)
      ),
      (
        "zstd-skippable-after", "a skippable frame after", "malformed",
        make(good + [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0])
      ),
      ("zstd-skippable", "a skippable frame before", "malformed", make([0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0] + good)),
      ("zstd-old", "a frame of zstd 0.7", "malformed", make([0x27, 0xB5, 0x2F, 0xFD] + good.dropFirst(4))),
      ("zstd-cut", "a zstd frame that ends early", "malformed", make(good.dropLast(3))),
      ("zstd-noise", "no zstd frame at all", "malformed", make(Fixed.page(9, size: 64))),
      ("frame-fingerprint", "a page other than its fingerprint says", "damaged", Forge(frames: [lying]).sealed()),
    ].map { name, about, expect, bytes in
      expect == "success"
        ? Self.good(name, about, bytes, content: plain) : vector(name, about, expect: expect, bytes)
    }
  }
}
