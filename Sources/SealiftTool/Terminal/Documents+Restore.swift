import Sealift

extension Documents {
  static func restore(_ outcome: Restore.Outcome, notices: [String]) -> Json {
    .object(members(outcome) + [("alreadyThere", .bool(false)), ("notices", .strings(notices))])
  }

  /// Of a restore that was asked for where nothing is, and found something.
  static func alreadyThere(_ path: String, dryRun: Bool, notices: [String]) -> Json {
    .object([
      ("version", .null), ("dryRun", .bool(dryRun)), ("path", place(path)), ("alreadyThere", .bool(true)),
      ("notices", .strings(notices)),
    ])
  }

  private static func members(_ outcome: Restore.Outcome) -> [(String, Json)] {
    let pulled = outcome.pulled
    return [
      ("version", version(pulled.version)), ("path", place(pulled.path)), ("check", .string(pulled.check)),
      ("checkedAt", .optional(pulled.checkedAt?.rawValue)), ("companionsFolder", place(pulled.companionsFolder)),
      ("supportFolder", place(pulled.supportFolder)),
      ("companions", .strings(outcome.companions.map(Paths.absolute))),
      ("identical", .bool(pulled.identical)), ("mode", .string(outcome.mode.rawValue)),
      ("moved", moves(outcome.moved)), ("undoCopy", .optional(outcome.undoCopy)), ("undo", .optional(outcome.undo)),
      ("leftOut", leftOut(pulled.leftOut)),
    ]
  }

  static func preview(_ preview: RestorePreview, notices: [String]) -> Json {
    .object(members(preview) + [("notices", .strings(notices))])
  }

  private static func members(_ preview: RestorePreview) -> [(String, Json)] {
    let use = preview.use
    return [
      ("version", version(preview.version)), ("dryRun", .bool(true)), ("path", place(preview.path)),
      ("mode", .string(preview.mode.rawValue)), ("permissions", .string(Retrieval.Report.mode(preview.permissions))),
      ("free", preview.free.map(Json.number) ?? .null), ("needed", .number(preview.needed)),
      ("identical", .bool(preview.identical)),
      ("moved", moves(preview.moves)), ("undoCopy", .optional(preview.undoCopy)),
      ("openedBy", .array((use?.holders ?? []).map(holder))), ("unseen", .array((use?.unseen ?? []).map(holder))),
      ("companions", .strings(preview.companions)), ("leftOut", leftOut(preview.leftOut)),
      ("doubt", .optional(preview.doubt)), ("refusal", preview.refusal.map(said) ?? .null),
    ]
  }

  /// Where a file or folder is: a script need not know where the program was started.
  static func place(_ path: String?) -> Json { .optional(path.map(Paths.absolute)) }

  /// What was not restored because that was asked for.
  static func leftOut(_ leftOut: LeftOut?) -> Json {
    guard let leftOut else { return .null }
    return .object([("files", .number(leftOut.files)), ("bytes", .number(leftOut.bytes))])
  }

  static func tables(_ outcome: RestoreTables.Outcome, notices: [String]) -> Json {
    let tables = outcome.tables.map { table in
      Json.object([
        ("table", .string(table.name)), ("rows", .number(table.rows)), ("indexes", .strings(table.indexes)),
        ("triggers", .strings(table.triggers)),
      ])
    }
    return .object([
      ("version", version(outcome.version)), ("path", place(outcome.path)), ("tables", .array(tables)),
      ("dryRun", .bool(outcome.dryRun)), ("notices", .strings(notices)),
    ])
  }

  static func restoredAll(_ outcome: RestoreAll.Outcome, dryRun: Bool, notices: [String]) -> Json {
    let done = outcome.done.map { one in
      Json.object(
        (one.outcome.map(members) ?? one.preview.map(members) ?? []) + [("alreadyThere", .bool(one.alreadyThere))])
    }
    let failures = outcome.failures.map { failure in
      Json.object([
        ("database", .optional(failure.database)), ("code", .string(failure.error.code)),
        ("message", .string(failure.error.message)), ("hint", .optional(failure.error.hint)),
      ])
    }
    let others = outcome.others.map { other in
      Json.object([("host", .string(other.host)), ("databases", .strings(other.databases))])
    }
    return .object([
      ("host", .string(outcome.host)), ("freshnessProvable", .bool(outcome.freshnessProvable)),
      ("restored", .array(done)), ("failures", .array(failures)), ("passedOver", .strings(outcome.passedOver)),
      ("others", .array(others)), ("dryRun", .bool(dryRun)), ("notices", .strings(notices)),
    ])
  }

  private static func moves(_ moves: [Restore.Move]) -> Json {
    .array(moves.map { .object([("from", .string($0.from)), ("to", .string($0.to))]) })
  }

  private static func holder(_ holder: DatabaseUse.Holder) -> Json {
    .object([
      ("pid", .number(Int(holder.pid))), ("command", .string(holder.command)), ("files", .strings(holder.files)),
    ])
  }

  private static func said(_ error: OperationError) -> Json {
    .object([
      ("code", .string(error.code)), ("message", .string(error.message)), ("hint", .optional(error.hint)),
    ])
  }
}
