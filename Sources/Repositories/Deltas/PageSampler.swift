/// Picks places of a page by what is written there, so that content is met again wherever it moved, and names each by
/// that content. Who changes which samples a page gives changes `version`.
///
/// Where a page holds many small cells, those are the places: a few bytes of each are looked at. Any other page (large
/// rows, overflow, what is no b-tree) gives the places where a rolling hash over 32 bytes has some bits zero.
struct PageSampler: Sendable {
  /// Of the function: tables of samples made by another one find nothing.
  static let version: UInt64 = 2
  /// Bytes that a sample is made of, at most.
  private static let span = 32
  private static let perPage = 16
  /// Cells longer than that on average are not looked at one by one.
  private static let cellLimit = 256

  /// Bytes, on average, from one sample to the next; a power of two.
  let distance: Int

  /// The names of the samples of one page, in order, no more than sixteen.
  func samples(of page: UnsafeRawBufferPointer, _ each: (UInt32) -> Void) {
    guard page.count >= 512, let bytes = page.bindMemory(to: UInt8.self).baseAddress else { return }
    if let leaf = leafOfSmallCells(bytes, page.count) {
      sampleCells(page, bytes, leaf, each)
    } else {
      sampleBytes(bytes, page.count, each)
    }
  }

  private struct Leaf {
    let count: Int
    let isTable: Bool
  }

  /// What decides is the mean length of its cells, not their number: rows that moved to a page of their own are met again.
  private func leafOfSmallCells(_ bytes: UnsafePointer<UInt8>, _ size: Int) -> Leaf? {
    guard bytes[0] == Self.leafTable || bytes[0] == Self.leafIndex else { return nil }
    let count = Int(bytes[3]) << 8 | Int(bytes[4])
    let used = size - (Int(bytes[5]) << 8 | Int(bytes[6]))
    guard count > 0, 8 + 2 * count <= size, used <= count * Self.cellLimit else { return nil }
    return Leaf(count: count, isTable: bytes[0] == Self.leafTable)
  }

  private static let leafIndex: UInt8 = 10
  private static let leafTable: UInt8 = 13

  /// Cells by chance, the likelier the longer they are.
  private func sampleCells(
    _ page: UnsafeRawBufferPointer, _ bytes: UnsafePointer<UInt8>, _ leaf: Leaf, _ each: (UInt32) -> Void
  ) {
    let shift = UInt64(64 - distance.trailingZeroBitCount)
    var found = 0
    for cell in 0..<leaf.count {
      let start = Int(bytes[8 + 2 * cell]) << 8 | Int(bytes[9 + 2 * cell])
      guard start + Self.span <= page.count else { continue }
      // The length of the payload: a varint, of two bytes at most here.
      let first = Int(bytes[start])
      let payload = first < 0x80 ? first : (first & 0x7F) << 7 | Int(bytes[start + 1] & 0x7F)
      let length = payload + (leaf.isTable ? 4 : 1)
      let name = name(of: page, start, min(length, Self.span))
      // One in `distance / length`.
      guard Int(truncatingIfNeeded: name >> shift) < length else { continue }
      each(UInt32(truncatingIfNeeded: name))
      found += 1
      if found == Self.perPage { return }
    }
  }

  /// A hash of some bytes, of which there are 32.
  @inline(__always)
  private func name(of page: UnsafeRawBufferPointer, _ start: Int, _ length: Int) -> UInt64 {
    var name: UInt64 = 0
    var left = length
    var at = start
    while left > 0 {
      var word = page.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      if left < 8 { word = UInt64(littleEndian: word) << UInt64(64 - 8 * left) }
      name = (name ^ word) &* 0x9E37_79B9_7F4A_7C15
      name ^= name >> 32
      left -= 8
      at += 8
    }
    return name &* 0xBF58_476D_1CE4_E5B9
  }

  private func sampleBytes(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ each: (UInt32) -> Void) {
    let gear = Gear.values
    let mask = UInt32(distance - 1) << 13
    var hash: UInt32 = 0
    var found = 0
    for index in 0..<Self.span - 1 { hash = hash << 1 &+ gear[Int(bytes[index])] }
    for index in Self.span - 1..<count {
      hash = hash << 1 &+ gear[Int(bytes[index])]
      guard hash & mask == 0 else { continue }
      each(hash)
      found += 1
      if found == Self.perPage { return }
    }
  }
}

/// Random numbers for the rolling hash, always the same: set once, before anybody sees them, and only read then.
private enum Gear {
  nonisolated(unsafe) static let values: UnsafePointer<UInt32> = {
    let values = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
    var state: UInt64 = 0x5EA1_1F7
    for index in 0..<256 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      values[index] = UInt32(truncatingIfNeeded: mixed ^ (mixed >> 31))
    }
    return UnsafePointer(values)
  }()
}
