/// Columns of text, each as wide as its widest cell; no line longer than 80 characters when the last column can give way.
struct Table {
  enum Alignment {
    case left
    case right
  }

  static let width = 80
  private var rows: [[String]]
  private let alignments: [Alignment]

  init(_ columns: [(title: String, alignment: Alignment)]) {
    alignments = columns.map(\.alignment)
    rows = [columns.map(\.title)]
  }

  mutating func add(_ cells: [String]) { rows.append(cells.map(printable)) }

  var lines: [String] {
    var widths = alignments.indices.map { column in rows.map { Self.columns($0[column]) }.max() ?? 0 }
    let others = widths.dropLast().reduce(0, +) + 2 * (widths.count - 1)
    if let last = widths.last { widths[widths.count - 1] = min(last, max(4, Self.width - others)) }
    return rows.map { row in
      let cells = row.indices.map { padded(shortened(row[$0], to: widths[$0]), widths[$0], alignments[$0]) }
      var line = cells.joined(separator: "  ")
      while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
      return line
    }
  }

  /// How many characters wide. Counting them by Unicode's rules costs a large list a tenth of its time.
  private static func columns(_ text: String) -> Int { text.isPlainASCII ? text.utf8.count : text.count }

  private func padded(_ text: String, _ width: Int, _ alignment: Alignment) -> String {
    let space = String(repeating: " ", count: max(0, width - Self.columns(text)))
    return alignment == .left ? text + space : space + text
  }
}
