import ArgumentParser

/// Of an option that is given twice ArgumentParser takes the last value, and says nothing of the first: a copy would go to
/// one of two targets, or one of two tags would be looked for.
enum RepeatedOption {
  /// The letters that are flags in every command that has them.
  static let flags: Set<String> = ["-q", "-v", "-n"]
  /// What the letters that take a value stand for, likewise.
  private static let letters = ["-o": "--output"]

  private struct Given {
    let name: String
    /// What stands behind the name: of a flag it is something else.
    let value: [UInt8]
  }

  /// Values that are the same are let pass: of them nothing is dropped.
  /// - Parameter singleValued: the names of each option of one value; the command is asked for them.
  /// - Throws: `ValidationError` for an option of one value that is there more than once. The command was parsed with this
  ///   line: no value in it begins with a dash.
  static func refuse(
    _ arguments: [String], of command: any SealiftCommand.Type,
    singleValued: (any SealiftCommand.Type) -> [[String]] = { RepeatedOption.singleValued(of: $0) }
  ) throws {
    let given = given(in: Array(arguments.prefix { $0 != "--" }))
    guard mayRepeat(given.map(\.name)) else { return }
    for option in singleValued(command) {
      guard Set(given.filter { option.contains($0.name) }.map(\.value)).count > 1 else { continue }
      let name = option.max { $0.count < $1.count } ?? ""
      throw ValidationError("\(name) is given more than once, and takes one value")
    }
  }

  /// Asking the command what it takes costs as much as many a start: only where two may be the same one; of a letter that
  /// is not known they may have two names.
  private static func mayRepeat(_ names: [String]) -> Bool {
    let names = names.filter { !flags.contains($0) }.map { letters[$0] ?? $0 }
    return Set(names).count < names.count || names.count > 1 && names.contains { !$0.hasPrefix("--") }
  }

  private static func given(in words: [String]) -> [Given] {
    words.indices.flatMap { place -> [Given] in
      let word = words[place]
      let next = place + 1 < words.count ? words[place + 1] : ""
      let value = word.firstIndex(of: "=").map { word[$0...].dropFirst() } ?? next[...]
      return names(in: word).map { Given(name: $0, value: Array(value.utf8)) }
    }
  }

  /// The options in one word: `--tag`, `--tag=x`, `-o`, or several of one letter, such as `-nq`.
  private static func names(in word: String) -> [String] {
    let name = word.prefix { $0 != "=" }
    if name.hasPrefix("--") { return [String(name)] }
    return name.hasPrefix("-") ? name.dropFirst().map { "-\($0)" } : []
  }

  /// The names of each option that takes one value, as the command itself describes them.
  static func singleValued(of command: any SealiftCommand.Type) -> [[String]] {
    let told = try? JSONReader.read(Array(command._dumpHelp().utf8))
    let options = told?["command"]?["arguments"]?.list ?? []
    return options.filter { $0["kind"]?.text == "option" && $0["isRepeating"]?.isTrue == false }.map { option in
      (option["names"]?.list ?? []).compactMap { name in
        name["name"]?.text.map { name["kind"]?.text == "short" ? "-\($0)" : "--\($0)" }
      }
    }
  }
}

extension JSONNode {
  fileprivate subscript(_ name: String) -> JSONNode? {
    guard case .object(let members) = value else { return nil }
    return members.first { $0.name == name }?.node
  }

  fileprivate var list: [JSONNode] {
    guard case .array(let nodes) = value else { return [] }
    return nodes
  }

  fileprivate var text: String? {
    guard case .string(let text) = value else { return nil }
    return text
  }

  fileprivate var isTrue: Bool? {
    guard case .bool(let isTrue) = value else { return nil }
    return isTrue
  }
}
