import Sealift

/// What comes with a database, in the documents of `push` and `show`.
extension Documents {
  static func beside(_ beside: Push.Beside?) -> [(String, Json)] {
    guard let beside else { return [("companions", .null), ("store", .null)] }
    return [
      (
        "companions",
        .object([
          ("files", .number(beside.files)), ("bytes", .number(beside.bytes)),
          ("externalFiles", .number(beside.externalFiles)), ("externalBytes", .number(beside.externalBytes)),
          ("left", capture(beside.capture)),
        ])
      ), ("store", store(beside.store)),
    ]
  }

  static func capture(_ facts: CaptureFacts?) -> Json {
    .array(
      (facts?.events ?? []).map { event in
        .object([
          ("what", .string(event.what)), ("count", .number(event.count)), ("paths", .strings(event.paths)),
        ])
      })
  }

  static func store(_ facts: StoreFacts?) -> Json {
    guard let facts else { return .null }
    let hashes = facts.hashes.map { Json.object([("entity", .string($0.entity)), ("hash", .string($0.hash))]) }
    return .object([
      ("uuid", .string(facts.uuid)), ("type", .string(facts.type)), ("identifiers", .strings(facts.identifiers)),
      ("hashes", .array(hashes)), ("history", .bool(facts.hasHistory)),
      ("supportFolder", .optional(facts.supportFolder)), ("references", .number(facts.references)),
      ("missing", .number(facts.missing)), ("orphaned", .number(facts.orphaned)),
      ("missingNames", .strings(facts.missingNames)), ("orphanedNames", .strings(facts.orphanedNames)),
    ])
  }
}
