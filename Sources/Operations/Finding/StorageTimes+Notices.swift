import Repositories
import Sealing

/// Which of several chains of a database was pushed to last only clocks say, and one of them may be wrong.
extension StorageTimes {
  /// Who takes the version of one chain hears of those of other chains that something speaks for.
  /// - Parameters:
  ///   - name: what was asked for.
  ///   - others: what answers to it in other chains; those of other databases are passed over.
  func tell(
    _ name: @autoclosure () -> String, is taken: VersionFacts, besides others: [VersionFacts], _ keyring: Keyring,
    to reporter: any Reporter
  ) {
    guard let owner = taken.version.map({ ChainOwner($0) }) else { return }
    for other in others where other.chain != taken.chain && other.version.map({ ChainOwner($0) }) == owner {
      guard let reason = reason(for: other, insteadOf: taken, owner, keyring) else { continue }
      reporter.notice(
        "\(name()) is \(taken.words); \(other.words), of chain \(other.chain.hex.prefix(12)) of the same database, \(reason): "
          + "if that one is meant, name it by its id")
    }
  }

  private func reason(
    for other: VersionFacts, insteadOf taken: VersionFacts, _ owner: ChainOwner, _ keyring: Keyring
  ) -> String? {
    if isAheadOfClock(taken), !isAheadOfClock(other) {
      return "is not ahead of this machine's clock, as the first one is: a clock is wrong, maybe this one"
    }
    // What lies in a lane was copied there late: when it was stored says nothing.
    if isStoredLater(other, than: taken), !CopyLanes.isLane(other.chain, of: owner, keyring) {
      return "was stored later"
    }
    guard let time = other.version?.time, let takenTime = taken.version?.time, time > takenTime else { return nil }
    guard !isAheadOfClock(other) else {
      return "says a later time, which by this machine's clock has not been yet: one of the two clocks is wrong"
    }
    return "says a later time, though its clock seems to have been wrong"
  }
}

extension VersionFacts {
  /// For messages.
  var words: String { "version \(id.hex.prefix(8)) of \(Times.seconds(version?.time ?? 0))" }
}
