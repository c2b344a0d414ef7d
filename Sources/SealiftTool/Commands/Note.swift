import ArgumentParser
import Sealift

struct Note: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "note",
    abstract: "Give a version another note.",
    discussion: """
      The new note takes the place of the old one; an empty text takes it away.

        sealift note 9c06ab3f "before the move to schema 12"
      """)

  @Argument(help: "An id or at least 4 digits of it, NAME:latest, NAME@TIME, or latest: of all databases and hosts.")
  var version: String

  @Argument(help: "The note.")
  var text: String

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    try await session.say(.note(text), of: [version]) { $0.version.note.isEmpty ? "has no note" : "has this note" }
  }
}
