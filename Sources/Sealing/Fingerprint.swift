import COpenSSL

/// The name of a unit's content: the first 16 bytes of a keyed hash (`Docs/Format.md` §4.4).
package struct Fingerprint: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package init(_ bytes: some Collection<UInt8>) {
    var halves: (UInt64, UInt64) = (0, 0)
    for (index, byte) in bytes.prefix(16).enumerated() {
      if index < 8 { halves.0 = halves.0 << 8 | UInt64(byte) } else { halves.1 = halves.1 << 8 | UInt64(byte) }
    }
    (high, low) = halves
  }

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.write(high)
    writer.write(low)
    return writer.bytes
  }
}

/// Computes fingerprints with one key. Keeps the keyed state, so a page costs no set-up. One thread at a time.
package final class Fingerprinter {
  private let context: OpaquePointer

  package init(_ keys: SealingKeys) {
    guard let context = EVP_MAC_CTX_new(Algorithms.hmac) else { preconditionFailure("out of memory") }
    self.context = context
    var digest = Array("SHA256".utf8CString)
    var name = Array(OSSL_MAC_PARAM_DIGEST.utf8CString)
    let key = keys.keyring.fingerprintKey.bytes
    let works = digest.withUnsafeMutableBufferPointer { digest in
      name.withUnsafeMutableBufferPointer { name in
        let parameters = [
          OSSL_PARAM_construct_utf8_string(name.baseAddress, digest.baseAddress, 0), OSSL_PARAM_construct_end(),
        ]
        return EVP_MAC_init(context, key, key.count, parameters)
      }
    }
    precondition(works == 1, "OpenSSL has no HMAC-SHA-256")
  }

  deinit { EVP_MAC_CTX_free(context) }

  package func fingerprint(_ type: UnitType, _ unit: UnsafeRawBufferPointer) -> Fingerprint {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { output in
      output[0] = type.rawValue
      for index in 0..<4 { output[1 + index] = UInt8(truncatingIfNeeded: unit.count >> (24 - 8 * index)) }
      var count = 0
      EVP_MAC_init(context, nil, 0, nil)
      EVP_MAC_update(context, output.baseAddress, 5)
      EVP_MAC_update(context, unit.bindMemory(to: UInt8.self).baseAddress, unit.count)
      EVP_MAC_final(context, output.baseAddress, &count, 32)
      return Fingerprint(output)
    }
  }
}
