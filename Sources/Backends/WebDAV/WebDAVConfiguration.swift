/// Which collection, at which server, and who we are there.
package struct WebDAVConfiguration: Sendable {
  /// The collection that holds everything.
  package var address: WebAddress
  package var user: String?
  package var password: String?
  /// Asked for it before each request, in place of `password`.
  package var findPassword: PasswordSearch?
  /// Show the password itself to a server that is reached without TLS over a network. Where it asks for Digest, the
  /// password is never shown, and this is not needed.
  package var allowPlainPassword = false
  /// Make the collection when it is missing.
  package var create = false

  package init(address: WebAddress, user: String? = nil, password: String? = nil) {
    self.address = address
    self.user = user
    self.password = password
  }

  package var location: String {
    "\(address.scheme == .https ? "webdavs" : "webdav")://\(address.authority)\(address.path)"
  }

  var hasPassword: Bool { password != nil || findPassword != nil }

  /// In which ways the password may be shown.
  var schemes: HTTPLogin.Schemes {
    address.scheme == .https || address.isLoopback || allowPlainPassword ? [.basic, .digest] : [.digest]
  }
}

extension WebDAVConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { location }
  package var debugDescription: String { location }
  package var customMirror: Mirror { Mirror(self, children: ["location": location]) }
}
