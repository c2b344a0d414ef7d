/// `sealift init`: makes a repository at a target.
package struct Initialize: Sendable {
  package struct Outcome: Sendable {
    /// 32 hexadecimal digits.
    package var repository: String
    /// False when there was one already (`ifMissing`).
    package var created: Bool
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Throws: `.usage` with code `repositoryExists` when there is one and `ifMissing` is not given;
  ///   `.wrongKey` when there is one, `ifMissing` is given and the secret does not open it.
  package func run(at target: TargetAccess, ifMissing: Bool) async throws -> Outcome {
    throw OperationError(.failed, "not here yet")
  }
}
