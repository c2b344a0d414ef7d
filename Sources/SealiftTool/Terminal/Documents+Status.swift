import Sealift

/// The document of `status`.
extension Documents {
  static func status(
    _ outcomes: [StatusOfDatabases.Outcome], unreachable: [(target: String, error: OperationError)],
    notices: [String]
  ) -> Json {
    let reached = outcomes.map { outcome in
      Json.object([
        ("target", .string(outcome.target)), ("reached", .bool(true)),
        ("freshnessProvable", .bool(outcome.freshnessProvable)), ("problems", .array(outcome.problems.map(problem))),
        ("otherHosts", outcome.otherHosts.map(Json.strings) ?? .null),
      ])
    }
    let failed = unreachable.map { failure in
      Json.object([
        ("target", .string(failure.target)), ("reached", .bool(false)), ("freshnessProvable", .bool(false)),
        ("problems", .array([problem(failure.error)])), ("otherHosts", .null),
      ])
    }
    let databases = outcomes.flatMap { outcome in outcome.databases.map { database($0, at: outcome.target) } }
    return .object([
      ("databases", .array(databases)), ("targets", .array(reached + failed)), ("notices", .strings(notices)),
    ])
  }

  private static func database(_ status: StatusOfDatabases.Database, at target: String) -> Json {
    .object([
      ("database", .string(status.name)), ("host", .string(status.host)), ("target", .string(target)),
      ("newest", status.newest.map(version) ?? .null),
      ("ageSeconds", status.age.map { .number(Int(clamping: $0 / 1000)) } ?? .null),
      ("change", .string(status.change.rawValue)), ("count", .number(status.versions)),
      ("forgottenCount", .number(status.forgotten)), ("foundDamagedCount", .number(status.foundDamaged)),
      ("harmed", .strings(status.harmed.map(\.id))),
      ("drilled", status.drilled.map(version) ?? .null), ("lastDrill", status.lastDrill.map(drill) ?? .null),
      ("sound", .bool(status.isSound)), ("otherHosts", status.otherHosts.map(Json.strings) ?? .null),
    ])
  }

  private static func drill(_ last: StatusOfDatabases.LastDrill) -> Json {
    .object([
      ("version", .string(last.version)), ("time", .string(Times.text(last.time))), ("passed", .bool(last.passed)),
      ("text", .string(last.text)),
    ])
  }

  private static func problem(_ problem: OperationError) -> Json {
    .object([
      ("code", .string(problem.code)), ("message", .string(problem.message)), ("hint", .optional(problem.hint)),
    ])
  }
}
