import Sealing
import Storage

/// Packs that a repair fetched whole, in a file without a name, for all versions of a chain that are written anew: deltas
/// rest on frames from anywhere, and each of these packs would be fetched again and again.
package final class FetchedPacks: Sendable {
  private struct Shelf {
    var spool: ScratchSpool?
    var places: [Digest: Range<Int>] = [:]
    /// The oldest first.
    var order: [Digest] = []
    var bytes = 0
    var room: Int
  }

  private let folder: String
  private let shelf: Locked<Shelf>

  /// - Parameters:
  ///   - folder: for files without names.
  ///   - room: what all of them may take, in bytes.
  package init(in folder: String, room: Int = 4 << 30) {
    self.folder = folder
    shelf = Locked(Shelf(room: room))
  }

  /// Gives back all the room there is, for what needs it more, and keeps nothing from now on.
  /// - Returns: whether something was kept.
  package func giveUp() -> Bool {
    shelf.withLock { shelf in
      defer { shelf = Shelf(room: 0) }
      return shelf.spool != nil
    }
  }

  func holds(_ pack: Digest) -> Bool { shelf.withLock { $0.places[pack] != nil } }

  /// - Returns: `nil` where the pack is not kept, or has no such part.
  /// - Throws: `.stateFolder`.
  func part(_ range: Range<Int>, of pack: Digest) throws(RepositoryError) -> [UInt8]? {
    let found = shelf.withLock { shelf in shelf.places[pack].map { (place: $0, spool: shelf.spool) } }
    guard let (place, spool) = found, let spool, range.upperBound <= place.count else { return nil }
    return try spool.read([place.lowerBound + range.lowerBound..<place.lowerBound + range.upperBound])
  }

  /// - Returns: whether it is kept. What is not what its name says is not: the next answer may be another. Nor is what there
  ///   is no room for.
  /// - Throws: `.stateFolder`.
  func keep(_ bytes: [UInt8], of pack: Digest) throws(RepositoryError) -> Bool {
    guard bytes.count <= shelf.withLock({ $0.room }), Digest.sha256(of: bytes) == pack else { return false }
    do {
      let place = try makeRoom(for: bytes.count).add(bytes)
      shelf.withLock { shelf in
        shelf.places[pack] = place
        shelf.order.append(pack)
        shelf.bytes += bytes.count
      }
      return true
    } catch {
      guard error.code == .noSpace else { throw error }
      return false
    }
  }

  private func makeRoom(for count: Int) throws(RepositoryError) -> ScratchSpool {
    let made = shelf.withLock { $0.spool }
    let spool = if let made { made } else { try ScratchSpool(in: folder) }
    shelf.withLock { shelf in
      shelf.spool = spool
      while shelf.bytes + count > shelf.room, let oldest = shelf.order.first {
        shelf.order.removeFirst()
        guard let place = shelf.places.removeValue(forKey: oldest) else { continue }
        shelf.bytes -= place.count
        spool.forget(place)
      }
    }
    return spool
  }
}
