/// What of a folder is left out, by patterns in the manner of a shell: `*` and `?` within a name, `[a-z]` and `[!a]`, `**`
/// for any number of folders. A pattern without `/` is tried on names at any depth, another one on the path from the
/// companion on. What is below a folder that is left out is left out too.
struct ExcludePatterns: Sendable {
  private enum Token: Sendable, Equatable {
    case one(Unicode.Scalar)
    case any
    case many
    case set([ClosedRange<Unicode.Scalar>], negated: Bool)
  }

  private enum Component: Sendable, Equatable {
    case folders
    case name([Token])
  }

  private let patterns: [[Component]]

  init(_ patterns: [String]) { self.patterns = patterns.map(Self.parse) }

  /// - Parameter path: components below the companion.
  func excludes(_ path: ArraySlice<String>) -> Bool {
    guard !patterns.isEmpty else { return false }
    let names = path.map { Array($0.unicodeScalars) }
    return patterns.contains { Self.match($0[...], names[...]) }
  }

  /// Whether it, or a folder that leads to it, is left out.
  func excludesOnWay(_ path: ArraySlice<String>) -> Bool {
    path.indices.contains { excludes(path[...$0]) }
  }

  static func isMistaken(_ pattern: String) -> Bool {
    pattern.utf8.first == nil || pattern.utf8.first == UInt8(ascii: "/")
      || MemberPath.components(pattern).contains { $0 == ".." || $0 == "." }
  }

  private static func parse(_ pattern: String) -> [Component] {
    let names = MemberPath.components(pattern)
    let components: [Component] = names.map { $0 == "**" ? .folders : .name(tokens(Array($0.unicodeScalars))) }
    return pattern.utf8.contains(UInt8(ascii: "/")) ? components : [.folders] + components
  }

  private static func tokens(_ text: [Unicode.Scalar]) -> [Token] {
    var tokens: [Token] = []
    var index = 0
    while index < text.count {
      switch text[index] {
      case "*": if tokens.last != .many { tokens.append(.many) }
      case "?": tokens.append(.any)
      case "[":
        if let (set, end) = set(text, from: index) {
          tokens.append(set)
          index = end
        } else {
          tokens.append(.one("["))
        }
      case "\\" where index + 1 < text.count:
        index += 1
        tokens.append(.one(text[index]))
      default: tokens.append(.one(text[index]))
      }
      index += 1
    }
    return tokens
  }

  /// - Returns: the set that begins at `start`, and where its `]` stands; `nil` when it has none.
  private static func set(_ text: [Unicode.Scalar], from start: Int) -> (Token, Int)? {
    var index = start + 1
    let negated = index < text.count && (text[index] == "!" || text[index] == "^")
    if negated { index += 1 }
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    /// The next character of the set; behind a `\` as it is.
    func next() -> Unicode.Scalar {
      if text[index] == "\\", index + 1 < text.count { index += 1 }
      defer { index += 1 }
      return text[index]
    }
    while index < text.count, text[index] != "]" || ranges.isEmpty {
      let first = next()
      let end = index
      if index + 1 < text.count, text[index] == "-", text[index + 1] != "]" {
        index += 1
        let last = next()
        if first <= last {
          ranges.append(first...last)
          continue
        }
        index = end
      }
      ranges.append(first...first)
    }
    guard index < text.count, !ranges.isEmpty else { return nil }
    return (.set(ranges, negated: negated), index)
  }

  /// `**` at the end stands for at least one name: what is in a folder, not the folder.
  private static func match(_ pattern: ArraySlice<Component>, _ names: ArraySlice<[Unicode.Scalar]>) -> Bool {
    guard let first = pattern.first else { return names.isEmpty }
    switch first {
    case .folders:
      let rest = pattern.dropFirst()
      if rest.isEmpty { return !names.isEmpty }
      return (names.startIndex...names.endIndex).contains { match(rest, names[$0...]) }
    case .name(let tokens):
      guard let name = names.first, match(tokens, name) else { return false }
      return match(pattern.dropFirst(), names.dropFirst())
    }
  }

  /// Goes back to the last `*` only, so that no pattern takes more than the product of both lengths.
  private static func match(_ tokens: [Token], _ name: [Unicode.Scalar]) -> Bool {
    var (token, place) = (0, 0)
    var retry: (token: Int, place: Int)?
    while place < name.count {
      if token < tokens.count, tokens[token] == .many {
        retry = (token, place)
        token += 1
      } else if token < tokens.count, fits(tokens[token], name[place]) {
        token += 1
        place += 1
      } else if let last = retry {
        retry = (last.token, last.place + 1)
        (token, place) = (last.token + 1, last.place + 1)
      } else {
        return false
      }
    }
    return tokens[token...].allSatisfy { $0 == .many }
  }

  private static func fits(_ token: Token, _ scalar: Unicode.Scalar) -> Bool {
    switch token {
    case .one(let one): one == scalar
    case .any: true
    case .many: false
    case .set(let ranges, let negated): ranges.contains { $0.contains(scalar) } != negated
    }
  }
}
