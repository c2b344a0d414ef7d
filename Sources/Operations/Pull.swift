/// `sealift pull` and `sealift restore`: a version back as a file, verified before it gets its name.
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
    /// What the database's own check said: `ok`, `not checkable: …`, `damaged: …` (only when flagged so at push).
    package var check: String
    /// Companion files put beside it, as a folder, if the version has any.
    package var companionsFolder: String?
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Parameter expect: a head code; refused with `.verificationFailed` when the chain does not contain it.
  package func run(
    _ selector: VersionSelector, from target: TargetAccess, to destination: Destination, expect: String? = nil
  ) async throws -> Outcome {
    throw OperationError(.failed, "not here yet")
  }
}
