import COpenSSL
import Glibc
import TestKit
import Testing

@testable import Sealing

/// Published answers: what our wrappers say must be what the standards say.
@Suite struct PrimitiveTests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func `SHA-256 answers as FIPS 180-4 says`(message: String, answer: String) {
    #expect(Digest.sha256(of: Array(message.utf8)).hex == answer)
    let running = RunningDigest()
    for byte in message.utf8 { running.update([byte]) }
    #expect(running.finish().hex == answer)
    #expect(running.finish() == Digest.sha256(of: []), "it begins anew")
  }

  @Test(arguments: [
    (
      String(repeating: "0b", count: 20), "4869205468657265",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      String(repeating: "aa", count: 131),
      "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func `HMAC-SHA-256 answers as RFC 4231 says`(key: String, message: String, answer: String) throws {
    #expect(Hex.encode(hmac(try bytes(key), try bytes(message))) == answer)
  }

  @Test func `HKDF-SHA-256 answers as RFC 5869 says`() throws {
    let short = hkdf(
      [UInt8](repeating: 0x0b, count: 22), salt: Array(0...12), info: Array(0xf0...0xf9), count: 42)
    #expect(
      Hex.encode(short)
        == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    let long = hkdf(Array(0...0x4f), salt: Array(0x60...0xaf), info: Array(0xb0...0xff), count: 82)
    #expect(
      Hex.encode(long)
        == "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09"
        + "b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87")
  }

  @Test(arguments: [
    ("", "", UInt8(4), UInt8(1), UInt8(1), "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"),
    ("password", "NaCl", 10, 8, 16, "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"),
    (
      "pleaseletmein", "SodiumChloride", 14, 8, 1,
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
    ),
  ])
  func `scrypt answers as RFC 7914 says`(
    passphrase: String, salt: String, logN: UInt8, r: UInt8, p: UInt8, answer: String
  ) throws {
    let key = try scrypt(Array(passphrase.utf8), salt: Array(salt.utf8), cost: SlotCost(logN: logN, r: r, p: p))
    #expect(Hex.encode(key) == answer)
  }

  @Test func `AES-256-GCM answers as its authors say`() throws {
    // Test case 16 of "The Galois/Counter Mode of Operation", the paper SP 800-38D rests on.
    let half = "feffe9928665731c6d6a8f9467308308"
    let cipher = try AuthenticatedCipher(key: SecretKey(try bytes(half + half)))
    let plain = try bytes(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657"
        + "ba637b39")
    let nonce = try bytes("cafebabefacedbaddecaf888")
    let additional = try bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    var sealed: [UInt8] = []
    try cipher.seal(plain, nonce: nonce, additional: additional, into: &sealed)
    #expect(
      Hex.encode(sealed)
        == "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0"
        + "abcc9f66276fc6ece0f4e1768cddf8853bb2d551b")
    #expect(try cipher.open(sealed[...], nonce: nonce, additional: additional) == plain)
    for bit in 0..<sealed.count * 8 {
      var other = sealed
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(try cipher.open(other[...], nonce: nonce, additional: additional) == nil)
    }
    #expect(try cipher.open(sealed[...], nonce: nonce, additional: additional.dropLast()) == nil)
    #expect(try cipher.open(sealed.prefix(15), nonce: nonce, additional: additional) == nil)
  }

  @Test func `A fingerprint is the HMAC of type, length and unit, cut`() throws {
    let fingerprinter = Fingerprinter(Fixed.keys)
    for (type, unit) in [(UnitType.page, Fixed.page(1)), (.block, [9]), (.node, Fixed.page(2, size: 65_536))] {
      var message = ByteWriter()
      message.write(type.rawValue)
      message.write(UInt32(unit.count))
      message.write(unit)
      let expected = hmac(Fixed.keyring.fingerprintKey.bytes, message.bytes).prefix(16)
      let print = unit.withUnsafeBytes { fingerprinter.fingerprint(type, $0) }
      #expect(print.bytes == Array(expected))
    }
  }

  @Test func `A chain id tells host, name and fork apart`() throws {
    let ids = [("h", "d", UInt32(0)), ("h", "d", 1), ("hd", "", 0), ("", "hd", 0), ("d", "h", 0)].map {
      Fixed.keyring.chainID(host: $0.0, database: $0.1, fork: $0.2)
    }
    #expect(Set(ids).count == ids.count)
    let expected = hmac(Fixed.keyring.chainKey.bytes, Array("h\0d\0\0\0\0\u{1}".utf8)).prefix(16)
    #expect(ids[1].bytes == Array(expected))
  }

  /// Its clean-up would run beside the last threads that use it.
  @Test func `OpenSSL stays until the process is gone`() async {
    await #expect(processExitsWith: .success) {
      _ = try systemRandom(16)
      OPENSSL_atexit { _exit(3) }
      exit(0)
    }
  }

  @Test func `A digest is its 32 bytes and nothing else, in their order`() throws {
    #expect(MemoryLayout<Digest>.size == 32)
    var random = SeededRandom(3)
    var digests: [Digest] = []
    for place in 0..<32 {
      // Alike but for one byte, on both sides of where its sign would be.
      for byte: UInt8 in [0x7F, 0x80] {
        var bytes = [UInt8](repeating: 0x55, count: 32)
        bytes[place] = byte
        digests.append(try #require(Digest(bytes)))
        #expect(digests.last?.bytes == bytes && digests.last?.hex == Hex.encode(bytes))
      }
      digests.append(try #require(Digest(random.bytes(32)[...])))
    }
    #expect(Set(digests).count == digests.count)
    for left in digests {
      let isRight = digests.allSatisfy { ($0 < left) == $0.bytes.lexicographicallyPrecedes(left.bytes) }
      #expect(isRight)
    }
  }

  @Test func `Hexadecimal has one spelling`() {
    #expect(Hex.encode([0, 0x0F, 0xA5, 0xFF]) == "000fa5ff")
    #expect(Hex.decode("000fa5ff") == [0, 0x0F, 0xA5, 0xFF])
    #expect(Hex.decode("") == [])
    for wrong in ["0", "0g", "0A", " 00", "00 ", "0x00", "é"] { #expect(Hex.decode(wrong) == nil) }
    #expect(RepositoryID(hex: String(repeating: "0", count: 30)) == nil)
    #expect(Digest([UInt8](repeating: 0, count: 31)) == nil)
  }

  @Test func `Keys and secrets print nothing of themselves`() {
    let bytes = Fixed.digest("a secret nobody may see").bytes
    let needles = [Hex.encode(bytes), bytes.map(String.init).joined(separator: ", ")]
    let keyring = Keyring(
      currentEpoch: 1, roots: [1: SecretKey(bytes)], chainKey: SecretKey(bytes), fingerprintKey: SecretKey(bytes),
      hedgeKey: SecretKey(bytes), cuts: [])
    let holders: [Any] = [
      SecretKey(bytes), SlotSecret.passphrase(bytes), SlotSecret.recoveryKey(bytes), keyring,
      SealingKeys(repository: Fixed.repository, keyring: keyring),
    ]
    for holder in holders {
      var text = "\(holder) \(String(reflecting: holder))"
      dump(holder, to: &text)
      for needle in needles { #expect(!text.contains(needle)) }
    }
  }

  private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex.decode(hex)) }
}
