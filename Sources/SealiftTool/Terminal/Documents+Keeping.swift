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
    return .object([
      ("chains", .array(chains)), ("failures", failed(report.failures)), ("dryRun", .bool(report.isDryRun)),
      ("notices", .strings(notices)),
    ])
  }

  /// - Parameter failures: of whole targets. Chains that were left alone stand before them.
  static func lost(_ outcomes: [ForgetLost.Outcome], dryRun: Bool, failures: [Failure], notices: [String]) -> Json {
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
    let doubts: [Failure] = outcomes.flatMap { outcome in
      outcome.problems.map { (target: outcome.target, error: $0) }
    }
    return .object([
      ("chains", .array(chains)), ("failures", failed(doubts + failures)), ("dryRun", .bool(dryRun)),
      ("notices", .strings(notices)),
    ])
  }

  static func versions(_ versions: [VersionSummary], failures: [Failure], notices: [String]) -> Json {
    .object([
      ("versions", .array(versions.map(version))), ("failures", failed(failures)), ("notices", .strings(notices)),
    ])
  }

  private static func decision(_ decision: RetentionPlan.Decision) -> Json {
    .object([
      ("id", .string(decision.version.id)), ("time", .string(Times.text(decision.version.time))),
      ("sequence", .number(Int(clamping: decision.version.sequence))), ("stays", .bool(decision.stays)),
      ("reasons", .strings(decision.reasons)), ("flaw", .optional(decision.version.flaw?.rawValue)),
    ])
  }
}
