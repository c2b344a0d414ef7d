import Sealing

/// Which unit lies where: the table that finds content, not position. 28 bytes a unit, open addressing.
///
/// Fingerprints are outputs of a keyed hash, so their own bits are the hash.
struct FingerprintIndex: Sendable {
  private struct Slot {
    var fingerprint: Fingerprint
    var location: UnitLocation
  }

  private var slots: [Slot?]
  private(set) var count = 0

  init(minimumCapacity: Int = 1024) {
    var capacity = 1024
    while capacity < minimumCapacity * 2 { capacity *= 2 }
    slots = Array(repeating: nil, count: capacity)
  }

  subscript(_ fingerprint: Fingerprint) -> UnitLocation? { slots[place(of: fingerprint)]?.location }

  /// Notes a location; the first one stays.
  mutating func insert(_ fingerprint: Fingerprint, at location: UnitLocation) {
    if (count + 1) * 4 > slots.count * 3 { grow() }
    let index = place(of: fingerprint)
    if slots[index] == nil {
      slots[index] = Slot(fingerprint: fingerprint, location: location)
      count += 1
    }
  }

  private func place(of fingerprint: Fingerprint) -> Int {
    var index = Int(truncatingIfNeeded: fingerprint.low) & (slots.count - 1)
    while let slot = slots[index], slot.fingerprint != fingerprint { index = (index + 1) & (slots.count - 1) }
    return index
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: nil, count: old.count * 2)
    for slot in old {
      if let slot { slots[place(of: slot.fingerprint)] = slot }
    }
  }
}
