/// Bytes that grow at their end and keep their memory for the next time.
struct ByteStream: ~Copyable {
  private var memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 4096)
  private var capacity = 4096
  private(set) var count = 0

  deinit { memory.deallocate() }

  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: memory, count: count) }

  mutating func removeAll() { count = 0 }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    if count == capacity { grow(by: 1) }
    memory[count] = byte
    count += 1
  }

  @inline(__always)
  mutating func append(_ number: UInt16) {
    append(UInt8(truncatingIfNeeded: number >> 8))
    append(UInt8(truncatingIfNeeded: number))
  }

  @inline(__always)
  mutating func append(_ number: UInt32) {
    append(UInt16(truncatingIfNeeded: number >> 16))
    append(UInt16(truncatingIfNeeded: number))
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafePointer<UInt8>, count more: Int) {
    if count + more > capacity { grow(by: more) }
    (memory + count).update(from: bytes, count: more)
    count += more
  }

  private mutating func grow(by more: Int) {
    let larger = max(capacity * 2, count + more)
    let next = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    next.update(from: memory, count: count)
    memory.deallocate()
    memory = next
    capacity = larger
  }
}
