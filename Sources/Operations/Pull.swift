import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift pull` and `sealift restore`: a version back as a file, verified before it gets its name.
package struct Pull: Sendable {
  package enum Destination: Sendable {
    /// A new file: refused when it, or a side file of that name, exists.
    case file(String)
    /// To a descriptor, after everything was verified.
    case descriptor(Int32)

    /// Where there must be room anyhow; `nil` is the state folder.
    var tables: String? {
      if case .file(let path) = self { RestoredFile.folder(of: path) } else { nil }
    }
  }

  package struct Outcome: Sendable {
    package var version: VersionSummary
    /// The file made, if one was.
    package var path: String?
    /// What the database's own check said: `ok`, `not checkable: …`, `damaged: …` (only when flagged so at push).
    package var check: String
    /// When it said so; `nil` for what is no database.
    package var checkedAt: CheckTime?
    /// Companion files put beside it, as a folder, if the version has any.
    package var companionsFolder: String?
  }

  package enum CheckTime: String, Sendable {
    /// Of the very bytes that were restored: they are proved to be those that were checked then.
    case push
    case restore
  }

  package var world: World
  /// Look at the restored database with SQLite's check also when it was found sound at push.
  package var alwaysChecks = false
  /// How it is looked at; tests count that.
  package var check: Push.Check = { try await checkImage(at: $0) }

  package init(_ world: World) { self.world = world }

  /// - Parameter expect: a head code; refused with `.verificationFailed` when the chain does not contain it.
  package func run(
    _ selector: VersionSelector, from target: TargetAccess, to destination: Destination, expect: String? = nil
  ) async throws -> Outcome {
    do {
      return try await pull(selector, from: target, to: destination, expect: expect)
    } catch {
      throw OperationError(error, doing: "pulling from \(target.name)")
    }
  }

  private func pull(
    _ selector: VersionSelector, from target: TargetAccess, to destination: Destination, expect: String?
  ) async throws -> Outcome {
    if case .file(let path) = destination { try RestoredFile.refuseIfPresent(path) }
    let lookup = try await VersionLookup(at: target, world)
    let found = try await lookup.find(selector, whole: expect != nil)
    if let expect { try HeadCode(parsing: expect).check(found.history) }
    let manifest = try await lookup.manifest(of: found)
    guard let version = VersionSummary(manifest, target: target.name) else {
      throw RepositoryError(.incomplete, "the manifest is no version")
    }
    let reader = try await VersionReader(
      manifest, repository: lookup.repository, state: lookup.state, tables: destination.tables)
    switch destination {
    case .file(let path): return try await restore(version, reader, to: path)
    case .descriptor(let descriptor): return try await stream(version, reader, to: descriptor)
    }
  }

  private func restore(_ version: VersionSummary, _ reader: VersionReader, to path: String) async throws -> Outcome {
    let file = try RestoredFile(for: path)
    defer { file.discard() }
    let checked = try await fill(file, version, reader)
    let companions = try await Companions(reader).restore(beside: path)
    do {
      try file.publish()
    } catch {
      companions?.discard()
      throw error
    }
    return Outcome(
      version: version, path: path, check: checked.outcome, checkedAt: checked.time,
      companionsFolder: companions?.path)
  }

  /// Written to a spool first: not a byte leaves before the whole is verified.
  private func stream(
    _ version: VersionSummary, _ reader: VersionReader, to descriptor: Int32
  ) async throws -> Outcome {
    guard reader.core.members.count == 1 else {
      throw OperationError(
        .usage, "this version has companion files, which cannot be streamed", hint: "Pull it into a file with -o FILE.")
    }
    try StateFiles.makeFolder(world.stateFolder)
    Spool.sweep(in: world.stateFolder)
    let spool = try Spool.open(in: world.stateFolder)
    defer { spool.remove() }
    let file = try RestoredFile(for: "\(spool.path)/image")
    defer { file.discard() }
    let checked = try await fill(file, version, reader)
    try file.copy(to: descriptor)
    return Outcome(
      version: version, path: nil, check: checked.outcome, checkedAt: checked.time, companionsFolder: nil)
  }

  private struct Checked {
    let outcome: String
    let time: CheckTime?
  }

  /// Content, proved where it stands; then, side by side, the database's own check and the way to the disk.
  private func fill(_ file: RestoredFile, _ version: VersionSummary, _ reader: VersionReader) async throws -> Checked {
    try file.setLength(version.size)
    let done = Counter()
    try await reader.read(
      member: 0, into: file,
      onProgress: { count in
        world.reporter.progress(
          Progress(.fetching, subject: version.database, bytesDone: done.add(count), bytesTotal: version.size))
      })
    guard let content = reader.core.members.first?.file else {
      throw RepositoryError(.damaged, "the version has no content")
    }
    // An image belongs to SQLite and whoever restores it; a file comes back as it was.
    if content.unitType == .block { try file.setMode(reader.core.members[0].mode) }
    async let durable: Void = file.synchronize()
    let checked =
      content.unitType == .page ? try await check(file, version) : Checked(outcome: "not a database", time: nil)
    try await durable
    return checked
  }

  /// What stands in the file is proved to be what SQLite's check saw at push. Where it found that sound, to look at it
  /// again could only say the same.
  private func check(_ file: RestoredFile, _ version: VersionSummary) async throws -> Checked {
    let wasSound = !version.damaged && !version.notCheckable
    if wasSound, !alwaysChecks { return Checked(outcome: "ok", time: .push) }
    return Checked(outcome: try describe(try await check(file.temporaryPath), version), time: .restore)
  }

  private func describe(_ outcome: CheckOutcome, _ version: VersionSummary) throws -> String {
    switch outcome {
    case .ok: return "ok"
    case .notCheckable(let why): return "not checkable: \(why)"
    case .damaged(let findings):
      let first = findings.first ?? "the check failed"
      guard version.damaged else {
        throw OperationError(
          .verificationFailed, code: "imageDamaged", "the restored database fails its own check: \(first)",
          hint: "Nothing was written. The version was sound when it was pushed; please report this.")
      }
      return "damaged: \(first)"
    }
  }
}
