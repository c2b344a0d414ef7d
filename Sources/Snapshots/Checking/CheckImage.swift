import CSQLite

/// What `quick_check` made of an image.
package enum CheckOutcome: Sendable, Equatable {
  case ok
  /// Why it could not be looked at as a whole: it needs a collation or a function of its application. What
  /// could be looked at was sound.
  case notCheckable(String)
  /// What is wrong, in SQLite's words, at most 100 lines.
  case damaged([String])

  package var isDamaged: Bool {
    if case .damaged = self { return true }
    return false
  }

  /// The release of SQLite that checks here: what it cannot look at, another one may.
  package static var release: String { String(cString: sqlite3_libversion()) }

  /// The first of its findings in one line, and how many more there are; nil when there are none.
  package static func brief(_ findings: [String]) -> String? {
    guard let first = findings.first else { return nil }
    let line = first.split(separator: "\n").joined(separator: " ").prefix(500)
    return findings.count == 1 ? String(line) : "\(line), and \(findings.count - 1) more"
  }
}

/// Checks a private, finished image.
///
/// It is opened as immutable, so that no file appears beside it; nobody may be writing to it.
/// - Throws: `.missing`, `.unreadable`, `.spool` without a thread, `.cancelled`.
package func checkImage(at path: String) async throws -> CheckOutcome {
  try await onOwnThread { stop in
    guard exists(path) else { throw SnapshotError(.missing, "there is no file \(path)") }
    return try quickCheck(path, Watch(stop, busyTimeout: .seconds(1)))
  }
}

func quickCheck(_ path: String, _ watch: Watch) throws -> CheckOutcome {
  do {
    let image = try openImage(path, watch)
    let outcome = try check(image, by: "quick_check", watch)
    guard case .notCheckable = outcome, let page = try image.freePageInUse() else { return outcome }
    return .damaged(["page \(page) is in the list of free pages, and in use"])
  } catch let failure as SQLiteFailure {
    if failure.meansDamage { return .damaged([failure.message]) }
    throw failure.explained(ofCopy: path)
  }
}

/// Opens an image that nobody writes to, so that no file appears beside it.
/// - Parameter knowingChecks: as one that could be written, because only then SQLite knows its CHECK constraints; one that
///   is read through a -wal would get one.
func openImage(_ path: String, _ watch: Watch, knowingChecks: Bool = false) throws(SQLiteFailure) -> Connection {
  let connection =
    knowingChecks
    ? try Connection(path, flags: SQLITE_OPEN_READWRITE)
    : try Connection(immutableURI(path), flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
  connection.obey(watch)
  try connection.trustSchema()
  try connection.execute("PRAGMA cell_size_check=1")
  connection.passedOver = laterSchema(ofImage: path)
  // Lets what can be read be read. Nobody writes to the image.
  if connection.passedOver != nil { try connection.execute("PRAGMA writable_schema=1") }
  connection.limitCache()
  return connection
}

/// - Parameter pragma: `quick_check` or `integrity_check`.
func check(_ connection: Connection, by pragma: String, _ watch: Watch) throws -> CheckOutcome {
  let found = try connection.withoutLongerValuesThanStored { () throws -> CheckOutcome in
    switch try look(connection, pragma, watch) {
    case .whole(let outcome): return outcome
    case .stopped: return try checkTables(connection, pragma, watch)
    }
  }
  return connection.passedOver.map(found.passingOver) ?? found
}

private enum Look {
  case whole(CheckOutcome)
  /// By what only the application has, or can compute.
  case stopped(SQLiteFailure)
}

/// - Parameter table: the only one to look at, if any.
private func look(
  _ connection: Connection, _ pragma: String, at table: String? = nil, _ watch: Watch
) throws -> Look {
  let seen = try ask(connection, pragma, table, watch)
  guard pragma == "quick_check", case .whole(.damaged(let lines)) = seen, !lines.isEmpty, lines.allSatisfy(isOfNull)
  else { return seen }
  return .whole(try confirm(lines, connection, table, watch))
}

/// The `quick_check` of SQLite 3.40 takes columns for others in a WITHOUT ROWID table that has its key in another order
/// than its columns: a NULL that may be there is one in a NOT NULL column to it, and a sound database would be called
/// damaged. `integrity_check` looks at the right ones. It looks up each row in each index, too, so it costs several times
/// as much: only where there is nothing but such lines.
/// - Parameter alarms: all that `quick_check` said.
private func confirm(
  _ alarms: [String], _ connection: Connection, _ table: String?, _ watch: Watch
) throws -> CheckOutcome {
  switch try ask(connection, "integrity_check", table, watch) {
  case .stopped:
    // It computes what is in indexes, too, and one of them needs what only the application has.
    return try table == nil ? confirmByTables(connection, watch) : .damaged(alarms)
  case .whole(.damaged(let lines)):
    let others = lines.filter { !isOfOrder($0) }
    if !others.isEmpty { return .damaged(others) }
    // Where lines that mean nothing here left no room for others, nobody knows.
    return lines.count < mostLines ? .ok : .damaged(alarms)
  case .whole(let outcome): return outcome
  }
}

private func confirmByTables(_ connection: Connection, _ watch: Watch) throws -> CheckOutcome {
  var damage: [String] = []
  for name in try tableNames(connection) {
    if case .whole(.damaged(let lines)) = try look(connection, "quick_check", at: name, watch) { damage += lines }
  }
  return damage.isEmpty ? .ok : .damaged(Array(damage.prefix(mostLines)))
}

private func isOfNull(_ line: String) -> Bool { line.hasPrefix("NULL value in ") }

/// Whether `integrity_check` says it of an index or of the order of keys, at which `quick_check` does not look: the
/// application may have a collation or a function of its own under a name of SQLite's.
private func isOfOrder(_ line: String) -> Bool {
  if line.hasPrefix("row ") {
    return line.contains(" missing from index ") || line.contains(" values differ from index ")
      || line.hasPrefix("row not in PRIMARY KEY order for ")
  }
  return ["wrong # of entries in index ", "non-unique entry in index ", "rowid not at end-of-record for row "]
    .contains { line.hasPrefix($0) }
}

/// As many as SQLite itself lists.
private let mostLines = 100

private func ask(_ connection: Connection, _ pragma: String, _ table: String?, _ watch: Watch) throws -> Look {
  let argument = table.map { "(\(quoted($0, by: "'")))" } ?? ""
  var lines: [String] = []
  do throws(SQLiteFailure) {
    try connection.read("PRAGMA \(pragma)\(argument)", limit: mostLines, into: &lines)
    if let failure = SQLiteFailure(failedReadIn: lines) { throw failure }
    return .whole(lines == ["ok"] ? .ok : .damaged(findings(in: lines)))
  } catch {
    if let refusal = watch.refusal { throw refusal }
    if error.meansDamage { return .whole(.damaged([error.message])) }
    if error.stopsComputing {
      if let failure = SQLiteFailure(failedReadIn: lines) { throw failure }
      // Pages come before rows: what is wrong with them was said, and nobody says it again table by table.
      let pages = lines.filter { $0.hasPrefix("*** in database ") }
      return pages.isEmpty ? .stopped(error) : .whole(.damaged(findings(in: pages)))
    }
    throw error
  }
}

/// All that SQLite says of the pages of a file stands in one row, below a heading. In other rows a line break is part of
/// a name.
private func findings(in rows: [String]) -> [String] {
  let lines = rows.flatMap { row in
    row.hasPrefix("*** in database ") ? row.split(separator: "\n").dropFirst().map(String.init) : [row]
  }
  return Array(lines.prefix(mostLines))
}

/// Table by table, because one that cannot be checked must not hide damage in another.
private func checkTables(_ connection: Connection, _ pragma: String, _ watch: Watch) throws -> CheckOutcome {
  let names = try tableNames(connection)
  var unchecked: [String] = []
  /// What this SQLite says of those that need nothing it has not, but whose values it cannot compute with.
  var refused: [String] = []
  var damage: [String] = []
  for name in names {
    switch try look(connection, pragma, at: name, watch) {
    case .whole(.damaged(let lines)): damage += lines
    case .whole: break
    case .stopped(let failure):
      if failure.needsApplicationCode { unchecked.append(name) } else { refused.append("\(name) (\(failure.message))") }
    }
  }
  if !damage.isEmpty { return .damaged(Array(damage.prefix(mostLines))) }
  var reasons: [String] = []
  if !unchecked.isEmpty || refused.isEmpty {
    let tables = unchecked.isEmpty ? "" : ": \(unchecked.joined(separator: ", "))"
    reasons.append(
      "\(unchecked.count) of \(names.count) tables need collations or functions of their application\(tables)")
  }
  if !refused.isEmpty {
    let version = String(cString: sqlite3_libversion())
    reasons.append(
      "\(refused.count) of \(names.count) tables hold what this SQLite (\(version)) cannot compute with: \(refused.joined(separator: ", "))"
    )
  }
  return .notCheckable(reasons.joined(separator: "; "))
}

private func tableNames(_ connection: Connection) throws(SQLiteFailure) -> [String] {
  try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0", limit: .max)
}

/// The same text as SQL reads it between marks: `'` for a text, `"` for a name. A mark is one whatever accent follows.
func quoted(_ text: String, by mark: Unicode.Scalar) -> String {
  let marks = text.unicodeScalars.reduce(into: String.UnicodeScalarView()) { marks, scalar in
    marks.append(scalar)
    if scalar == mark { marks.append(scalar) }
  }
  return "\(mark)\(String(marks))\(mark)"
}

/// A URI by which SQLite opens a file without looking for side files. Every byte outside the plainest ones is
/// escaped, so that `?`, `#` and `%` in names mean themselves.
func immutableURI(_ path: String) -> String {
  let digits = Array("0123456789ABCDEF")
  var escaped = ""
  for byte in path.utf8 {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
      escaped.unicodeScalars.append(Unicode.Scalar(byte))
    default:
      escaped += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
    }
  }
  return "file:\(escaped)?immutable=1"
}
