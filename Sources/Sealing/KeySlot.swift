/// What opens a slot. Never printed.
package enum SlotSecret: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  case passphrase([UInt8])
  /// The whole content of a key file.
  case keyFile([UInt8])
  /// The 32 bytes of a recovery key.
  case recoveryKey([UInt8])

  package var description: String { "(secret)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What deriving a key from a passphrase costs.
package struct SlotCost: Sendable, Equatable {
  package let logN: UInt8
  package let r: UInt8
  package let p: UInt8

  package init(logN: UInt8, r: UInt8, p: UInt8) {
    self.logN = logN
    self.r = r
    self.p = p
  }

  /// For new slots: 128 MiB of memory and some 0.4 seconds.
  package static let current = SlotCost(logN: 17, r: 8, p: 1)
  /// The least a reader accepts; for tests.
  package static let least = SlotCost(logN: 15, r: 8, p: 1)

  /// What deriving a key takes, in no unit.
  package var work: Int { (1 << Int(logN)) * Int(r) * Int(p) }

  fileprivate var isAcceptable: Bool {
    (15...20).contains(logN) && (1...16).contains(r) && (1...4).contains(p)
  }
}

/// A slot wraps the master key with a secret (`Docs/Format.md` §3).
package enum KeySlot {
  package static let length = 176
  /// One of a later version may be longer, and no slot is longer than this.
  package static let longest = 64 << 10
  private static let magic: [UInt8] = [0x89, 0x53, 0x4C, 0x4B, 0x53, 0x0D, 0x0A, 0x1A]

  package enum Derivation: UInt8, Sendable {
    case passphrase = 1
    case keyFile = 2
    case recoveryKey = 3
  }

  package struct Description: Sendable {
    package let derivation: Derivation
    package let repository: RepositoryID
    /// Milliseconds since 1970 UTC.
    package let createdAt: UInt64
    package let cost: SlotCost
    let salt: [UInt8]
  }

  /// - Parameter createdAt: milliseconds since 1970 UTC.
  package static func seal(
    master: MasterKey, secret: SlotSecret, repository: RepositoryID, cost: SlotCost, createdAt: UInt64,
    random: RandomSource
  ) throws(SealError) -> [UInt8] {
    if case .passphrase = secret, !cost.isAcceptable {
      throw SealError(.malformed, "no reader would do the work that this key slot would ask for")
    }
    let salt = try random(32)
    var writer = ByteWriter()
    writer.write(magic)
    writer.write([0, derivation(of: secret).rawValue])
    if case .passphrase = secret { writer.write([cost.logN, cost.r, cost.p]) } else { writer.write([0, 0, 0]) }
    writer.writeZeros(3)
    writer.write(repository.bytes)
    writer.write(salt)
    writer.write(createdAt)
    writer.writeZeros(24)
    let (wrappingKey, commitment) = try keys(secret, repository: repository, slot: writer.bytes, cost: cost, salt: salt)
    writer.write(commitment)
    var slot = writer.bytes
    let additional = slot
    try AuthenticatedCipher(key: wrappingKey).seal(
      master.bytes, nonce: [UInt8](repeating: 0, count: 12), additional: additional, into: &slot)
    return slot
  }

  /// - Throws: `.wrongKey` when the secret is another one; `.damaged`, `.truncated`, `.unsupported`, `.malformed`.
  package static func open(
    _ slot: [UInt8], secret: SlotSecret, repository: RepositoryID
  ) throws(SealError) -> MasterKey {
    let description = try describe(slot)
    guard description.repository == repository else {
      throw SealError(.damaged, "the key slot belongs to another repository")
    }
    guard description.derivation == derivation(of: secret) else {
      throw SealError(.wrongKey, "the key slot opens with another kind of key")
    }
    let (wrappingKey, commitment) = try keys(
      secret, repository: repository, slot: Array(slot[..<96]), cost: description.cost, salt: description.salt)
    guard equalInConstantTime(commitment, slot[96..<128]) else {
      throw SealError(.wrongKey, "the key slot does not open with this key")
    }
    guard
      let master = try AuthenticatedCipher(key: wrappingKey).open(
        slot[128...], nonce: [UInt8](repeating: 0, count: 12), additional: Array(slot[..<128]))
    else { throw SealError(.damaged, "the key slot is damaged") }
    return MasterKey(master)
  }

  /// What a slot says of itself, checked for form and limits before anything is derived from it.
  /// - Throws: `.unsupported` for one of a later version: how long that is, up to `longest`, only its own reader knows.
  package static func describe(_ slot: [UInt8]) throws(SealError) -> Description {
    guard !isOfLaterVersion(slot) else { throw unknown }
    guard slot.count >= length else { throw SealError(.truncated, "the key slot is cut") }
    guard slot.count == length else { throw SealError(.malformed, "the key slot is too long") }
    var reader = ByteReader(slot, "key slot")
    guard try Array(reader.read(count: 8)) == magic else { throw SealError(.malformed, "this is no key slot") }
    try reader.expectVersionZero()
    guard let derivation = Derivation(rawValue: try reader.read()) else { throw unknown }
    let cost = SlotCost(logN: try reader.read(), r: try reader.read(), p: try reader.read())
    let free = cost == SlotCost(logN: 0, r: 0, p: 0)
    guard derivation == .passphrase ? cost.isAcceptable : free else {
      throw SealError(.malformed, "the key slot asks for impossible work")
    }
    guard try reader.read(count: 3).allSatisfy({ $0 == 0 }), let repository = RepositoryID(try reader.read(count: 16))
    else {
      throw SealError(.malformed, "the key slot has bytes where zeros must be")
    }
    let salt = Array(try reader.read(count: 32))
    let createdAt = try reader.read(UInt64.self)
    guard try reader.read(count: 24).allSatisfy({ $0 == 0 }) else {
      throw SealError(.malformed, "the key slot has bytes where zeros must be")
    }
    return Description(
      derivation: derivation, repository: repository, createdAt: createdAt, cost: cost, salt: salt)
  }

  private static func isOfLaterVersion(_ slot: [UInt8]) -> Bool {
    slot.count <= longest && slot.starts(with: magic) && slot.dropFirst(magic.count).first.map { $0 != 0 } ?? false
  }

  private static let unknown = SealError(
    .unsupported, "the key slot is of a kind this program does not know", hint: "Install a newer sealift.")

  private static func derivation(of secret: SlotSecret) -> Derivation {
    switch secret {
    case .passphrase: .passphrase
    case .keyFile: .keyFile
    case .recoveryKey: .recoveryKey
    }
  }

  private static func keys(
    _ secret: SlotSecret, repository: RepositoryID, slot: [UInt8], cost: SlotCost, salt: [UInt8]
  ) throws(SealError) -> (wrappingKey: SecretKey, commitment: [UInt8]) {
    var derived: [UInt8]
    switch secret {
    case .passphrase(let bytes): derived = try scrypt(bytes, salt: salt, cost: cost)
    case .keyFile(let content):
      guard content.count >= 32 else {
        throw SealError(
          .malformed, "the key file has only \(content.count) bytes",
          hint: "A key file holds at least 32 random bytes: `(umask 077; head -c 32 /dev/urandom > FILE)` makes one.")
      }
      derived = Digest.sha256(of: content).bytes
    case .recoveryKey(let bytes):
      guard bytes.count == 32 else { throw SealError(.malformed, "a recovery key has 32 bytes, not \(bytes.count)") }
      derived = bytes
    }
    var material = hkdf(derived, salt: repository.bytes, info: Array("sealift slot".utf8) + slot, count: 64)
    defer {
      wipe(&derived)
      wipe(&material)
    }
    return (SecretKey(material[..<32]), Array(material[32...]))
  }
}
