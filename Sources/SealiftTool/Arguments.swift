import ArgumentParser
import Glibc
import Sealift

/// The command line as it was typed.
enum Arguments {
  /// Swift finds them by the list of what is mapped into memory. Where it cannot read that there are none, not even our name.
  /// - Throws: `OperationError`.
  static func demandAny() throws {
    guard CommandLine.arguments.isEmpty else { return }
    let list = "/proc/self/maps"
    let reason = access(list, R_OK) == 0 ? "they are not in it" : String(cString: strerror(errno)).lowercased()
    throw OperationError(
      .failed, "the arguments cannot be read: \(list): \(reason)",
      hint: "Mount /proc, or allow this program to read it.")
  }

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
