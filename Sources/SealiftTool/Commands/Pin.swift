import ArgumentParser
import Sealift

struct Pin: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin",
    abstract: "Keep versions, whatever the rules of forget say.", discussion: "  sealift pin 9c06ab3f")

  @Argument(
    help: ArgumentHelp(
      "Each an id or at least 4 digits of it, NAME:latest, NAME@TIME, or latest: of all databases and hosts.",
      valueName: "version"))
  var versions: [String]

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    try await session.say(.pin, of: versions) { $0.changed ? "is pinned" : "was pinned before" }
  }
}

struct Unpin: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "unpin",
    abstract: "Let pinned versions go when no rule keeps them.", discussion: "  sealift unpin 9c06ab3f")

  @Argument(
    help: ArgumentHelp(
      "Each an id or at least 4 digits of it, NAME:latest, NAME@TIME, or latest: of all databases and hosts.",
      valueName: "version"))
  var versions: [String]

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    try await session.say(.unpin, of: versions) { $0.changed ? "is not pinned any more" : "was not pinned" }
  }
}
