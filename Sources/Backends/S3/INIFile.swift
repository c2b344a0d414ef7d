/// The text of a shared credentials or configuration file: `[section]`, `name = value`, comments. Strict: a line
/// that is none of these is an error, because it may be a secret that a slip moved elsewhere.
struct INIFile {
  struct Refusal: Error {
    /// From 1.
    let line: Int
    /// Never quotes the line.
    let reason: String
  }

  /// Names in lower case.
  private(set) var sections: [String: [String: String]] = [:]

  init(_ text: String) throws(Refusal) {
    var current: String?
    var isNested = false
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let content = String(line).trimmed
      if content.isEmpty || content.hasPrefix("#") || content.hasPrefix(";") { continue }
      if content.hasPrefix("[") {
        guard let end = content.firstIndex(of: "]") else { throw Refusal(line: index + 1, reason: "has no ]") }
        let inside = content[content.index(after: content.startIndex)..<end]
        let name = inside.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !name.isEmpty else { throw Refusal(line: index + 1, reason: "names no section") }
        current = name
        sections[name] = sections[name] ?? [:]
        isNested = false
        continue
      }
      // "s3 =" is followed by indented lines of its own, which are not for us.
      if isNested, line.first?.isWhitespace == true { continue }
      guard let current else { throw Refusal(line: index + 1, reason: "stands before the first section") }
      guard let equals = content.firstIndex(of: "=") else { throw Refusal(line: index + 1, reason: "has no =") }
      let name = String(content[..<equals]).trimmed.lowercased()
      let value = String(content[content.index(after: equals)...]).trimmed
      guard !name.isEmpty else { throw Refusal(line: index + 1, reason: "has no name before =") }
      isNested = value.isEmpty
      if !value.isEmpty { sections[current]?[name] = value }
    }
  }
}
