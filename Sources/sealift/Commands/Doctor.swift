import ArgumentParser
import Operations
import Storage

struct Doctor: SealiftCommand {
  static let configuration = CommandConfiguration(
    abstract: "Try whether a target keeps the promises that sealift relies on.",
    discussion: """
      Stores, lists, reads and deletes small objects below a folder of their own at each target, and says in words what \
      was found. Nothing of a repository is touched.

        sealift --target nas doctor
      """)

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    throw OperationError(.failed, "not here yet")
  }
}
