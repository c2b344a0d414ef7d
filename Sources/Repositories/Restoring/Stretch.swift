import Sealing

/// What one request fetches of a pack: frames that are wanted, and what lies between them.
struct Stretch: Sendable {
  /// What lies between costs less than another request as long as it is no longer than this.
  static let gap = 128 << 10
  /// A whole pack is shorter, its last frame included.
  private static let limit = 9 << 20

  private(set) var range: Range<Int>
  /// Bytes of the frames.
  private var wanted: Int

  init(_ frame: Range<Int>) {
    range = frame
    wanted = frame.count
  }

  /// Cuts frames of one pack into what one request each fetches.
  /// - Parameter frames: ascending.
  static func covering<Frame>(
    _ frames: some Sequence<Frame>, at range: (Frame) -> Range<Int>
  ) -> [(stretch: Stretch, frames: [Frame])] {
    var covering: [(stretch: Stretch, frames: [Frame])] = []
    for frame in frames {
      if let last = covering.indices.last, covering[last].stretch.take(range(frame)) {
        covering[last].frames.append(frame)
      } else {
        covering.append((Stretch(range(frame)), [frame]))
      }
    }
    return covering
  }

  /// - Parameter bytes: of the whole stretch.
  /// - Returns: those of one frame in it.
  func sealed(_ record: FrameRecord, in bytes: [UInt8]) -> ArraySlice<UInt8> {
    let start = record.offset - range.lowerBound
    return bytes[start..<start + Int(record.sealedLength)]
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

extension Directory {
  /// How to fetch some of the frames.
  /// - Parameter wanted: their indices, ascending; those that there are not are passed over.
  func stretches(of wanted: [Int]) -> [(stretch: Stretch, frames: [Int])] {
    Stretch.covering(wanted.filter(frames.indices.contains)) { frames[$0].sealedRange }
  }
}
