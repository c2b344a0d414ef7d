extension Push {
  /// The targets that have what their servers will ask for, and what opens their repositories. A command that fails is told,
  /// and a person asked, before a copy is made for nothing; a database that did not change asks neither.
  /// - Throws: what interrupted it, where the outcome has nothing to tell.
  func prepared(
    _ targets: [TargetAccess], for database: DatabaseSource, _ outcome: inout Outcome
  ) async throws -> [TargetAccess] {
    var prepared: [TargetAccess] = []
    for target in targets {
      do {
        try await target.prepare()
        if await target.isUntried() { _ = try await target.open(with: target.unlock(), world, lackingFile: true) }
        prepared.append(target)
      } catch {
        let problem = OperationError(error, doing: "pushing '\(database.name)' to \(target.name)")
        guard problem.kind == .cancelled else {
          outcome.failures.append((target.name, problem))
          continue
        }
        guard !outcome.pushed.isEmpty || !outcome.failures.isEmpty else { throw error }
        outcome.interruption = problem
        return []
      }
    }
    return prepared
  }
}
