import Repositories
import Sealing

/// Looks whether there is a repository at a target and whether the key opens it, for those who want to know before they
/// do anything. It may be that they only read: whoever writes opens it anew, and asks for more.
package struct OpenRepository: Sendable {
  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Returns: the repository's id, 32 hexadecimal digits.
  /// - Throws: `.noRepository`, `.wrongKey`, `.verificationFailed` when it is damaged or was rolled back.
  package func run(at target: TargetAccess) async throws -> String {
    do {
      return try await target.open(with: try await target.unlock(), world, isReading: true).id.hex
    } catch {
      throw OperationError(error, doing: "opening \(target.name)")
    }
  }
}
