import Sealift

/// The same done to several versions at one target, one after the other: what `unforget`, `tag`, `note` and `pin` share.
struct EachVersion {
  struct Done: Sendable {
    var version: VersionSummary
    /// What became of it: `is pinned`.
    var word: String
  }

  private let selectors: [VersionSelector]

  init(_ versions: [String]) throws { selectors = try versions.map(VersionSelector.init(parsing:)) }

  /// The failure of one version does not stop the others.
  func run(
    in session: Session, _ work: (VersionSelector, TargetAccess, World) async throws -> Done
  ) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let target = try targets.access(try targets.one(for: selectors))
    let world = try session.world(configuration)
    var tries = Tries<Done>()
    for selector in selectors {
      await tries.attempt(target.name, session.terminal) {
        let done = try await work(selector, target, world)
        if !session.options.json {
          let version = done.version
          session.terminal.report(
            printable("\(target.name): version \(version.id.prefix(8)) of '\(version.database)' \(done.word)"))
        }
        return done
      }
    }
    if session.options.json {
      session.terminal.report(
        Documents.versions(
          tries.done.map(\.outcome.version), failures: tries.failures, notices: session.terminal.notices))
    }
    return try tries.status("versions", session.terminal)
  }
}

extension Session {
  /// Says something of each of these versions: the work of `tag`, `note`, `pin` and `unpin`.
  func say(
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
