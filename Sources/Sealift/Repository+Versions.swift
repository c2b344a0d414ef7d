import Operations

extension Repository {
  /// The versions at the target, oldest first.
  ///
  /// ```swift
  /// for version in try await repository.versions(of: "app") where version.tags.contains("before-migration") {
  ///   print(version.id, version.time, version.size)
  /// }
  /// ```
  /// - Parameters:
  ///   - database: only those of this name, of all hosts.
  ///   - tag: only those with this tag.
  /// - Throws: `SealiftError` of kind `wrongKey`, `noRepository`, `verificationFailed`, `usage` (with the code
  ///   `ambiguousRepository`), `failed`; `CancellationError`.
  ///   What cannot be read of some versions only is in ``Versions/problems``.
  public func versions(of database: String? = nil, tag: String? = nil) async throws -> Versions {
    do {
      let found = try await ListVersions(world).run(at: target, database: database, tag: tag)
      return Versions(
        versions: found.versions.map(Version.init), problems: found.problems.map { SealiftError($0) },
        isFreshnessProvable: found.freshnessProvable)
    } catch {
      throw told(error)
    }
  }

  /// A list of versions, and what could not be read while it was made.
  public struct Versions: RandomAccessCollection, Sendable {
    private let versions: [Version]
    /// Versions that cannot be read, chains with gaps, versions that were there and are gone. Each is worth a person's
    /// attention. Where a database was named, they are of others only as far as had to be read to know whose those are.
    public let problems: [SealiftError]
    /// False with a state folder that has not seen this repository before: nothing proves then that nobody took newer
    /// versions away.
    public let isFreshnessProvable: Bool

    init(versions: [Version], problems: [SealiftError], isFreshnessProvable: Bool) {
      self.versions = versions
      self.problems = problems
      self.isFreshnessProvable = isFreshnessProvable
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { versions.count }
    public subscript(index: Int) -> Version { versions[index] }
  }
}
