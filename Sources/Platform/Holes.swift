#if os(Linux)
  import CLinux
#endif

/// Makes a part of a file a hole: zeros that take no room on the disk. Its length stays.
/// - Returns: false where that cannot be done; what is there then may be zeros, or what was there before.
package func punchHole(_ range: Range<Int>, into descriptor: Int32) -> Bool {
  #if os(Linux)
    sl_punch(descriptor, Int64(range.lowerBound), Int64(range.count)) == 0
  #else
    false
  #endif
}
