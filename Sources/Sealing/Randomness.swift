import COpenSSL

/// Gives so many random bytes. A parameter everywhere, so that tests can give a generator that is stuck.
package typealias RandomSource = @Sendable (Int) throws(SealError) -> [UInt8]

/// Begins OpenSSL, as one that stays to the end of the process (`Docs/Decisions/0031`): whether it could. Where it had no
/// memory for its own context, OpenSSL 3.0 crashes in whatever is asked of it next.
func opensslIsReady() -> Bool { OSSL_LIB_CTX_get0_global_default() != nil && sl_openssl_stays() == 1 }

/// OpenSSL's generator, seeded by the kernel.
@Sendable package func systemRandom(_ count: Int) throws(SealError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  guard opensslIsReady(), RAND_bytes(&bytes, Int32(count)) == 1 else {
    throw SealError(.failed, "the system gave no random bytes", hint: "Nothing was sealed; try again.")
  }
  return bytes
}
