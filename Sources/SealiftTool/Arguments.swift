import ArgumentParser

/// The command line as it was typed.
enum Arguments {
  /// Swift puts a mark in the place of bytes that are no UTF-8. A path would be that of another file then, or a name another.
  /// - Throws: `ValidationError`, naming the first such argument as far as it can be shown.
  static func demandText() throws {
    for (number, argument) in CommandLine.arguments.enumerated().dropFirst() {
      guard let typed = CommandLine.unsafeArgv[number], String(validatingCString: typed) == nil else { continue }
      throw ValidationError(
        "argument \(number), '\(argument)', is not UTF-8. Give the file another name, or reach it by a link with one.")
    }
  }
}
