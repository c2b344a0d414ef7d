import Sealift

extension Documents {
  static func drill(_ report: DrillReport, notices: [String]) -> Json {
    let drills = report.drilled.map { one in
      Json.object([
        ("version", version(one.version)), ("passed", .bool(one.hasPassed)), ("findings", .strings(one.findings)),
        ("checks", .strings(one.passed)), ("unchecked", .strings(one.unchecked)), ("recorded", .bool(one.recorded)),
      ])
    }
    let failures = report.failures.map { failure in
      Json.object([
        ("database", .optional(failure.database)), ("target", .string(failure.target)),
        ("code", .string(failure.error.code)), ("message", .string(failure.error.message)),
        ("hint", .optional(failure.error.hint)),
      ])
    }
    return .object([("drills", .array(drills)), ("failures", .array(failures)), ("notices", .strings(notices))])
  }
}
