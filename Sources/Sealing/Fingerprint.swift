import COpenSSL

/// The name of a unit's content: the first 16 bytes of a keyed hash (`Docs/Format.md` §4.4).
package struct Fingerprint: Hashable, Sendable, BitwiseCopyable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The 16 bytes from `offset` on, which must be there.
  package init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
    precondition(offset >= 0 && bytes.count - offset >= 16, "a fingerprint has 16 bytes")
    high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
  }

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.write(high)
    writer.write(low)
    return writer.bytes
  }

  package func append(to bytes: inout [UInt8]) {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes.append(contentsOf: $0) }
  }
}

/// Computes fingerprints with one key. Keeps the keyed state, so a page costs no set-up. One thread at a time.
package final class Fingerprinter {
  private var hash = sl_keyed_hash()

  package init(_ keys: SealingKeys) {
    let key = keys.keyring.fingerprintKey.bytes
    sl_keyed_hash_begin(&hash, key, key.count)
  }

  deinit { OPENSSL_cleanse(&hash, MemoryLayout<sl_keyed_hash>.size) }

  package func fingerprint(_ type: UnitType, _ unit: UnsafeRawBufferPointer) -> Fingerprint {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { output in
      output[0] = type.rawValue
      for index in 0..<4 { output[1 + index] = UInt8(truncatingIfNeeded: unit.count >> (24 - 8 * index)) }
      sl_keyed_hash_code(&hash, output.baseAddress, 5, unit.baseAddress, unit.count, output.baseAddress)
      return Fingerprint(UnsafeRawBufferPointer(output))
    }
  }
}
