import TestKit
import Testing

@testable import Sealing

/// A server that lies: nothing it changes, swaps, cuts or repeats is taken for genuine. The name is never checked here,
/// which leaves the attacker every freedom.
@Suite struct CampaignTests {
  @Test(arguments: try! objects() + parts() + slots())
  func `Nothing altered is accepted`(target: Campaign.Target) throws {
    try target.read(target.bytes)
    var campaign = Campaign(seed: UInt64(target.bytes.count))
    campaign.alter(target)
    #expect(campaign.accepted.isEmpty, "\(campaign.accepted.prefix(3))")
    Fault.altered.met(campaign.refused, target.name)
    print("campaign: \(target.name): \(campaign.refused) refused, \(campaign.accepted.count) accepted")
  }

  /// One of each kind, read to its end.
  static func objects() throws -> [Campaign.Target] {
    func target(_ name: String, _ kind: ObjectKind, _ sealed: SealedObject) -> Campaign.Target {
      Campaign.Target(name: name, bytes: sealed.bytes) { try Reading.everything(in: $0, kind: kind) }
    }
    let keyring = try Fixed.keyring.seal(master: Fixed.master, repository: Fixed.repository, random: Fixed.stuckRandom)
    return [
      target("pack", .pack, try Samples.pack()), target("delta pack", .pack, try Samples.deltaPack()),
      target("cell pack", .pack, try Samples.cellPack()), target("node pack", .pack, try Samples.nodePack()),
      target("manifest", .manifest, try Samples.manifest()),
      target("partial manifest", .manifest, try Samples.manifest(Samples.partial)),
      target("condemned record", .condemned, try Samples.object(.condemned, Samples.condemned.encode())),
      target("tombstone", .tombstone, try Samples.object(.tombstone, Samples.tombstone.encode())),
      target("annotation", .annotation, try Samples.object(.annotation, Samples.annotation.encode())),
      target("configuration", .configuration, try Samples.object(.configuration, Samples.configuration.encode())),
      Campaign.Target(name: "keyring", bytes: keyring.bytes) {
        _ = try Keyring.open($0, name: nil, master: Fixed.master, repository: Fixed.repository)
      },
    ]
  }

  /// Parts as they are fetched by range, each with the keys of the pack's entry.
  static func parts() throws -> [Campaign.Target] {
    var targets: [Campaign.Target] = []
    for (name, sealed) in [
      ("frame", try Samples.pack()), ("delta frame", try Samples.deltaPack()), ("cell frame", try Samples.cellPack()),
      ("nodes", try Samples.nodePack()),
    ] {
      let reader = try PackReader(entry: sealed.packEntry(number: 1), keys: Fixed.keys)
      let end = sealed.bytes.count - 4
      let directoryFrame = Array(sealed.bytes[end - sealed.directoryLength..<end])
      let directory = try reader.openDirectory(directoryFrame)
      for (index, record) in directory.frames.enumerated() {
        let range = record.offset..<record.offset + Int(record.sealedLength)
        let prefix = record.codec.hasPrefix ? try prefix(of: record, sealed) : nil
        targets.append(
          Campaign.Target(name: "\(name) \(index) by range", bytes: Array(sealed.bytes[range])) {
            _ = try FrameDecoder(keys: Fixed.keys).decode(
              $0[...], record: record, index: index, objectKeys: reader.objectKeys, prefix: prefix)
          })
      }
      targets.append(
        Campaign.Target(name: "directory of \(name) by range", bytes: directoryFrame) {
          _ = try reader.openDirectory($0)
        })
    }
    return targets
  }

  static func slots() throws -> [Campaign.Target] {
    let secrets: [(String, SlotSecret)] = [
      ("key file", .keyFile(Fixed.keyFile)), ("recovery key", .recoveryKey(Fixed.recoveryKey)),
    ]
    return try secrets.map { name, secret in
      Campaign.Target(name: "slot of a \(name)", bytes: try Samples.slot(secret)) {
        _ = try KeySlot.open($0, secret: secret, repository: Fixed.repository)
      }
    }
  }

  /// scrypt makes each case a tenth of a second: a few of each part, in shares for the cores; the form is as above.
  @Test(arguments: 0..<4) func `Nothing altered in a slot of a passphrase is accepted`(share: Int) throws {
    let secret = SlotSecret.passphrase(Array("correct horse".utf8))
    let slot = try Samples.slot(secret)
    var random = SeededRandom(11)
    var campaign = Campaign(seed: 1)
    let cases = Campaign.isFull ? Array(0..<slot.count * 8) : (0..<24).map { _ in Int(random.next() % 1408) }
    for (number, bit) in cases.enumerated() where number % 4 == share {
      var other = slot
      other[bit / 8] ^= 1 << (bit % 8)
      // A flip that asks for a gigabyte of memory is refused for its commitment too, but takes seconds.
      guard other[10] <= 17, other[11] <= 8 else { continue }
      campaign.expectRefusal("bit \(bit)") {
        _ = try KeySlot.open(other, secret: secret, repository: Fixed.repository)
      }
    }
    for length in stride(from: share, to: slot.count, by: 4) {
      campaign.expectRefusal("cut to \(length)") {
        _ = try KeySlot.open(Array(slot.prefix(length)), secret: secret, repository: Fixed.repository)
      }
    }
    #expect(campaign.accepted.isEmpty && campaign.refused > 44, "\(campaign.accepted)")
    Fault.altered.met(campaign.refused, "slot of a passphrase")
    print("campaign: slot of a passphrase, \(share): \(campaign.refused) refused, \(campaign.accepted.count) accepted")
  }

  @Test func `An object of another kind or repository is told as that, not as a wrong key`() throws {
    let elsewhere = SealingKeys(repository: Fixed.otherRepository, keyring: Fixed.keyring)
    for (kind, meta) in Samples.metas where kind != .keyring {
      let bytes = try Samples.object(kind, meta).bytes
      for other in ObjectKind.allCases where other != kind && other != .keyring {
        let error = #expect(throws: SealError.self) {
          _ = try OpenedObject.open(bytes, kind: other, name: nil, keys: Fixed.keys)
        }
        #expect(error?.message.contains("stands where one of kind") == true)
      }
      let error = #expect(throws: SealError.self) {
        _ = try OpenedObject.open(bytes, kind: kind, name: nil, keys: elsewhere)
      }
      #expect(error?.message.contains("another repository") == true)
    }
  }

  @Test func `No object passes for another kind, repository, epoch or key`() throws {
    var campaign = Campaign(seed: 2)
    let elsewhere = SealingKeys(repository: Fixed.otherRepository, keyring: Fixed.keyring)
    for (kind, meta) in Samples.metas where kind != .keyring {
      let sealed = try Samples.object(kind, meta)
      for other in ObjectKind.allCases where other != kind {
        campaign.expectRefusal("\(kind) as \(other)") {
          _ = try OpenedObject.open(sealed.bytes, kind: other, name: sealed.name, keys: Fixed.keys)
        }
        var bytes = sealed.bytes
        bytes[10] = other.rawValue
        campaign.expectRefusal("\(kind) relabelled \(other)") {
          _ = try OpenedObject.open(bytes, kind: other, name: nil, keys: Fixed.keys)
        }
      }
      for keys in [elsewhere, Fixed.otherKeys] {
        campaign.expectRefusal("\(kind) under other keys") {
          _ = try OpenedObject.open(sealed.bytes, kind: kind, name: sealed.name, keys: keys)
        }
      }
      var bytes = sealed.bytes
      bytes.replaceSubrange(16..<32, with: Fixed.otherRepository.bytes)
      campaign.expectRefusal("\(kind) moved to another repository") {
        _ = try OpenedObject.open(bytes, kind: kind, name: nil, keys: elsewhere)
      }
      for epoch in [0, 1, 3] as [UInt8] {
        bytes = sealed.bytes
        bytes[15] = epoch
        campaign.expectRefusal("\(kind) in epoch \(epoch)") {
          _ = try OpenedObject.open(bytes, kind: kind, name: nil, keys: Fixed.keys)
        }
      }
      campaign.expectRefusal("\(kind) under another name") {
        _ = try OpenedObject.open(sealed.bytes, kind: kind, name: Fixed.digest("other"), keys: Fixed.keys)
      }
    }
    #expect(campaign.accepted.isEmpty, "\(campaign.accepted)")
    Fault.replayed.met(campaign.refused, "kind, repository, epoch, key, name")
    print("campaign: replays: \(campaign.refused) refused, \(campaign.accepted.count) accepted")
  }

  @Test func `No frame passes for another one, in its object or in the next`() throws {
    let one = try Samples.pack()
    let two = try Samples.pack(first: 20)
    var campaign = Campaign(seed: 3)
    let keys = try [one, two].map { try PackReader(entry: $0.packEntry(number: 1), keys: Fixed.keys).objectKeys }
    let directories = try [one, two].map {
      try OpenedObject.open($0.bytes, kind: .pack, name: nil, keys: Fixed.keys).directory
    }
    func bytes(_ object: Int, _ frame: Int) -> ArraySlice<UInt8> {
      let record = directories[object].frames[frame]
      return [one, two][object].bytes[record.offset..<record.offset + Int(record.sealedLength)]
    }
    let decoder = FrameDecoder(keys: Fixed.keys)
    for place in 0..<2 {
      for index in 0..<3 {
        for from in 0..<2 {
          for other in 0..<3 where (from, other) != (place, index) {
            for record in [directories[place].frames[index], directories[from].frames[other]] {
              campaign.expectRefusal("frame \(other) of \(from) as \(index) of \(place)") {
                _ = try decoder.decode(
                  bytes(from, other), record: record, index: index, objectKeys: keys[place], prefix: nil)
              }
            }
          }
        }
        // The right bytes and keys, but one field of what was authenticated is another.
        let record = directories[place].frames[index]
        let cipher = try keys[place].cipher()
        for (name, number, final, length, codec, id) in [
          ("index", UInt32(index + 1), false, record.plaintextLength, record.codec, record.frameID),
          ("final", UInt32(index), true, record.plaintextLength, record.codec, record.frameID),
          ("length", UInt32(index), false, record.plaintextLength + 1, record.codec, record.frameID),
          ("codec", UInt32(index), false, record.plaintextLength, .zstdWithPrefix, record.frameID),
          ("frame id", UInt32(index), false, record.plaintextLength, record.codec, .zero),
        ] as [(String, UInt32, Bool, Int, Codec, Digest)] {
          let additional = ObjectKeys.additionalData(
            number, final: final, plaintextLength: length, codec: codec, frameID: id)
          let nonce = keys[place].nonce(UInt32(index), final: false)
          campaign.expectRefusal("another \(name)") {
            guard try cipher.open(bytes(place, index), nonce: nonce, additional: additional) != nil else {
              throw SealError(.damaged, "refused")
            }
          }
        }
      }
    }
    // Header, frames and directory of different objects, put together.
    let end = one.bytes.count - 4 - one.directoryLength
    try #require(one.bytes.count == two.bytes.count && one.directoryLength == two.directoryLength)
    do {
      let (first, second) = (one.bytes, two.bytes)
      // Which of the two each part comes from: start of the header, commitment, frames, directory.
      for parts in 1..<15 {
        var splice: [UInt8] = []
        for (bit, range) in [0..<96, 96..<128, 128..<end, end..<first.count].enumerated() {
          splice += (parts >> bit & 1 == 0 ? first : second)[range]
        }
        campaign.expectRefusal("splice") { try Reading.everything(in: splice, kind: .pack) }
      }
    }
    #expect(campaign.accepted.isEmpty, "\(campaign.accepted)")
    Fault.replayed.met(campaign.refused, "swap or splice")
    print("campaign: swaps and splices: \(campaign.refused) refused, \(campaign.accepted.count) accepted")
  }

  /// Whoever holds the key can seal anything; a reader must survive it. Every field of every body is made small, huge
  /// and random. What still decodes encodes to the very same bytes: there is one way to write each value, so nothing
  /// can hide beside it.
  @Test func `No body under the right key makes a reader crash, and each has one spelling`() throws {
    var random = SeededRandom(5)
    var refused = 0
    var taken = 0
    for (bytes, rewrite) in try Self.bodies() {
      var cases: [[UInt8]] = bytes.indices.map { Array(bytes.prefix($0)) } + [bytes + [0], bytes + bytes]
      for offset in bytes.indices {
        for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
          for width in [1, 2, 4, 8] where offset + width <= bytes.count {
            var other = bytes
            for index in offset..<offset + width { other[index] = value }
            cases.append(other)
          }
        }
      }
      for _ in 0..<200 { cases.append(random.bytes(Int(random.next() % 300))) }
      var spellings = 0
      for other in cases where Campaign.isFull || random.next() % 4 == 0 {
        let result = Result { try rewrite(other) }
        switch result {
        case .success(let again):
          taken += 1
          if again != other { spellings += 1 }
        case .failure(let error):
          #expect(error is SealError)
          refused += 1
        }
      }
      #expect(spellings == 0)
    }
    #expect(refused > 1000 && taken > 1000)
    print("campaign: bodies under the right key: \(refused) refused, \(taken) taken as what they are, no crash")
  }

  /// A body of each kind, with what reads it and writes it again.
  private static func bodies() throws -> [([UInt8], ([UInt8]) throws -> [UInt8])] {
    let pages = try CellForms.samplePages()
    let frames =
      try Frames.chain(depth: 2) + [
        try Frames.encoded(.page, pages),
        Frames.cellDelta([pages[2]], prefix: pages[1], bases: [.init(pack: nil, frame: 3, firstUnit: 1, count: 1)]),
      ]
    let end = 128 + frames.reduce(0) { $0 + $1.payload.count + 16 }
    let directory = Directory.encode(basePacks: [], frames: frames, meta: [])
    return [
      (Samples.core.encode(), { try Core(decoding: $0).encode() }),
      (Samples.body.encode(), { try ManifestBody(decoding: $0).encode() }),
      (Samples.partial.encode(), { try ManifestBody(decoding: $0).encode() }),
      (Samples.leaf.encode(), { try MapLeaf(decoding: $0).encode() }),
      (Samples.branch.encode(), { try MapBranch(decoding: $0).encode() }),
      (Samples.table.encode(), { try PackTableLeaf(decoding: $0).encode() }),
      (Fixed.keyring.encode(), { try Keyring(decoding: $0).encode() }),
      (Samples.condemned.encode(), { try CondemnedRecord(decoding: $0).encode() }),
      (Samples.tombstone.encode(), { try Tombstone(decoding: $0).encode() }),
      (Samples.annotation.encode(), { try Annotation(decoding: $0).encode() }),
      (Samples.configuration.encode(), { try RepositoryConfiguration(decoding: $0).encode() }),
      (RepositoryFile(repository: Fixed.repository).encode(), { try RepositoryFile(decoding: $0).encode() }),
      (
        directory,
        { bytes in
          let read = try Directory(decoding: bytes, kind: .pack, end: end)
          let frames = read.frames.map {
            EncodedFrame(
              codec: $0.codec, type: $0.type, unitLengths: $0.unitLengths, fingerprints: $0.fingerprints,
              frameID: $0.frameID, bases: $0.bases, payload: [UInt8](repeating: 0, count: Int($0.sealedLength) - 16))
          }
          let again = Directory.encode(basePacks: read.basePacks, frames: frames, meta: read.meta)
          return again + [UInt8](repeating: 0, count: max(0, bytes.count - again.count))
        }
      ),
    ]
  }

  private static func prefix(of record: FrameRecord, _ sealed: SealedObject) throws -> [UInt8] {
    let object = try OpenedObject.open(sealed.bytes, kind: .pack, name: nil, keys: Fixed.keys)
    let frames = try Reading.frames(of: object, keys: Fixed.keys, bases: [])
    return record.bases.flatMap { Reading.units($0, of: frames[Int($0.frame)], object.directory.frames[Int($0.frame)]) }
  }
}

extension Campaign.Target: CustomTestStringConvertible {
  var testDescription: String { name }
}
