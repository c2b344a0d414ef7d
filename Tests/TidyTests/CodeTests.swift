import Testing

/// Scripts match the codes of errors: each stands in Docs/Json.md, and none there is made up.
@Suite struct CodeTests {
  /// What the sources say: cases of the enumerations of codes and kinds, and words that are given as a code.
  private static func codes() throws -> Set<String> {
    var found: Set<String> = []
    for path in try SourceTree.files(below: "Sources", suffix: ".swift") {
      let text = SourceText(try SourceTree.text(path)).lines.joined(separator: "\n")
      for argument in text.matches(of: #/code: ([^,\n]*"[A-Za-z]+"[^,\n]*)/#) {
        for word in argument.output.1.matches(of: #/"([A-Za-z]+)"/#) { found.insert(String(word.output.1)) }
      }
      for mistake in text.matches(of: #/mistake\(\s*"([A-Za-z]+)"/#) { found.insert(String(mistake.output.1)) }
      guard path.hasSuffix("Error.swift") else { continue }
      for body in text.matches(of: #/\benum (?:Code|Kind): String[^{]*\{([^}]*)\}/#) {
        for word in body.output.1.matches(of: #/case (\w+)/#) { found.insert(String(word.output.1)) }
      }
    }
    return found
  }

  /// The rows of the document's table of codes.
  private static func rows() throws -> [Substring] {
    let text = try SourceTree.text("Docs/Json.md")
    let section = try #require(text.firstMatch(of: #/### Codes\n(?s:(.*?))\n## /#)).output.1
    return section.split(separator: "\n").filter { $0.hasPrefix("| ") }
  }

  private static func codes(in row: Substring) -> Set<String> {
    Set(row.matches(of: #/`([A-Za-z]+)`/#).map { String($0.output.1) })
  }

  /// What the document says, in its table of codes.
  private static func documented() throws -> Set<String> {
    try rows().reduce(into: Set<String>()) { $0.formUnion(codes(in: $1)) }
      .subtracting(["code", "copy", "repair", "doctor", "check", "status", "list", "prune"])
  }

  @Test func `every code is documented, and no other`() throws {
    let (codes, documented) = (try Self.codes(), try Self.documented())
    #expect(codes.count > 120)
    #expect(codes.subtracting(documented).sorted() == [])
    #expect(documented.subtracting(codes).sorted() == [])
  }

  /// Which status a kind of error ends with; the one of a signal is no row's own.
  private static let statuses = [
    "failed": "1", "usage": "2", "partlyDone": "3", "noRepository": "10", "pushInProgress": "11", "wrongKey": "12",
    "verificationFailed": "13", "noSuchVersion": "14", "sourceUnreadable": "15",
  ]

  @Test func `a code stands in the row of each status that it is given with`() throws {
    var documented: [Substring: Set<String>] = [:]
    for row in try Self.rows() {
      guard let status = row.prefixMatch(of: #/\| (\d+) \|/#)?.output.1 else { continue }
      documented[status, default: []].formUnion(Self.codes(in: row))
    }
    var count = 0
    for path in try SourceTree.files(below: "Sources", suffix: ".swift") {
      let text = SourceText(try SourceTree.text(path)).lines.joined(separator: "\n")
      for given in text.matches(of: #/\(\s*\.(\w+), code: ([^,\n]*"[A-Za-z]+"[^,\n]*)/#) {
        guard let status = Self.statuses[String(given.output.1)] else { continue }
        for code in given.output.2.matches(of: #/"([A-Za-z]+)"/#).map({ String($0.output.1) }) {
          #expect(documented[Substring(status)]?.contains(code) == true, "\(path) ends with \(status) by \(code)")
          count += 1
        }
      }
    }
    #expect(count > 120)
  }
}
