/// What a Swift source says, read line by line: no compiler, but enough for fences.
struct SourceText {
  /// The lines without what follows `//`.
  let lines: [Substring]

  init(_ text: String) {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(Self.withoutComment)
  }

  /// The modules it imports, whatever stands before `import` (an attribute, an access level) or between it and the
  /// name (`struct`, `func`).
  var imports: [String] {
    let attribute = #/@[\w]+(?:\([^)]*\))?\s+/#
    let level = #/(?:public|package|internal|fileprivate|private)\s+/#
    let kind = #/(?:struct|class|enum|protocol|actor|func|var|let|typealias)\s+/#
    return statements.compactMap { statement in
      var rest = statement.drop(while: \.isWhitespace)
      while let found = rest.prefixMatch(of: attribute) { rest = rest[found.range.upperBound...] }
      while let found = rest.prefixMatch(of: level) { rest = rest[found.range.upperBound...] }
      guard let found = rest.prefixMatch(of: #/import\s+/#) else { return nil }
      rest = rest[found.range.upperBound...]
      if let found = rest.prefixMatch(of: kind) { rest = rest[found.range.upperBound...] }
      return rest.prefixMatch(of: #/\w+/#).map { String($0.output) }
    }
  }

  /// The calls of free functions that print or end the process; methods and declarations of the same names are not.
  var printsAndExits: [String] {
    let call = #/(?:^|[^\w.]|Glibc\.|Swift\.)(print|debugPrint|dump|exit|_exit|quick_exit)\s*\(/#
    return lines.flatMap { line in
      line.matches(of: call).filter { found in !line[..<found.output.1.startIndex].hasSuffix("func ") }
        .map { String($0.output.1) }
    }
  }

  private var statements: [Substring] { lines.flatMap { $0.split(separator: ";") } }

  /// A `//` inside a string cuts that line short as well: it can hide an import only where there is none.
  private static func withoutComment(_ line: Substring) -> Substring {
    line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
  }
}
