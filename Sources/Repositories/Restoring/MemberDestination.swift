/// Where a member is put: a file that begins as zeros of the member's whole length.
///
/// Its parts are written, and read back, by several tasks at once.
package protocol MemberDestination: Sendable {
  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws

  /// Fills the buffer with what stands there now.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws
}
