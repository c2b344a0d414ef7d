import Sealing
import Storage

/// What the directories of packs say, in files without names: a version may rest on more packs than memory holds the
/// directories of, and asks for their frames in any order. Of a frame some 80 bytes, and 12 of each run of bases. Most of a
/// directory are fingerprints of units, which nobody asks for who reads frames, as a frame is proved by its id: they are
/// left out.
final class DirectoryTables: Sendable {
  private let tables: Locked<Tables>

  /// - Parameter folder: on a disk with room for them.
  /// - Throws: `.stateFolder`, `.noSpace`.
  init(in folder: String) throws(RepositoryError) { tables = Locked(try Tables(in: folder)) }

  /// - Throws: `.noSpace`, `.stateFolder`.
  func add(_ directory: Directory) throws(RepositoryError) -> TabledDirectory {
    try tables.withLock { tables throws(RepositoryError) in
      let (firstFrame, firstPack) = (tables.frames.count, tables.basePacks.count)
      for name in directory.basePacks { try tables.basePacks.append(name) }
      for record in directory.frames { try tables.add(record) }
      return TabledDirectory(
        frames: TabledDirectory.Frames(tables: self, first: firstFrame, count: directory.frames.count),
        basePacks: TabledDirectory.BasePacks(tables: self, first: firstPack, count: directory.basePacks.count))
    }
  }

  fileprivate func record(_ index: Int) -> FrameRecord { tables.withLock { $0.record(index) } }

  fileprivate func sealedRange(_ index: Int) -> Range<Int> { tables.withLock { $0.frames[index].sealedRange } }

  fileprivate func basePack(_ index: Int) -> Digest { tables.withLock { $0.basePacks[index] } }
}

/// One of those directories.
struct TabledDirectory: Sendable {
  struct Frames: RandomAccessCollection, Sendable {
    fileprivate let tables: DirectoryTables
    fileprivate let first: Int
    let count: Int

    var startIndex: Int { 0 }
    var endIndex: Int { count }

    /// But for the fingerprints of its units.
    subscript(_ index: Int) -> FrameRecord {
      precondition(indices.contains(index), "no such frame")
      return tables.record(first + index)
    }

    /// Where ciphertext and tag of a frame lie in the object: cheaper than all of its record.
    func sealedRange(of index: Int) -> Range<Int> {
      precondition(indices.contains(index), "no such frame")
      return tables.sealedRange(first + index)
    }
  }

  struct BasePacks: RandomAccessCollection, Sendable {
    fileprivate let tables: DirectoryTables
    fileprivate let first: Int
    let count: Int

    var startIndex: Int { 0 }
    var endIndex: Int { count }

    subscript(_ index: Int) -> Digest {
      precondition(indices.contains(index), "no such base pack")
      return tables.basePack(first + index)
    }
  }

  let frames: Frames
  let basePacks: BasePacks
}

private struct Tables {
  let frames: GrowingTable<TabledFrame>
  let bases: GrowingTable<BaseRun>
  /// Of units whose frames hold such of several lengths.
  let lengths: GrowingTable<UInt32>
  let basePacks: GrowingTable<Digest>

  init(in folder: String) throws(RepositoryError) {
    frames = try GrowingTable(in: folder)
    bases = try GrowingTable(in: folder)
    lengths = try GrowingTable(in: folder)
    basePacks = try GrowingTable(in: folder)
  }

  func add(_ record: FrameRecord) throws(RepositoryError) {
    let frame = TabledFrame(
      offset: record.offset, frameID: record.frameID, firstLength: lengths.count, firstBase: bases.count,
      sealedLength: record.sealedLength, unitLength: UInt32(record.unitLengths.uniform),
      unitCount: UInt16(record.unitLengths.count), baseCount: UInt16(record.bases.count), codec: record.codec,
      type: record.type)
    if record.unitLengths.uniform == 0 { for length in record.unitLengths { try lengths.append(UInt32(length)) } }
    for run in record.bases { try bases.append(run) }
    try frames.append(frame)
  }

  func record(_ index: Int) -> FrameRecord {
    let frame = frames[index]
    let units = 0..<Int(frame.unitCount)
    return FrameRecord(
      offset: frame.offset, sealedLength: frame.sealedLength, codec: frame.codec, type: frame.type,
      unitLengths: frame.unitLength > 0
        ? UnitLengths(uniform: Int(frame.unitLength), count: units.count)
        : UnitLengths(units.map { Int(lengths[frame.firstLength + $0]) }),
      frameID: frame.frameID, fingerprints: [],
      bases: (0..<Int(frame.baseCount)).map { bases[frame.firstBase + $0] })
  }
}

private struct TabledFrame: BitwiseCopyable {
  let offset: Int
  let frameID: Digest
  let firstLength: Int
  let firstBase: Int
  let sealedLength: UInt32
  /// Of each unit; 0 when they differ.
  let unitLength: UInt32
  let unitCount: UInt16
  let baseCount: UInt16
  let codec: Codec
  let type: UnitType

  var sealedRange: Range<Int> { offset..<offset + Int(sealedLength) }
}
