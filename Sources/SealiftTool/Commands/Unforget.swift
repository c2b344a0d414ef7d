import ArgumentParser
import Sealift

struct Unforget: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "unforget",
    abstract: "Take back that versions were forgotten, until a prune.",
    discussion: """
      Succeeds only when nothing of the version was taken by a prune, and none can take it any more.

        sealift unforget 9c06ab3f
      """)

  @Argument(help: ArgumentHelp("Ids of versions, or at least 4 digits of each.", valueName: "version"))
  var versions: [String]

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    try await EachVersion(versions).run(in: session) { selector, target, world in
      let outcome = try await UnforgetVersions(world).run(selector, at: target)
      return EachVersion.Done(
        version: outcome.version, word: outcome.wasForgotten ? "counts again" : "was not forgotten, and is whole")
    }
  }
}
