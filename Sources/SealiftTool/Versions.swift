import Sealift

/// Our own version, and those of the libraries in use: the first thing a bug report needs.
enum Versions {
  static let sealift = "0.1.0"

  /// To ask every library takes a millisecond: not for each run.
  static var line: String {
    let libraries = [
      LoadedSymbol.text("sqlite3_libversion").map { "SQLite \($0)" },
      CurlVersion.text.map { "libcurl \($0)" },
      openSSL,
    ]
    let known = libraries.compactMap { $0 }
    return "sealift \(sealift)" + (known.isEmpty ? "" : " (\(known.joined(separator: ", ")))")
  }

  private static var openSSL: String? {
    typealias Version = @convention(c) (Int32) -> UnsafePointer<CChar>?
    guard let address = LoadedSymbol.address("OpenSSL_version") else { return nil }
    return unsafeBitCast(address, to: Version.self)(0)
      .map { String(cString: $0).split(separator: " ").prefix(2).joined(separator: " ") }
  }
}
