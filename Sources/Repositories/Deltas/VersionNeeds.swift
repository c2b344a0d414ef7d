/// What a version needs to be restored, beside what it would take by itself (`Docs/Format.md` §6.2). Bytes.
package struct VersionNeeds: Codable, Equatable, Sendable {
  /// Of plaintext of the frames it needs, bases included.
  package var decoded: Int
  /// Of all packs that hold any of those.
  package var stored: Int
  /// About what a first push of it would store.
  package var whole: Int

  package init(decoded: Int, stored: Int, whole: Int) {
    self.decoded = decoded
    self.stored = stored
    self.whole = whole
  }

  /// In times of what a first push is guessed to store. Twice is promised, and the guess has been a twelfth too high
  /// (`Docs/Decisions/0005-levels-not-chains.md`).
  private static let mostStored = 1.8
  /// What needs no more is modest even if the guess is half as much again as is true.
  private static let beyondDoubt = 1.2

  /// Whether a version of so many bytes may need that much: no more than three times its length decoded, and no more
  /// stored, which is more than is fetched, than twice what it would take whole. Small ones may need anything.
  /// - Parameter room: bytes that versions after it may decode beyond what it does.
  package func areModest(for length: Int, leaving room: Int = 0) -> Bool {
    guard decoded > 4 << 20 else { return true }
    return decoded <= 3 * length - room && stored(isWithin: Self.mostStored)
  }

  /// More packs than it may, whatever it decodes.
  var arePacksTooMany: Bool { !stored(isWithin: Self.mostStored) }

  /// Whether a better guess of `whole` could change what is thought of it.
  package var areWorthALook: Bool { decoded > 4 << 20 && !stored(isWithin: Self.beyondDoubt) }

  private func stored(isWithin times: Double) -> Bool { Double(stored) <= times * Double(max(whole, 1 << 20)) }
}
