/// The keys of a repository: root keys by epoch, and those that stay (`Docs/Format.md` §5.1).
package struct Keyring: Sendable {
  /// Of this chain, under this epoch or an older one, nothing beyond this version is genuine.
  package struct Cut: Sendable, Equatable {
    package let epoch: UInt32
    package let chain: ChainID
    package let sequence: UInt64
    package let coreHash: Digest

    package init(epoch: UInt32, chain: ChainID, sequence: UInt64, coreHash: Digest) {
      self.epoch = epoch
      self.chain = chain
      self.sequence = sequence
      self.coreHash = coreHash
    }
  }

  package let currentEpoch: UInt32
  let roots: [UInt32: SecretKey]
  let chainKey: SecretKey
  let fingerprintKey: SecretKey
  let hedgeKey: SecretKey
  package let cuts: [Cut]

  init(
    currentEpoch: UInt32, roots: [UInt32: SecretKey], chainKey: SecretKey, fingerprintKey: SecretKey,
    hedgeKey: SecretKey, cuts: [Cut]
  ) {
    self.currentEpoch = currentEpoch
    self.roots = roots
    self.chainKey = chainKey
    self.fingerprintKey = fingerprintKey
    self.hedgeKey = hedgeKey
    self.cuts = cuts
  }

  /// A new one, in its first epoch.
  package static func make(random: RandomSource) throws(SealError) -> Keyring {
    Keyring(
      currentEpoch: 1, roots: [1: SecretKey(try random(32))], chainKey: SecretKey(try random(32)),
      fingerprintKey: SecretKey(try random(32)), hedgeKey: SecretKey(try random(32)), cuts: [])
  }

  /// The chain of a database on a host. `fork` starts another one when two machines pushed as one.
  package func chainID(host: String, database: String, fork: UInt32) -> ChainID {
    var writer = ByteWriter()
    writer.write(host.utf8)
    writer.write([0])
    writer.write(database.utf8)
    writer.write([0])
    writer.write(fork)
    guard let chain = ChainID(hmac(chainKey.bytes, writer.bytes).prefix(16)) else {
      preconditionFailure("16 bytes are an id")
    }
    return chain
  }

  func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(currentEpoch)
    writer.write(UInt16(roots.count))
    for (epoch, root) in roots.sorted(by: { $0.key < $1.key }) {
      writer.write(epoch)
      writer.write(root.bytes)
    }
    for key in [chainKey, fingerprintKey, hedgeKey] { writer.write(key.bytes) }
    writer.write(UInt32(cuts.count))
    for cut in cuts {
      writer.write(cut.epoch)
      writer.write(cut.chain.bytes)
      writer.write(cut.sequence)
      writer.write(cut.coreHash.bytes)
    }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "keyring")
    try reader.expectVersionZero()
    currentEpoch = try reader.read()
    var roots: [UInt32: SecretKey] = [:]
    var last: UInt32 = 0
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 36)) {
      let epoch = try reader.read(UInt32.self)
      guard epoch > last else { throw SealError(.malformed, "the epochs of the keyring are out of order") }
      last = epoch
      roots[epoch] = SecretKey(try reader.read(count: 32))
    }
    guard roots[currentEpoch] != nil else {
      throw SealError(.malformed, "the keyring lacks the key of its current epoch")
    }
    self.roots = roots
    chainKey = SecretKey(try reader.read(count: 32))
    fingerprintKey = SecretKey(try reader.read(count: 32))
    hedgeKey = SecretKey(try reader.read(count: 32))
    var cuts: [Cut] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: 60)) {
      let epoch = try reader.read(UInt32.self)
      guard let chain = ChainID(try reader.read(count: 16)) else { throw SealError(.malformed, "a cut is cut") }
      cuts.append(Cut(epoch: epoch, chain: chain, sequence: try reader.read(), coreHash: try reader.readDigest()))
    }
    self.cuts = cuts
    try reader.expectEnd()
  }

  /// Seals the keyring under the master key.
  package func seal(
    master: MasterKey, repository: RepositoryID, random: @escaping RandomSource
  ) throws(SealError) -> SealedObject {
    let builder = ObjectBuilder(
      kind: .keyring, keys: SealingKeys(repository: repository, keyring: self), random: random)
    return try builder.finish(meta: encode(), epoch: 0, kindKey: Self.kindKey(master, repository))
  }

  /// - Throws: `.wrongKey` when the master key is another one; `.damaged` and its kin; `.unsupported` and `.malformed` also
  ///   where it is authentic (`OpenedObject.isAuthentic`).
  package static func open(
    _ bytes: [UInt8], name: Digest?, master: MasterKey, repository: RepositoryID
  ) throws(SealError) -> Keyring {
    if let name, Digest.sha256(of: bytes) != name {
      throw SealError(.damaged, "the keyring is not what its name says: it was damaged or replaced")
    }
    let object = try OpenedObject.open(bytes, kind: .keyring, repository: repository, wrongKey: .wrongKey) { _ in
      kindKey(master, repository)
    }
    return try Keyring(decoding: object.directory.meta)
  }

  private static func kindKey(_ master: MasterKey, _ repository: RepositoryID) -> [UInt8] {
    hkdf(master.bytes, salt: repository.bytes, info: Array("sealift keyring".utf8), count: 32)
  }
}
