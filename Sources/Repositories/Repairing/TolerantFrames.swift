import Sealing
import Storage

/// Decodes frames of a version one by one, and goes on where one is lost. A pack of which several are asked for is fetched
/// whole, and kept; of others, where bases from anywhere lie, a frame is fetched by itself.
struct TolerantFrames {
  private static let packsKept = 3
  private static let framesAlone = 3

  let frames: VersionFrames
  /// Of the version's members.
  let map: MapReader
  private let sources: SalvageSources?
  private let state: StateFolder
  private let decoder: FrameDecoder
  /// Decoded frames that others rest on, and where they lie.
  private let bases: ScratchFile
  private var slots: [FramePlace: Int] = [:]
  private var end = 0
  private var lost: Set<FramePlace> = []
  /// Packs that were fetched whole, of this version or of others.
  private let fetched: FetchedPacks
  /// Those used last that are not kept there, such as what is damaged; the last one comes last.
  private var packs: [(number: UInt32, bytes: [UInt8])] = []
  /// Frames that were fetched by themselves, by pack.
  private var alone: [UInt32: Int] = [:]
  /// Packs that cannot be read whole: of a bad sector only the frames are lost that lie in it.
  private var byRangeOnly: Set<UInt32> = []
  /// Packs of which the target gives nothing, though it shows them.
  private var refused: Set<UInt32> = []
  /// Packs whose directory it does not give: nothing says what lies where in them.
  private var closed: Set<UInt32> = []
  /// The directory that was asked for last.
  private var looked: (pack: UInt32, directory: Directory)?
  /// Packs in which a frame cannot be had that should be, though all that it rests on can.
  private(set) var spoilt: Set<Digest> = []
  /// A frame is lost, and its units were had elsewhere: what was decoded is not all as the target has it.
  private(set) var standsIn = false

  /// - Parameters:
  ///   - sources: a frame all of whose units are found there is as good as at hand, and what rests on it can be decoded.
  ///   - nodes: frames of maps that are lost are noted there, and asked for no more.
  ///   - fetched: packs that are fetched whole are kept there.
  /// - Throws: `.stateFolder`.
  init(
    _ frames: VersionFrames, from sources: SalvageSources?, noting nodes: LostNodes? = nil,
    keeping fetched: FetchedPacks, state: StateFolder, in folder: String
  ) throws(RepositoryError) {
    self.frames = frames
    self.fetched = fetched
    map = MapReader(manifest: frames.manifest, packs: frames.packs, noting: nodes)
    self.sources = sources
    self.state = state
    decoder = FrameDecoder(keys: frames.packs.repository.keys)
    bases = try ScratchFile(in: folder)
  }

  /// - Returns: `nil` when the frame, or what it rests on, is lost.
  /// - Throws: `StoreError`, `.stateFolder`.
  mutating func content(of place: FramePlace) async throws -> DecodedFrame? {
    try await content(of: place, above: 0)
  }

  /// What is known of the units of a frame that is lost: its directory may still be there, or kept on this machine.
  mutating func fingerprints(of place: FramePlace) async throws -> [Fingerprint]? {
    guard let frame = try await frame(place) else { return nil }
    guard let entry = frame.packed?.entry else { return frame.record.fingerprints }
    guard let directory = try await directory(of: entry), directory.frames.indices.contains(Int(place.frame)) else {
      return nil
    }
    guard frame.record.codec.hasPrefix else { return directory.frames[Int(place.frame)].fingerprints }
    guard let list = UnitList.kept(of: entry.name, in: state) else { return nil }
    let before = directory.frames.prefix(Int(place.frame)).filter { $0.codec.hasPrefix }
    let start = before.reduce(0) { $0 + 16 * $1.unitLengths.count }
    let end = start + 16 * frame.record.unitLengths.count
    guard end <= list.count else { return nil }
    let prints = list.withUnsafeBytes { list in
      stride(from: start, to: end, by: 16).map { Fingerprint(list, at: $0) }
    }
    return FrameRecord.frameID(of: prints) == frame.record.frameID ? prints : nil
  }

  /// With the fingerprints of units. Frames that are lost mostly lie in one pack.
  private mutating func directory(of entry: PackEntry) async throws -> Directory? {
    if let looked, looked.pack == entry.number { return looked.directory }
    let (repository, chain) = (frames.packs.repository, frames.packs.chain)
    do {
      let directory = try await repository.directory(of: entry, chain: chain, state: state)
      looked = (entry.number, directory)
      return directory
    } catch let error where error.isDamage {
      return nil
    }
  }

  private mutating func content(of place: FramePlace, above: Int) async throws -> DecodedFrame? {
    guard above <= Limits.depth, !lost.contains(place), let frame = try await frame(place) else { return nil }
    if let slot = slots[place] {
      let plain = try bases.read([slot..<slot + frame.record.plaintextLength])
      return DecodedFrame(record: frame.record, plain: plain)
    }
    if let decoded = try await decode(frame, above: above) { return decoded }
    if let units = try await unitsElsewhere(of: frame) { return DecodedFrame(record: frame.record, plain: units) }
    lost.insert(place)
    return nil
  }

  /// All units of a lost frame, joined, where each of them is found elsewhere.
  private mutating func unitsElsewhere(of frame: VersionFrames.Frame) async throws -> [UInt8]? {
    guard let sources, frame.record.type != .node, let prints = try await fingerprints(of: frame.place) else {
      return nil
    }
    var joined: [UInt8] = []
    for print in prints {
      guard let unit = try await sources.unit(print, frame.record.type) else { return nil }
      joined += unit
    }
    guard joined.count == frame.record.plaintextLength else { return nil }
    standsIn = true
    return joined
  }

  private mutating func decode(_ frame: VersionFrames.Frame, above: Int) async throws -> DecodedFrame? {
    guard !refused.contains(frame.place.pack) else { return nil }
    var prefix: [UInt8] = []
    for (run, base) in zip(frame.record.bases, frame.bases) {
      guard let below = try await content(of: base, above: above + 1),
        let range = try? below.record.range(of: run, like: frame.record)
      else { return nil }
      if slots[base] == nil {
        try bases.write(below.plain, at: end)
        slots[base] = end
        end += below.plain.count
      }
      prefix += below.plain[range]
      guard prefix.count <= Limits.prefix else { return nil }
    }
    if let decoded = try await decode(frame, on: frame.bases.isEmpty ? nil : prefix) { return decoded }
    if let pack = frame.packed?.entry.name { spoilt.insert(pack) }
    return nil
  }

  /// - Parameter joined: what it rests on.
  private mutating func decode(_ frame: VersionFrames.Frame, on joined: [UInt8]?) async throws -> DecodedFrame? {
    switch try await sealedAlone(frame) {
    case .given(let sealed): if let opened = try open(frame, sealed, joined) { return opened }
    // With all of its pack it may be given; by itself it is not asked for again.
    case .refused: guard try await isGivenWhole(frame) else { return nil }
    case .notAsked: break
    }
    // A part of a pack has no hash: one bad answer says nothing of the frame.
    guard let sealed = try await sealed(frame) else { return nil }
    return try open(frame, sealed, joined)
  }

  private func open(
    _ frame: VersionFrames.Frame, _ sealed: ArraySlice<UInt8>, _ prefix: [UInt8]?
  ) throws -> DecodedFrame? {
    let plain = try unlessDamaged { try frames.decode(frame, sealed, prefix: prefix, with: decoder, proving: true) }
    return plain.map { DecodedFrame(record: frame.record, plain: $0) }
  }

  private mutating func frame(_ place: FramePlace) async throws -> VersionFrames.Frame? {
    guard !closed.contains(place.pack) else { return nil }
    do {
      return try await frames.frame(place)
    } catch let error where error.isDamage {
      if error.isUnreadable { closed.insert(place.pack) }
      return nil
    }
  }

  /// What comes of asking for a frame by itself.
  private enum Alone {
    case given(ArraySlice<UInt8>)
    /// The target shows the pack, and does not give this part of it.
    case refused
    /// The pack is at hand, or several of it were fetched so, or it is not there.
    case notAsked
  }

  private mutating func sealedAlone(_ frame: VersionFrames.Frame) async throws -> Alone {
    guard let packed = frame.packed else { return .notAsked }
    let pack = packed.place.pack
    if byRangeOnly.contains(pack) { return try await part(of: packed) }
    let isAtHand = packs.contains { $0.number == pack } || fetched.holds(packed.entry.name)
    guard !isAtHand, alone[pack, default: 0] < Self.framesAlone else { return .notAsked }
    alone[pack, default: 0] += 1
    return try await part(of: packed)
  }

  private func part(of frame: FrameFetch.Frame) async throws -> Alone {
    let (range, chain) = (frame.record.sealedRange, frames.packs.chain)
    do {
      return .given(try await frames.packs.repository.part(range, of: frame.entry, chain: chain)[...])
    } catch let error where error.isDamage {
      return error.isUnreadable ? .refused : .notAsked
    }
  }

  private mutating func sealed(_ frame: VersionFrames.Frame) async throws -> ArraySlice<UInt8>? {
    guard let packed = frame.packed else { return [] }
    if let part = try await partOfWhole(packed) { return part.count == packed.record.sealedRange.count ? part : nil }
    guard case .given(let sealed) = try await part(of: packed) else { return nil }
    return sealed
  }

  private mutating func isGivenWhole(_ frame: VersionFrames.Frame) async throws -> Bool {
    guard let packed = frame.packed else { return false }
    return try await partOfWhole(packed) != nil
  }

  /// A frame of a pack that is fetched with all of it, as far as it is there; `nil` where the pack is, and cannot be read
  /// whole.
  private mutating func partOfWhole(_ frame: FrameFetch.Frame) async throws -> ArraySlice<UInt8>? {
    let (pack, range) = (frame.place.pack, frame.record.sealedRange)
    guard !byRangeOnly.contains(pack) else { return nil }
    guard !refused.contains(pack) else { return [] }
    if let kept = try fetched.part(range, of: frame.entry.name) { return kept[...] }
    guard let bytes = try await bytes(of: frame) else { return byRangeOnly.contains(pack) ? nil : [] }
    return range.upperBound <= bytes.count ? bytes[range] : []
  }

  /// The whole pack, or what is there of it; `nil` where it is, and is not given.
  private mutating func bytes(of frame: FrameFetch.Frame) async throws -> [UInt8]? {
    let pack = frame.place.pack
    if let index = packs.firstIndex(where: { $0.number == pack }) {
      packs.append(packs.remove(at: index))
      return packs[packs.count - 1].bytes
    }
    let name = Layout.pack(frame.entry.name, of: frames.packs.chain)
    let bytes: [UInt8]
    do throws(StoreError) {
      bytes = try await frames.packs.repository.store.present(name) ?? []
    } catch {
      guard error.code == .unreadable else { throw error }
      if try await isGivenInParts(frame.entry) { byRangeOnly.insert(pack) } else { refused.insert(pack) }
      return nil
    }
    guard try !fetched.keep(bytes, of: frame.entry.name) else { return bytes }
    packs.append((pack, bytes))
    if packs.count > Self.packsKept { alone[packs.removeFirst().number] = 0 }
    return bytes
  }

  /// Whether the target gives anything of a pack that it does not give whole: of three bytes far apart, a bad sector
  /// takes one. Where all are refused, to ask for every frame would only take its time.
  private func isGivenInParts(_ pack: PackEntry) async throws -> Bool {
    let length = Int(pack.length)
    for place in [0, length / 2, length - 1] {
      do {
        _ = try await frames.packs.repository.part(place..<place + 1, of: pack, chain: frames.packs.chain)
        return true
      } catch let error where error.isDamage {
        guard error.isUnreadable else { return true }
      }
    }
    return false
  }
}
