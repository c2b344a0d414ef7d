package import Sealing

extension Repository {
  /// Whether a version's manifest and every pack that it needs are there, whole and not about to be deleted. A push that was cut may leave a
  /// version of which that was never said.
  package func isWhole(_ version: VersionFacts, state: StateFolder?) async throws -> Bool {
    let manifest = try await readManifest(version.name, state: state)
    let present = try await Presence(self, chain: version.chain, state: state)
    guard !present.condemns(version.digest) else { return false }
    return present.holds(try await PackTable(of: manifest, repository: self, state: state).all)
  }
}
