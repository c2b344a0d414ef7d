import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift pull`, and what every restore begins with: a version back as a file, verified before it gets its name.
package struct Pull: Sendable {
  package enum Destination: Sendable {
    /// A new file: refused when it, or a side file of that name, exists.
    case file(String)
    /// To a descriptor, after everything was verified.
    case descriptor(Int32)
  }

  package struct Outcome: Sendable {
    package var version: VersionSummary
    /// The file made, if one was.
    package var path: String?
    /// What the database's own check said: `ok`, `not checkable: …`, `damaged: …` (only when
    /// flagged so, or not checkable, at push).
    package var check: String
    /// When it said so; `nil` for what is no database.
    package var checkedAt: CheckTime?
    /// Companion files put beside it, as a folder, if the version has any.
    package var companionsFolder: String?
    /// The folder of a Core Data store's external files, under the name that belongs to the file's.
    package var supportFolder: String?
    /// It is byte for byte what was pushed.
    package var identical = true
    /// What was left out because that was asked for.
    package var leftOut: LeftOut?
    /// Of a damaged version: the newest one that can stand in for it, where that is known.
    var standIn: FoundVersion.StandIn?

    /// Paths of all that came with the database.
    var putBeside: [String] { [companionsFolder, supportFolder].compactMap { $0 } }
  }

  package enum CheckTime: String, Sendable {
    /// Of the very bytes that were restored: they are proved to be those that were checked then.
    case push
    case restore
  }

  package var world: World
  /// Look at the restored database with SQLite's check also when it was found sound at push.
  package var alwaysChecks = false
  /// What is changed before the file gets its name.
  package var makeOver = MakeOver()
  /// Restore the database alone: what comes with it is not fetched, and what stands of it at the destination is not touched.
  package var leavesCompanions = false
  /// How it is looked at; tests count that.
  package var check: Push.Check = { try await checkImage(at: $0) }
  /// Whoever interrupts it may say the same once more: what was fetched stays for that.
  package var keepsWhenInterrupted = true
  /// Of a restore that fails, so many bytes are worth a file that lies about until the next one. Tests make it small.
  var keepsFrom = 16 << 20
  /// What comes with a new file is in its place, and the file has no name yet; for tests that interfere there.
  var onNew: @Sendable () throws -> Void = {}
  /// Bytes fetched for one wave; tests make it small.
  var waveLength: Int?

  package init(_ world: World) { self.world = world }

  /// - Parameter expect: head codes; refused with `.verificationFailed` when the chain does not contain one of them.
  package func run(
    _ selector: VersionSelector, from target: TargetAccess, to destination: Destination, expect: [String] = []
  ) async throws -> Outcome {
    do {
      if case .file(let path) = destination { try RestoredFile.refuseIfPresent(path) }
      let found = try await find(selector, at: target, expect: expect)
      switch destination {
      case .file(let path): return try await restore(found, to: path)
      case .descriptor(let descriptor): return try await stream(found, to: descriptor)
      }
    } catch {
      throw OperationError(error, doing: "pulling from \(target.name)")
    }
  }

  /// - Parameter expect: as of `run`.
  func find(_ selector: VersionSelector, at target: TargetAccess, expect: [String]) async throws -> FoundVersion {
    var found = try await FoundVersion.find(selector, at: target, world, expect: expect)
    found.leavesCompanions = leavesCompanions
    return found
  }

  func restore(_ found: FoundVersion, to path: String) async throws -> Outcome {
    try ReplaceIntent(database: path).demandSettled()
    NewIntent(database: path).tidy()
    try found.demandFreePlaces(for: Restore.Request(place: .file(path)), beside: path)
    tellDoubt(RestoreRoom(found, beside: path, makeOver, state: world.stateFolder))
    let spooled = try await spool(found, for: path)
    defer { spooled.discard() }
    let staged = try await keeping(spooled) {
      try await fetchCompanions(of: found, spooled.reader, beside: path)
    }
    defer { staged?.discard() }
    let naming = try await keeping(spooled) {
      try await NewNaming.begin(
        path, try staged?.claims(beside: path, .apart) ?? [], within: .seconds(30), world)
    }
    defer { naming.end() }
    let published = try await keeping(spooled) { try staged?.publish(beside: path) }
    do {
      try onNew()
      try spooled.file.publish()
    } catch {
      published?.discard()
      throw givenUp(spooled.file, after: error)
    }
    if let caution = spooled.reader.manifest.body.remarks.store?.caution { world.reporter.notice(caution) }
    tellLeftOut(found)
    let outcome = outcome(found, spooled, path, published)
    tellHandingOver(path, with: outcome.putBeside)
    return outcome
  }

  /// - Parameter companions: paths of what came with it.
  func tellHandingOver(_ path: String, with companions: [String]) {
    if let remark = FileLikeness.handingOver(path, with: companions) { world.reporter.notice(remark) }
  }

  /// What the version has besides its database, without names yet.
  /// - Returns: `nil` when there is nothing but the database.
  private func fetchCompanions(
    of found: FoundVersion, _ reader: VersionReader, beside path: String
  ) async throws -> StagedCompanions? {
    let done = Counter()
    return try await found.stagedCompanions(reader, beside: path) { [reporter = world.reporter] count in
      reporter.progress(
        Progress(
          .fetching, subject: found.summary.database, bytesDone: found.summary.size + done.add(count), bytesTotal: nil))
    }
  }

  func outcome(
    _ found: FoundVersion, _ spooled: SpooledVersion, _ path: String?, _ published: StagedCompanions.Published? = nil
  ) -> Outcome {
    Outcome(
      version: found.summary, path: path, check: spooled.check, checkedAt: spooled.checkedAt,
      companionsFolder: published?.folder, supportFolder: published?.supportFolder, identical: spooled.isIdentical,
      leftOut: found.leftOut, standIn: found.standIn)
  }

  /// Written to a spool first: not a byte leaves before the whole is verified.
  private func stream(_ found: FoundVersion, to descriptor: Int32) async throws -> Outcome {
    guard found.companions.isEmpty else {
      throw OperationError(
        .usage, "this version has companion files, which cannot be streamed",
        hint: "Pull it into a file with -o FILE, or leave them out with --no-companions.")
    }
    return try await withPrivateImage(of: found) { spooled in
      try spooled.file.copy(to: descriptor)
      tellLeftOut(found)
      return outcome(found, spooled, nil)
    }
  }

  /// A version in a private file, for as long as `body` runs.
  func withPrivateImage<Value: Sendable>(
    of found: FoundVersion, _ body: (SpooledVersion) async throws -> Value
  ) async throws -> Value {
    let spool = try privateSpool()
    defer { spool.remove() }
    let spooled = try await self.spool(found, for: "\(spool.path)/image", keeping: false)
    defer { spooled.discard() }
    return try await body(spooled)
  }

  /// In the state folder; among everybody's temporary files where there can be none, as on a machine that is only being
  /// rebuilt, or for a user without a home.
  func privateSpool() throws -> Spool {
    if (try? StateFiles.makeFolder(world.stateFolder)) != nil, access(world.stateFolder, W_OK) == 0 {
      Spool.sweep(in: world.stateFolder)
      return try Spool.open(in: world.stateFolder)
    }
    let temporary = "/var/tmp"
    Spool.sweepTemporary(in: temporary)
    return try Spool.openTemporary(in: temporary)
  }
}
