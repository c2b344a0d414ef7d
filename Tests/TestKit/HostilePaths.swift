/// Names by which somebody tries to be read, written or asked for elsewhere: up, absolute, encoded once and twice, hidden,
/// with control characters, too long, of other hosts.
package enum HostilePaths {
  private static let pieces = [
    "..", ".", "", "../..", "..\\..", "%2e%2e", "%2E%2E", "%2e", ".%2e", "..%2f..", "%2e%2e%2f%2e%2e", "..%5c..",
    "%252e%252e", "%c0%ae%c0%ae", "%uff0e%uff0e", "..;", "..%00", "%00", "\u{0}", "\r\n", "%0d%0aHost:%20evil", "\t",
    " ", ".hidden", "~", "C:", "con\\", "é", "\u{202E}", "\u{FEFF}", String(repeating: "a", count: 5000),
    String(repeating: "../", count: 200),
  ]

  /// Each by itself and among other components.
  package static let all: [String] =
    pieces.flatMap { piece in
      [
        piece, "\(piece)/a", "a/\(piece)", "a/\(piece)/b", "/\(piece)", "/\(piece)/etc/passwd",
        "a/b/\(piece)/\(piece)/c",
      ]
    } + hosts.flatMap { ["\($0)/a", "\($0)/dav%20files/a", "\($0)/../a"] }

  private static let hosts = [
    "http://evil.example", "https://evil.example", "//evil.example", "http://user:pw@127.0.0.1", "file://", "ftp://h",
    "http://127.0.0.1:1", "http://127.0.0.1@evil.example",
  ]
}
