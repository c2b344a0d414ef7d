import Glibc

/// A port of this machine at which nobody answers, for as long as this lives. One that a server gave back may be the next
/// server's: the kernel hands out again what is free, and other tests run beside.
package final class DeadPort: Sendable {
  private let descriptor: Int32
  package let number: Int

  /// - Parameter wanted: 0 for any.
  package init(_ wanted: Int = 0) throws {
    // Bound, and never told to listen: the kernel gives it to nobody else, and refuses whoever connects.
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(wanted).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        let status = bind(descriptor, pointer, length)
        return status == 0 ? getsockname(descriptor, pointer, &length) : status
      }
    }
    let code = errno
    number = Int(UInt16(bigEndian: address.sin_port))
    guard status == 0 else { throw NotBound(code: code) }
  }

  deinit { close(descriptor) }

  package struct NotBound: Error { package let code: Int32 }
}
