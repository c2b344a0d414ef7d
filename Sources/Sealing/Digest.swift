import COpenSSL

/// A SHA-256 digest: 32 bytes. Names of objects, version ids, image digests.
package struct Digest: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let bytes: [UInt8]

  /// `nil` unless there are 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    self.bytes = Array(bytes)
  }

  init(known bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

  package static let zero = Digest(known: [UInt8](repeating: 0, count: 32))

  /// All bytes at once, where an array would give the hasher one after the other.
  package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

  package var hex: String { Hex.encode(bytes) }
  package var description: String { hex }

  package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

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
/// a wrong one.
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
