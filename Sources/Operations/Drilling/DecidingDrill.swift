extension StatusOfDatabases.Database {
  /// The drill that says how things stand: the last one; that of the newest version where it failed, whatever was drilled
  /// after it, and where a clock ahead of ours noted it: the last drill of all passes over such a word where it can, and an
  /// older version's would say for the newest one that it failed, or that it did not.
  package var decidingDrill: StatusOfDatabases.LastDrill? {
    guard let own = drillOfNewest, let lastDrill else { return drillOfNewest ?? lastDrill }
    return !own.passed || own.time > lastDrill.time ? own : lastDrill
  }

  /// The same, when a person has to look at it.
  package var failedDrill: StatusOfDatabases.LastDrill? { decidingDrill.flatMap { $0.passed ? nil : $0 } }

  private var drillOfNewest: StatusOfDatabases.LastDrill? {
    guard let newest, let time = newest.drilledAt, let passed = newest.drillPassed else { return nil }
    return StatusOfDatabases.LastDrill(version: newest.id, time: time, passed: passed, text: newest.drillText ?? "")
  }
}
