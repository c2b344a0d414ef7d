import Sealing
import Storage

/// What was stored a moment ago, as listings show it: they may be late (`Docs/Stores.md`), and then no prune has taken
/// anything away. Listed again it comes to be seen, and need not be stored a second time.
struct LateListing: Sendable {
  /// The cache of a server forgets in seconds, and a replica is not much later.
  private static let pauses: [Duration] = [.seconds(1), .seconds(3), .seconds(9), .seconds(27)]

  let repository: Repository
  let chain: ChainID
  let state: StateFolder
  let clock: StoreClock

  /// Lists records and packs anew until all of a version is there, or it is known that something was taken away.
  /// - Parameters:
  ///   - packs: of the version.
  ///   - manifest: of the version, where it has one.
  ///   - own: packs that this run has stored.
  /// - Throws: `.conflict` when what this run has stored is there, and stays out of the listings.
  func presence(of packs: [PackEntry], _ manifest: Digest? = nil, own: Set<Digest>) async throws -> Presence {
    var pauses = Self.pauses[...]
    // Asked for once: where one is taken away since, a record says so.
    var known: Set<Digest> = []
    while true {
      let present = try await Presence(repository, chain: chain, state: state)
      let names = packs.map(\.name) + (manifest.map { [$0] } ?? [])
      guard !names.contains(where: { present.condemns($0) }) else { return present }
      let missing = packs.filter { !present.lists([$0]) }
      let unknown = missing.filter { !known.contains($0.name) }
      guard !missing.isEmpty, try await areThere(unknown, own) else { return present }
      known.formUnion(unknown.map(\.name))
      guard let pause = pauses.popFirst() else { throw late() }
      try await clock.pause(pause)
    }
  }

  /// Of what this run did not store, a listing has shown every pack before: that it shows one no more is no delay.
  private func areThere(_ missing: [PackEntry], _ own: Set<Digest>) async throws -> Bool {
    guard missing.allSatisfy({ own.contains($0.name) }) else { return false }
    let found = try await bounded(missing, atOnce: repository.store.traits.concurrency) { pack -> Bool in
      let held = try await repository.store.head(Layout.pack(pack.name, of: chain))
      return held?.size == Int(pack.length)
    }
    return found.allSatisfy { $0 }
  }

  private func late() -> RepositoryError {
    RepositoryError(
      .conflict, "\(repository.store.traits.location) does not list what was stored there a moment ago",
      hint:
        "Its listings are late: `sealift doctor` looks into that. Run it again later; what was stored is used again."
    )
  }
}
