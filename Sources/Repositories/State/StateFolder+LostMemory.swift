package import Sealing

extension StateFolder {
  /// What this machine remembers of a chain and cannot read: of its newest version, or what it said and read of versions
  /// there. The first of them: one cause often has both.
  package func lostMemory(of chain: ChainID) -> RepositoryError? {
    if let flaw = HighWaterMark.flaw(of: chain, in: self) { return flaw }
    do throws(RepositoryError) {
      _ = try OwnWords(of: chain, in: self)
      return nil
    } catch {
      return error
    }
  }
}
