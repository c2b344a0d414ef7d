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
      let stretch = request.stretch
      let bytes = try await packs.repository.part(
        stretch.range, of: request.frames[0].entry, chain: packs.chain)
      return request.frames.map { frame in
        let sealed = stretch.sealed(frame.record, in: bytes)
        return stretch.isThin ? ArraySlice(Array(sealed)) : sealed
      }
    }
    var sealed: [FramePlace: ArraySlice<UInt8>] = [:]
    sealed.reserveCapacity(frames.count)
    for (request, bytes) in zip(requests, answers) {
      for (frame, bytes) in zip(request.frames, bytes) { sealed[frame.place] = bytes }
    }
    return sealed
  }

  /// The same, opened. What does not open is fetched once more: one bad answer says nothing of a pack.
  func fetch<Opened>(
    _ frames: [Frame], opening open: (Frame, ArraySlice<UInt8>) throws -> Opened
  ) async throws -> [FramePlace: Opened] {
    var opened: [FramePlace: Opened] = [:]
    var spoilt: [Frame] = []
    for (frame, sealed) in try await pairs(frames) {
      do { opened[frame.place] = try open(frame, sealed) } catch let problem as SealError where problem.isDamage {
        spoilt.append(frame)
      }
    }
    for (frame, sealed) in try await pairs(spoilt) { opened[frame.place] = try open(frame, sealed) }
    return opened
  }

  private func pairs(_ frames: [Frame]) async throws -> [(Frame, ArraySlice<UInt8>)] {
    let sealed = try await fetch(frames)
    return frames.compactMap { frame in sealed[frame.place].map { (frame, $0) } }
  }

  /// By pack, ascending.
  private static func requests(for frames: [Frame]) -> [(stretch: Stretch, frames: [Frame])] {
    let byPack = Dictionary(grouping: frames, by: \.place.pack).sorted { $0.key < $1.key }
    return byPack.flatMap { _, frames in
      Stretch.covering(frames.sorted { $0.place < $1.place }) { $0.record.sealedRange }
    }
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
