import Sealift

extension Targets {
  /// `--target` alone takes no database where its own targets do not let it go.
  /// - Parameters:
  ///   - not: what does not become of it there: "is not pushed to".
  ///   - all: what naming it is for: "push it there all the same".
  func tellPassedOver(
    _ databases: [Configuration.DatabaseSettings], not: String, all: String, _ terminal: Terminal
  ) throws {
    for (database, away) in try passedOver(databases) {
      terminal.notice(
        "'\(database)' \(not) \(away.joined(separator: ", ")): its \"targets\" do not have that; "
          + "name it on the line to \(all)")
    }
  }

  /// - Parameter kind: what all of them are, beside configured.
  /// - Throws: `.usage` when none of them goes to any target of the line: who looks at the exit status alone would think
  ///   that something was done.
  func demandSome(
    of databases: [Configuration.DatabaseSettings], for command: String, kind: String = "configured database"
  ) throws {
    guard try databases.allSatisfy({ try all(for: $0, isNamed: false).isEmpty }) else { return }
    let named = try all().map(\.name).joined(separator: ", ")
    throw OperationError(
      .usage, code: "noDatabase", "no \(kind) goes to \(named)",
      hint: "Add it to the \"targets\" of those that shall, or name them: `sealift --target TARGET \(command) NAME`.")
  }
}
