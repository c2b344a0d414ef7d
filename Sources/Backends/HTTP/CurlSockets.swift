import CCurl
import Glibc

/// The sockets that libcurl has open for one client, so that the kernel can be asked how much still waits in them. Only
/// the loop's thread touches it.
final class CurlSockets {
  private var open: Set<curl_socket_t> = []

  /// Has libcurl tell of every socket. This object must live as long as the multi handle: connections outlive transfers.
  func watch(_ handle: UnsafeMutableRawPointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    sl_set_pointer(handle, CURLOPT_SOCKOPTDATA, context)
    sl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, context)
    sl_set_opened(handle) { context, socket, _ in
      guard let context else { return Int32(CURL_SOCKOPT_ERROR) }
      // What is started meanwhile, such as a command that prints a secret, would keep the connection open.
      _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
      Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().open.insert(socket)
      return Int32(CURL_SOCKOPT_OK)
    }
    sl_set_close(handle) { context, socket in
      if let context { Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().open.remove(socket) }
      return close(socket)
    }
  }

  /// Bytes that were handed to the kernel for the connection of a transfer and that the other side has not acknowledged
  /// (tcp(7), SIOCOUTQ); 0 when there is no connection yet. While a transfer is under way libcurl does not say which
  /// socket is its own (CURLINFO_ACTIVESOCKET), but which port it has.
  func unacknowledged(_ handle: UnsafeMutableRawPointer) -> Int {
    var port = 0
    guard sl_get_long(handle, CURLINFO_LOCAL_PORT, &port) == CURLE_OK, port > 0,
      let socket = open.first(where: { Self.port(of: $0) == port })
    else { return 0 }
    var count: Int32 = 0
    return ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
  }

  private static func port(of socket: curl_socket_t) -> Int? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &address) { bytes -> Int? in
      guard let start = bytes.baseAddress,
        getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
      else { return nil }
      // The port is at the same place for both families.
      switch Int32(bytes.load(as: sockaddr.self).sa_family) {
      case AF_INET, AF_INET6: return Int(UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port))
      default: return nil
      }
    }
  }
}
