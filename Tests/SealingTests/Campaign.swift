import FoundationEssentials
import TestKit

@testable import Sealing

/// Hostile changes of bytes, and how many of them were taken for genuine.
struct Campaign {
  /// All cases instead of a seeded eighth: with `SEALIFT_CAMPAIGNS` set.
  static let isFull = ProcessInfo.processInfo.environment["SEALIFT_CAMPAIGNS"] != nil

  /// One thing a server could change, and how a reader reads it.
  struct Target: Sendable {
    let name: String
    let bytes: [UInt8]
    let read: @Sendable ([UInt8]) throws -> Void
  }

  private(set) var refused = 0
  private(set) var accepted: [String] = []
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed) }

  mutating func expectRefusal(_ what: @autoclosure () -> String, _ read: () throws -> Void) {
    do {
      try read()
      accepted.append(what())
    } catch {
      refused += 1
    }
  }

  /// Every bit flipped (or one of each eight), every truncation, some extensions.
  mutating func alter(_ target: Target, share: Int = 8) {
    var bytes = target.bytes
    for bit in 0..<bytes.count * 8 where Campaign.isFull || random.next() % UInt64(share) == 0 {
      bytes[bit / 8] ^= 1 << (bit % 8)
      expectRefusal("\(target.name): bit \(bit) flipped") { try target.read(bytes) }
      bytes[bit / 8] ^= 1 << (bit % 8)
    }
    for length in 0..<bytes.count where Campaign.isFull || random.next() % UInt64(share) == 0 || length < 200 {
      expectRefusal("\(target.name): cut to \(length)") { try target.read(Array(bytes.prefix(length))) }
    }
    for more in [[0], [UInt8](repeating: 0, count: 16), Array(bytes.suffix(4)), bytes] {
      expectRefusal("\(target.name): \(more.count) bytes longer") { try target.read(bytes + more) }
    }
    for _ in 0..<64 {
      let start = Int(random.next() % UInt64(bytes.count))
      let end = min(bytes.count, start + 1 + Int(random.next() % 64))
      var other = bytes
      other.replaceSubrange(start..<end, with: random.bytes(end - start))
      guard other != bytes else { continue }
      expectRefusal("\(target.name): noise in \(start)..<\(end)") { try target.read(other) }
    }
  }
}
