import Sealing

/// Which packs of a chain are there and may be used: condemned records are listed first, packs after them
/// (`Docs/Design.md`, "Write order"). The other way round, a prune could slip between.
struct Presence: Sendable {
  let condemned: NameSet
  let packs: PackListing

  init(_ repository: Repository, chain: ChainID, state: StateFolder?) async throws {
    condemned = try await repository.condemnedNames(of: chain, state: state)
    packs = try await repository.packListing(of: chain)
  }

  /// The length of a pack that is there.
  func size(of name: Digest) -> Int? { packs.sizes[name] }

  func holds(_ entry: PackEntry) -> Bool {
    !condemned.contains(entry.name) && packs.sizes[entry.name] == Int(entry.length)
  }

  func holds(_ entries: [PackEntry]) -> Bool { entries.allSatisfy { holds($0) } }

  /// A record names it, pack or manifest: it may be deleted at any moment, and what it says does not count as safe.
  func condemns(_ name: Digest) -> Bool { condemned.contains(name) }

  /// Whether the packs are there, condemned or not.
  func lists(_ entries: [PackEntry]) -> Bool { packs.holds(entries) }
}
