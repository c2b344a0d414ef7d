/// A release of SQLite, such as 3.46.1.
struct SQLiteRelease: Comparable, CustomStringConvertible {
  private let numbers: [Int]
  var description: String { numbers.map(String.init).joined(separator: ".") }

  /// `nil` unless the text has two or three numbers.
  init?(_ text: some StringProtocol) {
    let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
    guard (2...3).contains(numbers.count), numbers.allSatisfy({ $0.map { $0 >= 0 } ?? false }) else { return nil }
    self.numbers = numbers.compactMap { $0 }
  }

  /// The library in use.
  static var ours: SQLiteRelease? { LoadedSymbol.text("sqlite3_libversion").flatMap { SQLiteRelease($0) } }

  static func < (left: Self, right: Self) -> Bool { left.numbers.lexicographicallyPrecedes(right.numbers) }

  private init(_ numbers: Int...) { self.numbers = numbers }

  /// Whether a database in WAL mode may lose pages when one connection checkpoints while another begins the -wal anew:
  /// 3.7.0 to 3.51.2, except for the repaired 3.50.7 (https://sqlite.org/changes.html, 3.51.3).
  var losesPages: Bool {
    let repairedBefore = SQLiteRelease(3, 50, 7) <= self && self < SQLiteRelease(3, 51, 0)
    return SQLiteRelease(3, 7, 0) <= self && self < SQLiteRelease(3, 51, 3) && !repairedBefore
  }

  /// What `doctor` says of it.
  var caution: String? {
    guard losesPages else { return nil }
    return """
      SQLite \(self) of this machine has the WAL-reset bug (3.7.0 to 3.51.2): in programs that use it, two connections \
      that checkpoint one database in WAL mode at once may lose pages. Sealift never checkpoints one that others have \
      open. Install 3.51.3 or newer for your applications when there is one; until then `sealift drill` finds what was \
      lost.
      """
  }
}
