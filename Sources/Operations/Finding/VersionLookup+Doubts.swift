import Repositories
import Sealing

/// An older version is not passed off for one that may be meant and cannot be had: whoever wants it says so, by its id.
extension ChainHistory {
  /// - Parameters:
  ///   - answer: the version of this chain that answers to the name; `nil` where none does.
  ///   - found: the version that would be taken, of this chain or another one of the same database.
  ///   - now: by this machine's clock.
  ///   - isOlder: what cannot be read was there before that one.
  /// - Throws: `.damaged` for a manifest that cannot be read, `.hole` for one that is gone and was not forgotten.
  func demandNothingUnread(
    behind answer: VersionFacts?, _ selector: VersionSelector, insteadOf found: VersionFacts, now: UInt64,
    isOlder: (VersionName) -> Bool = { _ in false }
  ) throws {
    if let unread = unread(behind: answer, isOlder: isOlder) {
      throw RepositoryError(
        .damaged, "there may be a newer version: manifest \(unread) of \(place(of: found)) cannot be read",
        hint: "To take the last one that can be read, name it by its id: \(found.id.hex.prefix(12)).")
    }
    if case .notLater = selector { try demandNoneLostBeforeNext(answer, selector, now, insteadOf: found, isOlder) }
  }

  /// No version of this chain answers to a name: none that cannot be read, or that is lost, may be the one.
  /// - Throws: `.damaged` or `.unsupported`, `.hole`.
  func demandNothingLost(_ name: String) throws {
    // Where one that can be read was pushed too late, so was whatever stands behind it.
    let next = versions.first { !isForgotten($0) }?.sequence
    let present = Set(versions.map(\.sequence))
    let isSpoilt = unreadable.contains {
      $0.sequence < next ?? .max && !present.contains($0.sequence) && !forgotten.explains($0.sequence)
    }
    if isSpoilt {
      let problem = problems.first { $0.code == .damaged || $0.code == .unsupported }
      throw RepositoryError(
        problem?.code ?? .damaged,
        "what answers to '\(name)' may be there and cannot be read: \(problem?.message ?? "its manifest is spoilt")",
        hint: problem?.hint, cause: problem)
    }
    if let next, let lost = forgotten.firstUnexplained(in: 1..<next, besides: present) {
      throw RepositoryError(
        .hole, "what answers to '\(name)' may be lost: version \(lost) of its chain is missing and was not forgotten",
        hint: "`sealift list` shows the versions that are there: name one by its id.")
    }
  }

  /// The last manifest behind a version that cannot be read; `nil` where there is none, or where another version that counts
  /// is newer.
  func unread(behind version: VersionFacts?, isOlder: (VersionName) -> Bool = { _ in false }) -> UInt64? {
    let place = version?.sequence ?? 0
    guard newestCounting?.sequence ?? 0 <= place else { return nil }
    let read = Set(versions.map(\.sequence))
    let later = unreadable.filter { $0.sequence > place && !read.contains($0.sequence) && !isOlder($0) }
    return later.map(\.sequence).max()
  }

  /// Between a version and the next that can be read one may have been the right answer to a time.
  private func demandNoneLostBeforeNext(
    _ answer: VersionFacts?, _ selector: VersionSelector, _ now: UInt64, insteadOf found: VersionFacts,
    _ isOlder: (VersionName) -> Bool
  ) throws {
    let place = answer?.sequence ?? 0
    // Of what a wrong clock pushed nobody knows whether it is the next: what is lost behind it may be meant, too.
    let doubted = self.doubted(behind: answer, selector, now: now)
    let passed = Set(doubted.map(\.sequence))
    let sayLater = versions.first { $0.sequence > place && !isForgotten($0) && !passed.contains($0.sequence) }
    guard let next = sayLater ?? doubted.last else { return }
    let between = place + 1..<next.sequence
    let present = Set(versions.map(\.sequence))
    let spoilt = unreadable.filter {
      between.contains($0.sequence) && !present.contains($0.sequence) && !forgotten.explains($0.sequence)
    }
    let doubtful = Dictionary(grouping: spoilt, by: \.sequence).filter { !$0.value.allSatisfy(isOlder) }.keys.min()
    let lost = forgotten.firstUnexplained(in: between, besides: present.union(spoilt.map(\.sequence)))
    let hint = "To take the version before it, name it by its id: \(found.id.hex.prefix(12))."
    if let doubtful, doubtful < lost ?? .max {
      throw RepositoryError(
        .damaged, "a later version may be meant: manifest \(doubtful) of \(self.place(of: found)) cannot be read",
        hint: hint)
    }
    if let lost {
      throw RepositoryError(
        .hole,
        "a later version may be meant: version \(lost) of \(self.place(of: found)) is missing and was not forgotten",
        hint: hint)
    }
  }

  /// Whether this machine has seen a version of this chain that cannot be read now and is no older than another one: then
  /// no time that the target tells makes what cannot be read there older.
  func isKnownToGoOn(behind found: VersionFacts, _ state: StateFolder) -> Bool {
    guard let mark = try? HighWaterMark.read(chain, in: state), mark.sequence > newest?.sequence ?? 0 else {
      return false
    }
    return mark.time.map { $0 >= found.version?.time ?? 0 } ?? true
  }

  private func place(of found: VersionFacts) -> String {
    found.chain == chain ? "this chain" : "chain \(chain.hex.prefix(12)) of the same database"
  }
}
