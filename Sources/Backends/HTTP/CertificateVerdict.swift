/// What OpenSSL found in the certificates of a connection that did not come about: its numbers, of which `openssl verify`
/// has the list; 0 where nothing was wrong, or nothing was looked at.
struct CertificateVerdict {
  /// On the server's.
  var server = 0
  /// On that of a proxy to which TLS is spoken, too.
  var proxy = 0

  private enum Fault {
    case name
    case time
    case authority
    case other
  }

  private static func fault(_ number: Int) -> Fault {
    switch number {
    // libcurl looks at the name, and leaves 1 there, which it begins with.
    case 0, 1, 62, 64: .name
    case 9, 10: .time
    case 2, 18...21: .authority
    default: .other
    }
  }

  /// It is the proxy's certificate that was refused.
  var isOfProxy: Bool { proxy != 0 }

  var hint: String { isOfProxy ? proxyHint : serverHint }

  private var serverHint: String {
    switch Self.fault(server) {
    case .name:
      "The certificate is for another name: write one that is in it into the target's URL, or give the server a certificate for this one."
    case .time: "Check this machine's clock; where it is right, renew the server's certificate."
    case .authority: "For a private authority give its certificate as the target's caFile."
    case .other: "For a private authority give its certificate as the target's caFile; check this machine's clock."
    }
  }

  /// A caFile is the target's: a proxy serves others, too, and is mostly vouched for by what this machine trusts.
  private var proxyHint: String {
    switch Self.fault(proxy) {
    case .name:
      "The proxy's certificate is for another name: write one that is in it into http_proxy, https_proxy or all_proxy."
    case .time: "Check this machine's clock; where it is right, renew the proxy's certificate."
    case .authority, .other:
      "Add the authority of the proxy to those of this system (Debian: a file NAME.crt in /usr/local/share/ca-certificates, then update-ca-certificates): a caFile is for the target alone."
    }
  }
}
