@testable import Sealing

/// Sealed objects as they come from a target, through the road that every reader takes, with the key that fits.
let sealedParsers: [String: Parser] = [
  // As a server may send them: of what was changed nothing is taken, of what was not everything is read.
  "object": { bytes in
    for kind in ObjectKind.allCases where kind != .keyring {
      guard let object = try? OpenedObject.open(bytes, kind: kind, name: nil, keys: Known.keys) else { continue }
      readEverything(of: object, kind)
    }
    _ = try? Keyring.open(bytes, name: nil, master: Known.master, repository: Known.repository)
  },
  // As only who holds the key can write them: kind, length of the directory (2 bytes), directory, frames with room for
  // their tags. All of it is sealed truthfully, so whatever is wrong is met behind the encryption.
  "forged": { bytes in
    guard let forged = ForgedObject(bytes), let sealed = try? forged.sealed(),
      let object = try? OpenedObject.open(sealed, kind: forged.kind, name: nil, keys: Known.keys)
    else { return }
    readEverything(of: object, forged.kind)
  },
  "slot": { bytes in
    // scrypt takes a tenth of a second, and what it is asked for stands in `describe`.
    guard let slot = try? KeySlot.describe(bytes), slot.derivation != .passphrase else { return }
    for secret in [SlotSecret.keyFile(Known.keyFile), .recoveryKey(Known.recoveryKey)] {
      _ = try? KeySlot.open(bytes, secret: secret, repository: Known.repository)
    }
  },
  "local": { bytes in
    if let plain = LocalSeal.open(bytes, purpose: Known.purpose, keys: Known.keys) {
      _ = try? VersionFacts.decode(plain, of: Known.chain)
    }
  },
]

/// Every frame, every node in it, and the body.
private func readEverything(of object: OpenedObject, _ kind: ObjectKind) {
  let decoder = FrameDecoder(keys: Known.keys)
  for (index, record) in object.directory.frames.enumerated() {
    let prefix = record.codec.hasPrefix ? [UInt8](repeating: 7, count: 4096) : nil
    _ = try? object.decodeFrame(index, with: decoder, prefix: prefix)
    guard let plain = try? object.decodeFrame(index, with: decoder, prefix: prefix, proving: false) else { continue }
    demand(plain.count == record.plaintextLength, "a frame came out longer or shorter than it says")
    guard record.type == .node else { continue }
    for unit in record.unitLengths.indices {
      let start = record.unitOffset(unit)
      bodyParsers["map"]?(Array(plain[start..<start + record.unitLengths[unit]]))
      bodyParsers["packs"]?(Array(plain[start..<start + record.unitLengths[unit]]))
    }
  }
  let meta = object.directory.meta
  switch kind {
  case .pack: demand(meta.isEmpty, "a pack has a body")
  case .manifest: bodyParsers["manifest"]?(meta)
  case .keyring: bodyParsers["keyring"]?(meta)
  case .condemned, .tombstone, .annotation: bodyParsers["records"]?(meta)
  case .configuration: _ = try? RepositoryConfiguration(decoding: meta)
  }
}

/// A directory and payloads of anybody's making, sealed with the keys of the vectors.
struct ForgedObject {
  let kind: ObjectKind
  private let directory: [UInt8]
  /// Payloads one after the other, each with 16 bytes behind it that its tag will take.
  private let frames: [UInt8]

  init?(_ bytes: [UInt8]) {
    guard bytes.count > 3, let kind = ObjectKind(rawValue: bytes[0] % 7 + 1), kind != .keyring else { return nil }
    let length = min(Int(bytes[1]) << 8 | Int(bytes[2]), bytes.count - 3)
    self.kind = kind
    directory = Array(bytes[3..<3 + length])
    frames = Array(bytes[(3 + length)...])
  }

  func sealed() throws -> [UInt8] {
    let end = Header.length + frames.count
    var padded = directory
    let length = end + padded.count + AuthenticatedCipher.tagLength + 4
    padded += [UInt8](repeating: 0, count: max(0, Padding.padded(length) - length))
    let header = Header(kind: kind, epoch: 2, repository: Known.repository, salt: Known.salt)
    let keys = ObjectKeys(header: header, kindKey: try Known.keys.kindKey(kind, epoch: 2))
    var object = header.encodedForKeys + keys.commitment
    if let read = try? Directory(decoding: padded, kind: kind, end: end) {
      for (index, record) in read.frames.enumerated() {
        let payload = frames[record.offset - Header.length..<record.offset - Header.length + Int(record.sealedLength)]
        let additional = ObjectKeys.additionalData(
          UInt32(index), final: false, plaintextLength: record.plaintextLength, codec: record.codec,
          frameID: record.frameID)
        try keys.cipher().seal(
          Array(payload.dropLast(AuthenticatedCipher.tagLength)), nonce: keys.nonce(UInt32(index), final: false),
          additional: additional, into: &object)
      }
    } else {
      object += frames
    }
    try keys.cipher().seal(
      padded, nonce: keys.nonce(ObjectKeys.directoryIndex, final: true),
      additional: ObjectKeys.directoryAdditionalData(plaintextLength: padded.count), into: &object)
    var trailer = ByteWriter()
    trailer.write(UInt32(padded.count + AuthenticatedCipher.tagLength))
    return object + trailer.bytes
  }
}
