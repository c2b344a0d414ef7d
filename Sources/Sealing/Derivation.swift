import COpenSSL

/// HMAC-SHA-256 (RFC 2104).
func hmac(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
  var output = [UInt8](repeating: 0, count: 32)
  var hash = sl_keyed_hash()
  sl_keyed_hash_begin(&hash, key, key.count)
  sl_keyed_hash_code(&hash, message, message.count, nil, 0, &output)
  OPENSSL_cleanse(&hash, MemoryLayout<sl_keyed_hash>.size)
  return output
}

/// HKDF-SHA-256 (RFC 5869), extract then expand, to `count` bytes (at most 255 × 32).
///
/// Over HMAC by the RFC's own two lines: OpenSSL's interface to it needs parameters whose memory outlives the call.
func hkdf(_ secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
  let extracted = hmac(salt, secret)
  var output: [UInt8] = []
  var block: [UInt8] = []
  var counter: UInt8 = 1
  while output.count < count {
    block = hmac(extracted, block + info + [counter])
    output += block
    counter += 1
  }
  return Array(output.prefix(count))
}

/// scrypt (RFC 7914). Needs 128 · N · r bytes of memory while it runs, and says so to OpenSSL, whose own limit is lower.
func scrypt(_ passphrase: [UInt8], salt: [UInt8], cost: SlotCost) throws(SealError) -> [UInt8] {
  let rounds = UInt64(1) << UInt64(cost.logN)
  let memory = 128 * rounds * UInt64(cost.r) + (16 << 20)
  var output = [UInt8](repeating: 0, count: 32)
  let done = passphrase.withUnsafeBytes { bytes in
    guard opensslIsReady() else { return Int32(0) }
    return EVP_PBE_scrypt(
      bytes.bindMemory(to: CChar.self).baseAddress, passphrase.count, salt, salt.count, rounds, UInt64(cost.r),
      UInt64(cost.p), memory, &output, 32)
  }
  guard done == 1 else {
    throw SealError(
      .failed, "deriving the key from the passphrase failed",
      hint: "It needs \(memory >> 20) MiB of memory for a moment; make that much available.")
  }
  return output
}
