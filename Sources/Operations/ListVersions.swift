/// `sealift list` and `sealift show`.
package struct ListVersions: Sendable {
  package struct Outcome: Sendable {
    /// Oldest first.
    package var versions: [VersionSummary]
    /// Manifests that could not be read, chains with holes or forks: said, never hidden. Each with its target.
    package var problems: [OperationError]
    /// This machine has not seen the repository before: it cannot prove that nothing newer was taken away.
    package var freshnessProvable: Bool
    package var formatVersion: Int
  }

  package struct Detail: Sendable {
    package struct Member: Sendable {
      package var kind: String
      package var path: String
      package var size: Int
    }
    package var summary: VersionSummary
    package var previous: String?
    package var revision: Int
    package var packs: Int
    package var bytesDecoded: Int
    package var bytesFetched: Int
    package var members: [Member]
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  package func run(at target: TargetAccess, database: String? = nil, tag: String? = nil) async throws -> Outcome {
    throw OperationError(.failed, "not here yet")
  }

  /// - Throws: `.noSuchVersion`, also when a prefix is ambiguous.
  package func show(_ selector: VersionSelector, at target: TargetAccess) async throws -> Detail {
    throw OperationError(.failed, "not here yet")
  }
}
