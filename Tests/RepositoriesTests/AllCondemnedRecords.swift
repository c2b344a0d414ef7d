import Sealing

@testable import Repositories

extension Repository {
  /// The condemned records of a chain, whole.
  func condemnedRecords(of chain: ChainID, state: StateFolder?) async throws -> [NamedCondemnedRecord] {
    try await condemnedRecords(of: chain, state: state) { $0 }
  }
}
