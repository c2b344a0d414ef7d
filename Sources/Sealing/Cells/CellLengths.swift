/// Lengths of cells in bytes, each less than 64 KiB. Keeps its memory.
struct CellLengths: ~Copyable {
  private var memory = UnsafeMutablePointer<UInt16>.allocate(capacity: 1)
  private var capacity = 1

  deinit { memory.deallocate() }

  mutating func makeRoom(for count: Int) {
    guard count > capacity else { return }
    memory.deallocate()
    memory = .allocate(capacity: count)
    capacity = count
  }

  @inline(__always)
  subscript(_ cell: Int) -> Int { Int(memory[cell]) }

  @inline(__always)
  func set(_ cell: Int, _ length: Int) { memory[cell] = UInt16(truncatingIfNeeded: length) }
}
