import Sealing

/// Follows one version from its manifest through table and maps to every frame it needs, and says what of that is not as
/// it must be. Nothing is fetched: directories and nodes were read before.
struct VersionWalk {
  let manifest: StoredManifest
  private let core: Core
  private let frames: ChainFrames
  private let spool: ScratchSpool
  private let marks: FrameMarks
  /// Of every unit that was proved; `nil` when only the structure is looked at.
  private let fingerprints: FileTable<UInt8>?
  private let own: UInt32
  private let keys: SealingKeys
  private var table: [UInt32: UInt32] = [:]
  private var inTable: Set<UInt32> = []

  /// Objects that are lost or damaged, and needed.
  private(set) var harm: Set<UInt32> = []
  /// The database, which is the first member, needs none of that: what is harmed came with it.
  private(set) var sparesDatabase = false
  /// What the manifest, or a map, says that cannot be.
  private(set) var wrong: String?
  /// Its pack table is of a later format.
  private(set) var isLater = false
  private var isTooDeep = false
  private(set) var cost = Cost()

  struct Cost {
    var decoded = 0
    var fetched = 0
    var wholeDecoded = 0
    var wholeFetched = 0
    /// Bytes of units that are not zeros.
    var content = 0
    var length = 0
  }

  /// - Parameter own: the number of the manifest's own object.
  init(
    _ manifest: StoredManifest, _ core: Core, own: UInt32, frames: ChainFrames, spool: ScratchSpool, marks: FrameMarks,
    fingerprints: FileTable<UInt8>?, keys: SealingKeys
  ) {
    self.manifest = manifest
    self.core = core
    self.own = own
    self.frames = frames
    self.spool = spool
    self.marks = marks
    self.fingerprints = fingerprints
    self.keys = keys
    marks.begin()
  }

  /// - Throws: `.stateFolder`.
  mutating func follow(_ table: PackTableLook) throws {
    harm = table.lost
    wrong = table.wrong
    isLater = table.isLater
    isTooDeep = false
    guard harm.isEmpty, wrong == nil, !isLater else { return }
    for entry in table.entries {
      let object = frames.intern(entry.name)
      self.table[entry.number] = object
      inTable.insert(object)
    }
    let files = core.members.compactMap(\.file)
    guard files.count == manifest.body.maps.count else { return note("the manifest has a map too few or too many") }
    for (index, (file, root)) in zip(files, manifest.body.maps).enumerated() {
      try follow(file, root)
      if index == 0 { sparesDatabase = harm.isEmpty && wrong == nil && core.members.first?.file != nil }
    }
  }

  private mutating func follow(_ file: Core.FileContent, _ root: ManifestBody.MapRoot) throws {
    var walk = MemberWalk(file: file, digest: fingerprints == nil ? nil : RunningDigest())
    guard PageMap.depth(units: Int(file.unitCount)) == root.depth else { return note("a map has the wrong depth") }
    if root.depth > 0 { try descend(root.location, level: root.depth - 1, units: Int(file.unitCount), &walk) }
    cost.length = [cost.length, Int(file.length)].clampedSum
    guard let digest = walk.digest, harm.isEmpty, wrong == nil else { return }
    if digest.finish() != file.imageDigest { note("what its maps lead to is not what was pushed: the digests differ") }
  }

  /// One member on its way.
  private struct MemberWalk {
    let file: Core.FileContent
    /// Over the fingerprints so far; `nil` when they are not all known.
    var digest: RunningDigest?
    var unit = 0
    var ofZeros: (length: Int, print: [UInt8])?

    /// Length of the unit that comes next.
    func length(after units: Int) -> Int {
      min(Int(file.unitSize), Int(file.length) - (unit + units) * Int(file.unitSize))
    }
  }

  /// - Parameter units: that the node must cover.
  private mutating func descend(
    _ location: Location, level: UInt8, units: Int, _ walk: inout MemberWalk
  ) throws {
    guard wrong == nil else { return }
    guard let node = try node(at: location) else {
      walk.unit += units
      walk.digest = nil
      return
    }
    do {
      if level == 0 { return try followLeaf(MapLeaf(decoding: node), units, &walk) }
      let branch = try MapBranch(decoding: node)
      var below = PageMap.unitsPerLeaf
      for _ in 1..<level { below *= PageMap.childrenPerBranch }
      guard branch.level == level, branch.children.count == (units + below - 1) / below else {
        return note("a map does not cover its member")
      }
      for (index, child) in branch.children.enumerated() {
        try descend(child, level: level - 1, units: min(below, units - index * below), &walk)
      }
    } catch let error as SealError where error.isDamage {
      note(error.message)
    }
  }

  /// The bytes of a node, or `nil` when it is lost, or not there.
  private mutating func node(at location: Location) throws -> [UInt8]? {
    guard let object = object(location.pack) else { return nil }
    guard let ordinal = frames.ordinal(object, location.frame) else {
      noteMissing(object, "a map points at a frame that is not there")
      return nil
    }
    let frame = frames[ordinal]
    guard frame.isNode, Int(location.unit) < Int(frame.units) else {
      note("a map points at something that is no node")
      return nil
    }
    guard frame.content >= 0 else {
      harm.insert(object)
      return nil
    }
    let start = frame.content + frames.offset(of: Int(location.unit), in: frame)
    return try spool.read([start..<start + frames.length(of: Int(location.unit), in: frame)])
  }

  private mutating func followLeaf(_ leaf: MapLeaf, _ units: Int, _ walk: inout MemberWalk) throws {
    guard leaf.runs.reduce(0, { $0 + Int($1.count) }) == units else {
      return note("a map does not cover its member")
    }
    for run in leaf.runs {
      if run.pack == UnitLocation.zeros { followZeros(Int(run.count), &walk) } else { follow(run, &walk) }
      walk.unit += Int(run.count)
    }
  }

  private func followZeros(_ count: Int, _ walk: inout MemberWalk) {
    for unit in 0..<count {
      guard let digest = walk.digest else { return }
      let length = walk.length(after: unit)
      if walk.ofZeros?.length != length {
        let zeros = [UInt8](repeating: 0, count: length)
        let print = zeros.withUnsafeBytes { Fingerprinter(keys).fingerprint(walk.file.unitType, $0) }
        walk.ofZeros = (length, print.bytes)
      }
      if let zeros = walk.ofZeros { digest.update(zeros.print) }
    }
  }

  private mutating func follow(_ run: MapLeaf.Run, _ walk: inout MemberWalk) {
    guard let object = object(run.pack) else { return walk.digest = nil }
    guard let ordinal = frames.ordinal(object, run.frame) else {
      walk.digest = nil
      return noteMissing(object, "a map points at a frame that is not there")
    }
    let frame = frames[ordinal]
    let last = Int(run.firstUnit) + Int(run.count)
    guard frame.type == walk.file.unitType.rawValue, last <= Int(frame.units) else {
      return note("a map points at units that are not there")
    }
    for step in 0..<Int(run.count)
    where frames.length(of: Int(run.firstUnit) + step, in: frame) != walk.length(after: step) {
      return note("a map points at a unit of another length")
    }
    cost.content += (0..<Int(run.count)).reduce(0) { $0 + walk.length(after: $1) }
    _ = need(ordinal, above: 0)
    guard let digest = walk.digest, let fingerprints, frames.state(of: ordinal) == .proved else {
      return walk.digest = nil
    }
    let first = (frame.firstUnit + Int(run.firstUnit)) * Fingerprint.length
    fingerprints.withUnsafeMutableBufferPointer { all in
      digest.update(
        UnsafeRawBufferPointer(
          rebasing: UnsafeRawBufferPointer(all)[first..<first + Int(run.count) * Fingerprint.length]))
    }
  }

  /// Counts a frame, and all it rests on, once.
  /// - Parameter above: how many deltas rest on each other above it.
  /// - Returns: its depth.
  private mutating func need(_ ordinal: Int, above: Int) -> Int {
    guard above <= Limits.depth, !isTooDeep else {
      // Frames that rest on each other in a circle would be counted over and over.
      isTooDeep = true
      note("a delta rests on more than \(Limits.depth) others")
      return above
    }
    if let depth = marks.depth(of: ordinal) { return depth }
    let frame = frames[ordinal]
    cost.decoded += Int(frame.plaintextLength)
    cost.fetched += Int(frame.sealedLength)
    if frame.bases.isEmpty {
      cost.wholeDecoded += Int(frame.plaintextLength)
      cost.wholeFetched += Int(frame.sealedLength)
    }
    if frames.state(of: ordinal) == .damaged { harm.insert(frame.object) }
    var depth = 0
    var prefix = 0
    var distinct: Set<Int> = []
    for index in frame.bases {
      let run = frames.base(index)
      guard run.object == own || inTable.contains(run.object) else {
        note("a delta rests on a pack that is not in the pack table")
        continue
      }
      guard let base = frames.ordinal(of: run) else {
        noteMissing(run.object, "a delta rests on a frame that is not there")
        continue
      }
      guard let range = frames.range(of: run, in: frames[base], like: frame) else {
        note("a delta names bases that cannot be its own")
        continue
      }
      prefix += range.count
      distinct.insert(base)
      depth = max(depth, need(base, above: above + 1) + 1)
    }
    if prefix > Limits.prefix || distinct.count > Limits.prefixFrames { note("a delta rests on too much") }
    if depth > Limits.depth { note("a delta rests on more than \(Limits.depth) others") }
    marks.set(depth, of: ordinal)
    return depth
  }

  private mutating func object(_ number: UInt32) -> UInt32? {
    if number == UnitLocation.thisObject { return own }
    if let object = table[number] { return object }
    note("a map names pack \(number), which is not in the pack table")
    return nil
  }

  /// A frame that cannot be found: its pack is lost, or it never was there.
  private mutating func noteMissing(_ object: UInt32, _ what: String) {
    if frames.objects[Int(object)].frames == nil { harm.insert(object) } else { note(what) }
  }

  private mutating func note(_ what: String) { wrong = wrong ?? what }
}

/// Which frames a version needs, and how deep they lie: one byte and one mark for each frame of the chain.
final class FrameMarks {
  private let marks: FileTable<UInt32>
  private let depths: FileTable<UInt8>
  private var version: UInt32 = 0

  /// - Throws: `.stateFolder`.
  init(frames: Int, in folder: String) throws(RepositoryError) {
    marks = try FileTable(capacity: frames, count: frames, in: folder)
    depths = try FileTable(capacity: frames, count: frames, in: folder)
  }

  /// For another version.
  func begin() { version += 1 }

  /// `nil` for a frame that this version did not need so far.
  func depth(of ordinal: Int) -> Int? { marks[ordinal] == version ? Int(depths[ordinal]) : nil }

  func set(_ depth: Int, of ordinal: Int) {
    marks[ordinal] = version
    depths[ordinal] = UInt8(clamping: depth)
  }
}
