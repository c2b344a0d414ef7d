import Storage

/// The one table from a WebDAV server's status to meanings.
struct WebDAVErrors {
  var configuration: WebDAVConfiguration
  /// Seconds since 1970 UTC.
  var now: Int
  /// The server has asked for a password before, in a way that we know.
  var hasOfferedLogin = false

  /// - Parameters:
  ///   - what: what was to be done: "packs/x could not be stored".
  ///   - right: what the request needs.
  func error(_ response: HTTPResponse, _ what: String, for right: AccessRight) -> StoreError {
    var error = meaning(of: response, right)
    error.message = "\(what): \(error.message) (status \(response.status))"
    if Unfinished.statuses.contains(response.status) { error.cause = Unfinished() }
    return error
  }

  private func meaning(of response: HTTPResponse, _ right: AccessRight) -> StoreError {
    switch response.status {
    case 300..<400:
      StoreError(
        .redirected, "the server sends us elsewhere, and that is never followed",
        hint: response.header("location").map { "The server names \(Self.withoutSecrets($0)); check the target's URL." }
          ?? "Check the target's URL.")
    case 401: unauthenticated(response)
    case 403: StoreError(.forbidden, "the server does not allow it", hint: right.ofCollection)
    case 404, 410: StoreError(.notFound, "there is no such object")
    case 405, 501:
      StoreError(
        .unsupported, "the server does not know this WebDAV request",
        hint: "It must know PROPFIND, MKCOL and MOVE; stock nginx does not (it needs the dav-ext module).")
    case 407: StoreError.proxyLogin
    case 408, 409, 425, 500, 502, 504:
      StoreError(.unavailable, "the server could not do it now", retry: later(response))
    case 412: StoreError(.exists, "the name is taken")
    case 413: StoreError.bodyTooLarge
    case 415, 400: StoreError(.badAnswer, "the server does not understand the request")
    case 416: StoreError(.badRange, "the range lies outside the object")
    case 423: StoreError(.unavailable, "the name is locked by somebody else", retry: later(response))
    case 429: StoreError(.throttled, "the server wants fewer requests", retry: later(response))
    case 503: StoreError(.throttled, "the server is busy", retry: later(response))
    case 507: StoreError(.full, "there is no room for it", hint: StoreError.makeRoom)
    case 505...599: StoreError(.unavailable, "the server failed", retry: later(response))
    default: StoreError(.badAnswer, "the answer makes no sense", hint: "Check that the target's URL is one of WebDAV.")
    }
  }

  private static let ofURLs = "a URL on the line has to become a target of the configuration for that."

  private func unauthenticated(_ response: HTTPResponse) -> StoreError {
    // A URL of the command line may have a user, and never a password.
    guard configuration.user != nil else {
      return StoreError(
        .unauthenticated, "the server asks for a user and a password",
        hint: "Give the target user and passwordFile or passwordCommand; \(Self.ofURLs)")
    }
    guard configuration.hasPassword else {
      return StoreError(
        .unauthenticated, "no password is known for the target's user",
        hint: "Give the target passwordFile or passwordCommand; \(Self.ofURLs)")
    }
    if response.offered == [.basic], !configuration.schemes.contains(.basic) {
      return StoreError(
        .unauthenticated, "the server wants the password itself, and the line is not encrypted",
        hint:
          "Use webdavs://; or let the server ask for Digest; or set \"allowPlainPassword\": true for the target, in the configuration."
      )
    }
    guard hasOfferedLogin || !response.offered.isEmpty || !response.namesLogins else {
      return StoreError(
        .unauthenticated, "the server takes neither a password (Basic) nor Digest",
        hint: "Let it take Basic, with an app password where it has those; what asks for a login before it must let the"
          + " path of WebDAV by.")
    }
    return StoreError(
      .unauthenticated, "user or password is wrong", hint: "Check the target's user and password.")
  }

  private func later(_ response: HTTPResponse) -> StoreError.Retry {
    .later(after: HTTPTime.retryAfter(response, now: now))
  }

  /// A server may send us to a URL with a query or a user in it; neither is for a log.
  private static func withoutSecrets(_ url: String) -> String {
    let plain = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let host = plain.lastIndex(of: UInt8(ascii: "@")).map { plain[plain.index(after: $0)...] }
    return (host == nil ? "" : "…") + String(decoding: host ?? plain, as: UTF8.self).quotable
  }
}

extension AccessRight {
  fileprivate var ofCollection: String {
    switch self {
    case .list: "Give this user the right to list what is below the target's collection (PROPFIND)."
    case .read: "Give this user the right to read below the target's collection (GET)."
    case .write: "Give this user the right to write below the target's collection (PUT, MKCOL, MOVE)."
    case .delete: "\(AccessRight.deletion) Run this as a user that may (DELETE)."
    }
  }
}
