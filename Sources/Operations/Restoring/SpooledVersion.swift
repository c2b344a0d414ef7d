import Repositories
import Sealing
import Snapshots
import Storage

/// A version in a file that has no name yet: complete, proved, on the disk, and made over if that was asked for.
struct SpooledVersion {
  let file: RestoredFile
  let reader: VersionReader
  /// What the database's own check said.
  let check: String
  let checkedAt: Pull.CheckTime?
  /// The file is byte for byte what was pushed.
  let isIdentical: Bool

  func discard() { file.discard() }
}

extension Pull {
  /// Fetches a version beside the place where it is to go.
  /// - Parameter keeping: what is fetched may outlive a run that fails, for the next one to go on from. Else the
  ///   place is a private one, which goes with the run.
  func spool(
    _ found: FoundVersion, for path: String, replacing: Bool = false, keeping: Bool = true
  ) async throws -> SpooledVersion {
    try makeOver.demandImage(found)
    let tables = PathSteps.folder(of: path)
    var reader = try await found.reader(tables: tables)
    if let waveLength { reader.waveLength = waveLength }
    let note = keeping ? FetchNote(of: found.manifest.id, length: found.summary.size) : nil
    let file = try RestoredFile(for: path, replacing: replacing, noting: note)
    let checked: Checked
    do { checked = try await fill(file, found.summary, reader) } catch { throw givenUp(file, after: error) }
    do {
      guard !makeOver.isNothing else {
        file.noteWhole()
        return SpooledVersion(
          file: file, reader: reader, check: checked.outcome, checkedAt: checked.time, isIdentical: true)
      }
      try makeOver.demandSound(checked.outcome)
      let made = try await madeOver(file, path, replacing: replacing, isSpooled: !keeping)
      return SpooledVersion(
        file: made.file, reader: reader, check: made.check ?? checked.outcome,
        checkedAt: made.check == nil ? checked.time : .restore, isIdentical: false)
    } catch {
      file.discard()
      throw error
    }
  }

  struct Checked {
    let outcome: String
    let time: CheckTime?
  }

  /// Content, proved where it stands; then, side by side, the database's own check and the way to the disk.
  private func fill(_ file: RestoredFile, _ version: VersionSummary, _ reader: VersionReader) async throws -> Checked {
    do { try await fetch(version, reader, into: file) } catch is WrongBeginning {
      world.reporter.notice(
        "what an earlier restore has left in \(file.temporaryPath) is not what was pushed: fetching all of it again")
      file.forget()
      try await fetch(version, reader, into: file)
    }
    try file.endFetching()
    guard let content = reader.core.members.first?.file else {
      throw RepositoryError(.damaged, "the version has no content")
    }
    // An image belongs to SQLite and whoever restores it; a file comes back as it was.
    if content.unitType == .block { try file.setMode(of: reader.core.members[0]) }
    async let durable: Void = onOwnThread { _ in try file.synchronize() }
    let checked =
      content.unitType == .page
      ? try await checked(file.temporaryPath, version) : Checked(outcome: "not a database", time: nil)
    try await durable
    if checked.time == .restore { try file.demandName() }
    return checked
  }

  private func fetch(_ version: VersionSummary, _ reader: VersionReader, into file: RestoredFile) async throws {
    try file.setLength(version.size)
    let done = Counter()
    let tell = { @Sendable [reporter = world.reporter] (count: Int) in
      reporter.progress(
        Progress(.fetching, subject: version.database, bytesDone: done.add(count), bytesTotal: version.size))
    }
    if file.complete > 0 {
      world.reporter.notice(
        "going on with what an earlier restore has fetched: \(file.complete >> 20) of \(version.size >> 20) MiB")
      tell(file.complete)
    }
    try await reader.read(member: 0, into: file, onProgress: tell)
  }

  /// What stands in the file is proved to be what SQLite's check saw at push. Where it found that sound, and nobody has
  /// found it damaged since, to look at it again could only say the same.
  func checked(_ path: String, _ version: VersionSummary) async throws -> Checked {
    if !version.mayBeDamaged, !alwaysChecks { return Checked(outcome: "ok", time: .push) }
    return Checked(outcome: try describe(try await check(path), version), time: .restore)
  }

  private func describe(_ outcome: CheckOutcome, _ version: VersionSummary) throws -> String {
    switch outcome {
    case .ok: return "ok"
    case .notCheckable(let why): return "not checkable: \(why)"
    case .damaged(let findings):
      let first = CheckOutcome.brief(findings) ?? "the check failed"
      // It may be all that there is.
      guard version.mayBeDamaged else {
        throw OperationError(
          .verificationFailed, code: "imageDamaged", "the restored database fails its own check: \(first)",
          hint:
            "Nothing was written. The version was sound when it was pushed; please report this. Without --check it comes back as it is."
        )
      }
      return Outcome.damagedPrefix + first
    }
  }
}

extension VersionSummary {
  /// Its check was not ok when it was pushed, or somebody found it damaged since.
  fileprivate var mayBeDamaged: Bool { damaged || notCheckable || foundDamaged != nil }
}
