import Sealift

/// One object of the configuration file, read key by key. Whatever is asked for is known, whatever is left at the end is
/// a mistake of the person who wrote it, and is told with the nearest known key.
final class ConfigurationSection {
  /// Where every effective value came from, for `config check`.
  final class Provenance {
    private(set) var entries: [SettingLine] = []
    func note(_ key: String, _ value: String, from: String) {
      entries.append(SettingLine(key: key, value: value, from: from))
    }
    func replace(_ key: String, with value: String) {
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
      entries[index] = SettingLine(key: key, value: value, from: entries[index].from)
    }
  }

  let file: String
  /// `databases.app`; empty at the top.
  let path: String
  let line: Int
  private let members: [(name: String, line: Int, node: JSONNode)]
  private let provenance: Provenance
  private var known: [String] = []

  init(_ node: JSONNode, file: String, path: String, provenance: Provenance) throws {
    self.file = file
    self.path = path
    line = node.line
    self.provenance = provenance
    guard case .object(let members) = node.value else {
      throw Self.mistake(
        "wrongType", file, node.line,
        "\(path.isEmpty ? "the configuration" : "'\(path)'") must be an object, not \(node.kind)")
    }
    self.members = members
  }

  // MARK: values

  func text(_ key: String, default standard: String? = nil) throws -> String? {
    guard let node = node(key) else { return note(key, standard) }
    guard case .string(let text) = node.value else { throw wrongType(key, node, "a text") }
    guard !text.isEmpty else { throw wrong(key, node, "must not be empty") }
    return note(key, text, node)
  }

  /// A path, with the home folder in the place of `~/`.
  func path(_ key: String) throws -> String? { try text(key).map { try expanded($0, of: key) } }

  /// - Throws: `.usage` where it begins at the home folder, and none is known.
  func expanded(_ path: String, of key: String) throws -> String {
    guard let expanded = Paths.expanded(path) else {
      throw wrong(
        key, "begins at the home folder, '\(path)', and HOME is not set",
        hint: "Write an absolute path: what a timer runs often has no HOME.")
    }
    return expanded
  }

  /// A text that may hold a secret, such as a command line: `config check` only says that it is there.
  func hiddenText(_ key: String) throws -> String? {
    guard let node = node(key) else { return nil }
    guard case .string(let text) = node.value else { throw wrongType(key, node, "a text") }
    guard !text.isEmpty else { throw wrong(key, node, "must not be empty") }
    note(key, "(not shown)", node)
    return text
  }

  /// Shows a hidden text after all, once it is known to be harmless.
  func show(_ key: String, as text: String) {
    provenance.replace(keyPath(key), with: text)
  }

  func has(_ key: String) -> Bool { members.contains { $0.name == key } }

  func flag(_ key: String, default standard: Bool) throws -> Bool {
    guard let node = node(key) else {
      note(key, "\(standard)")
      return standard
    }
    guard case .bool(let flag) = node.value else { throw wrongType(key, node, "true or false") }
    note(key, "\(flag)", node)
    return flag
  }

  func integer(_ key: String, in range: ClosedRange<Int>, default standard: Int) throws -> Int {
    if let number = try integer(key, in: range) { return number }
    note(key, "\(standard)")
    return standard
  }

  func integer(_ key: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let node = node(key) else { return nil }
    guard case .number(let number) = node.value else { throw wrongType(key, node, "a whole number") }
    guard let integer = Int(exactly: number) else { throw wrong(key, node, "must be a whole number, not \(number)") }
    guard range.contains(integer) else {
      throw wrong(key, node, "must lie between \(range.lowerBound) and \(range.upperBound)")
    }
    note(key, "\(integer)", node)
    return integer
  }

  func texts(_ key: String) throws -> [String]? {
    guard let node = node(key) else { return nil }
    guard case .array(let nodes) = node.value else { throw wrongType(key, node, "a list of texts") }
    let texts = try nodes.map { element in
      guard case .string(let text) = element.value else { throw wrongType(key, element, "a list of texts") }
      guard !text.isEmpty else { throw wrong(key, element, "has an empty text") }
      return text
    }
    note(key, texts.joined(separator: ", "), node)
    return texts
  }

  /// A list whose elements are texts, or objects that say more.
  func list<Value>(
    _ key: String, _ expected: String, text: (String) throws -> Value, section: (ConfigurationSection) throws -> Value,
    shown: (Value) -> String
  ) throws -> [Value]? {
    guard let node = node(key) else { return nil }
    guard case .array(let nodes) = node.value else { throw wrongType(key, node, expected) }
    let values = try nodes.map { element in
      switch element.value {
      case .string(let word):
        guard !word.isEmpty else { throw wrong(key, element, "has an empty text") }
        return try text(word)
      case .object:
        return try section(
          ConfigurationSection(element, file: file, path: keyPath(key), provenance: Provenance()))
      default: throw wrongType(key, element, expected)
      }
    }
    note(key, values.map(shown).joined(separator: ", "), node)
    return values
  }

  /// A text that a function turns into a value: `30s`, `5MiB/s`, a choice.
  func value<Value>(
    _ key: String, default standard: String? = nil, _ expected: String, _ parse: (String) -> Value?
  ) throws -> Value? {
    try value(key, default: standard, expected: { _ in expected }, parse)
  }

  /// - Parameter expected: what it must be, instead of a text that is none.
  func value<Value>(
    _ key: String, default standard: String? = nil, expected: (String) -> String, _ parse: (String) -> Value?
  ) throws -> Value? {
    guard let text = try text(key, default: standard) else { return nil }
    guard let value = parse(text) else {
      guard let node = node(key) else { return nil }
      throw wrong(key, node, "must be \(expected(text)), not '\(text)'")
    }
    return value
  }

  func section(_ key: String) throws -> ConfigurationSection? {
    try node(key).map { try ConfigurationSection($0, file: file, path: keyPath(key), provenance: provenance) }
  }

  /// The same; where it is not there, one without keys, so that what is assumed is noted.
  func sectionOrDefaults(_ key: String) throws -> ConfigurationSection {
    try section(key)
      ?? ConfigurationSection(
        JSONNode(value: .object([]), line: line), file: file, path: keyPath(key), provenance: provenance)
  }

  /// Sections whose names the person chose (targets, databases), in the order of the file.
  func namedSections(_ key: String) throws -> [(name: String, section: ConfigurationSection)] {
    guard let all = try section(key) else { return [] }
    return try all.members.map { member in
      guard isName(member.name) else {
        throw Self.mistake(
          "badName", file, member.line, "'\(member.name)' cannot be a name in '\(key)'",
          hint: "Names have 1 to 200 bytes, no '/', no control characters, and do not begin with '-'.")
      }
      let path = "\(all.path).\(member.name)"
      return (member.name, try ConfigurationSection(member.node, file: file, path: path, provenance: provenance))
    }
  }

  /// To be called when everything known was asked for.
  /// - Throws: `.usage` for the first key that nobody asked for.
  func finish() throws {
    guard let stray = members.first(where: { !known.contains($0.name) }) else { return }
    if let reason = InlineSecrets.advice(for: stray.name) {
      throw Self.mistake(
        "inlineSecret", file, stray.line, "'\(keyPath(stray.name))': secrets do not stand in the configuration",
        hint: reason)
    }
    throw unknown(stray.name, line: stray.line, among: known)
  }

  /// An error about a key that must be there; told as a slip of the finger when there is one so much like it.
  func missing(_ key: String, _ why: String) -> OperationError {
    if let slip = members.first(where: { Nearest.match(for: $0.name, among: [key]) != nil }) {
      return unknown(slip.name, line: slip.line, among: [key])
    }
    return wrong(key, "is missing: \(why)")
  }

  private func unknown(_ key: String, line: Int, among known: [String]) -> OperationError {
    let nearest = Nearest.match(for: key, among: known)
    return Self.mistake(
      "unknownKey", file, line, "unknown key '\(key)'\(path.isEmpty ? "" : " in '\(path)'")",
      hint: nearest.map { "Did you mean '\($0)'?" } ?? "Known here: \(known.sorted().joined(separator: ", ")).")
  }

  /// An error about one key of this section.
  func wrong(_ key: String, _ message: String, hint: String? = nil) -> OperationError {
    let line = members.first { $0.name == key }?.line ?? line
    return Self.mistake("badValue", file, line, "'\(keyPath(key))' \(message)", hint: hint)
  }

  static func mistake(
    _ code: String, _ file: String, _ line: Int, _ message: String, hint: String? = nil
  ) -> OperationError {
    OperationError(
      .usage, code: code, "\(file), line \(line): \(message)",
      hint: hint ?? "config.example.json shows every key; `sealift config check` tries this file.")
  }

  // MARK: inside

  private func keyPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  private func node(_ key: String) -> JSONNode? {
    if !known.contains(key) { known.append(key) }
    return members.first { $0.name == key }?.node
  }

  private func wrong(_ key: String, _ node: JSONNode, _ message: String) -> OperationError {
    Self.mistake("badValue", file, node.line, "'\(keyPath(key))' \(message)")
  }

  private func wrongType(_ key: String, _ node: JSONNode, _ expected: String) -> OperationError {
    Self.mistake("wrongType", file, node.line, "'\(keyPath(key))' must be \(expected), not \(node.kind)")
  }

  @discardableResult
  private func note(_ key: String, _ value: String?, _ node: JSONNode? = nil) -> String? {
    if let value { provenance.note(keyPath(key), value, from: node.map { "\(file):\($0.line)" } ?? "default") }
    return value
  }
}

/// One line of `config check`: a value, and where it came from.
struct SettingLine: Sendable {
  let key: String
  let value: String
  /// `default`, `environment NAME`, `command line`, `FILE:LINE`; of what does not stand in the configuration, `FILE` or
  /// `profile NAME`.
  let from: String
}

/// A name a person may give to a database or a target.
func isName(_ text: String) -> Bool { isPlainName(text) && !text.contains("/") }

/// The same of this machine: what stands for it everywhere can be seen, and is no part of a path.
func isHostName(_ text: String) -> Bool { isPlainName(text) && !text.allSatisfy(\.isWhitespace) }

private func isPlainName(_ text: String) -> Bool {
  !text.isEmpty && text.utf8.count <= 200 && !text.hasPrefix("-")
    && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
}
