package import Sealing
import Storage

/// A condemned record, by the name of its object.
package struct NamedCondemnedRecord: Sendable {
  let name: RecordName
  let record: CondemnedRecord
  /// When it was stored, in seconds since 1970 by the store's own clock; `nil` where it does not tell.
  let stored: Int?
}

/// What a prune remembers of a condemned record: of a chain that was pushed every ten minutes for five years, all of them
/// together name half a million objects, and a prune that deletes looks four times.
struct CondemnedNames: Sendable {
  let name: RecordName
  /// By the clock that wrote it, in milliseconds since 1970 UTC.
  let time: UInt64
  let names: NameSet
  /// When it was stored, in seconds since 1970 by the store's own clock; `nil` where it does not tell.
  let stored: Int?
}

extension Repository {
  /// Every object that a condemned record of this chain names: none of these packs is ever referenced anew, none of these
  /// manifests counts as safe (`Docs/Format.md` §8.1).
  ///
  /// All of them, also what is not listed: a name does not tell whether it is a pack's or a manifest's, and a manifest
  /// may be stored again that is not there (`Docs/Decisions/0014-attempts.md`).
  /// - Throws: `.damaged` when a whole record is not authentic: somebody meddles with the target.
  func condemnedNames(of chain: ChainID, state: StateFolder?) async throws -> NameSet {
    NameSet(joining: try await condemnedRecords(of: chain, state: state) { NameSet($0.record.packs) })
  }

  /// The same record by record, in no more room than a prune needs.
  /// - Parameter known: what an earlier look found: what is listed of that is not read again, for a name ends with the
  ///   hash of all that its record says.
  /// - Throws: as `condemnedNames`.
  func condemnedInBrief(
    of chain: ChainID, state: StateFolder?, known: [CondemnedNames] = []
  ) async throws -> [CondemnedNames] {
    let known = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
    return try await condemnedRecords(of: chain, state: state, known: known) {
      CondemnedNames(name: $0.name, time: $0.record.time, names: NameSet($0.record.packs), stored: $0.stored)
    }
  }

  /// The condemned records of a chain, and of each only what `take` leaves of it.
  ///
  /// A record shorter than its name says is a `PUT` that never ended: it condemns nothing, for its prune never went on.
  /// - Throws: as `condemnedNames`.
  func condemnedRecords<Value: Sendable>(
    of chain: ChainID, state: StateFolder?, known: [RecordName: Value] = [:],
    _ take: @escaping @Sendable (NamedCondemnedRecord) -> Value
  ) async throws -> [Value] {
    let prefix = Layout.condemned(of: chain)
    let listed = try await store.list(prefix: prefix).compactMap { info in
      RecordName(info.name, prefix: prefix).flatMap { $0.length == info.size ? (name: $0, stored: info.stored) : nil }
    }
    let isKnown = listed.allSatisfy { known[$0.name] != nil }
    let kept = isKnown ? nil : state.map { KeptRecords(.condemned, of: chain, in: $0, keys: keys) }
    let read = try await bounded(
      listed, atOnce: store.traits.concurrency, within: Limits.object, of: { $0.name.length }
    ) { name, stored -> (value: Value, fresh: RecordContent?) in
      if let value = known[name] { return (value, nil) }
      let (record, fresh) = try await self.condemnedRecord(name, of: chain, kept, state: state)
      return (take(NamedCondemnedRecord(name: name, record: record, stored: stored)), fresh)
    }
    kept?.add(read.compactMap(\.fresh), random: random)
    return read.map(\.value)
  }

  /// What a condemned record says, and all of it where it did not come from those that are kept together.
  private typealias ReadRecord = (record: CondemnedRecord, fresh: RecordContent?)

  private func condemnedRecord(
    _ name: RecordName, of chain: ChainID, _ together: KeptRecords?, state: StateFolder?
  ) async throws -> ReadRecord {
    if let content = together?[name], let record = try? condemned(content, name, of: chain) { return (record, nil) }
    if let kept = state?.kept(name.digest.hex), let record = try? openCondemned(kept, name, of: chain) { return record }
    let bytes = try await store.get(name.objectName, range: nil)
    do {
      let record = try openCondemned(bytes, name, of: chain)
      // Once: every push looks at all of them, and there are more of them every day.
      state?.keep(bytes, as: name.digest.hex)
      return record
    } catch let error as SealError where error.code == .unsupported {
      // It may name what this push would refer to.
      throw RepositoryError(
        .unsupported, "the condemned record \(name.objectName) is of a later format",
        hint: "A newer sealift prunes there. Install it here too; nothing is pushed until then.", cause: error)
    } catch {
      throw RepositoryError(
        .damaged, "the condemned record \(name.objectName) cannot be read",
        hint:
          "Somebody meddled with the target, or it lost data; nothing is pushed until that object is brought back or removed by hand.",
        cause: error)
    }
  }

  private func openCondemned(_ bytes: [UInt8], _ name: RecordName, of chain: ChainID) throws -> ReadRecord {
    let object = try OpenedObject.open(bytes, kind: .condemned, name: name.digest, keys: keys)
    let content = RecordContent(object, digest: name.digest)
    return (try condemned(content, name, of: chain), content)
  }

  private func condemned(_ content: RecordContent, _ name: RecordName, of chain: ChainID) throws -> CondemnedRecord {
    let record = try CondemnedRecord(decoding: Array(content.meta))
    guard record.chain == chain else {
      throw RepositoryError(.damaged, "\(name.objectName) belongs to another chain")
    }
    return record
  }

  /// The packs of a chain, as the store lists them now.
  func packListing(of chain: ChainID) async throws -> PackListing {
    PackListing(try await store.list(prefix: Layout.packs(of: chain)), of: chain)
  }

  /// The same, by name.
  package func packSizes(of chain: ChainID) async throws -> [Digest: Int] {
    try await packListing(of: chain).sizes
  }
}
