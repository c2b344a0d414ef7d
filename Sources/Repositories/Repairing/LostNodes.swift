import Sealing
import Storage

/// Frames of maps that a repair could not have: the leaves of many small companions lie in one, in each version. It is
/// asked for once, not anew for each of them.
package final class LostNodes: Sendable {
  private struct Frame: Hashable {
    let pack: Digest
    let number: UInt32
  }

  private let errors = Locked<[Frame: any Error]>([:])

  package init() {}

  /// - Throws: what was thrown when one of them was asked for.
  func demandNone(of places: [FramePlace], in table: PackTable) throws {
    let known = errors.withLock { $0 }
    guard !known.isEmpty else { return }
    for frame in places.compactMap({ Self.frame($0, in: table) }) {
      if let error = known[frame] { throw error }
    }
  }

  /// - Parameter places: those that were asked for together. Of several nobody knows which one is lost.
  func note(_ places: [FramePlace], _ error: any Error, in table: PackTable) {
    guard places.count == 1, let frame = Self.frame(places[0], in: table) else { return }
    errors.withLock { $0[frame] = error }
  }

  /// `nil` for one of the manifest, which is at hand.
  private static func frame(_ place: FramePlace, in table: PackTable) -> Frame? {
    table[place.pack].map { Frame(pack: $0.name, number: place.frame) }
  }
}
