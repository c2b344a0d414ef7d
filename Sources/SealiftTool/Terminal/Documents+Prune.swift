import Sealift

extension Documents {
  static func prune(_ prunings: [Pruning], dryRun: Bool, failures: [Failure], notices: [String]) -> Json {
    let targets = prunings.map { pruning in
      Json.object([
        ("target", .string(pruning.target)), ("runs", .string(pruning.outcome.runs.rawValue)),
        ("chains", .array(pruning.outcome.chains.map(chain))), ("leftovers", amount(pruning.outcome.leftovers)),
        ("hidden", .number(pruning.outcome.hidden)),
      ])
    }
    let problems = prunings.flatMap { pruning in pruning.outcome.problems.map { problem($0, at: pruning.target) } }
    return .object([
      ("targets", .array(targets)), ("dryRun", .bool(dryRun)), ("problems", .array(problems)),
      ("failures", failed(failures)), ("notices", .strings(notices)),
    ])
  }

  private static func chain(_ chain: PruneRepository.Outcome.Chain) -> Json {
    .object([
      ("database", .string(chain.database)), ("host", .string(chain.host)), ("chain", .string(chain.chain)),
      ("condemned", amount(chain.condemned)), ("freed", amount(chain.freed)), ("waiting", amount(chain.waiting)),
      ("retained", amount(chain.retained)), ("retainedBecause", .optional(chain.retainedBecause)),
      ("resting", .number(chain.resting)), ("waitsForVersion", amount(chain.waitsForVersion)),
      ("young", amount(chain.young)), ("waitsForTime", .number(chain.waitsForTime)),
    ])
  }

  private static func amount(_ amount: PruneRepository.Outcome.Amount) -> Json {
    .object([("objects", .number(amount.objects)), ("bytes", .number(amount.bytes))])
  }
}
