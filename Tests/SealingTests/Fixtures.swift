import CZstd
import TestKit
import Testing

@testable import Sealing

/// Fixed keys, the same on every machine.
enum Fixed {
  static let repository = RepositoryID(Array("sealift-test-repo"[...].utf8.prefix(16)))!
  static let otherRepository = RepositoryID([UInt8](repeating: 7, count: 16))!
  static let master = key("master")
  static let otherMaster = key("another master")
  static let keyring = Keyring(
    currentEpoch: 2, roots: [1: key("root 1"), 2: key("root 2")], chainKey: key("chain"),
    fingerprintKey: key("fingerprint"), hedgeKey: key("hedge"),
    cuts: [.init(epoch: 1, chain: chain, sequence: 41, coreHash: digest("cut"))])
  static let keys = SealingKeys(repository: repository, keyring: keyring)
  static let otherKeys = SealingKeys(
    repository: repository,
    keyring: Keyring(
      currentEpoch: 2, roots: [1: key("root 1'"), 2: key("root 2'")], chainKey: key("chain'"),
      fingerprintKey: key("fingerprint'"), hedgeKey: key("hedge'"), cuts: []))
  static let chain = ChainID([UInt8](repeating: 0xC4, count: 16))!
  static let keyFile = Array("a key file needs at least thirty-two bytes".utf8)
  static let recoveryKey = digest("recovery").bytes
  /// 2026-11-20T12:00:00Z in milliseconds.
  static let time: UInt64 = 1_795_176_000_000

  static func key(_ label: String) -> SecretKey { SecretKey(digest(label).bytes) }
  static func digest(_ label: String) -> Digest { .sha256(of: Array(label.utf8)) }

  /// A generator that is stuck.
  static let stuckRandom: RandomSource = { count in [UInt8](repeating: 0x5A, count: count) }

  /// A page like those of a database: compressible, different for each number.
  static func page(_ number: Int, size: Int = 512) -> [UInt8] {
    var random = SeededRandom(UInt64(number))
    let start = random.bytes(size / 4)
    return start + (start.count..<size).map { UInt8(truncatingIfNeeded: $0 / 8 &+ number) }
  }
}

/// Frames as the writer makes them, and those it does not make yet.
enum Frames {
  static func fingerprints(_ type: UnitType, _ units: [[UInt8]], _ keys: SealingKeys = Fixed.keys) -> [Fingerprint] {
    let fingerprinter = Fingerprinter(keys)
    return units.map { unit in unit.withUnsafeBytes { fingerprinter.fingerprint(type, $0) } }
  }

  static func encoded(_ type: UnitType, _ units: [[UInt8]], level: Int32 = 1) throws -> EncodedFrame {
    let joined = Array(units.joined())
    return try joined.withUnsafeBytes {
      try FrameEncoder(level: level).encode(
        type: type, units: $0, unitLengths: units.map(\.count), fingerprints: fingerprints(type, units))
    }
  }

  /// A frame of any codec around any payload: truthful about its units, whatever the payload is.
  static func made(
    _ codec: Codec, _ type: UnitType, _ units: [[UInt8]], payload: [UInt8], bases: [BaseRun] = []
  ) -> EncodedFrame {
    EncodedFrame(
      codec: codec, type: type, unitLengths: UnitLengths(units.map(\.count)), fingerprints: fingerprints(type, units),
      bases: bases, payload: payload)
  }

  static func delta(_ type: UnitType, _ units: [[UInt8]], prefix: [UInt8], bases: [BaseRun]) -> EncodedFrame {
    made(.zstdWithPrefix, type, units, payload: compress(Array(units.joined()), prefix: prefix), bases: bases)
  }

  static func cells(_ pages: [[UInt8]], form: [UInt8]? = nil) -> EncodedFrame {
    let form = form ?? CellForms.form(of: Array(pages.joined()), pageSize: pages[0].count)
    return made(.cells, .page, pages, payload: compress(form))
  }

  static func cellDelta(_ pages: [[UInt8]], prefix: [UInt8], bases: [BaseRun]) -> EncodedFrame {
    let size = pages[0].count
    let form = CellForms.form(of: Array(pages.joined()), pageSize: size)
    let payload = compress(form, prefix: CellForms.form(of: prefix, pageSize: size))
    return made(.cellsWithPrefix, .page, pages, payload: payload, bases: bases)
  }

  /// A pack of one whole page and `depth` deltas, each on the one before.
  static func chain(depth: Int) throws -> [EncodedFrame] {
    var pages = [Fixed.page(0)]
    var frames = [try encoded(.page, pages)]
    for level in 0..<depth {
      var next = pages[level]
      next[level * 8] ^= 0xFF
      frames.append(
        delta(
          .page, [next], prefix: pages[level], bases: [.init(pack: nil, frame: UInt32(level), firstUnit: 0, count: 1)])
      )
      pages.append(next)
    }
    return frames
  }

  /// zstd with a raw prefix and whatever parameters, as the writer of delta frames will.
  static func compress(_ bytes: [UInt8], prefix: [UInt8] = [], _ parameters: [(ZSTD_cParameter, Int32)] = []) -> [UInt8]
  {
    let context = ZSTD_createCCtx()!
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 3)
    for (parameter, value) in parameters {
      precondition(ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)) == 0)
    }
    if !prefix.isEmpty { ZSTD_CCtx_refPrefix(context, prefix, prefix.count) }
    var output = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count) + 64)
    let count = ZSTD_compress2(context, &output, output.count, bytes, bytes.count)
    precondition(ZSTD_isError(count) == 0)
    return Array(output.prefix(count))
  }
}

/// Seals what no honest writer would: any directory, any header, under the right keys.
struct Forge {
  var kind: ObjectKind = .pack
  var epoch: UInt32 = 2
  var keys = Fixed.keys
  var frames: [EncodedFrame] = []
  var basePacks: [Digest] = []
  var meta: [UInt8] = []
  /// Changes the directory before it is sealed; comes before padding.
  var directory: ([UInt8]) -> [UInt8] = { $0 }
  /// Changes the padded directory.
  var padded: ([UInt8]) -> [UInt8] = { $0 }
  /// Changes the first 96 bytes of the header, before the keys are derived from them.
  var header: ([UInt8]) -> [UInt8] = { $0 }
  var gap = 0

  func sealed() throws -> [UInt8] {
    var plain = directory(Directory.encode(basePacks: basePacks, frames: frames, meta: meta))
    let length = 128 + frames.reduce(0) { $0 + $1.payload.count + 16 } + gap + plain.count + 20
    plain = padded(plain + [UInt8](repeating: 0, count: Padding.padded(length) - length))

    let honest = Header(kind: kind, epoch: epoch, repository: keys.repository, salt: Fixed.digest("salt").bytes)
    let start = header(honest.encodedForKeys)
    let kindKey = hkdf(
      keys.keyring.roots[epoch]!.bytes, salt: keys.repository.bytes, info: Array("sealift kind".utf8) + [start[10]],
      count: 32)
    let okm = hkdf(kindKey, salt: Array(start[32..<64]), info: Array("sealift object".utf8) + start, count: 76)
    let cipher = try AuthenticatedCipher(key: SecretKey(okm[..<32]))
    func nonce(_ index: UInt32, _ final: UInt8) -> [UInt8] {
      var mask = ByteWriter()
      mask.write([final, 0, 0, 0, 0, 0, 0, 0])
      mask.write(index)
      return zip(okm[64...], mask.bytes).map { $0 ^ $1 }
    }
    var object = start + okm[32..<64]
    for (index, frame) in frames.enumerated() {
      let additional = ObjectKeys.additionalData(
        UInt32(index), final: false, plaintextLength: frame.plaintextLength, codec: frame.codec,
        frameID: FrameRecord.frameID(of: frame.fingerprints))
      try cipher.seal(frame.payload, nonce: nonce(UInt32(index), 0), additional: additional, into: &object)
    }
    object += [UInt8](repeating: 0, count: gap)
    try cipher.seal(
      plain, nonce: nonce(0xFFFF_FFFF, 1), additional: ObjectKeys.directoryAdditionalData(plaintextLength: plain.count),
      into: &object)
    var end = ByteWriter()
    end.write(UInt32(plain.count + 16))
    return object + end.bytes
  }
}

/// Reads an object to its last unit, as every caller together would.
enum Reading {
  /// - Returns: all units of all frames joined, then the meta, decoded by its kind.
  @discardableResult
  static func everything(
    in bytes: [UInt8], kind: ObjectKind, name: Digest? = nil, keys: SealingKeys = Fixed.keys, bases: [[UInt8]] = []
  ) throws -> [UInt8] {
    let object = try OpenedObject.open(bytes, kind: kind, name: name, keys: keys)
    let plain = try frames(of: object, keys: keys, bases: bases)
    try body(object.directory.meta, kind)
    return Array(plain.joined()) + object.directory.meta
  }

  static func frames(of object: OpenedObject, keys: SealingKeys, bases: [[UInt8]]) throws -> [[UInt8]] {
    let decoder = FrameDecoder(keys: keys)
    var plain: [[UInt8]] = []
    for (index, record) in object.directory.frames.enumerated() {
      var prefix: [UInt8] = []
      for run in record.bases {
        if let pack = run.pack {
          let name = object.directory.basePacks[Int(pack)]
          let base = try #require(bases.first { Digest.sha256(of: $0) == name })
          let opened = try OpenedObject.open(base, kind: .pack, name: name, keys: keys)
          let decoded = try frames(of: opened, keys: keys, bases: bases)
          prefix += units(run, of: decoded[Int(run.frame)], opened.directory.frames[Int(run.frame)])
        } else {
          prefix += units(run, of: plain[Int(run.frame)], object.directory.frames[Int(run.frame)])
        }
      }
      plain.append(
        try object.decodeFrame(index, with: decoder, prefix: record.codec.hasPrefix ? prefix : nil))
      if record.type == .node { try nodes(record, plain[index]) }
    }
    return plain
  }

  static func units(_ run: BaseRun, of plain: [UInt8], _ record: FrameRecord) -> ArraySlice<UInt8> {
    let last = Int(run.firstUnit) + Int(run.count) - 1
    return plain[record.unitOffset(Int(run.firstUnit))..<record.unitOffset(last) + record.unitLengths[last]]
  }

  private static func nodes(_ record: FrameRecord, _ plain: [UInt8]) throws {
    for unit in record.unitLengths.indices {
      let start = record.unitOffset(unit)
      let node = Array(plain[start..<start + record.unitLengths[unit]])
      switch node.first {
      case 1: _ = try MapLeaf(decoding: node)
      case 2: _ = try MapBranch(decoding: node)
      default: _ = try PackTableLeaf(decoding: node)
      }
    }
  }

  static func body(_ meta: [UInt8], _ kind: ObjectKind) throws {
    switch kind {
    case .pack: break
    case .manifest: _ = try ManifestBody(decoding: meta)
    case .keyring: _ = try Keyring(decoding: meta)
    case .condemned: _ = try CondemnedRecord(decoding: meta)
    case .tombstone: _ = try Tombstone(decoding: meta)
    case .annotation: _ = try Annotation(decoding: meta)
    case .configuration: _ = try RepositoryConfiguration(decoding: meta)
    }
  }
}

/// The code of the failure, or `nil` when there was none.
func failure(_ body: () throws -> Void) -> SealError.Code? {
  do { try body() } catch let error as SealError { return error.code } catch { return .failed }
  return nil
}

extension Fingerprint {
  /// The first half of a digest.
  init(of digest: Digest) { self = digest.bytes.withUnsafeBytes { Fingerprint($0) } }
}
