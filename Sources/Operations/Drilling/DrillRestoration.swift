import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

/// One version, restored into the scratch place of a drill and looked at there. Nothing of it is left afterwards.
struct DrillRestoration {
  private let facts: VersionFacts
  private let repository: Repository
  private let place: ScratchPlace
  private let reporter: any Reporter
  private let state: StateFolder
  private var image: String { "\(place.path)/image" }

  init(_ facts: VersionFacts, _ repository: Repository, _ place: ScratchPlace, _ world: World) {
    self.facts = facts
    self.repository = repository
    self.place = place
    reporter = world.reporter
    state = StateFolder(reading: world.forgetful(in: place).stateFolder, repository: repository.id)
  }

  /// - Throws: what says nothing of the version: no network, no space, `.cancelled`, a query that must not be run.
  ///   Content that is damaged, or not there, is a finding.
  ///   Restored once more before that: one bad answer of a server, or one read that this machine's disk failed and SQLite
  ///   took for a malformed page, says nothing of the version.
  func prove(_ trial: Drill.Trial) async throws -> DrillProof {
    do {
      let proof = try await restored(trial)
      return proof.damage == nil ? proof : try await provedAgain(trial)
    } catch let error where Self.isDamage(error) {
      return try await provedAgain(trial)
    }
  }

  private func provedAgain(_ trial: Drill.Trial) async throws -> DrillProof {
    do {
      return try await restored(trial, isAgain: true)
    } catch let error where Self.isDamage(error) {
      guard try await isStillThere() else { throw error }
      var proof = ImageProof()
      proof.findings.append("restore: \(OperationError(error).message)")
      return DrillProof(image: proof, isRestored: false)
    }
  }

  private static func isDamage(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: error.isLoss
    // What a later format says, this program cannot judge.
    case let error as SealError: error.code != .unsupported && error.code != .failed
    case is SnapshotError: false
    default: OperationError(error).kind == .verificationFailed
    }
  }

  /// What a prune took meanwhile is no damage, nor is a disk that was unmounted.
  private func isStillThere() async throws -> Bool {
    let objects = try await repository.store.list(prefix: Layout.versions(of: facts.chain))
    return objects.contains { $0.name == facts.name.objectName }
  }

  /// - Parameter isAgain: then companions that are damaged, or not there, are a finding, and the database is looked at.
  private func restored(_ trial: Drill.Trial, isAgain: Bool = false) async throws -> DrillProof {
    let manifest = try await repository.readManifest(facts.name, state: state)
    let reader = try await VersionReader(manifest, repository: repository, state: state, tables: place.path)
    guard let content = reader.core.members.first?.file else {
      throw RepositoryError(.damaged, "the version has no content")
    }
    let file = try RestoredFile(for: image)
    defer { file.discard() }
    try file.setLength(Int(content.length))
    let done = Counter()
    try await reader.read(
      member: 0, into: file,
      onProgress: { count in
        reporter.progress(
          Progress(
            .fetching, subject: reader.core.database, bytesDone: done.add(count), bytesTotal: Int(content.length)))
      })
    try file.demand(content)
    let (companions, loss) = try await self.companions(reader, losing: isAgain)
    defer { companions?.discard() }
    var proof = ImageProof()
    let restored = "restored from the target alone, SHA-256 as at push"
    proof.passed.append(loss == nil ? restored : "the database \(restored)")
    if let companions {
      proof.passed.append("\(companions.files) \(companions.files == 1 ? "file" : "files") beside it restored")
    }
    if content.unitType == .page {
      proof.join(try await look(at: file.temporaryPath, manifest, trial))
    } else {
      proof.unchecked.append("SQLite's checks: the version is one file that only its application can read")
      if trial.query != nil { proof.unchecked.append("the query: the version is no database") }
    }
    let wasDamaged = reader.core.flags.contains(.damaged)
    if wasDamaged, let first = proof.findings.first {
      proof.findings[0] = "\(first) (the database was damaged already when it was pushed)"
    }
    if let loss { proof.findings.append(loss) }
    return DrillProof(image: proof, isRestored: loss == nil, wasDamaged: wasDamaged, lostCompanions: loss)
  }

  /// - Parameter losing: goes on without them where they are damaged, or not there.
  /// - Returns: them, or why they could not be had; neither where there are none.
  private func companions(_ reader: VersionReader, losing: Bool) async throws -> (StagedCompanions?, loss: String?) {
    do {
      let companions = try await StagedCompanions.restore(
        reader, beside: image, finishing: false, onProgress: { _ in })
      return (companions, nil)
    } catch let error where losing && Self.isDamage(error) {
      guard try await isStillThere() else { throw error }
      return (nil, "restore: \(OperationError(error).message)")
    }
  }

  private func look(at path: String, _ manifest: StoredManifest, _ trial: Drill.Trial) async throws -> ImageProof {
    reporter.progress(
      Progress(.checking, subject: manifest.core?.database ?? "", bytesDone: 0, bytesTotal: nil))
    var asked = ImageTrial()
    asked.rows = manifest.body.remarks.rows.map { TableRows(table: $0.table, rows: $0.rows) }
    asked.foreignKeys = trial.foreignKeys
    asked.query = trial.query
    asked.queryLimit = trial.queryLimit
    return try await proveImage(at: path, asked)
  }
}

extension ImageProof {
  fileprivate mutating func join(_ other: ImageProof) {
    findings += other.findings
    unchecked += other.unchecked
    passed += other.passed
    isBroken = isBroken || other.isBroken
    isChecked = isChecked || other.isChecked
  }
}
