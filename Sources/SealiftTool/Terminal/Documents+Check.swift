import Sealift

extension Documents {
  static func check(_ outcomes: [CheckRepository.Outcome], failures: [Failure], notices: [String]) -> Json {
    .object([
      ("targets", .array(outcomes.map(checked))), ("failures", failed(failures)), ("notices", .strings(notices)),
    ])
  }

  static func repair(_ outcomes: [RepairRepository.Outcome], failures: [Failure], notices: [String]) -> Json {
    let targets = outcomes.map { outcome in
      Json.object([
        ("target", .string(outcome.target)), ("dryRun", .bool(outcome.dryRun)), ("whole", .bool(outcome.isWhole)),
        ("check", checked(outcome.check)), ("copies", .strings(outcome.copies)),
        ("pushed", .array(outcome.pushed.map(version))), ("saved", .array(outcome.saved.map(checkedVersion))),
        ("lost", .array(outcome.lost.map(checkedVersion))),
        ("cleared", .array(outcome.cleared.map(checkedVersion))),
        ("elsewhere", .array(outcome.elsewhere.map(checkedVersion))),
        ("unmended", .array(outcome.unmended.map(finding))),
        ("problems", .array(outcome.failures.map { problem($0, at: outcome.target) })),
      ])
    }
    return .object([
      ("targets", .array(targets)), ("failures", failed(failures)), ("notices", .strings(notices)),
    ])
  }

  private static func checked(_ outcome: CheckRepository.Outcome) -> Json {
    .object([
      ("target", .string(outcome.target)), ("sound", .bool(outcome.isSound)),
      ("judged", .bool(outcome.isJudged)),
      ("objects", .array(outcome.findings.map(finding))),
      ("problems", .array(outcome.problems.map { problem($0, at: outcome.target) })),
      ("harmedVersions", .array(outcome.harmed.map(checkedVersion))),
      ("wholeVersions", .array(outcome.whole.map(checkedVersion))),
      ("unjudgedVersions", .array(outcome.unjudged.map(checkedVersion))), ("forgotten", .number(outcome.forgotten)),
      ("packs", .number(outcome.packs)), ("packsRead", .number(outcome.packsRead)),
      ("bytesRead", .number(outcome.bytesRead)), ("unreferencedPacks", .number(outcome.unreferenced)),
      ("unreferencedBytes", .number(outcome.unreferencedBytes)), ("bareChains", .number(outcome.bareChains)),
      ("barePacks", .number(outcome.barePacks)), ("unknownObjects", .number(outcome.unknown)),
    ])
  }

  private static func finding(_ finding: CheckRepository.Finding) -> Json {
    .object([
      ("object", .string(finding.object)), ("kind", .string(finding.kind)), ("damage", .bool(finding.isDamage)),
      ("message", .string(finding.what)), ("hint", .optional(finding.hint)),
    ])
  }

  private static func checkedVersion(_ version: CheckRepository.Version) -> Json {
    .object([
      ("id", .optional(version.id)), ("database", .optional(version.database)), ("host", .optional(version.host)),
      ("sequence", .number(Int(clamping: version.sequence))), ("time", .optional(version.time.map(Times.text))),
      ("damaged", version.damaged.map(Json.bool) ?? .null), ("foundDamaged", .optional(version.foundDamaged)),
      ("needs", .strings(version.objects)),
    ])
  }
}
