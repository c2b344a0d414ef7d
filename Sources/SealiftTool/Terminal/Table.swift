/// Columns of text, each as wide as its widest cell. Where lines may not be longer than something is, the last column gives
/// way first, and columns of names last: a name that is cut may look like another one.
struct Table {
  enum Alignment {
    case left
    case right
  }

  typealias Column = (title: String, alignment: Alignment)

  /// Of a terminal that does not say how wide it is.
  static let usualWidth = 80
  /// What is left of a column that gives way.
  private static let least = 4
  private var rows: [[String]]
  private let alignments: [Alignment]
  /// Places of the columns of names.
  private let names: [Int]

  /// - Parameter names: titles of columns that are cut last.
  init(_ columns: [Column], names: Set<String> = []) {
    alignments = columns.map(\.alignment)
    rows = [columns.map(\.title)]
    self.names = columns.indices.filter { names.contains(columns[$0].title) }
  }

  mutating func add(_ cells: [String]) { rows.append(cells.map(printable)) }

  /// - Parameter width: characters of a line; `nil`: nothing is cut.
  func lines(within width: Int?) -> [String] {
    let full = alignments.indices.map { column in rows.map { Self.columns($0[column]) }.max() ?? 0 }
    let widths = width.map { shrunk(full, to: $0) } ?? full
    return rows.map { row in
      let cells = row.indices.map { padded(shortened(row[$0], to: widths[$0]), widths[$0], alignments[$0]) }
      var line = cells.joined(separator: "  ")
      while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
      return line
    }
  }

  /// As wide as there is room, where these columns can give so much way.
  private func shrunk(_ full: [Int], to width: Int) -> [Int] {
    var widths = full
    var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - width
    guard excess > 0, let last = widths.indices.last else { return widths }
    let cut = min(excess, max(0, widths[last] - Self.least))
    widths[last] -= cut
    excess -= cut
    while excess > 0, let widest = names.max(by: { widths[$0] < widths[$1] }), widths[widest] > Self.least {
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }

  /// How many characters wide. Counting them by Unicode's rules costs a large list a tenth of its time.
  private static func columns(_ text: String) -> Int { text.isPlainASCII ? text.utf8.count : text.count }

  private func padded(_ text: String, _ width: Int, _ alignment: Alignment) -> String {
    let space = String(repeating: " ", count: max(0, width - Self.columns(text)))
    return alignment == .left ? text + space : space + text
  }
}
