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

  /// What the document says, in its table of codes.
  private static func documented() throws -> Set<String> {
    let text = try SourceTree.text("Docs/Json.md")
    let section = try #require(text.firstMatch(of: #/### Codes\n(?s:(.*?))\n## /#)).output.1
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ") }
    return Set(rows.flatMap { $0.matches(of: #/`([A-Za-z]+)`/#).map { String($0.output.1) } })
      .subtracting(["code", "copy", "repair", "doctor", "check", "status", "list", "prune"])
  }

  @Test func `every code is documented, and no other`() throws {
    let (codes, documented) = (try Self.codes(), try Self.documented())
    #expect(codes.count > 120)
    #expect(codes.subtracting(documented).sorted() == [])
    #expect(documented.subtracting(codes).sorted() == [])
  }
}
