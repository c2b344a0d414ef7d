import Sealing

/// Which unit lies where: the table that finds content, not position. Open addressing, 24 bytes a slot, in a file without
/// a name, because it grows with the database.
///
/// Fingerprints are outputs of a keyed hash, so their own bits are the hash. One thread at a time writes; when nobody
/// does, any number may read.
final class UnitIndex: @unchecked Sendable {
  struct Place: Equatable {
    /// Whatever the owner counts its frames by.
    var frame: UInt32
    var unit: UInt16
  }

  private struct Slot: BitwiseCopyable {
    var high: UInt64
    var low: UInt64
    var frame: UInt32
    var unit: UInt16
    var isUsed: Bool
  }

  private let folder: String
  private var slots: FileTable<Slot>
  private(set) var count = 0

  /// - Parameter expected: how many units will come, at a guess.
  /// - Throws: `.stateFolder`; `.noSpace` when there is no room in `folder`.
  init(in folder: String, expected: Int = 0) throws(RepositoryError) {
    self.folder = folder
    let capacity = Self.capacity(for: expected, atLeast: 1024)
    slots = try FileTable(capacity: capacity, count: capacity, in: folder)
  }

  /// A power of two of which no more than three quarters are used.
  private static func capacity(for units: Int, atLeast least: Int) -> Int {
    var capacity = least
    while capacity * 3 < units * 4 { capacity *= 2 }
    return capacity
  }

  /// So many units can be noted before it has to grow.
  var room: Int { slots.count / 4 * 3 - count }

  /// Takes room at once for so many units more, at a guess: whenever it grows, all that is there moves.
  /// - Throws: `.noSpace`, `.stateFolder`, and stays as it is: it grows when units come.
  func reserve(_ more: Int) throws(RepositoryError) {
    let capacity = Self.capacity(for: count + more, atLeast: slots.count)
    if capacity > slots.count { try grow(to: capacity) }
  }

  subscript(_ fingerprint: Fingerprint) -> Place? {
    let slot = slots[place(of: fingerprint)]
    return slot.isUsed ? Place(frame: slot.frame, unit: slot.unit) : nil
  }

  /// Notes a place; one noted before stays, unless it `isWorse`.
  func insert(
    _ fingerprint: Fingerprint, at place: Place, replacing isWorse: (Place) -> Bool = { _ in false }
  ) throws(RepositoryError) {
    if (count + 1) * 4 > slots.count * 3 { try grow(to: slots.count * 2) }
    let index = self.place(of: fingerprint)
    let before = slots[index]
    guard !before.isUsed || isWorse(Place(frame: before.frame, unit: before.unit)) else { return }
    slots[index] = Slot(
      high: fingerprint.high, low: fingerprint.low, frame: place.frame, unit: place.unit, isUsed: true)
    if !before.isUsed { count += 1 }
  }

  private func place(of fingerprint: Fingerprint) -> Int {
    var index = Int(truncatingIfNeeded: fingerprint.low) & (slots.count - 1)
    while true {
      let slot = slots[index]
      if !slot.isUsed || (slot.low == fingerprint.low && slot.high == fingerprint.high) { return index }
      index = (index + 1) & (slots.count - 1)
    }
  }

  private func grow(to capacity: Int) throws(RepositoryError) {
    let old = slots
    slots = try FileTable(capacity: capacity, count: capacity, in: folder)
    for index in 0..<old.count where old[index].isUsed {
      slots[place(of: Fingerprint(high: old[index].high, low: old[index].low))] = old[index]
    }
  }
}
