import Sealing
import Storage

/// Names in records what may go.
extension ChainPrune {
  /// Names in one record: two thirds of a megabyte.
  private static let namesPerRecord = 20_000

  /// Stores the records one by one, and returns when they are durable.
  /// - Parameter outcome: told of each, so that one which cannot be stored does not hide those before it.
  /// - Returns: the names of their objects.
  func condemn(_ objects: [ObjectInfo], _ outcome: inout PrunedChain) async throws -> Set<Digest> {
    var records: Set<Digest> = []
    for start in stride(from: 0, to: objects.count, by: Self.namesPerRecord) {
      let part = objects[start..<min(start + Self.namesPerRecord, objects.count)]
      let record = CondemnedRecord(chain: chain, time: policy.now(), packs: part.compactMap(\.digest))
      let place = Layout.condemned(of: chain)
      records.insert(try await repository.putRecord(.condemned, record.encode(), below: place, state: state))
      let named = PrunedChain.Tally(part)
      outcome.condemned = outcome.condemned + named
      outcome.waiting = outcome.waiting + named
    }
    return records
  }
}
