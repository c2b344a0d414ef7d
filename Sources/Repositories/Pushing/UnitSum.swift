/// A sum over the bytes of a unit, by which two readings of it are told apart.
struct UnitSum: Sendable, Equatable, BitwiseCopyable {
  var high: UInt64
  var low: UInt64
}

/// Computes sums of units, much faster than fingerprints: NH, the hash inside UMAC, over words of 64 bits.
///
/// Two different contents that were chosen without knowing the key have the same sum with a probability below 2^-64,
/// proved (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999). The key is random, never leaves the process, and no sum does.
struct UnitSums: Sendable {
  /// One word for each word of a unit.
  private let key: [UInt64]

  /// - Parameter unitSize: in bytes, a multiple of 16.
  init(unitSize: Int) {
    precondition(unitSize % 16 == 0, "sums are over pairs of words")
    var random = SystemRandomNumberGenerator()
    key = (0..<unitSize / 8).map { _ in random.next() }
  }

  /// - Parameter units: joined.
  func sums(of units: [UInt8]) -> [UnitSum] {
    let size = key.count * 8
    return units.withUnsafeBytes { all in
      stride(from: 0, to: all.count, by: size).map { start in
        sum(of: UnsafeRawBufferPointer(rebasing: all[start..<start + size]))
      }
    }
  }

  /// - Parameter unit: whole, as all units of a database image are.
  func sum(of unit: UnsafeRawBufferPointer) -> UnitSum {
    precondition(unit.count == key.count * 8, "a unit of another size")
    var sum = UnitSum(high: 0, low: 0)
    key.withUnsafeBytes { key in
      guard let words = unit.baseAddress, let keys = key.baseAddress else { return }
      var offset = 0
      while offset < unit.count {
        let left = words.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        let right = words.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
        let leftKey = keys.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        let rightKey = keys.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
        let product = (left &+ leftKey).multipliedFullWidth(by: right &+ rightKey)
        let (low, carry) = sum.low.addingReportingOverflow(product.low)
        sum.low = low
        sum.high = sum.high &+ product.high &+ (carry ? 1 : 0)
        offset += 16
      }
    }
    return sum
  }
}
