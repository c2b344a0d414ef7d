import Repositories
import Sealing
import Storage

extension ChainRepair {
  /// Beside another manifest of its place a spoilt one harms no version that is known. It may be of another one, of a
  /// machine that pushes as this one, and then nobody else knows of it any more: also where a later revision passes for one
  /// of its version, and where it was cut.
  mutating func returnManifests(_ outcome: inout RepairRepository.Outcome) async throws {
    let broken = chain.findings.filter { finding in
      [.damaged, .spare, .cut].contains(finding.kind) && ObjectName(finding.object).flatMap({ VersionName($0) }) != nil
    }
    guard !broken.isEmpty else { return }
    let kept = ManifestReturn(repository, chain: chain.chain, state: state)
    let harming = Set(chain.harmed.flatMap(\.objects))
    let forgotten = try await repository.forgotten(of: chain.chain, state: state)
    let versions = chain.versions
    for finding in broken where !harming.contains(finding.object) {
      let found = try await kept.run(finding.object, dryRun: request.dryRun) { manifest in
        guard finding.kind == .spare else { return true }
        // Of a version that stands there in a later revision, or is to go, it is spare indeed.
        let isWrittenAnew = versions.contains { version in
          version.id == manifest.id && version.facts?.revision ?? 0 > manifest.name.revision
        }
        guard !isWrittenAnew else { return false }
        return !forgotten.contains(manifest.id, at: manifest.name.sequence)
      }
      guard let manifest = found, let core = manifest.core else { continue }
      returned[finding.object] = manifest
      outcome.saved.append(
        CheckRepository.Version(
          id: manifest.id.hex, database: core.database, host: core.host, sequence: core.sequence, time: core.time,
          objects: [finding.object], damaged: core.flags.contains(.damaged)))
    }
  }

  /// Where two machines pushed as one, as it is now: to whom the manifest that is stored again was missing, the check told of
  /// a fork that is none any more, or is no damage. Of a dry run, as it would be.
  /// - Returns: also whether that is the only doubt.
  func forks() async -> (told: [RepositoryError], isContested: Bool) {
    let before = (told: chain.problems.filter { $0.code == .forked }, isContested: chain.isContested)
    guard !returned.isEmpty else { return before }
    let now = try? await repository.forks(of: chain.chain, with: Array(returned.values), state: state)
    return now ?? before
  }
}
