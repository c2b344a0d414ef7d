/// Where a unit lies (`Docs/Format.md` §7).
package struct Location: Sendable, Hashable {
  package let pack: UInt32
  package let frame: UInt32
  package let unit: UInt16

  package init(pack: UInt32, frame: UInt32, unit: UInt16) {
    self.pack = pack
    self.frame = frame
    self.unit = unit
  }

  init(_ reader: inout ByteReader) throws(SealError) {
    pack = try reader.read()
    frame = try reader.read()
    unit = try reader.read()
    guard pack < 0xFFFF_FFFE else { throw SealError(.malformed, "a location names no pack") }
  }

  func encode(into writer: inout ByteWriter) {
    writer.write(pack)
    writer.write(frame)
    writer.write(unit)
  }
}

/// Where up to 1,024 consecutive units of a member lie (`Docs/Format.md` §7.1).
package struct MapLeaf: Sendable, Equatable {
  package struct Run: Sendable, Equatable {
    /// 0 is the manifest itself, 0xFFFFFFFF zeros.
    package let pack: UInt32
    package let frame: UInt32
    package let firstUnit: UInt16
    package let count: UInt16

    package init(pack: UInt32, frame: UInt32, firstUnit: UInt16, count: UInt16) {
      self.pack = pack
      self.frame = frame
      self.firstUnit = firstUnit
      self.count = count
    }

    /// In bytes.
    fileprivate static let length = 12

    /// The 12 bytes from `offset` on, which must be there.
    fileprivate init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
      precondition(offset >= 0 && bytes.count - offset >= Self.length, "a run has 12 bytes")
      pack = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      frame = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
      firstUnit = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt16.self))
      count = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 10, as: UInt16.self))
    }
  }

  package let runs: [Run]

  package init(runs: [Run]) { self.runs = runs }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(1))
    writer.write(UInt16(runs.count))
    for run in runs {
      writer.write(run.pack)
      writer.write(run.frame)
      writer.write(run.firstUnit)
      writer.write(run.count)
    }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "map leaf")
    guard try reader.read(UInt8.self) == 1 else {
      throw SealError(.malformed, "a map points at a node of another kind")
    }
    let count = try reader.readCount(UInt16.self, ofAtLeast: Run.length)
    runs = try reader.read(count: Run.length * count).withUnsafeBytes { bytes in
      (0..<count).map { Run(bytes, at: Run.length * $0) }
    }
    var units = 0
    for run in runs {
      let zeros = run.pack == 0xFFFF_FFFF
      guard run.count > 0, run.pack != 0xFFFF_FFFE, !zeros || (run.frame == 0 && run.firstUnit == 0),
        zeros || Int(run.firstUnit) + Int(run.count) <= 65_536
      else { throw SealError(.malformed, "a run of a map is impossible") }
      units += Int(run.count)
    }
    guard (1...1024).contains(units) else { throw SealError(.malformed, "a leaf of a map covers \(units) units") }
    try reader.expectEnd()
  }
}

/// An inner node of a map (`Docs/Format.md` §7.2).
package struct MapBranch: Sendable, Equatable {
  /// 1 above leaves.
  package let level: UInt8
  package let children: [Location]

  package init(level: UInt8, children: [Location]) {
    self.level = level
    self.children = children
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write([2, level])
    writer.write(UInt16(children.count))
    for child in children { child.encode(into: &writer) }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "map branch")
    guard try reader.read(UInt8.self) == 2 else {
      throw SealError(.malformed, "a map points at a node of another kind")
    }
    level = try reader.read()
    let count = try reader.readCount(UInt16.self, ofAtLeast: 10)
    guard (1...3).contains(level), (1...256).contains(count) else {
      throw SealError(.malformed, "a branch of a map is impossible")
    }
    var children: [Location] = []
    for _ in 0..<count { children.append(try Location(&reader)) }
    self.children = children
    try reader.expectEnd()
  }
}

/// A part of the pack table (`Docs/Format.md` §7.3).
package struct PackTableLeaf: Sendable, Equatable {
  package let entries: [PackEntry]

  package init(entries: [PackEntry]) { self.entries = entries }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(3))
    writer.write(UInt16(entries.count))
    for entry in entries { writer.write(entry.encode()) }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "pack table")
    guard try reader.read(UInt8.self) == 3 else {
      throw SealError(.malformed, "a pack table points at a node of another kind")
    }
    let count = try reader.readCount(UInt16.self, ofAtLeast: PackEntry.length)
    guard (1...512).contains(count) else {
      throw SealError(.malformed, "a leaf of the pack table has \(count) entries")
    }
    var entries: [PackEntry] = []
    for _ in 0..<count {
      let entry = try PackEntry(&reader)
      guard entry.number > entries.last?.number ?? 0 else {
        throw SealError(.malformed, "the pack table is out of order")
      }
      entries.append(entry)
    }
    self.entries = entries
    try reader.expectEnd()
  }
}
