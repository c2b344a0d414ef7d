import COpenSSL

/// 32 secret bytes: zeroed when released, never shown by `print`, a debugger's summary or a mirror.
///
/// They never change once they are there, so any thread may read them.
package final class SecretKey: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
  private let storage: UnsafeMutableRawBufferPointer

  package init(_ bytes: some Collection<UInt8>) {
    precondition(bytes.count == 32, "a key has 32 bytes")
    storage = .allocate(byteCount: 32, alignment: 8)
    storage.copyBytes(from: bytes)
  }

  deinit {
    OPENSSL_cleanse(storage.baseAddress, storage.count)
    storage.deallocate()
  }

  var bytes: [UInt8] { Array(storage) }

  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    body(UnsafeBufferPointer(storage.bindMemory(to: UInt8.self)))
  }

  package var description: String { "(key)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The key that slots wrap and that opens the keyring.
package typealias MasterKey = SecretKey

/// Overwrites an array that held a secret. Copies made before are the caller's business.
func wipe(_ bytes: inout [UInt8]) {
  let count = bytes.count
  bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, count) }
}

/// Compares in time that does not depend on where they differ.
func equalInConstantTime(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
  let left = Array(left)
  let right = Array(right)
  return left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}
