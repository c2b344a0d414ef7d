import Sealing
import Storage

/// Fetches the sealed bytes of many frames by few ranged requests, in parallel.
struct FrameFetch: Sendable {
  /// A frame of a pack, and what opens it.
  struct Frame: Sendable {
    let place: FramePlace
    let record: FrameRecord
    let entry: PackEntry
    let keys: ObjectKeys
  }

  /// Frames that lie this close are fetched together: what lies between costs less than another request.
  private static let gap = 128 << 10
  private static let requestLimit = 8 << 20

  private let packs: OpenPacks

  init(_ packs: OpenPacks) { self.packs = packs }

  /// - Returns: ciphertext and tag of each frame; neighbours share memory.
  /// - Throws: `.damaged` when a pack is missing or cut; `StoreError`.
  func fetch(_ frames: [Frame]) async throws -> [FramePlace: ArraySlice<UInt8>] {
    let requests = Self.requests(for: frames)
    let answers = try await bounded(requests, atOnce: packs.repository.store.traits.concurrency) { [packs] request in
      try await packs.repository.part(request.range, of: request.frames[0].entry, chain: packs.chain)
    }
    var sealed: [FramePlace: ArraySlice<UInt8>] = [:]
    sealed.reserveCapacity(frames.count)
    for (request, bytes) in zip(requests, answers) {
      for frame in request.frames {
        let start = frame.record.offset - request.range.lowerBound
        sealed[frame.place] = bytes[start..<start + Int(frame.record.sealedLength)]
      }
    }
    return sealed
  }

  private struct Request: Sendable {
    /// Of one pack, ascending.
    var frames: [Frame]
    var range: Range<Int>
  }

  private static func requests(for frames: [Frame]) -> [Request] {
    var requests: [Request] = []
    for frame in frames.sorted(by: { $0.place < $1.place }) {
      let range = frame.record.offset..<frame.record.offset + Int(frame.record.sealedLength)
      if let last = requests.last, last.frames[0].place.pack == frame.place.pack,
        range.lowerBound - last.range.upperBound <= gap, range.upperBound - last.range.lowerBound <= requestLimit
      {
        requests[requests.count - 1].frames.append(frame)
        requests[requests.count - 1].range = last.range.lowerBound..<range.upperBound
      } else {
        requests.append(Request(frames: [frame], range: range))
      }
    }
    return requests
  }
}

extension FrameFetch.Frame {
  /// - Parameters:
  ///   - prefix: the base units of a delta frame, joined.
  ///   - proving: as of `FrameDecoder.decode`.
  func decode(
    _ sealed: ArraySlice<UInt8>, with decoder: FrameDecoder, prefix: [UInt8]?, proving: Bool = true
  ) throws -> [UInt8] {
    try PackFrames.naming(entry) {
      try decoder.decode(
        sealed, record: record, index: Int(place.frame), objectKeys: keys, prefix: prefix, proving: proving)
    }
  }
}
