extension Push {
  /// The targets that have what their servers will ask for, and what opens their repositories. A command that fails is told,
  /// and a person asked, before a copy is made for nothing; a database that did not change asks neither.
  ///
  /// Where a push was stopped before, the others are pushed to first: what it may take to open it holds nobody up.
  /// - Throws: what interrupted it, where the outcome has nothing to tell.
  func prepared(
    _ targets: [TargetAccess], for request: Request, _ outcome: inout Outcome
  ) async throws -> [TargetAccess] {
    let turns = PushTurns(of: request.database, dryRun: request.dryRun, world)
    var prepared: [TargetAccess] = []
    for target in targets {
      if !prepared.isEmpty, turns.began(at: target.name) != nil {
        prepared.append(target)
        continue
      }
      do {
        try await turns.asking(target.name) {
          try await target.prepare()
          if await target.isUntried() {
            _ = try await target.open(
              with: target.unlock(), world, lackingFile: true, keepsPlace: request.dryRun)
          }
        }
        prepared.append(target)
      } catch {
        let problem = OperationError(error, doing: "pushing '\(request.database.name)' to \(target.name)")
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
