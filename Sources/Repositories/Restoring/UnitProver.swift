import Glibc
import Sealing

/// Makes the fingerprints of units that were read back. One thread at a time.
final class UnitProver {
  private let type: UnitType
  private let fingerprinter: Fingerprinter
  private let buffer: UnsafeMutableRawBufferPointer
  /// Of zeros, by their length: most have the same.
  private var ofZeros: (length: Int, fingerprint: Fingerprint)?

  /// - Parameter capacity: the most bytes proved at once.
  init(_ type: UnitType, keys: SealingKeys, capacity: Int) {
    self.type = type
    fingerprinter = Fingerprinter(keys)
    buffer = .allocate(byteCount: max(1, capacity), alignment: 4096)
  }

  deinit { buffer.deallocate() }

  /// Where to put the bytes that are to be proved.
  func room(_ count: Int) -> UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]) }

  /// - Parameter fingerprints: 16 bytes for each unit of what was put into `room`.
  func prove(_ count: Int, unitSize: Int, into fingerprints: UnsafeMutableBufferPointer<UInt8>) {
    var place = 0
    for start in stride(from: 0, to: count, by: unitSize) {
      let unit = UnsafeRawBufferPointer(rebasing: buffer[start..<min(start + unitSize, count)])
      let fingerprint = fingerprint(unit)
      let output = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(fingerprints)[place...])
      output.storeBytes(of: fingerprint.high.bigEndian, as: UInt64.self)
      output.storeBytes(of: fingerprint.low.bigEndian, toByteOffset: 8, as: UInt64.self)
      place += Fingerprint.length
    }
  }

  private func fingerprint(_ unit: UnsafeRawBufferPointer) -> Fingerprint {
    guard unit.isZeros else { return fingerprinter.fingerprint(type, unit) }
    if let ofZeros, ofZeros.length == unit.count { return ofZeros.fingerprint }
    let made = fingerprinter.fingerprint(type, unit)
    ofZeros = (unit.count, made)
    return made
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var isZeros: Bool {
    guard let base = baseAddress, let first, first == 0 else { return false }
    return memcmp(base, base + 1, count - 1) == 0
  }
}
