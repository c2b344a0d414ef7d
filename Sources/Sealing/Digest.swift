import COpenSSL

/// A SHA-256 digest: 32 bytes. Names of objects, version ids, image digests.
package struct Digest: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
  /// In the order of its bytes, the first of each the most significant: numbers compare as the bytes do. There may be
  /// millions of digests, and an array would take as much again for each, somewhere else in memory.
  private let first: UInt64
  private let second: UInt64
  private let third: UInt64
  private let fourth: UInt64

  package var bytes: [UInt8] {
    withUnsafeBytes(of: (first.bigEndian, second.bigEndian, third.bigEndian, fourth.bigEndian)) { Array($0) }
  }

  /// `nil` unless there are 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    self.init(known: bytes)
  }

  /// - Parameter bytes: 32.
  init(known bytes: some Collection<UInt8>) {
    precondition(bytes.count == 32, "a digest has 32 bytes")
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
    first = UInt64(bigEndian: words.0)
    second = UInt64(bigEndian: words.1)
    third = UInt64(bigEndian: words.2)
    fourth = UInt64(bigEndian: words.3)
  }

  package static let zero = Digest(known: [UInt8](repeating: 0, count: 32))

  package var hex: String { Hex.encode(bytes) }
  package var description: String { hex }

  package static func < (left: Self, right: Self) -> Bool {
    (left.first, left.second, left.third, left.fourth) < (right.first, right.second, right.third, right.fourth)
  }

  package static func sha256(of bytes: [UInt8]) -> Digest {
    let digest = RunningDigest()
    digest.update(bytes)
    return digest.finish()
  }

  static func sha256(ofSlice bytes: ArraySlice<UInt8>) -> Digest {
    let digest = RunningDigest()
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.finish()
  }
}

/// SHA-256 over bytes as they come. One thread at a time.
///
/// Its state is here, not in memory that OpenSSL asks for: a digest that was not computed because there was none would be
/// a wrong one (`Docs/Decisions/0021`).
package final class RunningDigest {
  private var state = SHA256_CTX()

  package init() { SHA256_Init(&state) }

  package func update(_ bytes: UnsafeRawBufferPointer) { SHA256_Update(&state, bytes.baseAddress, bytes.count) }

  package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// The digest of everything so far; begins anew afterwards.
  package func finish() -> Digest {
    var output = [UInt8](repeating: 0, count: 32)
    SHA256_Final(&output, &state)
    SHA256_Init(&state)
    return Digest(known: output)
  }
}
