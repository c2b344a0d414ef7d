import Sealift

extension Documents {
  static func copy(_ outcome: CopyVersions.Outcome, notices: [String]) -> Json {
    let copies = outcome.copied.map { copied in
      Json.object([
        ("copiedFrom", version(copied.origin)), ("version", version(copied.version)),
        ("wasThere", .bool(copied.wasThere)),
      ])
    }
    let failures = outcome.failures.map { failure in
      Json.object([
        ("database", .optional(failure.database)), ("id", .optional(failure.version)),
        ("code", .string(failure.error.code)), ("message", .string(failure.error.message)),
        ("hint", .optional(failure.error.hint)),
      ])
    }
    return .object([
      ("copies", .array(copies)), ("passedOver", .array(outcome.forgotten.map(version))),
      ("failures", .array(failures)), ("notices", .strings(notices)),
    ])
  }
}
