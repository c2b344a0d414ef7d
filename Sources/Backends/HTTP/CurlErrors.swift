import CCurl
import Storage

/// What a transfer was given up for.
struct Stall: Error, CustomStringConvertible {
  let time: Duration
  /// The other side has the whole request, and had all the time that there is for such an answer.
  var isOfAnswer = false

  var description: String { "the transfer stood still for \(time.wholeMilliseconds / 1000) s" }
}

extension StoreError {
  /// Hardly anything came or went for `timeout`.
  /// - Parameter isOfAnswer: as of `Stall`. Then it is asked once more and no longer: a server that hung may be well again;
  ///   one that needs more time would take as much again and again, and keep a copy of each.
  static func stalled(_ request: HTTPRequest, for timeout: Duration, isOfAnswer: Bool) -> StoreError {
    StoreError(
      .unavailable, "\(notInTime(request.authority)): hardly a byte moved for \(timeout.wholeMilliseconds / 1000) s",
      hint: isOfAnswer ? tookEverything : nil, retry: isOfAnswer ? .once : .later(after: nil),
      cause: Stall(time: timeout, isOfAnswer: isOfAnswer))
  }

  private static let tookEverything =
    "The server took everything and did not answer: look whether it hands on, or checks, what it takes."

  private static func notInTime(_ authority: Substring) -> String { "\(authority) did not answer in time" }

  private static let unusableProxy = StoreError(
    .unsupported, "the address of the proxy cannot be used",
    hint:
      "Check the variables http_proxy, https_proxy and all_proxy; in a password there, write / as %2F, # as %23, ? as %3F and @ as %40.",
    retry: .never)

  private static let missingAuthorities =
    "Give this system its list of authorities (Debian: apt-get install ca-certificates), or the target a caFile."

  /// What a proxy answers to whoever wants a tunnel through it, as over https: to libcurl a connection that failed.
  /// - Returns: `nil` when there was no such answer, or another one may come the next time.
  static func tunnel(_ status: Int, authority: Substring) -> StoreError? {
    switch status {
    case 407: proxyLogin
    case 403:
      StoreError(
        .unavailable, "the proxy on the way lets nothing through to \(authority)",
        hint: "Ask whoever runs the proxy to allow it; or name the host in no_proxy, where it can be had without.",
        retry: .never)
    default: nil
    }
  }

  private static func wantsCertificate(_ authority: Substring) -> StoreError {
    StoreError(
      .tls, "\(authority) wants a certificate of ours, and Sealift has none",
      hint: "Have the server ask for no certificate of its clients: a key or a password is what Sealift logs in with.",
      retry: .never)
  }

  /// The one table from libcurl's codes to meanings: there was no answer, and this is why.
  /// - Parameters:
  ///   - detail: libcurl's own words; they name hosts and ports, never headers or passwords, but for a proxy that it
  ///     cannot make sense of: that one it quotes as the variable has it.
  ///   - authority: the `host:port` that was asked.
  ///   - caFile: of the target; `nil` where the system's authorities are trusted.
  ///   - mayHaveProxy: the environment names a proxy, which may be what does not answer.
  static func transport(
    _ code: CURLcode, detail: String, authority: Substring, caFile: String?, mayHaveProxy: Bool = false,
    verdict: CertificateVerdict = CertificateVerdict()
  ) -> StoreError {
    guard !detail.hasPrefix("Unsupported proxy") else { return unusableProxy }
    // With TLS 1.3 only after the handshake: as if the connection had failed.
    guard !detail.contains("certificate required") else { return wantsCertificate(authority) }
    let words = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    func error(_ code: Code, _ what: String, hint: String? = nil, retry: Retry = .later(after: nil)) -> StoreError {
      StoreError(code, "\(what): \(words.quotable)", hint: hint, retry: retry)
    }
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST:
      return error(
        .unavailable, "the address of \(authority) could not be found",
        hint: "Check the host's name in the target, and this machine's network and DNS.")
    case CURLE_COULDNT_RESOLVE_PROXY:
      return error(
        .unavailable, "the address of the proxy could not be found",
        hint: "Check the variables http_proxy, https_proxy and all_proxy.")
    case CURLE_COULDNT_CONNECT:
      return error(
        .unavailable, "nothing answers at \(authority)",
        hint: "Check host and port of the target\(mayHaveProxy ? ", or of the proxy that the environment names" : ""),"
          + " the network, and that the server is running.")
    case CURLE_OPERATION_TIMEDOUT: return error(.unavailable, notInTime(authority))
    case CURLE_PEER_FAILED_VERIFICATION:
      return error(
        .tls, "the certificate of \(verdict.isOfProxy ? "the proxy" : authority) was refused", hint: verdict.hint,
        retry: .never)
    case CURLE_SSL_CACERT_BADFILE:
      return error(
        .tls, "the file of trusted authorities could not be read",
        hint: caFile == nil ? missingAuthorities : "The target's caFile must be a PEM file.", retry: .never)
    case CURLE_SSL_CONNECT_ERROR:
      return error(
        .tls, "no TLS connection with \(authority) came about",
        hint: "Check that the server speaks TLS 1.2 or newer at this port; a plain one is http:// or webdav://.")
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS:
      return error(.tls, "TLS with \(authority) failed", retry: .never)
    case CURLE_URL_MALFORMAT:
      return error(.unsupported, "the address of the target cannot be used", retry: .never)
    case CURLE_LOGIN_DENIED: return error(.unauthenticated, "\(authority) refused the login", retry: .never)
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
      return error(
        .badAnswer, "\(authority) does not answer in HTTP", hint: "Check the port of the target.", retry: .once)
    default: return error(.unavailable, "the connection with \(authority) failed")
    }
  }
}
