import Glibc

/// Hosts that are written in numbers. Many spellings lead to one address, and libcurl writes some of them anew in the Host
/// header, which a server checks by its signature: so here each address has one spelling.
enum HostAddress {
  /// - Parameter text: what stands between brackets.
  /// - Returns: the spelling of RFC 5952, which is libcurl's, too; `nil` where it is no address of IPv6.
  static func version6(_ text: String) -> String? {
    var address = in6_addr()
    guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      guard let start = buffer.baseAddress,
        inet_ntop(AF_INET6, &address, start, socklen_t(INET6_ADDRSTRLEN)) != nil
      else { return nil }
      return String(cString: start)
    }
  }

  /// It has nothing but numbers, which inet_aton(3) takes for an address even where they are none of it to a person:
  /// fewer than four, octal with a zero in front, hexadecimal.
  /// - Parameter host: in lower case.
  static func isInNumbers(_ host: String) -> Bool {
    let parts = host.split(separator: ".")
    return !parts.isEmpty
      && parts.allSatisfy { part in
        part.allSatisfy(\.isNumber) || part.hasPrefix("0x") && part.dropFirst(2).allSatisfy(\.isHexDigit)
      }
  }

  /// Four decimal numbers, as everybody reads them.
  static func isVersion4(_ host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { part in UInt8(part).map { "\($0)" == part } ?? false }
  }
}
