import ArgumentParser
import Sealift

struct Show: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show everything about one version.",
    discussion: """
        sealift show latest
        sealift --target nas show 3f2a91c0 --json
      """)

  @Argument(help: "An id or at least 4 digits of it, NAME:latest, NAME@TIME, or latest: of all databases and hosts.")
  var version: String

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let selector = try VersionSelector(parsing: version)
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let target = try targets.one(for: [selector])
    let detail = try await ListVersions(try session.world(configuration, readOnly: true)).show(
      selector, at: try targets.access(target))
    guard !session.options.json else {
      try session.terminal.result(Documents.show(detail, notices: session.terminal.notices))
      return .success
    }
    for (name, value) in Self.facts(detail) where !value.isEmpty {
      let space = String(repeating: " ", count: max(1, 11 - name.count))
      try session.terminal.result("\(name)\(space)\(printable(value))")
    }
    return .success
  }

  static func facts(_ detail: ListVersions.Detail) -> [(String, String)] {
    let version = detail.summary
    let check =
      !version.isDatabase
      ? "none: not a database" : version.damaged ? "damaged" : version.notCheckable ? "not checkable here" : "ok"
    let units = version.isDatabase ? "pages" : "blocks"
    let fork = version.fork.map { "\($0)" } ?? ""
    let facts: [(String, String)] = [
      ("version", version.id), ("head", version.head), ("database", version.database), ("host", version.host),
      ("fork", fork), ("target", version.target), ("time", Times.text(version.time)),
      ("size", "\(ByteCount.text(version.size)) (\(version.pages) \(units) of \(version.pageSize) bytes)"),
      ("new", ByteCount.text(version.bytesNew)), ("method", version.method), ("check", check),
      ("rows", rows(detail.tables)),
      ("found", version.foundDamaged.map { "damaged: \($0)" } ?? ""), ("drilled", drill(version)),
      ("sha256", version.sha256), ("tags", version.tags.joined(separator: ", ")), ("note", version.note),
      ("pinned", version.pinned ? "yes" : ""), ("forgotten", version.forgotten ? "yes, until a prune" : ""),
      ("previous", detail.previous ?? ""), ("copy of", detail.copiedFrom ?? ""), ("revision", "\(detail.revision)"),
      ("stored", "\(Count.text(detail.packs, "pack")); a restore fetches \(ByteCount.text(detail.bytesFetched))"),
      ("members", members(detail)),
    ]
    let events = (detail.capture?.events ?? []).map { ($0.what, names($0.paths, of: $0.count)) }
    return facts + events + store(detail.store)
  }

  /// What tells one version from another where nothing is broken, and rows were deleted by mistake.
  private static func rows(_ tables: [ListVersions.Detail.Table]) -> String {
    let shown = tables.prefix(20).map { "\($0.name) \($0.rows)" }.joined(separator: ", ")
    return tables.count > 20 ? "\(shown) and \(tables.count - 20) more" : shown
  }

  private static func members(_ detail: ListVersions.Detail) -> String {
    let companions = detail.members.dropFirst()
    let shown = companions.prefix(10).map { "\($0.path) (\(ByteCount.text($0.size)))" }.joined(separator: ", ")
    guard companions.count > 10 else { return shown }
    return "\(shown) and \(companions.count - 10) more, \(ByteCount.text(detail.companionBytes)) in all"
  }

  /// What a Core Data store is to its application.
  private static func store(_ store: StoreFacts?) -> [(String, String)] {
    guard let store else { return [] }
    let external =
      "\(store.references) references to external files, \(store.missing) missing, \(store.orphaned) orphaned"
    return [
      ("store", "Core Data, \(store.uuid)\(store.type.isEmpty ? "" : ", \(store.type)")"),
      ("model", store.identifiers.filter { !$0.isEmpty }.joined(separator: ", ")),
      ("entities", store.hashes.map { "\($0.entity) \($0.hash)" }.joined(separator: ", ")),
      ("external", store.references > 0 || store.orphaned > 0 ? external : ""),
      ("missing", names(store.missingNames, of: store.missing)),
      ("orphaned", names(store.orphanedNames, of: store.orphaned)),
      ("history", store.hasHistory ? "persistent history is kept" : ""),
    ]
  }

  private static func names(_ names: [String], of count: Int) -> String {
    names.joined(separator: ", ") + (count > names.count ? " and \(count - names.count) more" : "")
  }

  private static func drill(_ version: VersionSummary) -> String {
    guard let time = version.drilledAt else { return "" }
    let outcome = version.drillPassed == true ? "passed" : "failed"
    let text = version.drillText.map { $0.isEmpty ? "" : " (\($0))" } ?? ""
    return "\(Times.text(time)): \(outcome)\(text)"
  }
}
