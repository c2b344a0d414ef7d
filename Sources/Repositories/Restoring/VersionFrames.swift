import Sealing
import Storage

/// The frames of a version: those of its packs, and the manifest's own.
struct VersionFrames: Sendable {
  struct Frame: Sendable {
    let place: FramePlace
    let record: FrameRecord
    /// What fetches and opens it; `nil` for a frame of the manifest, which is at hand.
    let packed: FrameFetch.Frame?
    /// Where each run of `record.bases` lies.
    let bases: [FramePlace]
  }

  let manifest: StoredManifest
  let packs: OpenPacks

  /// - Throws: `.damaged` when there is no such frame; `SealError`; `StoreError`.
  func frame(_ place: FramePlace) async throws -> Frame {
    if let frame = try frameAtHand(place) { return frame }
    return try frame(place, of: try await packs.open(place.pack))
  }

  /// How many frames a pack of the version has.
  /// - Throws: as of `frame`.
  func frameCount(of pack: UInt32) async throws -> Int {
    guard pack != UnitLocation.thisObject else { return manifest.object.directory.frames.count }
    return try await packs.open(pack).directory.frames.count
  }

  /// The frame, unless its directory has to be read first.
  func frameAtHand(_ place: FramePlace) throws -> Frame? {
    if place.pack != UnitLocation.thisObject { return try packs.kept(place.pack).map { try frame(place, of: $0) } }
    guard manifest.object.directory.frames.indices.contains(Int(place.frame)) else {
      throw RepositoryError(.damaged, "a map points outside the manifest")
    }
    let record = manifest.object.directory.frames[Int(place.frame)]
    let bases = try bases(of: record, from: manifest.object.directory.basePacks, pack: place.pack)
    return Frame(place: place, record: record, packed: nil, bases: bases)
  }

  /// The frame before (-1) or after (1) that one in its pack, if it rests on nothing; `nil` at the pack's end, and where
  /// its directory has to be read first. What a delta rests on may be no business of this version.
  func wholeFrameAtHand(beside place: FramePlace, _ direction: Int) throws -> Frame? {
    let index = Int(place.frame) + direction
    guard place.pack != UnitLocation.thisObject, let pack = packs.kept(place.pack),
      pack.directory.frames.indices.contains(index)
    else { return nil }
    let packed = try pack.frame(FramePlace(pack: place.pack, frame: UInt32(index)))
    return packed.record.bases.isEmpty
      ? Frame(place: packed.place, record: packed.record, packed: packed, bases: []) : nil
  }

  /// The units of the frame, joined.
  /// - Parameters:
  ///   - sealed: as fetched; not needed for a frame of the manifest.
  ///   - prefix: the base units, joined; `nil` for a frame that rests on nothing.
  ///   - proving: as of `FrameDecoder.decode`.
  func decode(
    _ frame: Frame, _ sealed: ArraySlice<UInt8>?, prefix: [UInt8]?, with decoder: FrameDecoder, proving: Bool
  ) throws -> [UInt8] {
    guard let packed = frame.packed else {
      return try manifest.object.decodeFrame(
        Int(frame.place.frame), with: decoder, prefix: prefix, proving: proving)
    }
    return try packed.decode(sealed ?? [], with: decoder, prefix: prefix, proving: proving)
  }

  private func frame(_ place: FramePlace, of pack: OpenPacks.Pack) throws -> Frame {
    let packed = try pack.frame(place)
    let bases = try bases(of: packed.record, from: pack.directory.basePacks, pack: place.pack)
    return Frame(place: place, record: packed.record, packed: packed, bases: bases)
  }

  /// - Parameter basePacks: as the directory names them that the frame stands in.
  private func bases<BasePacks: RandomAccessCollection>(
    of record: FrameRecord, from basePacks: BasePacks, pack: UInt32
  ) throws -> [FramePlace] where BasePacks.Element == Digest, BasePacks.Index == Int {
    try record.bases.map { run in
      guard let index = run.pack else { return FramePlace(pack: pack, frame: run.frame) }
      let name = basePacks[Int(index)]
      guard let base = packs.table[name] else {
        throw RepositoryError(.damaged, "a delta rests on pack \(name.hex.prefix(12)), which is not in the pack table")
      }
      return FramePlace(pack: base.number, frame: run.frame)
    }
  }
}

extension OpenPacks {
  /// - Throws: `.damaged` when there is no such frame.
  func frame(_ place: FramePlace) async throws -> FrameFetch.Frame {
    if let pack = kept(place.pack) { return try pack.frame(place) }
    return try await open(place.pack).frame(place)
  }
}

extension OpenPacks.Pack {
  func frame(_ place: FramePlace) throws -> FrameFetch.Frame {
    guard directory.frames.indices.contains(Int(place.frame)) else {
      throw PackFrames.missing(Int(place.frame), entry)
    }
    return FrameFetch.Frame(place: place, record: directory.frames[Int(place.frame)], entry: entry, keys: keys)
  }
}

/// A frame that was decoded.
struct DecodedFrame: Sendable {
  let record: FrameRecord
  let plain: [UInt8]
}

extension FrameRecord {
  /// Where the units of a run lie in this decoded frame, in bytes, as bases of `other`.
  /// - Throws: `.damaged` when they are not there, of another type, or, for pages, of another length.
  func range(of run: BaseRun, like other: FrameRecord) throws -> Range<Int> {
    let first = Int(run.firstUnit)
    let last = first + Int(run.count) - 1
    guard run.count > 0, last < unitLengths.count, type == other.type,
      type != .page || unitLengths[first] == other.unitLengths[0]
    else { throw RepositoryError(.damaged, "a delta names bases that cannot be its own") }
    return unitOffset(first)..<unitOffset(last) + unitLengths[last]
  }

  static func tooDeep() -> RepositoryError {
    RepositoryError(.damaged, "a delta rests on more than \(Limits.depth) others")
  }
}
