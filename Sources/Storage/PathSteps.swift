/// Paths as the system reads them: a slash is one whatever stands behind it. Texts of Swift make one letter of a slash and
/// an accent.
package enum PathSteps {
  private static let slash = UInt8(ascii: "/")

  /// The names on the way, from the top.
  package static func of(_ path: String) -> [String] {
    path.utf8.split(separator: slash).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The folder that something lies in.
  package static func folder(of path: String) -> String {
    path.utf8.lastIndex(of: slash).map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  package static func isAbsolute(_ path: String) -> Bool { path.utf8.first == slash }
}
