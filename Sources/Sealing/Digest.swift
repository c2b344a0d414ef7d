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

  package var hex: String { Hex.encode(bytes) }
  package var description: String { hex }

  package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

  package static func sha256(of bytes: [UInt8]) -> Digest {
    let digest = RunningDigest()
    digest.update(bytes)
    return digest.finish()
  }
}

/// SHA-256 over bytes as they come. One thread at a time.
package final class RunningDigest {
  private let context: OpaquePointer

  package init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex2(context, Algorithms.sha256, nil) == 1 else {
      preconditionFailure("OpenSSL has no SHA-256")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  package func update(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

  package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// The digest of everything so far; begins anew afterwards.
  package func finish() -> Digest {
    var output = [UInt8](repeating: 0, count: 32)
    EVP_DigestFinal_ex(context, &output, nil)
    EVP_DigestInit_ex2(context, Algorithms.sha256, nil)
    return Digest(known: output)
  }
}

/// Algorithms fetched once: fetching by name each time costs a tenth of the speed on pages.
enum Algorithms {
  nonisolated(unsafe) static let sha256: OpaquePointer = fetch(EVP_MD_fetch(nil, "SHA256", nil), "SHA-256")
  nonisolated(unsafe) static let hmac: OpaquePointer = fetch(EVP_MAC_fetch(nil, "HMAC", nil), "HMAC")
  nonisolated(unsafe) static let gcm: OpaquePointer = fetch(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil), "AES-256-GCM")

  private static func fetch(_ algorithm: OpaquePointer?, _ name: String) -> OpaquePointer {
    guard let algorithm else { preconditionFailure("OpenSSL has no \(name)") }
    return algorithm
  }
}
