import ArgumentParser
import Sealift

struct Tag: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "tag",
    abstract: "Add tags to a version, or remove them.",
    discussion: "  sealift tag app:latest --add before-upgrade --remove nightly")

  @Argument(help: "An id or at least 4 digits of it, NAME:latest, NAME@TIME, or latest: of all databases and hosts.")
  var version: String

  @Option(parsing: .singleValue, help: ArgumentHelp("A tag to add; may be given more than once.", valueName: "tag"))
  var add: [String] = []

  @Option(parsing: .singleValue, help: ArgumentHelp("A tag to remove; may be given more than once.", valueName: "tag"))
  var remove: [String] = []

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if add.isEmpty, remove.isEmpty { throw ValidationError("give a tag with --add or --remove") }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    try await session.say(.tags(add: add, remove: remove), of: [version]) { outcome in
      let tags = outcome.version.tags.isEmpty ? "no tags" : "tags \(outcome.version.tags.joined(separator: ", "))"
      return "has \(tags)"
    }
  }
}
