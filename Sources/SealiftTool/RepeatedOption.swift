import ArgumentParser

/// Of an option that is given twice ArgumentParser takes the last value, and says nothing of the first: a copy would go to
/// one of two targets, or one of two tags would be looked for.
enum RepeatedOption {
  /// - Throws: `ValidationError` for an option of one value that is there more than once. The command was parsed with this
  ///   line: no value in it begins with a dash.
  static func refuse(_ arguments: [String], of command: any SealiftCommand.Type) throws {
    let given = arguments.prefix { $0 != "--" }.flatMap(names)
    // What the command takes has to be asked for only where two may be the same one; of one letter they have two names.
    guard Set(given).count < given.count || given.contains(where: { !$0.hasPrefix("--") }) else { return }
    for option in singleValued(of: command) where given.count(where: { option.contains($0) }) > 1 {
      let name = option.max { $0.count < $1.count } ?? ""
      throw ValidationError("\(name) is given more than once, and takes one value")
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
