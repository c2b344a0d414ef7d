import Glibc

/// Where libcurl finds proxies. What stands there may hold a password: it is looked at for being there, and no more.
enum ProxyVariables {
  /// Whether any names a proxy for servers of that scheme; `no_proxy` may still take some out.
  static func nameProxy(
    for scheme: WebAddress.Scheme, isSet: (String) -> Bool = { getenv($0).map { $0.pointee != 0 } ?? false }
  ) -> Bool {
    // Who asks a web server to start a program can set HTTP_PROXY there, so libcurl heeds that one in small letters only.
    let own = scheme == .http ? ["http_proxy"] : ["https_proxy", "HTTPS_PROXY"]
    return (own + ["all_proxy", "ALL_PROXY"]).contains(where: isSet)
  }
}
