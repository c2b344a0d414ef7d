import Sealift

/// The documents of `forget`, and of the commands that say something of versions.
extension Documents {
  static func forget(_ report: ForgetReport, notices: [String]) -> Json {
    let chains = report.done.map { one in
      Json.object([
        ("target", .string(one.target)), ("database", .string(one.chain.database)), ("host", .string(one.chain.host)),
        ("forgottenNow", .number(one.forgot)),
        ("forgottenBefore", .number(one.chain.forgottenBefore)),
        ("decisions", .array(one.chain.plan.decisions.map(decision))),
      ])
    }
    let failures = report.failures.map { failure in
      Json.object([
        ("target", .string(failure.target)), ("code", .string(failure.error.code)),
        ("message", .string(failure.error.message)), ("hint", .optional(failure.error.hint)),
      ])
    }
    return .object([
      ("chains", .array(chains)), ("failures", .array(failures)), ("dryRun", .bool(report.isDryRun)),
      ("notices", .strings(notices)),
    ])
  }

  static func lost(_ outcomes: [ForgetLost.Outcome], dryRun: Bool, notices: [String]) -> Json {
    let chains = outcomes.flatMap { outcome in
      outcome.chains.map { chain in
        let lost = chain.lost.map { range in
          Json.object([
            ("first", .number(Int(clamping: range.lowerBound))), ("last", .number(Int(clamping: range.upperBound))),
          ])
        }
        return Json.object([
          ("target", .string(outcome.target)), ("database", .string(chain.database)), ("host", .string(chain.host)),
          ("lost", .array(lost)),
        ])
      }
    }
    let failures = outcomes.flatMap { outcome in
      outcome.problems.map { problem in
        Json.object([
          ("target", .string(outcome.target)), ("code", .string(problem.code)), ("message", .string(problem.message)),
          ("hint", .optional(problem.hint)),
        ])
      }
    }
    return .object([
      ("chains", .array(chains)), ("failures", .array(failures)), ("dryRun", .bool(dryRun)),
      ("notices", .strings(notices)),
    ])
  }

  static func versions(_ versions: [VersionSummary], notices: [String]) -> Json {
    .object([("versions", .array(versions.map(version))), ("notices", .strings(notices))])
  }

  private static func decision(_ decision: RetentionPlan.Decision) -> Json {
    .object([
      ("id", .string(decision.version.id)), ("time", .string(Times.text(decision.version.time))),
      ("sequence", .number(Int(clamping: decision.version.sequence))), ("stays", .bool(decision.stays)),
      ("reasons", .strings(decision.reasons)), ("flaw", .optional(decision.version.flaw?.rawValue)),
    ])
  }
}
