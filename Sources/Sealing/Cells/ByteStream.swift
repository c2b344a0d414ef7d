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
    (memory + count).copyShort(from: bytes, count: more)
    count += more
  }

  @inline(never)
  private mutating func grow(by more: Int) {
    let larger = max(capacity * 2, count + more)
    let next = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    next.update(from: memory, count: count)
    memory.deallocate()
    memory = next
    capacity = larger
  }
}

extension UnsafeMutablePointer<UInt8> {
  /// Copies what is mostly some ten bytes, for which a call would cost more than the copy. No byte beyond is touched.
  @inline(__always)
  func copyShort(from source: UnsafePointer<UInt8>, count: Int) {
    let to = UnsafeMutableRawPointer(self)
    let from = UnsafeRawPointer(source)
    if count > 256 {
      to.copyMemory(from: from, byteCount: count)
    } else if count > 64 {
      let last = count - 16
      var at = 0
      while at < last {
        to.copy(SIMD16<UInt8>.self, from: from, at: at)
        at += 16
      }
      to.copy(SIMD16<UInt8>.self, from: from, at: last)
    } else if count > 32 {
      to.copy(SIMD32<UInt8>.self, from: from, at: 0)
      to.copy(SIMD32<UInt8>.self, from: from, at: count - 32)
    } else if count >= 16 {
      to.copy(SIMD16<UInt8>.self, from: from, at: 0)
      to.copy(SIMD16<UInt8>.self, from: from, at: count - 16)
    } else if count >= 8 {
      to.copy(UInt64.self, from: from, at: 0)
      to.copy(UInt64.self, from: from, at: count - 8)
    } else if count >= 4 {
      to.copy(UInt32.self, from: from, at: 0)
      to.copy(UInt32.self, from: from, at: count - 4)
    } else {
      var at = 0
      while at < count {
        self[at] = source[at]
        at += 1
      }
    }
  }
}

extension UnsafeMutableRawPointer {
  @inline(__always)
  fileprivate func copy<Word: BitwiseCopyable>(_ type: Word.Type, from source: UnsafeRawPointer, at offset: Int) {
    storeBytes(of: source.loadUnaligned(fromByteOffset: offset, as: type), toByteOffset: offset, as: type)
  }
}
