import ArgumentParser
import Sealift

/// What one target holds.
struct Listing {
  var target: String
  var outcome: ListVersions.Outcome
}

struct List: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the versions at the targets.",
    discussion: """
      Oldest first. Any version can be named by the digits shown, or by NAME:latest, NAME@2026-11-20T12:00:00Z, or \
      latest: the newest of all databases and hosts.

        sealift list
        sealift list app --tag before-upgrade --json
      """)

  @Argument(help: "Only versions of this database.")
  var name: String?

  @Option(help: "Only versions with this tag.")
  var tag: String?

  @Flag(help: "Also versions that were forgotten and are still there.")
  var forgotten = false

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let chosen = try targets.all()
    let world = try session.world(configuration, readOnly: true)
    var tries = Tries<Listing>()
    for target in chosen {
      await tries.attempt(target.name, session.terminal) {
        let outcome = try await ListVersions(world).run(
          at: try targets.access(target, isPatient: false), database: name, tag: tag, forgotten: forgotten)
        return Listing(target: target.name, outcome: outcome)
      }
    }
    let listings = tries.done.map(\.outcome)
    if session.options.json {
      session.terminal.report(
        Documents.list(listings, failures: tries.failures, notices: session.terminal.notices))
    } else {
      for listing in listings { show(listing, isOneOfMany: chosen.count > 1, session.terminal) }
    }
    let status = try tries.status(
      "targets", session.terminal, problems: listings.flatMap(\.outcome.problems), isAnythingDone: false)
    // What could not be read may be of any database.
    guard status == .success, let name, !listings.contains(where: \.outcome.holdsDatabase) else { return status }
    throw OperationError(
      .noSuchVersion, code: "noSuchDatabase",
      "\(listings.map(\.target).joined(separator: ", ")): there is no version of '\(name)'",
      hint: Nearest.match(for: name, among: Set(listings.flatMap(\.outcome.databases)).sorted())
        .map { "Did you mean '\($0)'?" } ?? "`sealift list` shows what is there.")
  }

  private func show(_ listing: Listing, isOneOfMany: Bool, _ terminal: Terminal) {
    if isOneOfMany { terminal.report("\(printable(listing.target)):") }
    for line in VersionTable.lines(listing.outcome.versions, within: terminal.manner.width) {
      terminal.report(line)
    }
    if listing.outcome.versions.isEmpty, listing.outcome.holdsDatabase || isOneOfMany {
      let wanted = listing.outcome.holdsDatabase ? tag.map { "no version with the tag '\($0)'" } : nil
      terminal.notice("\(listing.target): \(wanted ?? "no versions")")
    }
    guard !listing.outcome.freshnessProvable else { return }
    if listing.outcome.holdsPacksAlone {
      terminal.notice(
        "\(listing.target): packs are there, and no version; if there were versions, the objects below versions/ are "
          + "gone: bring them back from the target's own versions or trash before anything is pruned")
    } else if !listing.outcome.isBare {
      terminal.notice(
        "\(listing.target): \(ListLines.unproven); compare with a head noted elsewhere (pull --expect HEAD)")
    }
  }
}

enum ListLines {
  static let unproven =
    "this machine has not seen all of it before, so it cannot prove that nothing newer was taken away"
}

/// Versions as `list` shows them.
enum VersionTable {
  /// - Parameter width: characters of a line; `nil`: nothing is cut.
  static func lines(_ versions: [VersionSummary], within width: Int?) -> [String] {
    guard !versions.isEmpty else { return [] }
    // Whose a version is matters where that is not the same of all.
    let showsHosts = Set(versions.map { ExactName($0.host) }).count > 1
    var columns: [Table.Column] = [
      ("ID", .left), ("TIME", .left), ("DATABASE", .left), ("HOST", .left), ("SIZE", .right), ("NEW", .right),
      ("TAGS", .left),
    ]
    if !showsHosts { columns.removeAll { $0.title == "HOST" } }
    var table = Table(columns, names: ["DATABASE", "HOST"])
    let digits = shortestDigits(versions.map(\.id))
    for version in versions {
      var cells = [String(version.id.prefix(digits)), Times.seconds(version.time), version.database]
      if showsHosts { cells.append(version.host) }
      let words = [(marks(version) + version.tags).joined(separator: ",")] + remarks(version)
      cells += [
        ByteCount.text(version.size), ByteCount.text(version.bytesNew),
        words.filter { !$0.isEmpty }.joined(separator: " "),
      ]
      table.add(cells)
    }
    return table.lines(within: width)
  }

  /// What a person should know before anything else, most alarming first.
  private static func marks(_ version: VersionSummary) -> [String] {
    var marks = version.forgotten ? ["(forgotten)"] : []
    if version.foundDamaged != nil {
      marks.append(version.losesCompanionsAlone ? "(companions found damaged)" : "(found damaged)")
    }
    if version.damaged { marks.append("(damaged)") }
    if version.lacksCompanions == true { marks.append("(companions lost)") }
    if version.notCheckable { marks.append("(not checkable)") }
    if version.drillPassed == false { marks.append("(drill failed)") }
    if version.pinned { marks.append("(pinned)") }
    if !version.isDatabase { marks.append("(file)") }
    return marks
  }

  /// What may be cut where there is no room; `show` has all of it.
  private static func remarks(_ version: VersionSummary) -> [String] {
    let drilled = version.drilledAt.map { "drilled \(Times.seconds($0).prefix(10))" } ?? ""
    return [drilled, version.note.isEmpty ? "" : "\"\(version.note)\""]
  }

  /// The number of digits, at least 8, that tells all of them apart.
  static func shortestDigits(_ ids: [String]) -> Int {
    let distinct = Set(ids)
    var digits = 8
    while digits < 64, Set(distinct.map { $0.prefix(digits) }).count < distinct.count { digits += 1 }
    return digits
  }
}
