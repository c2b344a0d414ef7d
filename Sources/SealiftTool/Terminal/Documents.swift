import Sealift

/// The documents of `--json`, each described in `Docs/Json.md`. Members are only ever added. Each has the remarks of the
/// run as `notices`: with `--json` they are said nowhere else.
enum Documents {
  /// A target that failed as a whole.
  typealias Failure = (target: String, error: OperationError)

  /// The last word of a run that failed, which mostly has no other document.
  static func error(_ error: OperationError, notices: [String]) -> Json {
    let told = Json.object([
      ("code", .string(error.code)), ("message", .string(error.message)), ("hint", .optional(error.hint)),
    ])
    return .object([("error", told), ("notices", .strings(notices))])
  }

  static func version(_ version: VersionSummary) -> Json { .object(members(version)) }

  static func pushed(_ pushed: Push.Pushed) -> Json {
    let elsewhere = pushed.pushedElsewhere.map { Json.number(Int(clamping: $0)) }
    let outcome: [(String, Json)] = [
      ("unchanged", .bool(pushed.unchanged)), ("dryRun", .bool(pushed.dryRun)),
      ("pushedElsewhere", elsewhere ?? .null),
    ]
    return .object(members(pushed.version) + outcome + beside(pushed.beside))
  }

  static func push(_ report: PushReport, notices: [String]) -> Json {
    let failures = report.failures.map { failure in
      Json.object([
        ("database", .string(failure.database)), ("target", .optional(failure.target)),
        ("code", .string(failure.error.code)), ("message", .string(failure.error.message)),
        ("hint", .optional(failure.error.hint)),
      ])
    }
    return .object([
      ("versions", .array(report.pushed.map(pushed))), ("failures", .array(failures)), ("notices", .strings(notices)),
    ])
  }

  static func list(_ listings: [Listing], failures: [Failure], notices: [String]) -> Json {
    let targets = listings.map { listing in
      Json.object([
        ("target", .string(listing.target)), ("formatVersion", .number(listing.outcome.formatVersion)),
        ("freshnessProvable", .bool(listing.outcome.freshnessProvable)),
      ])
    }
    let problems = listings.flatMap { listing in listing.outcome.problems.map { problem($0, at: listing.target) } }
    return .object([
      ("versions", .array(listings.flatMap(\.outcome.versions).map(version))), ("targets", .array(targets)),
      ("problems", .array(problems)), ("failures", failed(failures)), ("notices", .strings(notices)),
    ])
  }

  static func show(_ detail: ListVersions.Detail, notices: [String]) -> Json {
    let files = detail.members.map { member in
      Json.object([
        ("kind", .string(member.kind)), ("path", .string(member.path)), ("size", .number(member.size)),
      ])
    }
    let tables = detail.tables.map { Json.object([("table", .string($0.name)), ("rows", .number($0.rows))]) }
    return .object([
      ("version", version(detail.summary)), ("copiedFrom", .optional(detail.copiedFrom)),
      ("previous", .optional(detail.previous)),
      ("revision", .number(detail.revision)), ("packs", .number(detail.packs)),
      ("bytesDecoded", .number(detail.bytesDecoded)), ("bytesFetched", .number(detail.bytesFetched)),
      ("members", .array(files)), ("tables", .array(tables)), ("store", store(detail.store)),
      ("left", capture(detail.capture)), ("notices", .strings(notices)),
    ])
  }

  static func pull(_ outcome: Pull.Outcome, notices: [String]) -> Json {
    .object([
      ("version", version(outcome.version)), ("path", place(outcome.path)), ("check", .string(outcome.check)),
      ("checkedAt", .optional(outcome.checkedAt?.rawValue)), ("companionsFolder", place(outcome.companionsFolder)),
      ("supportFolder", place(outcome.supportFolder)), ("identical", .bool(outcome.identical)),
      ("leftOut", leftOut(outcome.leftOut)), ("notices", .strings(notices)),
    ])
  }

  static func repositories(
    _ made: [(target: String, outcome: Initialize.Outcome)], failures: [Failure], notices: [String]
  ) -> Json {
    let repositories = made.map { one in
      Json.object([
        ("target", .string(one.target)), ("repository", .string(one.outcome.repository)),
        ("created", .bool(one.outcome.created)),
      ])
    }
    return .object([
      ("repositories", .array(repositories)), ("failures", failed(failures)), ("notices", .strings(notices)),
    ])
  }

  static func keys(_ slots: [ManageKeys.Slot], notices: [String]) -> Json {
    .object([("keys", .array(slots.map(key))), ("notices", .strings(notices))])
  }

  static func key(_ slot: ManageKeys.Slot) -> Json {
    .object([
      ("id", .string(slot.id)), ("kind", .string(slot.kind)), ("created", .optional(slot.created.map(Times.text))),
      ("current", .bool(slot.current)),
    ])
  }

  static func recovery(_ slot: ManageKeys.Slot, _ text: String, notices: [String]) -> Json {
    .object([("key", key(slot)), ("recoveryKey", .string(text)), ("notices", .strings(notices))])
  }

  static func doctor(
    _ examinations: [Examination], _ release: SQLiteRelease?, failures: [Failure], notices: [String]
  ) -> Json {
    let targets = examinations.map { examination in
      let findings = examination.findings.map { finding in
        let note: String? =
          switch finding.verdict {
          case .kept: nil
          case .noted(let text), .broken(let text): text
          }
        return Json.object([
          ("promise", .string(finding.promise)), ("kept", .bool(!finding.isBroken)), ("note", .optional(note)),
        ])
      }
      return Json.object([
        ("target", .string(examination.target)), ("location", .string(examination.location)),
        ("findings", .array(findings)),
      ])
    }
    return .object([
      ("targets", .array(targets)), ("sqlite", .optional(release?.description)),
      ("losesPages", .bool(release?.losesPages ?? false)), ("failures", failed(failures)),
      ("notices", .strings(notices)),
    ])
  }

  static func configuration(_ file: String?, _ lines: [SettingLine], notices: [String]) -> Json {
    let settings = lines.map { line in
      Json.object([("key", .string(line.key)), ("value", .string(line.value)), ("from", .string(line.from))])
    }
    return .object([
      ("configuration", .object([("file", .optional(file)), ("settings", .array(settings))])),
      ("notices", .strings(notices)),
    ])
  }

  static func changed(_ slot: ManageKeys.Slot, notices: [String]) -> Json {
    .object([("key", key(slot)), ("notices", .strings(notices))])
  }

  /// What went wrong at a target, as it stands in `problems` and `failures`.
  static func problem(_ problem: OperationError, at target: String) -> Json {
    .object([
      ("target", .string(target)), ("code", .string(problem.code)), ("message", .string(problem.message)),
      ("hint", .optional(problem.hint)),
    ])
  }

  /// Targets that failed. The error of a run tells of one of them, or of something worse: here stand all.
  static func failed(_ failures: [Failure]) -> Json { .array(failures.map { problem($0.error, at: $0.target) }) }

  private static func fork(_ version: VersionSummary) -> Json { version.fork.map { .number(Int($0)) } ?? .null }

  /// Nothing, rather than what may be wrong.
  private static func said(_ word: Bool, of version: VersionSummary) -> Json {
    version.wordsUnread == true ? .null : .bool(word)
  }

  private static func members(_ version: VersionSummary) -> [(String, Json)] {
    [
      ("id", .string(version.id)), ("database", .string(version.database)), ("host", .string(version.host)),
      ("fork", fork(version)), ("target", .string(version.target)), ("time", .string(Times.text(version.time))),
      ("size", .number(version.size)), ("bytesNew", .number(version.bytesNew)), ("bytesTotal", .number(version.size)),
      ("pages", .number(version.pages)), ("pageSize", .number(version.pageSize)), ("method", .string(version.method)),
      ("sequence", .number(Int(clamping: version.sequence))), ("head", .string(version.head)),
      ("tags", .strings(version.tags)), ("note", .string(version.note)), ("damaged", .bool(version.damaged)),
      ("notCheckable", .bool(version.notCheckable)), ("sha256", .string(version.sha256)),
      ("formatVersion", .number(version.formatVersion)),
      ("pinned", version.pinned ? .bool(true) : said(false, of: version)),
      ("forgotten", said(version.forgotten, of: version)),
      ("drilledAt", .optional(version.drilledAt.map(Times.text))),
      ("drillPassed", version.drillPassed.map(Json.bool) ?? .null), ("drillText", .optional(version.drillText)),
      ("foundDamaged", .optional(version.foundDamaged)),
      ("lacksCompanions", version.lacksCompanions.map(Json.bool) ?? .null),
    ]
  }
}
