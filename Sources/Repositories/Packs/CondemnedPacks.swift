package import Sealing
import Storage

/// A condemned record, by the name of its object.
package struct NamedCondemnedRecord: Sendable {
  let name: RecordName
  let record: CondemnedRecord
  /// When it was stored, in seconds since 1970 by the store's own clock; `nil` where it does not tell.
  let stored: Int?
}

extension Repository {
  /// Every object that a condemned record of this chain names: none of these packs is ever referenced anew, none of these
  /// manifests counts as safe (`Docs/Format.md` §8.1).
  /// - Throws: as `condemnedRecords`.
  package func condemnedPacks(of chain: ChainID, state: StateFolder?) async throws -> Set<Digest> {
    try await condemnedRecords(of: chain, state: state).reduce(into: []) { $0.formUnion($1.record.packs) }
  }

  /// The condemned records of a chain.
  ///
  /// A record shorter than its name says is a `PUT` that never ended: it condemns nothing, for its prune never went on.
  /// - Throws: `.damaged` when a whole record is not authentic: somebody meddles with the target.
  func condemnedRecords(of chain: ChainID, state: StateFolder?) async throws -> [NamedCondemnedRecord] {
    let prefix = Layout.condemned(of: chain)
    let listed = try await store.list(prefix: prefix).compactMap { info in
      RecordName(info.name, prefix: prefix).flatMap { $0.length == info.size ? (name: $0, stored: info.stored) : nil }
    }
    return try await bounded(listed, atOnce: store.traits.concurrency) { name, stored in
      NamedCondemnedRecord(
        name: name, record: try await self.condemnedRecord(name, of: chain, state: state), stored: stored)
    }
  }

  private func condemnedRecord(
    _ name: RecordName, of chain: ChainID, state: StateFolder?
  ) async throws -> CondemnedRecord {
    let bytes: [UInt8]
    if let kept = state?.kept(name.digest.hex), Digest.sha256(of: kept) == name.digest {
      bytes = kept
    } else {
      bytes = try await store.get(name.objectName, range: nil)
    }
    do {
      let object = try OpenedObject.open(bytes, kind: .condemned, name: name.digest, keys: keys)
      let record = try CondemnedRecord(decoding: object.directory.meta)
      guard record.chain == chain else {
        throw RepositoryError(.damaged, "\(name.objectName) belongs to another chain")
      }
      state?.keep(bytes, as: name.digest.hex)
      return record
    } catch {
      throw RepositoryError(
        .damaged, "the condemned record \(name.objectName) cannot be read",
        hint:
          "Somebody meddled with the target, or it lost data; nothing is pushed until that object is brought back or removed by hand.",
        cause: error)
    }
  }

  /// The packs of a chain and their sizes, as the store lists them now.
  package func packSizes(of chain: ChainID) async throws -> [Digest: Int] {
    var sizes: [Digest: Int] = [:]
    for info in try await store.list(prefix: Layout.packs(of: chain)) {
      if let digest = Layout.packDigest(info.name) { sizes[digest] = info.size }
    }
    return sizes
  }
}
