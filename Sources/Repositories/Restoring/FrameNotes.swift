/// A note of each frame that a restore meets: in a nameless file, as there are the more of them the larger the database is.
///
/// One thread at a time.
final class FrameNotes<Note: BitwiseCopyable> {
  private let notes: GrowingTable<Note>
  private let blank: Note
  /// By pack, where the notes of its frames lie.
  private var rooms: [UInt32: Range<Int>] = [:]

  /// - Parameter blank: of a frame that was not met.
  /// - Throws: `.stateFolder`.
  init(_ blank: Note, in folder: String) throws(RepositoryError) {
    self.blank = blank
    notes = try GrowingTable(in: folder)
  }

  func hasRoom(for pack: UInt32) -> Bool { rooms[pack] != nil }

  /// - Throws: `.stateFolder`.
  func makeRoom(for pack: UInt32, frames count: Int) throws(RepositoryError) {
    guard rooms[pack] == nil else { return }
    rooms[pack] = notes.count..<notes.count + count
    for _ in 0..<count { try notes.append(blank) }
  }

  /// Only frames that there are, of packs that have room, can be noted; others are blank.
  subscript(place: FramePlace) -> Note {
    get { index(of: place).map { notes[$0] } ?? blank }
    set { if let index = index(of: place) { notes[index] = newValue } }
  }

  private func index(of place: FramePlace) -> Int? {
    guard let room = rooms[place.pack], place.frame < room.count else { return nil }
    return room.lowerBound + Int(place.frame)
  }
}
