import COpenSSL

/// AES-256-GCM under one key, for many nonces (NIST SP 800-38D). One thread at a time.
final class AuthenticatedCipher {
  static let tagLength = 16

  /// Fetched once: fetching by name each time costs a tenth of the speed on pages. Nobody changes it after that, and
  /// OpenSSL lets any number of threads use it.
  nonisolated(unsafe) private static let gcm: OpaquePointer? =
    opensslIsReady() ? EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) : nil

  private let context: OpaquePointer

  /// - Throws: `.failed`, without memory.
  init(key: SecretKey) throws(SealError) {
    guard let gcm = Self.gcm, let context = EVP_CIPHER_CTX_new() else { throw Self.refusal }
    self.context = context
    // Both directions set the same key schedule; the direction is chosen per message.
    guard key.withBytes({ EVP_EncryptInit_ex2(context, gcm, $0.baseAddress, nil, nil) }) == 1 else {
      throw Self.refusal
    }
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Appends ciphertext and tag to `output`.
  func seal(_ plain: [UInt8], nonce: [UInt8], additional: [UInt8], into output: inout [UInt8]) throws(SealError) {
    var length: Int32 = 0
    var works = EVP_CipherInit_ex2(context, nil, nil, nonce, 1, nil) == 1
    works = works && EVP_CipherUpdate(context, nil, &length, additional, Int32(additional.count)) == 1
    let start = output.count
    output.append(contentsOf: plain)
    output.append(contentsOf: repeatElement(0, count: Self.tagLength))
    works =
      works
      && output.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress.map({ $0 + start }) else { return false }
        return EVP_CipherUpdate(context, base, &length, base, Int32(plain.count)) == 1
          && EVP_CipherFinal_ex(context, base + plain.count, &length) == 1
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), base + plain.count) == 1
      }
    guard works else { throw Self.refusal }
  }

  /// The plaintext, or `nil` when the tag does not fit.
  /// - Throws: `.failed`, which says nothing about the bytes.
  func open(_ sealed: ArraySlice<UInt8>, nonce: [UInt8], additional: [UInt8]) throws(SealError) -> [UInt8]? {
    guard sealed.count >= Self.tagLength else { return nil }
    let count = sealed.count - Self.tagLength
    var length: Int32 = 0
    var tag = Array(sealed.suffix(Self.tagLength))
    guard EVP_CipherInit_ex2(context, nil, nil, nonce, 0, nil) == 1,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), &tag) == 1,
      EVP_CipherUpdate(context, nil, &length, additional, Int32(additional.count)) == 1
    else { throw Self.refusal }
    var authentic = false
    let plain = [UInt8](unsafeUninitializedCapacity: max(1, count)) { buffer, initialized in
      guard let base = buffer.baseAddress else { return }
      let updated = sealed.withUnsafeBufferPointer {
        EVP_CipherUpdate(context, base, &length, $0.baseAddress, Int32(count))
      }
      var rest: Int32 = 0
      var end: UInt8 = 0
      authentic = updated == 1 && EVP_CipherFinal_ex(context, &end, &rest) == 1
      // What is not authentic must not be read by anybody, not even from freed memory.
      if !authentic { OPENSSL_cleanse(base, buffer.count) }
      initialized = authentic ? count : 0
    }
    return authentic ? plain : nil
  }

  private static var refusal: SealError { .noMemory("OpenSSL could not encrypt or decrypt") }
}
