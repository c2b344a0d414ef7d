import Sealing

/// Every frame of the packs and manifests that the versions of a chain need, as their directories tell them, in files
/// without names: a chain of any size is held in flat memory, but for some hundred bytes a pack.
///
/// One task at a time adds; when nobody does, several may read, and each change frames of its own.
final class ChainFrames: @unchecked Sendable {
  enum State: UInt8 {
    case unread
    /// Opened and decoded, and its content is what its directory says.
    case proved
    case damaged
    /// What it rests on cannot be had.
    case baseless
  }

  struct Frame: BitwiseCopyable {
    let object: UInt32
    let plaintextLength: UInt32
    let sealedLength: UInt32
    /// Of each unit; 0 when they differ.
    let unitLength: UInt32
    /// Where the lengths of its units begin, when they differ.
    let lengths: Int
    let units: UInt16
    let type: UInt8
    let baseCount: UInt16
    let firstBase: Int
    /// The number of its first unit, among all units of all frames.
    let firstUnit: Int
    var state: UInt8
    /// Of nodes: where they lie in the spool, decoded.
    var content: Int

    var bases: Range<Int> { firstBase..<firstBase + Int(baseCount) }
    var isNode: Bool { type == UnitType.node.rawValue }
  }

  /// Units that a delta rests on.
  struct Base: BitwiseCopyable {
    let object: UInt32
    let frame: UInt32
    let firstUnit: UInt16
    let count: UInt16
  }

  /// A pack, or a manifest with its riders.
  struct Object {
    let name: Digest
    /// `nil` for a manifest, and for a pack that is only known as somebody's base.
    var entry: PackEntry?
    /// Ordinals of its frames; `nil` when its directory was not read, or cannot be.
    var frames: Range<Int>?
  }

  private(set) var objects: [Object] = []
  private var byName: [Digest: UInt32] = [:]
  private let frames: GrowingTable<Frame>
  private let bases: GrowingTable<Base>
  private let lengths: GrowingTable<UInt32>
  private(set) var unitCount = 0

  init(in folder: String) throws(RepositoryError) {
    frames = try GrowingTable(in: folder)
    bases = try GrowingTable(in: folder)
    lengths = try GrowingTable(in: folder)
  }

  var count: Int { frames.count }
  subscript(_ ordinal: Int) -> Frame { frames[ordinal] }
  func base(_ index: Int) -> Base { bases[index] }

  func setState(_ state: State, of ordinal: Int) { frames[ordinal].state = state.rawValue }
  func state(of ordinal: Int) -> State { State(rawValue: frames[ordinal].state) ?? .unread }

  /// The ordinal of a frame of an object, if it has one of that number.
  func ordinal(_ object: UInt32, _ frame: UInt32) -> Int? {
    guard let range = objects[Int(object)].frames, Int(frame) < range.count else { return nil }
    return range.lowerBound + Int(frame)
  }

  /// Of the frames of an object whose directory was read; none of any other.
  func ordinals(of name: Digest) -> Range<Int> { byName[name].flatMap { objects[Int($0)].frames } ?? 0..<0 }

  func ordinal(of base: Base) -> Int? { ordinal(base.object, base.frame) }

  /// Length of one unit, in bytes.
  func length(of unit: Int, in frame: Frame) -> Int {
    frame.unitLength > 0 ? Int(frame.unitLength) : Int(lengths[frame.lengths + unit])
  }

  /// Where a unit begins in the decoded frame.
  func offset(of unit: Int, in frame: Frame) -> Int {
    frame.unitLength > 0
      ? Int(frame.unitLength) * unit : (0..<unit).reduce(0) { $0 + Int(lengths[frame.lengths + $1]) }
  }

  /// Where units of a base lie in its decoded frame.
  /// - Returns: `nil` when they are not there, of another type, or, for pages, of another length than `other`'s.
  func range(of run: Base, in base: Frame, like other: Frame) -> Range<Int>? {
    let (first, last) = (Int(run.firstUnit), Int(run.firstUnit) + Int(run.count) - 1)
    guard run.count > 0, last < Int(base.units), base.type == other.type,
      base.type != UnitType.page.rawValue || base.unitLength == other.unitLength
    else { return nil }
    return offset(of: first, in: base)..<offset(of: last, in: base) + length(of: last, in: base)
  }

  /// - Returns: the number of an object, which may be told of before it is read.
  func intern(_ name: Digest, _ entry: PackEntry? = nil) -> UInt32 {
    if let known = byName[name] {
      if let entry { objects[Int(known)].entry = entry }
      return known
    }
    objects.append(Object(name: name, entry: entry, frames: nil))
    byName[name] = UInt32(objects.count - 1)
    return UInt32(objects.count - 1)
  }

  /// Takes an object's frames in.
  /// - Parameter content: by index of a frame of nodes, where it lies in the spool; frames of nodes that are not among
  ///   them are damaged.
  func add(_ number: UInt32, _ directory: Directory, content: [Int: Int]) throws(RepositoryError) {
    let first = frames.count
    for (index, record) in directory.frames.enumerated() {
      let firstBase = bases.count
      for run in record.bases {
        let base = run.pack.map { intern(directory.basePacks[Int($0)]) } ?? number
        try bases.append(Base(object: base, frame: run.frame, firstUnit: run.firstUnit, count: run.count))
      }
      let uniform = record.unitLengths.uniform
      let firstLength = lengths.count
      if uniform == 0 { for length in record.unitLengths { try lengths.append(UInt32(length)) } }
      let isDamaged = record.type == .node && content[index] == nil
      try frames.append(
        Frame(
          object: number, plaintextLength: UInt32(record.plaintextLength), sealedLength: record.sealedLength,
          unitLength: UInt32(uniform), lengths: firstLength,
          units: UInt16(record.unitLengths.count), type: record.type.rawValue, baseCount: UInt16(record.bases.count),
          firstBase: firstBase, firstUnit: unitCount, state: (isDamaged ? State.damaged : .unread).rawValue,
          content: content[index] ?? -1))
      unitCount += record.unitLengths.count
    }
    objects[Int(number)].frames = first..<frames.count
  }

  /// Marks all frames of an object.
  func setState(_ state: State, ofObject number: UInt32) {
    for ordinal in objects[Int(number)].frames ?? 0..<0 { setState(state, of: ordinal) }
  }
}
