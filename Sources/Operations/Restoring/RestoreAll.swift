import Repositories
import Sealing
import Storage

/// `sealift pull --all` and `sealift restore --all`: the newest version of every database of a host, after a machine was
/// lost. The target and a key are all that is needed. The failure of one does not stop the others.
package struct RestoreAll: Sendable {
  /// What is done with each version.
  package enum Work: Sendable {
    /// Into a folder, as files named after the databases.
    case pull(into: String)
    /// To where the databases of the configuration are; others are passed over.
    case restore(Restore.Request, paths: [String: String])

    fileprivate func means(_ database: String) -> Bool {
      if case .restore(_, let paths) = self { return paths.value(ofName: database) != nil }
      return true
    }
  }

  package struct Done: Sendable {
    package var database: String
    package var outcome: Restore.Outcome?
    package var preview: RestorePreview?
    /// The version stood there to the byte before this run, as one that was cut has left it. Nothing was done.
    package var alreadyThere = false
  }

  package struct Outcome: Sendable {
    package var host: String
    /// False on a machine that has not seen the repository before: it cannot prove that nothing newer was taken away.
    package var freshnessProvable = true
    package var done: [Done] = []
    /// Each with the database where that is known.
    package var failures: [(database: String?, error: OperationError)] = []
    /// Databases at the target that the configuration does not name.
    package var passedOver: [String] = []
    /// Of what was asked for, what other hosts have there: nothing was done with it.
    package var others: [(host: String, databases: [String])] = []
    /// Why those that are in neither list were not begun, or not ended.
    package var interruption: OperationError?
  }

  package var pull: Pull
  /// Only say what would be done.
  package var dryRun = false
  /// Of the databases that have a place, those that have versions at another target only: no failure where none is here.
  package var elsewhere: Set<String> = []
  /// Bytes that are free in a folder; tests answer it themselves.
  var freeBytes: @Sendable (String) -> Int? = { RestoreRoom.free(in: $0) }

  package init(_ pull: Pull) { self.pull = pull }

  /// - Parameters:
  ///   - host: whose databases; by default this host's, and where it has none, those of the only one that has.
  ///   - onDone: called for each as soon as it is done.
  /// - Throws: what stops all of them: no repository, a wrong key, no versions, `.cancelled` before anything was done.
  package func run(
    _ work: Work, from target: TargetAccess, host: String?, onDone: @Sendable (Done) -> Void = { _ in }
  ) async throws -> Outcome {
    do {
      let chains = try await ChainsByDatabase(at: target, pull.world, fresh: pull.world, isReading: true)
      var outcome = Outcome(host: try chosen(host, chains))
      outcome.failures = (chains.nameless + chains.vanished).map { (nil, OperationError($0, doing: target.name)) }
      let databases = chains.databases.filter { outcome.host.isSameName(as: $0.host) }
      if case .restore(_, let paths) = work {
        for name in paths.keys.sorted()
        where !elsewhere.containsName(name) && !databases.contains(where: { name.isSameName(as: $0.name) }) {
          let error = RepositoryError(
            .noSuchVersion, "no version of '\(name)' of \(outcome.host) is at \(target.name)",
            hint: "`sealift list` shows what is there.")
          outcome.failures.append((name, OperationError(error)))
        }
      }
      let meant = databases.filter { work.means($0.name) }
      outcome.freshnessProvable = chains.isFreshnessProvable(of: meant)
      outcome.passedOver = databases.map(\.name).filter { !work.means($0) }
      outcome.others = others(than: outcome.host, chains, work)
      try await chains.prepare(for: meant)
      var choices = try await choose(of: meant, work, target, chains)
      try await keepApart(&choices, work, target, chains)
      if !dryRun { tellShortage(of: choices) }
      var room = RoomOfAll(freeBytes)
      for choice in choices {
        let name = choice.database.name
        do {
          let isAwaiting = dryRun && awaitsFolder(choice, choices, outcome.done)
          var done = try await one(choice, work, target, chains, awaitsFolder: isAwaiting)
          if dryRun { try demandRoom(for: &done, in: &room) }
          outcome.done.append(done)
          onDone(done)
        } catch {
          var problem = OperationError(error, doing: "restoring '\(name)' from \(target.name)")
          // Files in a folder are named by their databases.
          if case .pull = work, problem.hint == RestoredFile.nameAnother {
            problem.hint = "Fetch into another folder, or move that file away."
          }
          if problem.code == "noFolder" { problem.hint = wayToFolder(of: name, choices, outcome.done) ?? problem.hint }
          guard problem.kind == .cancelled else {
            outcome.failures.append((name, problem))
            continue
          }
          // What was replaced by then has to be told, and where the old one is.
          guard !outcome.done.isEmpty else { throw problem }
          outcome.interruption = problem
          break
        }
      }
      guard !outcome.done.isEmpty || !outcome.failures.isEmpty else {
        throw RepositoryError(
          .noSuchVersion, "no configured database of \(outcome.host) has versions there",
          hint: "`sealift list` shows what is there; `sealift pull --all FOLDER` fetches what is not configured.")
      }
      return outcome
    } catch {
      throw OperationError(error, doing: "restoring from \(target.name)")
    }
  }

  private func chosen(_ host: String?, _ chains: ChainsByDatabase) throws -> String {
    let hosts = Set(chains.databases.map { ExactName($0.host) })
    // The only host that is left is no stand-in for this one, whose databases were there; where nobody knows this one's
    // name, what is gone may be its own. Where nothing is gone the only host is taken, whatever this one is called.
    let isOwnThere = chains.ownHost.map { hosts.contains(ExactName($0)) } ?? false
    if host == nil, !isOwnThere, let gone = chains.vanished.first { throw gone }
    let taken = host ?? (hosts.count == 1 ? hosts.first?.text : chains.ownHost)
    guard let own = taken, hosts.contains(ExactName(own)) else {
      guard !hosts.isEmpty else {
        throw RepositoryError(.noSuchVersion, "there are no versions to restore", hint: ChainsByDatabase.wayToVersions)
      }
      throw OperationError(
        .usage, code: "severalHosts",
        "\(host.map { "nothing of \($0) is there" } ?? "databases of \(hosts.count) hosts are there, \(chains.noneIsOwn)")"
          + ": \(hosts.sorted().map(\.text).joined(separator: ", "))",
        hint: "Name one of them with --host.", cause: host == nil ? chains.unnamed : nil)
    }
    return own
  }

  /// A machine that was made anew and has pushed since has databases of its own there, and they may be empty.
  private func others(
    than host: String, _ chains: ChainsByDatabase, _ work: Work
  ) -> [(host: String, databases: [String])] {
    let others = chains.databases.filter { !host.isSameName(as: $0.host) && work.means($0.name) }
    return Dictionary(grouping: others) { ExactName($0.host) }
      .map { (host: $0.key.text, databases: $0.value.map(\.name).sorted()) }
      .sorted { $0.host < $1.host }
  }

  /// - Parameter awaitsFolder: the folder would be there.
  private func one(
    _ choice: Choice, _ work: Work, _ target: TargetAccess, _ chains: ChainsByDatabase, awaitsFolder: Bool
  ) async throws -> Done {
    let version = try choice.version.get()
    try Task.checkCancellation()
    var found = try await read(version.facts, version.words, target, chains)
    found.standIn = version.standIn
    let pull = suited(to: found)
    let (path, request) = place(of: choice.database.name, work)
    let left = found.leave(to: choice.claims, request, beside: path)
    var done = Done(database: choice.database.name)
    done.alreadyThere = try request.mode == .new && pull.stands(found, at: path, request)
    // What stands there already takes nobody's place.
    if let collision = choice.collision, !done.alreadyThere { throw collision }
    if pull.makeOver != self.pull.makeOver {
      pull.world.reporter.notice("'\(choice.database.name)' is no database: it is brought back as it is")
    }
    if !dryRun, done.alreadyThere {
      let outcome = try await pull.outcome(ofStanding: found, at: path, request)
      // All of it is whole, whatever was killed on the way.
      if !found.leavesCompanions { UnfinishedRestore(of: path).settle(outcome.companions, beside: path) }
      for remark in UnfinishedRestore(of: path).remarks { pull.world.reporter.notice(remark) }
      done.outcome = outcome
      return done
    }
    if !done.alreadyThere { tell(left: left, of: choice) }
    switch (work, dryRun) {
    case (.pull, true):
      done.preview = RestorePreview(found, newFile: path, pull.makeOver, state: pull.world.stateFolder)
    case (.pull, false): done.outcome = Restore.Outcome(pulled: try await pull.restore(found, to: path), mode: .new)
    case (.restore, true):
      done.preview = try await preview(of: found, at: path, request, pull, awaitsFolder: awaitsFolder)
    case (.restore, false): done.outcome = try await Restore(pull).restore(found, request)
    }
    if done.alreadyThere { done.preview?.standsAlready() }
    if let refusal = done.preview?.refusal { throw refusal }
    tellUndo(of: done, choice)
    return done
  }

  private func preview(
    of found: FoundVersion, at path: String, _ request: Restore.Request, _ pull: Pull, awaitsFolder: Bool
  ) async throws -> RestorePreview {
    guard awaitsFolder, request.mode != .live, !CompanionsPlace.stands(PathSteps.folder(of: path)) else {
      return try await RestorePreview(found, request, Restore(pull))
    }
    // Nothing is there yet: whatever was asked for, it would be a new file.
    var new = request
    new.mode = .new
    var preview = try await RestorePreview(found, new, Restore(pull))
    preview.findsFolder(request.mode)
    return preview
  }
}
