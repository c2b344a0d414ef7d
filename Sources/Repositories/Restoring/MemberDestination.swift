/// Where a member is put: a file that begins as zeros of the member's whole length, or as what an earlier reading left.
///
/// Its parts are written, and read back, by several tasks at once.
package protocol MemberDestination: Sendable {
  /// This part is going to be written, in any order: takes room for it, where that can be had beforehand.
  /// - Throws: on a full disk.
  func reserve(_ range: Range<Int>) throws

  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws

  /// Fills the buffer with what stands there now.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws

  /// So many bytes from its beginning on stand there from an earlier reading of the same member; zeros follow. They are
  /// not fetched again, and proved like all others.
  var complete: Int { get }

  /// Everything before this offset was put in place.
  func noteComplete(below offset: Int)
}

extension MemberDestination {
  package func reserve(_ range: Range<Int>) throws {}
  package var complete: Int { 0 }
  package func noteComplete(below offset: Int) {}
}

/// What a destination held from an earlier reading is not the member's: it has to be read from its beginning.
package struct WrongBeginning: Error {}
