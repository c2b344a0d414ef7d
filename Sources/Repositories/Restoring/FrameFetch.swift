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

  /// A frame that is fetched.
  struct Part: Sendable {
    let frame: Frame
    /// Where it is put in the scratch file, if it comes along for a later wave.
    let ahead: Int?
  }

  /// What one request fetches.
  struct Request: Sendable {
    let stretch: Stretch
    let parts: [Part]
  }

  private let packs: OpenPacks

  init(_ packs: OpenPacks) { self.packs = packs }

  /// - Returns: ciphertext and tag of each frame; neighbours share memory, but none holds what nobody wants.
  /// - Throws: `.damaged` when a pack is missing or cut; `StoreError`.
  func fetch(_ frames: [Frame]) async throws -> [FramePlace: ArraySlice<UInt8>] {
    try await fetch(Self.byPack(frames).flatMap { Self.requests(for: $0.map { Part(frame: $0, ahead: nil) }) })
  }

  /// - Parameter scratch: what comes along is put there. Where that fails, whoever reads it there finds that it does not open.
  /// - Returns: as of the other, without what comes along.
  func fetch(
    _ requests: [Request], puttingAhead scratch: ScratchFile? = nil
  ) async throws -> [FramePlace: ArraySlice<UInt8>] {
    let answers = try await bounded(requests, atOnce: packs.repository.store.traits.concurrency) { request in
      try await answer(to: request, puttingAhead: scratch)
    }
    var sealed: [FramePlace: ArraySlice<UInt8>] = [:]
    for (place, bytes) in answers.joined() { sealed[place] = bytes }
    return sealed
  }

  private func answer(
    to request: Request, puttingAhead scratch: ScratchFile?
  ) async throws -> [(FramePlace, ArraySlice<UInt8>)] {
    let stretch = request.stretch
    let own = request.parts.filter { $0.ahead == nil }
    let bytes: [UInt8]
    do {
      bytes = try await packs.repository.part(
        stretch.range, of: request.parts[0].frame.entry, chain: packs.chain)
    } catch let error where error.isUnreadable && (own.isEmpty || request.parts.count > 1) {
      // The bad sector may lie in what comes along, or in what nobody wants.
      return try await each(of: own)
    }
    let isShared = own.count == request.parts.count && !stretch.isThin
    for part in request.parts {
      guard let slot = part.ahead else { continue }
      try? scratch?.write(Array(stretch.sealed(part.frame.record, in: bytes)), at: slot)
    }
    return own.map { part in
      let sealed = stretch.sealed(part.frame.record, in: bytes)
      return (part.frame.place, isShared ? sealed : ArraySlice(Array(sealed)))
    }
  }

  /// Each by itself. What was to come along is left out: whatever lies in its place opens with no other frame's key and
  /// number, so its wave finds that and asks for it.
  private func each(of parts: [Part]) async throws -> [(FramePlace, ArraySlice<UInt8>)] {
    var sealed: [(FramePlace, ArraySlice<UInt8>)] = []
    for part in parts {
      let frame = part.frame
      let bytes = try await packs.repository.part(frame.record.sealedRange, of: frame.entry, chain: packs.chain)
      sealed.append((frame.place, bytes[...]))
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

  /// Those of each pack together, ascending.
  static func byPack(_ frames: [Frame]) -> [[Frame]] {
    Dictionary(grouping: frames, by: \.place.pack).sorted { $0.key < $1.key }
      .map { $0.value.sorted { $0.place < $1.place } }
  }

  /// - Parameter parts: of one pack, ascending.
  static func requests(for parts: [Part]) -> [Request] {
    Stretch.covering(parts) { $0.frame.record.sealedRange }.map { Request(stretch: $0.stretch, parts: $0.frames) }
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
