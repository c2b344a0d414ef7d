import CCurl
import COpenSSL

/// What libcurl wants done once in a process, before anything else of it.
enum CurlSetUp {
  /// OpenSSL first: which of the two begins it decides whether it cleans up beside libcurl's thread
  /// (`Docs/Decisions/0031`).
  static let once: Void = {
    _ = sl_openssl_stays()
    _ = curl_global_init(Int(CURL_GLOBAL_ALL))
  }()
}
