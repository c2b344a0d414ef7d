import FoundationEssentials
import Testing

@testable import Sealing

/// The numbers of `Docs/Format.md` §10 are what this program computes, each by itself and all together.
@Suite struct WorkedExampleTests {
  @Test func `The worked example of the format is right`() throws {
    let printed = try Self.printed()
    let payload = try #require(printed.first { $0.name == "payload" }?.bytes)
    let computed = try Self.computed(payload: payload)
    #expect(computed.map(\.name) == printed.map(\.name))
    // Each by itself is right; they are also of one and the same object.
    let object = try #require(printed.first { $0.name.hasPrefix("object") }?.bytes)
    for name in ["header", "commitment"] {
      let part = try #require(printed.first { $0.name == name }?.bytes)
      #expect(object[(name == "header" ? 0 : 96)...].starts(with: part), "\(name)")
    }
    for (one, other) in zip(computed, printed) {
      #expect(Hex.encode(one.bytes) == Hex.encode(other.bytes), "\(one.name)")
    }
  }

  @Test func `The object of the worked example opens and holds its page`() throws {
    let payload = try #require(try Self.printed().first { $0.name == "payload" }?.bytes)
    let sealed = try Self.object(payload: payload)
    #expect(try Reading.everything(in: sealed.bytes, kind: .pack, name: sealed.name, keys: Self.keys) == Self.page)
  }

  typealias Line = (name: String, bytes: [UInt8])

  private static let page = Array(String(repeating: "Sealift ", count: 64).utf8)
  private static let random = Array(UInt8(0x80)...0x9F)
  private static let repository = RepositoryID(Array(UInt8(0)...0x0F))!
  private static let keys = SealingKeys(
    repository: repository,
    keyring: Keyring(
      currentEpoch: 1, roots: [1: SecretKey(Array(UInt8(0x20)...0x3F))], chainKey: Fixed.key("unused"),
      fingerprintKey: SecretKey(Array(UInt8(0x40)...0x5F)), hedgeKey: SecretKey(Array(UInt8(0x60)...0x7F)), cuts: []))

  /// The lines `name = hex` of the section, in order; a value goes on in the lines below it.
  private static func printed() throws -> [Line] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Docs/Format.md")
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    let section = try #require(text.split(separator: "## 10. ").dropFirst().first)
    let block = try #require(section.split(separator: "```").dropFirst().first)
    var lines: [(name: String, hex: String)] = []
    for line in block.split(separator: "\n") {
      let parts = line.split(separator: "=").map { part in
        part.split(separator: " ").joined(separator: " ")
      }
      if parts.count == 2 { lines.append((parts[0], parts[1])) } else { lines[lines.count - 1].hex += parts[0] }
    }
    return try lines.map { ($0.name, try #require(Hex.decode($0.hex))) }
  }

  private static func object(payload: [UInt8]) throws -> SealedObject {
    var builder = ObjectBuilder(kind: .pack, keys: keys) { (_) throws(SealError) in random }
    builder.add(
      EncodedFrame(
        codec: .zstd, type: .page, unitLengths: UnitLengths(uniform: 512, count: 1),
        fingerprints: Frames.fingerprints(.page, [page], keys), payload: payload))
    return try builder.finish()
  }

  /// Step by step from the formulas, but for object and name, which the product makes.
  private static func computed(payload: [UInt8]) throws -> [Line] {
    let keyring = keys.keyring
    let fingerprint = Array(
      hmac(keyring.fingerprintKey.bytes, [1, 0, 0, 2, 0] + page).prefix(16))
    let frameID = Digest.sha256(of: fingerprint).bytes
    let frameData: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 2, 0, 1] + frameID
    let record: [UInt8] = number(payload.count + 16) + [1, 1, 0, 1] + number(512) + fingerprint
    let directory: [UInt8] = [0, 0, 0, 0, 0, 0, 1] + record + [0, 0, 0, 0]
    let padded = directory + [UInt8](repeating: 0, count: 4096 - 128 - payload.count - 16 - 16 - 4 - directory.count)
    let directoryData: [UInt8] =
      [0xFF, 0xFF, 0xFF, 0xFF, 1] + number(padded.count) + [0] + [UInt8](repeating: 0, count: 32)
    var everything: [UInt8] = []
    for (additional, plain) in [(frameData, payload), (directoryData, padded)] {
      everything += number(additional.count) + additional + [0, 0, 0, 0] + number(plain.count) + plain
    }
    let digest = Digest.sha256(of: everything).bytes
    let salt = hmac(keyring.hedgeKey.bytes, random + digest)
    let start: [UInt8] = [0x89, 0x53, 0x4C, 0x46, 0x54, 0x0D, 0x0A, 0x1A, 1, 1, 1, 0, 0, 0, 0, 1]
    let header: [UInt8] =
      start + repository.bytes + salt
      + [UInt8](repeating: 0, count: 32)
    let root = keyring.roots[1]!.bytes
    let kindKey = hkdf(root, salt: repository.bytes, info: Array("sealift kind\u{1}".utf8), count: 32)
    let okm = hkdf(kindKey, salt: salt, info: Array("sealift object".utf8) + header, count: 76)
    let base = Array(okm[64...])
    let last = zip(base, [1, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF] as [UInt8]).map { $0 ^ $1 }

    let object = try object(payload: payload)
    return [
      ("repository id", repository.bytes), ("root key", root), ("fingerprint key", keyring.fingerprintKey.bytes),
      ("hedge key", keyring.hedgeKey.bytes), ("random", random), ("payload", payload), ("fingerprint", fingerprint),
      ("frame id", frameID), ("aad_0", frameData), ("directory", directory), ("aad of it", directoryData),
      ("SHA-256(t)", digest), ("salt", salt), ("header", header), ("kind key", kindKey),
      ("key", Array(okm[..<32])), ("commitment", Array(okm[32..<64])), ("base nonce", base), ("nonce of it", last),
      ("object to frame 0", Array(object.bytes[..<(128 + payload.count + 16)])),
      ("its last 20", object.bytes.suffix(20)),
      ("name", object.name.bytes),
    ]
  }

  private static func number(_ value: Int) -> [UInt8] {
    [UInt8(value >> 24 & 0xFF), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
  }

  /// Prints the section anew, when the format changes before it is frozen: run with `SEALIFT_WRITE_VECTORS` set.
  @Test func `The worked example can be printed anew`() throws {
    let lines = try Self.computed(payload: Frames.compress(Self.page))
    #expect(lines.last?.bytes.count == 32)
    guard ProcessInfo.processInfo.environment["SEALIFT_WRITE_VECTORS"] != nil else { return }
    for (name, bytes) in lines {
      let hex = Hex.encode(bytes)
      var rest = hex[...]
      var lead = name + String(repeating: " ", count: 18 - name.count) + "= "
      while !rest.isEmpty {
        print("EXAMPLE " + lead + rest.prefix(96))
        rest = rest.dropFirst(96)
        lead = String(repeating: " ", count: 20)
      }
    }
  }
}
