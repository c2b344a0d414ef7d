/// Memory for a form whose cells are written before it is known how much stands in front of them.
struct FormBuffer: ~Copyable {
  private var memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
  private var capacity = 1
  private var start = 0
  private var count = 0

  deinit { memory.deallocate() }

  var form: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory + start, count: count) }

  /// Where the next bytes go. There is room for what is left of all pages.
  var end: UnsafeMutablePointer<UInt8> { memory + (start + count) }

  /// Forgets what is there, and has room for a form of so many pages on either side of the place where it begins: what
  /// stands in front of cells is no longer than a form may be, and cells are no longer than their pages.
  mutating func begin(pages: Int, pageSize: Int) {
    let limit = CellForm.limit(pages: pages, pageSize: pageSize)
    if capacity < 2 * limit {
      memory.deallocate()
      memory = .allocate(capacity: 2 * limit)
      capacity = 2 * limit
    }
    start = limit
    count = 0
  }

  /// Takes in what was written at `end`.
  mutating func grow(by more: Int) {
    count += more
    precondition(start + count <= capacity)
  }

  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    precondition(start + count + bytes.count <= capacity)
    if let base = bytes.baseAddress { end.update(from: base, count: bytes.count) }
    count += bytes.count
  }

  mutating func prepend(_ bytes: UnsafeBufferPointer<UInt8>) {
    precondition(bytes.count <= start)
    start -= bytes.count
    count += bytes.count
    if let base = bytes.baseAddress { (memory + start).update(from: base, count: bytes.count) }
  }
}
