import Sealing

/// Which units of which frames go where in a member, in the order the frames are read.
///
/// Frames are read in the order of the first unit they bring: a delta frame lies beside the whole frames it rests on,
/// which mostly bring units for the same part of the member, so each is decoded once. Nothing here grows with the
/// database in anonymous memory: 16 bytes a run and 12 a frame in nameless files.
final class RestorePlan: Sendable {
  /// Units of a frame that lie one after the other there and in the member.
  struct Demand: BitwiseCopyable {
    let pack: UInt32
    let frame: UInt32
    let firstUnit: UInt16
    let count: UInt16
    let memberUnit: UInt32
  }

  struct WantedFrame: BitwiseCopyable {
    let place: FramePlace
    /// The least unit of the member that it brings.
    let memberUnit: UInt32
  }

  private let demands: FileTable<Demand>
  let frames: FileTable<WantedFrame>

  /// - Parameter demands: of the whole member; taken over, and sorted.
  /// - Throws: `.stateFolder`.
  init(_ demands: FileTable<Demand>, in folder: String) throws {
    self.demands = demands
    demands.sort { DemandOrder($0) }
    frames = try Self.frames(of: demands, in: folder)
    frames.sort { $0.memberUnit }
  }

  /// What is wanted of a frame; nothing of many a base.
  func demands(of place: FramePlace) -> [Demand] {
    var index = firstDemand(of: place)
    var found: [Demand] = []
    while index < demands.count, demands[index].place == place {
      found.append(demands[index])
      index += 1
    }
    return found
  }

  /// Whether anything is wanted of a frame.
  func wants(_ place: FramePlace) -> Bool {
    let index = firstDemand(of: place)
    return index < demands.count && demands[index].place == place
  }

  /// Where the demands of a frame begin, or would.
  private func firstDemand(of place: FramePlace) -> Int {
    var (low, high) = (0, demands.count)
    while low < high {
      let middle = (low + high) / 2
      if demands[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func frames(of demands: FileTable<Demand>, in folder: String) throws -> FileTable<WantedFrame> {
    var count = 0
    for index in 0..<demands.count where index == 0 || demands[index].place != demands[index - 1].place { count += 1 }
    let frames = try FileTable<WantedFrame>(capacity: count, in: folder)
    for index in 0..<demands.count where frames.last?.place != demands[index].place {
      frames.append(WantedFrame(place: demands[index].place, memberUnit: demands[index].memberUnit))
    }
    return frames
  }
}

/// A frame of a version: a number of its pack table, or 0 for the manifest; and the frame's index there.
struct FramePlace: BitwiseCopyable, Hashable, Comparable {
  let pack: UInt32
  let frame: UInt32

  static func < (left: Self, right: Self) -> Bool { (left.pack, left.frame) < (right.pack, right.frame) }
}

extension RestorePlan.Demand {
  var place: FramePlace { FramePlace(pack: pack, frame: frame) }
}

/// Demands of one frame together, in the order of the member.
private struct DemandOrder: Comparable {
  let frame: UInt64
  let memberUnit: UInt32

  init(_ demand: RestorePlan.Demand) {
    frame = UInt64(demand.pack) << 32 | UInt64(demand.frame)
    memberUnit = demand.memberUnit
  }

  static func < (left: Self, right: Self) -> Bool { (left.frame, left.memberUnit) < (right.frame, right.memberUnit) }
}
