/// Paths inside a version are bytes: two names that people see alike are two files, and a slash is one whatever accent
/// follows. Swift's own comparisons of texts know neither.
enum MemberPath {
  private static let slash = UInt8(ascii: "/")

  static func key(_ path: String) -> [UInt8] { Array(path.utf8) }

  static func components(_ path: some StringProtocol) -> [String] {
    path.utf8.split(separator: slash).map { String(decoding: $0, as: UTF8.self) }
  }

  static func isSame(_ path: String, _ other: String) -> Bool { path.utf8.elementsEqual(other.utf8) }

  static func isAbove(_ folder: String, _ path: String) -> Bool {
    path.utf8.count > folder.utf8.count && path.utf8.starts(with: folder.utf8)
      && path.utf8.dropFirst(folder.utf8.count).first == slash
  }

  static func isSameOrAbove(_ folder: String, _ path: String) -> Bool {
    isSame(folder, path) || isAbove(folder, path)
  }

  /// The components that lead from a folder to a path in it; none for the folder itself.
  static func components(of path: String, below folder: String) -> [String] {
    path.utf8.dropFirst(folder.utf8.count).split(separator: slash).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Paths of the folders above, the nearest first.
  static func ancestors(of path: String) -> [[UInt8]] {
    let bytes = Array(path.utf8)
    return bytes.indices.reversed().filter { bytes[$0] == slash }.map { Array(bytes[..<$0]) }
  }
}
