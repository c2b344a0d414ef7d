extension Substring {
  /// Without such characters at both ends.
  func trimming(_ isUnwanted: (Character) -> Bool) -> Substring {
    var rest = drop(while: isUnwanted)
    while let last = rest.last, isUnwanted(last) { rest.removeLast() }
    return rest
  }
}

extension String {
  /// Without white space at both ends.
  var trimmed: String { String(self[...].trimming { $0.isWhitespace }) }

  /// Without any of this character at the end.
  func trimmingEnd(_ unwanted: Character) -> String {
    var rest = self[...]
    while rest.last == unwanted { rest.removeLast() }
    return String(rest)
  }

  /// What a server said, fit for a message: one line, no control characters, not long.
  var quotable: String {
    let clean = unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) }
    return String(clean.prefix(200)).trimmed
  }
}

extension Duration {
  var wholeMilliseconds: Int { Int(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000) }
}
