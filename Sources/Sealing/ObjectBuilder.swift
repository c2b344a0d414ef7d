/// Gathers frames and seals them, all at once: the salt depends on everything that is encrypted (`Docs/Format.md` §4.7).
package struct ObjectBuilder {
  private let kind: ObjectKind
  private let keys: SealingKeys
  private let random: RandomSource
  private var frames: [EncodedFrame] = []
  private let basePacks: [Digest]

  /// - Parameter basePacks: the packs that delta frames of this object rest on, in the order their runs count them.
  package init(kind: ObjectKind, keys: SealingKeys, basePacks: [Digest] = [], random: @escaping RandomSource) {
    self.kind = kind
    self.keys = keys
    self.basePacks = basePacks
    self.random = random
  }

  package mutating func add(_ frame: EncodedFrame) { frames.append(frame) }

  /// - Parameter meta: the body; empty for a pack.
  /// - Throws: `.malformed` when the object would be longer than any may be.
  package func finish(meta: [UInt8] = []) throws(SealError) -> SealedObject {
    let epoch = kind == .keyring ? 0 : keys.keyring.currentEpoch
    return try finish(meta: meta, epoch: epoch, kindKey: try keys.kindKey(kind, epoch: epoch))
  }

  func finish(meta: [UInt8], epoch: UInt32, kindKey: [UInt8]) throws(SealError) -> SealedObject {
    let directory = padded(Directory.encode(basePacks: basePacks, frames: frames, meta: meta))
    let parts = frames.enumerated().map { index, frame in
      (
        ObjectKeys.additionalData(
          UInt32(index), final: false, plaintextLength: frame.plaintextLength, codec: frame.codec,
          frameID: frame.frameID), frame.payload
      )
    }
    let last = (ObjectKeys.directoryAdditionalData(plaintextLength: directory.count), directory)
    let header = Header(
      kind: kind, epoch: epoch, repository: keys.repository, salt: try salt(over: parts + [last]))
    let objectKeys = ObjectKeys(header: header, kindKey: kindKey)
    let cipher = try objectKeys.cipher()

    var bytes: [UInt8] = []
    bytes.reserveCapacity(Header.length + parts.reduce(0) { $0 + $1.1.count + 16 } + directory.count + 20)
    bytes += header.encodedForKeys + objectKeys.commitment
    for (index, part) in parts.enumerated() {
      try cipher.seal(
        part.1, nonce: objectKeys.nonce(UInt32(index), final: false), additional: part.0, into: &bytes)
    }
    try cipher.seal(
      directory, nonce: objectKeys.nonce(ObjectKeys.directoryIndex, final: true), additional: last.0, into: &bytes)
    let directoryLength = directory.count + AuthenticatedCipher.tagLength
    var end = ByteWriter()
    end.write(UInt32(directoryLength))
    bytes += end.bytes
    guard bytes.count <= Limits.object else {
      throw SealError(.malformed, "an object of \(bytes.count) bytes is too long")
    }
    return SealedObject(bytes: bytes, name: .sha256(of: bytes), header: header, directoryLength: directoryLength)
  }

  private func padded(_ directory: [UInt8]) -> [UInt8] {
    let frameBytes = frames.reduce(0) { $0 + $1.payload.count + AuthenticatedCipher.tagLength }
    let length = Header.length + frameBytes + directory.count + AuthenticatedCipher.tagLength + 4
    return directory + [UInt8](repeating: 0, count: Padding.padded(length) - length)
  }

  /// Drawn last, and hedged: when the generator repeats itself, other content still gets another salt and so another key.
  private func salt(over parts: [(additional: [UInt8], plain: [UInt8])]) throws(SealError) -> [UInt8] {
    let digest = RunningDigest()
    for part in parts {
      var lengths = ByteWriter()
      lengths.write(UInt32(part.additional.count))
      digest.update(lengths.bytes + part.additional)
      lengths = ByteWriter()
      lengths.write(UInt64(part.plain.count))
      digest.update(lengths.bytes)
      digest.update(part.plain)
    }
    return hmac(keys.keyring.hedgeKey.bytes, try random(32) + digest.finish().bytes)
  }
}

/// An object that was just sealed.
package struct SealedObject: Sendable {
  package let bytes: [UInt8]
  package let name: Digest
  let header: Header
  /// Length of the directory frame; it ends 4 bytes before the object does.
  package let directoryLength: Int

  /// What a pack table says of this pack.
  package func packEntry(number: UInt32) -> PackEntry {
    PackEntry(
      number: number, name: name, length: UInt32(bytes.count), directoryLength: UInt32(directoryLength),
      version: header.version, aead: header.aead, kem: header.kem, epoch: header.epoch, salt: header.salt)
  }
}
