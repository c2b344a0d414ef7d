import ArgumentParser
import Sealift

struct Unforget: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "unforget",
    abstract: "Take back that versions were forgotten, until a prune.",
    discussion: """
      Succeeds only when nothing of the version was taken by a prune, and none can take it any more. Rules may let it go \
      again with the next forget: `sealift pin` keeps it.

        sealift unforget 9c06ab3f
      """)

  @Argument(help: ArgumentHelp("Ids of versions, or at least 4 digits of each.", valueName: "version"))
  var versions: [String]

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    try await EachVersion(versions).run(in: session) { selector, target, world in
      let outcome = try await UnforgetVersions(world).run(selector, at: target)
      if let warning = Self.warning(outcome) { session.terminal.notice(warning) }
      return EachVersion.Done(
        version: outcome.version, word: outcome.wasForgotten ? "counts again" : "was not forgotten, and is whole")
    }
  }

  /// Whoever takes a version back wants to have it longer than until tonight.
  static func warning(_ outcome: UnforgetVersions.Outcome) -> String? {
    guard outcome.wasForgotten, !outcome.version.pinned else { return nil }
    let id = outcome.version.id.prefix(8)
    return "version \(id): rules may let it go again; `sealift pin \(id)` keeps it"
  }
}
