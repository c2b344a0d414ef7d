import Sealing
package import Storage

/// The objects of one chain below a prefix of records (`tomb/`, `notes/`), as a listing showed them.
package struct RecordListing: Sendable {
  let objects: [ObjectInfo]

  package init(objects: [ObjectInfo]) { self.objects = objects }

  package static let empty = RecordListing(objects: [])

  /// Of the objects that have the length that their name says, in the order of their hashes.
  func names(below prefix: String) -> [RecordName] {
    objects.compactMap { info in
      RecordName(info.name, prefix: prefix).flatMap { $0.length == info.size ? $0 : nil }
    }.sorted { $0.digest < $1.digest }
  }

  /// Splits a listing of all chains: by chain id, hexadecimal.
  package static func byChain(_ objects: [ObjectInfo]) -> [String: RecordListing] {
    let groups = Dictionary(grouping: objects) { info in
      info.name.text.split(separator: "/", maxSplits: 2).dropFirst().first.map(String.init) ?? ""
    }
    return groups.mapValues { RecordListing(objects: $0) }
  }
}

/// What became of a record that is listed in its full length.
private enum RecordLook: Sendable {
  case read(RecordContent)
  /// Of a later format, as it seems.
  case later
  case unread
}

extension Repository {
  /// The records below a prefix that are whole and authentic, in the order of their names; others are passed over.
  func records(
    _ kind: ObjectKind, of chain: ChainID, below prefix: String, listed: RecordListing?, state: StateFolder?
  ) async throws -> [(name: RecordName, content: RecordContent)] {
    let listing: RecordListing
    if let listed { listing = listed } else { listing = RecordListing(objects: try await store.list(prefix: prefix)) }
    return try await recordsAndUnread(kind, of: chain, listing.names(below: prefix), state: state).read
  }

  /// The same of these names, and which of them cannot be read. Those of a later format are neither.
  func recordsAndUnread(
    _ kind: ObjectKind, of chain: ChainID, _ names: [RecordName], state: StateFolder?
  ) async throws -> (read: [(name: RecordName, content: RecordContent)], unread: [RecordName]) {
    guard !names.isEmpty else { return ([], []) }
    let kept = state.map { KeptRecords(kind, of: chain, in: $0, keys: keys) }
    let looks = try await bounded(
      names, atOnce: store.traits.concurrency, within: Limits.object, of: { $0.length }
    ) { name -> RecordLook in
      if let content = kept?[name] { return .read(content) }
      return try await self.record(kind, name, state: state)
    }
    var read: [(name: RecordName, content: RecordContent)] = []
    var unread: [RecordName] = []
    for (name, look) in zip(names, looks) {
      switch look {
      case .read(let content): read.append((name: name, content: content))
      case .later: continue
      case .unread: unread.append(name)
      }
    }
    kept?.add(read.map { $0.content }, random: random)
    return (read, unread)
  }

  private func record(_ kind: ObjectKind, _ name: RecordName, state: StateFolder?) async throws -> RecordLook {
    if let kept = state?.kept(name.digest.hex),
      let object = try? OpenedObject.open(kept, kind: kind, name: name.digest, keys: keys)
    {
      return .read(RecordContent(object, digest: name.digest))
    }
    guard let bytes = try await store.left(of: name.objectName) else { return .unread }
    do {
      let object = try OpenedObject.open(bytes, kind: kind, name: name.digest, keys: keys)
      state?.keep(bytes, as: name.digest.hex)
      return .read(RecordContent(object, digest: name.digest))
    } catch {
      guard error.isDamage else { throw error }
      if error.isLater { return .later }
      return .unread
    }
  }

  /// - Throws: `SealError` `.unsupported` for one that was written in a later format.
  func demandKnownFormat(of name: RecordName, _ kind: ObjectKind) async throws {
    guard let bytes = try await store.left(of: name.objectName) else { return }
    do {
      _ = try OpenedObject.open(bytes, kind: kind, name: name.digest, keys: keys)
    } catch {
      if error.code == .unsupported { throw error }
    }
  }

  /// Those among the names of tombstones that a later program wrote, by a key of the repository: what they forget nobody
  /// knows here. What only its header calls later anybody may have put there, to pass off what is missing as forgotten.
  func laterTombstones(among names: [RecordName]) async throws -> [ObjectName] {
    let areLater = try await bounded(
      names, atOnce: store.traits.concurrency, within: Limits.object, of: { $0.length }
    ) { name -> Bool in
      try await self.isLaterTombstone(name)
    }
    return zip(names, areLater).filter { $0.1 }.map { $0.0.objectName }
  }

  private func isLaterTombstone(_ name: RecordName) async throws -> Bool {
    guard let bytes = try await store.left(of: name.objectName) else { return false }
    do {
      let object = try OpenedObject.open(bytes, kind: .tombstone, name: name.digest, keys: keys)
      _ = try Tombstone(decoding: object.directory.meta)
      return false
    } catch {
      guard error.isDamage else { throw error }
      return error.isLater && OpenedObject.hasKnownHeader(bytes)
    }
  }

  /// The ranges of all authentic tombstones of a chain, ascending.
  func tombstones(
    of chain: ChainID, listed: RecordListing? = nil, state: StateFolder? = nil
  ) async throws -> [Tombstone.Range] {
    try await namedTombstones(of: chain, listed: listed, state: state).flatMap(\.ranges)
      .sorted { ($0.first, $0.last) < ($1.first, $1.last) }
  }

  /// Authentic tombstones of a chain with the names of their objects.
  func namedTombstones(
    of chain: ChainID, listed: RecordListing?, state: StateFolder?
  ) async throws -> [(name: Digest, ranges: [Tombstone.Range])] {
    let prefix = Layout.tombstones(of: chain)
    let read = try await records(.tombstone, of: chain, below: prefix, listed: listed, state: state)
    return read.compactMap { name, content in
      guard let tombstone = try? Tombstone(decoding: Array(content.meta)), tombstone.chain == chain else { return nil }
      let genuine = tombstone.ranges.filter { isGenuine($0.last, $0.coreHashOfLast, of: chain, epoch: content.epoch) }
      return (name.digest, genuine)
    }
  }
}
