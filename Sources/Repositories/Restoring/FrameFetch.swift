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

  private let packs: OpenPacks

  init(_ packs: OpenPacks) { self.packs = packs }

  /// - Returns: ciphertext and tag of each frame; neighbours share memory, but none holds what nobody wants.
  /// - Throws: `.damaged` when a pack is missing or cut; `StoreError`.
  func fetch(_ frames: [Frame]) async throws -> [FramePlace: ArraySlice<UInt8>] {
    let requests = Self.requests(for: frames)
    let answers = try await bounded(requests, atOnce: packs.repository.store.traits.concurrency) { [packs] request in
      let range = request.stretch.range
      let bytes = try await packs.repository.part(range, of: request.frames[0].entry, chain: packs.chain)
      return request.frames.map { frame in
        let start = frame.record.offset - range.lowerBound
        let sealed = bytes[start..<start + Int(frame.record.sealedLength)]
        return request.stretch.isThin ? ArraySlice(Array(sealed)) : sealed
      }
    }
    var sealed: [FramePlace: ArraySlice<UInt8>] = [:]
    sealed.reserveCapacity(frames.count)
    for (request, bytes) in zip(requests, answers) {
      for (frame, bytes) in zip(request.frames, bytes) { sealed[frame.place] = bytes }
    }
    return sealed
  }

  private struct Request: Sendable {
    /// Of one pack, ascending.
    var frames: [Frame]
    var stretch: Stretch
  }

  private static func requests(for frames: [Frame]) -> [Request] {
    var requests: [Request] = []
    for frame in frames.sorted(by: { $0.place < $1.place }) {
      let range = frame.record.offset..<frame.record.offset + Int(frame.record.sealedLength)
      let last = requests.count - 1
      if last >= 0, requests[last].frames[0].place.pack == frame.place.pack, requests[last].stretch.take(range) {
        requests[last].frames.append(frame)
      } else {
        requests.append(Request(frames: [frame], stretch: Stretch(range)))
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
