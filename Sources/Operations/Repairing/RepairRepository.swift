import Repositories
import Sealing
import Storage

/// `sealift repair`: makes whole again what can be made whole, and says what cannot. Writes new objects only.
package struct RepairRepository: Sendable {
  package struct Request: Sendable {
    /// The databases that are on this machine.
    package var databases: [DatabaseSource]
    /// Only chains of these; all when empty.
    package var names: [String] = []
    /// Hexadecimal names of packs that are damaged: nothing is read to find others. Otherwise everything is read.
    package var packs: [String] = []
    package var dryRun = false

    package init(databases: [DatabaseSource]) { self.databases = databases }
  }

  package struct Outcome: Sendable {
    package var target: String
    /// What was found. What could not be judged is left alone, and told nowhere else.
    package var check: CheckRepository.Outcome
    /// Objects written anew that open the repository. Of a dry run: the configuration that would be written back.
    package var copies: [String] = []
    /// Fresh versions of databases whose newest version could not be saved.
    package var pushed: [VersionSummary] = []
    /// Harmed versions that are whole again, and those that are not.
    package var saved: [CheckRepository.Version] = []
    package var lost: [CheckRepository.Version] = []
    /// Whole versions that were found damaged before, which is taken back.
    package var cleared: [CheckRepository.Version] = []
    /// Harmed versions of databases that are not on this machine, or may not be, and were left as they are.
    package var elsewhere: [CheckRepository.Version] = []
    /// Damage that only people can mend: what opens the repository where no copy of it is whole, records, which nothing else
    /// repeats, and manifests above one that is whole.
    package var unmended: [CheckRepository.Finding] = []
    /// What else stands in the way: what failed, and forks where more is in doubt than which branch goes on.
    package var failures: [OperationError] = []
    package var dryRun = false
    /// False where packs were named: no others were read to find damage.
    package var readAll = true
    /// Why what is left of the damage was not begun, or not ended.
    package var interruption: OperationError?

    /// Nothing was written, and nothing decided.
    fileprivate var isUntouched: Bool {
      copies.isEmpty && pushed.isEmpty && saved.isEmpty && lost.isEmpty && cleared.isEmpty && elsewhere.isEmpty
        && failures.isEmpty
    }

    package var isWhole: Bool {
      lost.isEmpty && elsewhere.isEmpty && unmended.isEmpty && failures.isEmpty && interruption == nil
    }
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  package func run(_ request: Request, at target: TargetAccess) async throws -> Outcome {
    do {
      return try await repair(request, target)
    } catch {
      throw OperationError(error, doing: "repairing \(target.name)")
    }
  }

  private func repair(_ request: Request, _ target: TargetAccess) async throws -> Outcome {
    let suspects = try request.suspects()
    let (repository, broughtBack) = try await opened(target, dryRun: request.dryRun)
    // What is said from now on may be younger than what the check sees.
    let said = try await repository.store.list(prefix: Layout.allAnnotations)
    let report = try await CheckRepository(world).report(
      of: repository, named: target.name, request.names, suspects.isEmpty ? .all : nil, suspects: suspects)
    try await demandKnown(suspects, to: report, repository, at: target)
    var outcome = Outcome(target: target.name, check: CheckRepository.Outcome(report, target: target.name))
    (outcome.dryRun, outcome.readAll) = (request.dryRun, suspects.isEmpty)
    outcome.copies = broughtBack.map(\.text)
    outcome.unmended = report.unmendable.map(CheckRepository.Finding.init)
    if !request.dryRun {
      let copies = try await repository.repairOpening { id in
        world.reporter.notice("\(target.name): key slot \(id) was removed meanwhile: it was not stored anew")
      }
      outcome.copies += copies.map(\.text)
    }
    for chain in report.chains where !chain.isSound || suspects.isEmpty {
      var repair = try ChainRepair(chain, repository, target, request, world, said: said)
      do { try await repair.run(&outcome) } catch {
        let problem = OperationError(error, doing: target.name)
        let isCut = problem.kind == .cancelled
        guard !outcome.isUntouched || !isCut && Self.isOfChain(error) else { throw error }
        // What was done until then is told. What is wrong with one chain says nothing of the next; what else failed would
        // fail again.
        if isCut {
          outcome.interruption = problem
          break
        }
        guard Self.isOfChain(error) else {
          // Before what was found on the way: it is the last word, which else would not say that there is more to do.
          outcome.failures.insert(problem, at: 0)
          break
        }
        outcome.failures.append(problem)
        continue
      }
      let revisions = chain.spoiltRevisions.filter { !repair.returned.keys.contains($0.object) }
      outcome.unmended += (chain.spoiltRecords.filter(\.isDamage) + revisions).map(CheckRepository.Finding.init)
      let forks = await repair.forks()
      if forks.isContested {
        // Both versions are there, and nothing is to be mended: an alarm that never ends is soon not heard.
        for fork in forks.told { world.reporter.notice("\(target.name): \(fork.message)") }
      } else {
        outcome.failures += forks.told.map { OperationError($0, doing: target.name) }
      }
    }
    return outcome
  }

  /// Opens what is to be repaired. Where no configuration can be read any more, the one that this machine remembers is
  /// written back first: without one nothing else is written there.
  /// - Returns: also the objects that were written, or would be.
  /// - Throws: also where none can be read, and none is remembered.
  private func opened(_ target: TargetAccess, dryRun: Bool) async throws -> (Repository, [ObjectName]) {
    let repository = try await target.open(
      with: try await target.unlock(), world, lackingFile: true, lackingConfiguration: true, keepsPlace: dryRun,
      tellsLoss: false)
    let names = try await repository.bringBackConfiguration(to: target.store, dryRun: dryRun)
    if names.isEmpty { try repository.demandConfiguration() }
    guard !names.isEmpty, !dryRun else { return (repository, names) }
    // Not as before: the first that was typed may not have been the one that opened it.
    return (try await target.open(with: try await target.unlock(), world, lackingFile: true), names)
  }

  /// Nothing else was read: whoever names a pack that is not there would be told that all is well.
  /// - Throws: `.usage`.
  private func demandKnown(
    _ suspects: Set<Digest>, to report: CheckReport, _ repository: Repository, at target: TargetAccess
  ) async throws {
    let idle = suspects.subtracting(report.chains.flatMap(\.damagedPacks))
    guard !idle.isEmpty else { return }
    let listed = try await repository.store.list(prefix: Layout.allPacks)
    guard let absent = idle.subtracting(listed.compactMap { Layout.packDigest($0.name) }).min() else { return }
    throw OperationError(
      .usage, code: "noPack", "no pack \(absent.hex) is at \(target.name)",
      hint: "Take the name from `sealift check`, and name the target that it is at with --target.")
  }

  private static func isOfChain(_ error: any Error) -> Bool {
    error is RepositoryError || (error as? StoreError)?.isLoss == true
  }
}

extension RepairRepository.Request {
  /// - Throws: `.usage`.
  fileprivate func suspects() throws -> Set<Digest> {
    Set(
      try packs.map { text in
        let name = text.split(separator: "/").last.map(String.init) ?? text
        guard let bytes = Hex.decode(name), let digest = Digest(bytes) else {
          throw OperationError(
            .usage, code: "noPack", "'\(text)' is not the name of a pack",
            hint: "Give all 64 digits, as `sealift check` prints them.")
        }
        return digest
      })
  }
}
