package import Sealing
import Storage

extension Repository {
  /// Every pack that a condemned record of this chain names: never to be referenced anew (`Docs/Format.md` §8.1).
  ///
  /// A record shorter than its name says is a `PUT` that never ended: it condemns nothing, for its prune never went on.
  /// - Throws: `.damaged` when a whole record is not authentic: somebody meddles with the target.
  package func condemnedPacks(of chain: ChainID, state: StateFolder?) async throws -> Set<Digest> {
    let prefix = Layout.condemned(of: chain)
    var condemned: Set<Digest> = []
    for info in try await store.list(prefix: prefix) {
      guard let name = RecordName(info.name, prefix: prefix), name.length == info.size else { continue }
      condemned.formUnion(try await condemnedRecord(name, of: chain, state: state).packs)
    }
    return condemned
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
