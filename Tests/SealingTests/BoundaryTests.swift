import TestKit
import Testing

@testable import Sealing

/// Everything at and around its limits, by product, through the whole way: encode, seal, open, decode.
@Suite struct BoundaryTests {
  @Test(arguments: [1, 511, 512, 513, 65_535, 65_536], [1, 2, 3, 5])
  func `Blocks of any length come back, in any number of frames`(size: Int, count: Int) throws {
    var random = SeededRandom(UInt64(size * 31 + count))
    for level in [Int32(0), 1, -5] {
      var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: systemRandom)
      var expected: [UInt8] = []
      for frame in 0..<count {
        // Random bytes do not shrink, zeros do: both codecs, and a last block that is shorter.
        let unit = frame % 2 == 0 ? random.bytes(size) : [UInt8](repeating: 0, count: size)
        let units = frame % 3 == 2 ? [unit, Array(unit.prefix(max(1, size / 2)))] : [unit]
        builder.add(try Frames.encoded(.block, units, level: level))
        expected += units.joined()
      }
      let sealed = try builder.finish()
      #expect(Padding.padded(sealed.bytes.count) == sealed.bytes.count)
      #expect(try Reading.everything(in: sealed.bytes, kind: .pack, name: sealed.name) == expected)
    }
  }

  @Test(arguments: [512, 1024, 4096, 65_536])
  func `Pages of every size fill frames to the last byte`(size: Int) throws {
    let pages = (0..<262_144 / size).map { Fixed.page($0, size: size) }
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: systemRandom)
    builder.add(try Frames.encoded(.page, pages))
    let sealed = try builder.finish()
    #expect(try Reading.everything(in: sealed.bytes, kind: .pack) == Array(pages.joined()))
  }

  @Test func `An object without frames and body is the smallest there is`() throws {
    let sealed = try ObjectBuilder(kind: .pack, keys: Fixed.keys, random: systemRandom).finish()
    #expect(sealed.bytes.count == 4096)
    #expect(try Reading.everything(in: sealed.bytes, kind: .pack, name: sealed.name) == [])
  }

  @Test func `A body of any length comes back; one beyond 64 MiB is refused`() throws {
    let overhead = 128 + 11 + 16 + 4
    for length in [0, 1, 4096 - overhead, 4096 - overhead + 1, 65_536 - overhead, 65_536 - overhead + 1, 1_000_000] {
      let meta = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
      let sealed = try Samples.object(.tombstone, meta)
      let opened = try OpenedObject.open(sealed.bytes, kind: .tombstone, name: sealed.name, keys: Fixed.keys)
      #expect(opened.directory.meta == meta)
    }
    let tooLong = [UInt8](repeating: 0, count: Limits.object - overhead + 1)
    #expect(failure { _ = try Samples.object(.tombstone, tooLong) } == .malformed)
  }

  @Test func `Any frame can be read by range with the pack's entry alone`() throws {
    let sealed = try Samples.pack()
    let entry = try PackEntry(decoding: sealed.packEntry(number: 7).encode())
    #expect(entry == sealed.packEntry(number: 7))
    let reader = try PackReader(entry: entry, keys: Fixed.keys)
    let end = sealed.bytes.count - 4
    let directory = try reader.openDirectory(Array(sealed.bytes[end - Int(entry.directoryLength)..<end]))
    let whole = try OpenedObject.open(sealed.bytes, kind: .pack, name: entry.name, keys: Fixed.keys)
    #expect(directory.frames == whole.directory.frames)
    let decoder = FrameDecoder(keys: Fixed.keys)
    for (index, record) in directory.frames.enumerated().reversed() {
      let range = record.offset..<record.offset + Int(record.sealedLength)
      let plain = try decoder.decode(
        sealed.bytes[range], record: record, index: index, objectKeys: reader.objectKeys, prefix: nil)
      #expect(try whole.decodeFrame(index, with: FrameDecoder(keys: Fixed.keys)) == plain)
    }
  }

  @Test func `A frame can be decoded without proof, and only proof finds a wrong prefix`() throws {
    let base = Fixed.page(1)
    let page = Array(base[100...] + base[..<100])
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: Fixed.stuckRandom)
    builder.add(try Frames.encoded(.page, [base]))
    builder.add(
      Frames.delta(.page, [page], prefix: base, bases: [.init(pack: nil, frame: 0, firstUnit: 0, count: 1)]))
    let sealed = try builder.finish()
    let object = try OpenedObject.open(sealed.bytes, kind: .pack, name: sealed.name, keys: Fixed.keys)
    let decoder = FrameDecoder(keys: Fixed.keys)
    #expect(try object.decodeFrame(1, with: decoder, prefix: base) == page)
    #expect(decoder.fingerprints.count == 16)
    #expect(try object.decodeFrame(1, with: decoder, prefix: base, proving: false) == page)
    #expect(decoder.fingerprints.isEmpty)
    let wrong = base.map { $0 ^ 1 }
    #expect(failure { _ = try object.decodeFrame(1, with: decoder, prefix: wrong) } == .damaged)
    #expect(try object.decodeFrame(1, with: decoder, prefix: wrong, proving: false) != page)
  }

  @Test func `Frames that do not shrink are stored as they are, the others are not`() throws {
    var random = SeededRandom(1)
    #expect(try Frames.encoded(.block, [random.bytes(10_000)]).codec == .raw)
    #expect(try Frames.encoded(.block, [[UInt8](repeating: 3, count: 10_000)]).codec == .zstd)
    #expect(try Frames.encoded(.block, [[UInt8](repeating: 3, count: 10_000)], level: 0).codec == .raw)
  }
}
