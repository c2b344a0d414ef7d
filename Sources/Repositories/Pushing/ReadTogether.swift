/// The files that SQLite keeps beside a database in use, where one comes along as a companion: alone neither says what
/// was committed.
///
/// See: sqlite.org/tempfiles.html, 2.1 and 2.2
package enum ReadTogether {
  private static let endings = ["-journal", "-wal", "-shm"]
  /// Of those that may hold what was committed, or what was not.
  package static let telling = ["-journal", "-wal"]

  /// The path of the database that a file of this path would belong to.
  package static func database(of path: String) -> String? {
    endings.first { path.hasSuffix($0) && path.utf8.count > $0.utf8.count }.map { String(path.dropLast($0.count)) }
  }

  /// So many of the sources, which ascend by path, are to be read as one: a database up to the last of its side files, or
  /// the first source alone.
  static func extent(of sources: ArraySlice<CompanionSource>) -> Int {
    guard let first = sources.first, case .file = first.content else { return 1 }
    let stem = first.path.utf8
    var extent = 1
    for (offset, source) in sources.enumerated().dropFirst() {
      guard source.path.utf8.starts(with: stem) else { break }
      if case .file = source.content, telling.contains(String(source.path.dropFirst(first.path.count))) {
        extent = offset + 1
      }
    }
    return extent
  }

  /// Whether the source is the database or one of its side files, and not only among them by its name: `lib.db-backups`
  /// comes before `lib.db-wal`.
  static func isOf(_ sources: ArraySlice<CompanionSource>, _ source: CompanionSource) -> Bool {
    guard let first = sources.first, source.path != first.path else { return true }
    return endings.contains { source.path == first.path + $0 }
  }
}
