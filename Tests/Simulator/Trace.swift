/// What happened, as a running hash (FNV-1a, 64 bits) that two runs can be compared by, and as words when they are wanted.
struct Trace {
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var count = 0
  var isTold = false

  mutating func note(_ event: @autoclosure () -> String) {
    let words = event()
    count += 1
    for byte in words.utf8 {
      hash ^= UInt64(byte)
      hash = hash &* 0x0000_0100_0000_01B3
    }
    if isTold { print("  \(count) \(words)") }
  }
}
