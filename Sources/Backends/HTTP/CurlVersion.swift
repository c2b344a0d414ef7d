import CCurl

/// The version of the libcurl in use, such as `7.88.1`.
package enum CurlVersion {
  /// Not by `curl_version`, which sets LDAP up to tell its version too: that reads half a dozen files.
  package static var text: String? {
    curl_version_info(CURLVERSION_FIRST)?.pointee.version.map { String(cString: $0) }
  }
}
