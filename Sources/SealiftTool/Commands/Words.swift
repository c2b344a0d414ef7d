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

extension Session {
  fileprivate func say(
    _ word: AnnotateVersions.Word, of versions: [String], _ told: (AnnotateVersions.Outcome) -> String
  ) async throws -> ExitStatus {
    try await EachVersion(versions).run(in: self) { selector, target, world in
      let outcome = try await AnnotateVersions(world).run(word, of: selector, at: target)
      for tag in outcome.absentTags {
        let version = outcome.version
        terminal.notice("version \(version.id.prefix(8)) of '\(version.database)' had no tag '\(tag)'")
      }
      return EachVersion.Done(version: outcome.version, word: told(outcome))
    }
  }
}
