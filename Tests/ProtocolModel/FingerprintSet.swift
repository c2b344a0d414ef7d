/// 128 bits that stand for a state.
struct Fingerprint: BitwiseCopyable {
  var high: UInt64
  var low: UInt64

  @inline(__always) init<State: BitwiseCopyable>(of state: State) {
    var high: UInt64 = 0x243F_6A88_85A3_08D3
    var low: UInt64 = 0x1319_8A2E_0370_7344
    withUnsafeBytes(of: state) { bytes in
      for offset in stride(from: 0, to: MemoryLayout<State>.size, by: 8) {
        let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        high = Self.mixed(high ^ word, 0x9E37_79B9_7F4A_7C15)
        low = Self.mixed(low &+ word &* 0xD6E8_FEB8_6659_FD93, 0xC2B2_AE3D_27D4_EB4F)
      }
    }
    self.high = high
    // Zero stands for an empty place.
    self.low = high | low == 0 ? 1 : low
  }

  @inline(__always) private static func mixed(_ value: UInt64, _ factor: UInt64) -> UInt64 {
    let product = value.multipliedFullWidth(by: factor)
    return (product.low ^ product.high) &+ (value >> 29)
  }
}

/// Fingerprints seen so far: open addressing, 16 bytes each, at most 70 % full.
struct FingerprintSet: ~Copyable {
  private var places: UnsafeMutablePointer<Fingerprint>
  private var capacity = 1 << 16
  private var count = 0

  init() { places = Self.empty(capacity) }

  deinit { places.deallocate() }

  private static func empty(_ capacity: Int) -> UnsafeMutablePointer<Fingerprint> {
    let places = UnsafeMutablePointer<Fingerprint>.allocate(capacity: capacity)
    UnsafeMutableRawPointer(places).initializeMemory(as: UInt8.self, repeating: 0, count: 16 * capacity)
    return places
  }

  /// - Returns: whether it was not there yet.
  @discardableResult
  mutating func insert(_ fingerprint: Fingerprint) -> Bool {
    if count * 10 > capacity * 7 { grow() }
    let isNew = Self.place(fingerprint, in: places, capacity)
    if isNew { count += 1 }
    return isNew
  }

  private mutating func grow() {
    let larger = Self.empty(2 * capacity)
    for index in 0..<capacity where places[index].low | places[index].high != 0 {
      _ = Self.place(places[index], in: larger, 2 * capacity)
    }
    places.deallocate()
    places = larger
    capacity *= 2
  }

  private static func place(
    _ fingerprint: Fingerprint, in places: UnsafeMutablePointer<Fingerprint>, _ capacity: Int
  ) -> Bool {
    var index = Int(truncatingIfNeeded: fingerprint.high) & (capacity - 1)
    while places[index].low | places[index].high != 0 {
      if places[index].low == fingerprint.low, places[index].high == fingerprint.high { return false }
      index = (index + 1) & (capacity - 1)
    }
    places[index] = fingerprint
    return true
  }
}
