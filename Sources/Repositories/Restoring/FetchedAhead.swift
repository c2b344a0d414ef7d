import Sealing

/// What a wave fetches of packs, and what comes along for later waves.
///
/// The deltas of a push lie together in its packs, a few kilobytes each, and are wanted all over the member: each wave
/// wants some of them. One by one each would cost a request. So where a wave wants little of a pack, what is wanted behind it
/// comes along, and lies sealed in a scratch file until its wave is decoded.
struct FetchedAhead {
  /// Where a wave wants more than this of a pack, nothing comes along.
  private static let little = 256 << 10
  /// The scratch file gets no longer.
  private static let room = 32 << 20
  private var slots: ScratchSlots

  /// - Parameter wavesAhead: so many waves are fetched while one is decoded: a place may be read until then.
  init(wavesAhead: Int) { slots = ScratchSlots(grain: 1 << 10, limit: Self.room, waves: wavesAhead + 1) }

  /// Gives back the place of a frame that is in the wave which is being made.
  mutating func release(_ place: Int) { slots.release([place]) }

  mutating func closeWave() { slots.closeWave() }

  /// - Parameters:
  ///   - frames: that the wave wants and that did not come along with an earlier one.
  ///   - budget: bytes that may come along.
  ///   - directory: of a pack, if it is at hand.
  ///   - isWantedLater: whether a frame is in no wave yet, nor came along, and will be in one.
  ///   - note: told where each frame that comes along is put.
  mutating func requests(
    for frames: [FrameFetch.Frame], budget: Int, directory: (UInt32) -> TabledDirectory?,
    isWantedLater: (FramePlace) -> Bool, note: (FramePlace, Int) -> Void
  ) -> [FrameFetch.Request] {
    var budget = budget
    let packs = FrameFetch.byPack(frames)
      .map { (frames: $0, bytes: $0.reduce(0) { $0 + Int($1.record.sealedLength) }) }
      .sorted { $0.bytes < $1.bytes }
    return packs.flatMap { frames, bytes in
      var parts = frames.map { FrameFetch.Part(frame: $0, ahead: nil) }
      if bytes < Self.little, budget > 0, let directory = directory(frames[0].place.pack) {
        parts = behind(frames, in: directory, &budget, isWantedLater, note)
      }
      return FrameFetch.requests(for: parts)
    }
  }

  /// The frames of one pack that are wanted now, and what comes along behind the first of them, in order.
  private mutating func behind(
    _ frames: [FrameFetch.Frame], in directory: TabledDirectory, _ budget: inout Int,
    _ isWantedLater: (FramePlace) -> Bool, _ note: (FramePlace, Int) -> Void
  ) -> [FrameFetch.Part] {
    var parts: [FrameFetch.Part] = []
    var own = frames[...]
    var end = frames[0].record.offset
    for index in Int(frames[0].place.frame)..<directory.frames.count {
      let range = directory.frames.sealedRange(of: index)
      if let next = own.first, Int(next.place.frame) == index {
        parts.append(FrameFetch.Part(frame: own.removeFirst(), ahead: nil))
        end = range.upperBound
        continue
      }
      let isNear = range.lowerBound - end <= Stretch.gap
      guard isNear || !own.isEmpty else { break }
      let place = FramePlace(pack: frames[0].place.pack, frame: UInt32(index))
      guard isNear, range.count <= budget, isWantedLater(place), let slot = slots.take(range.count) else { continue }
      note(place, slot)
      budget -= range.count
      let (entry, keys) = (frames[0].entry, frames[0].keys)
      let frame = FrameFetch.Frame(place: place, record: directory.frames[index], entry: entry, keys: keys)
      parts.append(FrameFetch.Part(frame: frame, ahead: slot))
      end = range.upperBound
    }
    return parts
  }
}
