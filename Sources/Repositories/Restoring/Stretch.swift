/// What one request fetches of a pack: frames that are wanted, and what lies between them.
struct Stretch: Sendable {
  /// What lies between costs less than another request as long as it is no longer than this.
  static let gap = 128 << 10
  private static let limit = 8 << 20

  private(set) var range: Range<Int>
  /// Bytes of the frames.
  private var wanted: Int

  init(_ frame: Range<Int>) {
    range = frame
    wanted = frame.count
  }

  /// A good part of what it fetches is not wanted.
  var isThin: Bool { range.count - wanted > wanted / 4 }

  /// Takes in the next frame of the pack, when it lies close; unless that fetches much more than is wanted: who restores
  /// holds all of it in memory, and may pay for it.
  /// - Returns: whether it did.
  mutating func take(_ frame: Range<Int>) -> Bool {
    let all = frame.upperBound - range.lowerBound
    let sum = wanted + frame.count
    guard frame.lowerBound - range.upperBound <= Self.gap, all <= Self.limit, all - sum <= sum + Self.gap else {
      return false
    }
    range = range.lowerBound..<frame.upperBound
    wanted = sum
    return true
  }
}
