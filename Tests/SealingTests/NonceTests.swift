import TestKit
import Testing

@testable import Sealing

/// No pair of key and nonce is ever used for two different texts, even when the random generator repeats itself.
@Suite struct NonceTests {
  private static let frames = Campaign.isFull ? 1_000_000 : 100_000
  private static let framesPerObject = 64

  @Test(arguments: [true, false])
  func `No pair of key and nonce repeats`(stuck: Bool) throws {
    var pairs = Set<Fingerprint>()
    pairs.reserveCapacity(Self.frames * 2)
    var keys = Set<[UInt8]>()
    var objects = 0
    while objects * Self.framesPerObject < Self.frames {
      let sealed = try object(number: objects, random: stuck ? Fixed.stuckRandom : systemRandom)
      let (header, _) = try Header.decode(sealed.bytes[...])
      let derived = ObjectKeys(header: header, kindKey: try Fixed.keys.kindKey(.pack, epoch: header.epoch))
      keys.insert(derived.key.bytes)
      // That a frame opens with a pair proves that this is the pair it was sealed with.
      let cipher = try derived.cipher()
      let directory = try OpenedObject.open(sealed.bytes, kind: .pack, name: nil, keys: Fixed.keys).directory
      for (index, record) in directory.frames.enumerated() {
        let nonce = derived.nonce(UInt32(index), final: false)
        let additional = ObjectKeys.additionalData(
          UInt32(index), final: false, plaintextLength: record.plaintextLength, codec: record.codec,
          frameID: record.frameID)
        let range = record.offset..<record.offset + Int(record.sealedLength)
        try #require(try cipher.open(sealed.bytes[range], nonce: nonce, additional: additional) != nil)
        pairs.insert(pair(derived, nonce))
      }
      pairs.insert(pair(derived, derived.nonce(ObjectKeys.directoryIndex, final: true)))
      objects += 1
    }
    #expect(keys.count == objects)
    #expect(pairs.count == objects * (Self.framesPerObject + 1))
    Fault.nonces.met(pairs.count, "pairs with a generator that is \(stuck ? "stuck" : "sound")")
    print("nonces: \(pairs.count) pairs of \(objects) objects, generator \(stuck ? "stuck" : "sound"), no repeat")
  }

  @Test func `With a stuck generator, only the same object gets the same key`() throws {
    let one = try object(number: 1, random: Fixed.stuckRandom)
    #expect(try object(number: 1, random: Fixed.stuckRandom).bytes == one.bytes)
    var salts: Set<[UInt8]> = [Array(one.bytes[32..<64])]
    // One difference each: content, the way it is compressed, its place, the number of frames, the kind.
    let page = Fixed.page(1, size: 4096)
    let whole = try Frames.encoded(.page, [page])
    let other = Frames.made(.zstd, .page, [page], payload: Frames.compress(page + [], prefix: [], []))
    let raw = try Frames.encoded(.page, [page], level: 0)
    let small = try Frames.encoded(.page, [Fixed.page(2)])
    let contents: [(ObjectKind, [EncodedFrame])] = [
      (.pack, [whole]), (.pack, [other]), (.pack, [raw]), (.pack, [whole, small]), (.pack, [small, whole]),
      (.pack, []), (.manifest, [whole]), (.manifest, []),
    ]
    for (kind, frames) in contents {
      var builder = ObjectBuilder(kind: kind, keys: Fixed.keys, random: Fixed.stuckRandom)
      for frame in frames { builder.add(frame) }
      let sealed = try builder.finish()
      let (header, _) = try Header.decode(sealed.bytes[...])
      let keys = ObjectKeys(header: header, kindKey: try Fixed.keys.kindKey(kind, epoch: header.epoch))
      #expect(salts.insert(keys.key.bytes).inserted, "\(kind) of \(frames.count) frames")
    }
  }

  private func object(number: Int, random: @escaping RandomSource) throws -> SealedObject {
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: random)
    for frame in 0..<Self.framesPerObject {
      let mark = UInt64(number * Self.framesPerObject + frame)
      var content = ByteWriter()
      content.write(mark)
      builder.add(
        EncodedFrame(
          codec: .raw, type: .block, unitLengths: UnitLengths(uniform: 8, count: 1),
          fingerprints: [Fingerprint(high: mark, low: 0)], payload: content.bytes))
    }
    return try builder.finish()
  }

  private func pair(_ keys: ObjectKeys, _ nonce: [UInt8]) -> Fingerprint {
    Fingerprint(of: .sha256(of: keys.key.bytes + nonce))
  }
}
