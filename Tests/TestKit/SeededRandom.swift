/// SplitMix64: the same numbers for the same seed, so that a failing test can be run again.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    let words = (count + 7) / 8
    // Gigabytes of it are made by programs that are not optimized.
    return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: max(1, words)) { buffer in
      guard let first = buffer.baseAddress else { return [] }
      var index = 0
      while index < words {
        first[index] = next()
        index += 1
      }
      return [UInt8](UnsafeRawBufferPointer(start: first, count: count))
    }
  }
}
