/// A binary property list (`bplist00`), read with bounds on everything: what Core Data keeps of a store's model is one,
/// and it comes from a file that anybody may have written.
///
/// The layout: 8 bytes of magic, objects, a table of their offsets, and 32 bytes that say where that table is. An object
/// begins with a marker: kind in the high half, length (or a following number that is the length) in the low half.
indirect enum PropertyList: Equatable {
  case bool(Bool)
  case integer(Int64)
  case real(Double)
  /// Seconds since 2001.
  case date(Double)
  case data([UInt8])
  case text(String)
  case array([PropertyList])
  /// In the order of the file; keys that are no text are left out.
  case dictionary([(key: String, value: PropertyList)])

  static func == (left: PropertyList, right: PropertyList) -> Bool {
    switch (left, right) {
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)), (.date(let left), .date(let right)): left == right
    case (.data(let left), .data(let right)): left == right
    case (.text(let left), .text(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.dictionary(let left), .dictionary(let right)):
      left.count == right.count && zip(left, right).allSatisfy { $0.key == $1.key && $0.value == $1.value }
    default: false
    }
  }

  /// The value under a key of a dictionary.
  subscript(_ key: String) -> PropertyList? {
    guard case .dictionary(let entries) = self else { return nil }
    return entries.first { $0.key == key }?.value
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }
  var elements: [PropertyList] { if case .array(let elements) = self { elements } else { [] } }
  var entries: [(key: String, value: PropertyList)] { if case .dictionary(let entries) = self { entries } else { [] } }

  /// - Returns: `nil` for what is no binary property list, or a larger or deeper one than any store has.
  init?(binary bytes: [UInt8]) {
    guard var reader = BinaryPropertyListReader(bytes), let root = reader.root() else { return nil }
    self = root
  }
}

private struct BinaryPropertyListReader {
  private static let magic = Array("bplist00".utf8)
  private static let trailerLength = 32
  /// Bytes; objects that are made, each as often as it is referred to; levels.
  private static let mostBytes = 16 << 20
  private static let mostObjects = 200_000
  private static let deepest = 32

  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private let top: Int
  private let table: Int
  private var made = 0
  /// Bytes that texts and data may still take: one object may be referred to any number of times.
  private var left = 2 * mostBytes

  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.magic.count + Self.trailerLength, bytes.count <= Self.mostBytes,
      bytes.starts(with: Self.magic)
    else { return nil }
    self.bytes = bytes
    let trailer = bytes.count - Self.trailerLength
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
      let count = Self.number(bytes[(trailer + 8)..<(trailer + 16)]),
      let top = Self.number(bytes[(trailer + 16)..<(trailer + 24)]),
      let table = Self.number(bytes[(trailer + 24)..<(trailer + 32)]),
      count > 0, top < count, table >= Self.magic.count, table < trailer, count <= (trailer - table) / offsetSize
    else { return nil }
    self.count = count
    self.top = top
    self.table = table
  }

  mutating func root() -> PropertyList? { object(top, depth: 0) }

  /// `nil` where it does not fit an `Int`.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
    var value: UInt64 = 0
    for byte in bytes {
      guard value >> 56 == 0 else { return nil }
      value = value << 8 | UInt64(byte)
    }
    return Int(exactly: value)
  }

  private mutating func object(_ index: Int, depth: Int) -> PropertyList? {
    made += 1
    guard depth < Self.deepest, made <= Self.mostObjects, index < count else { return nil }
    let place = table + index * offsetSize
    guard let offset = Self.number(bytes[place..<place + offsetSize]), offset >= Self.magic.count, offset < table
    else { return nil }
    let marker = bytes[offset]
    let low = Int(marker & 15)
    switch marker >> 4 {
    case 0x0: return marker == 8 ? .bool(false) : marker == 9 ? .bool(true) : nil
    case 0x1: return integer(at: offset + 1, length: 1 << min(low, 5))
    case 0x2: return real(at: offset + 1, length: 1 << min(low, 4)).map(PropertyList.real)
    case 0x3: return low == 3 ? real(at: offset + 1, length: 8).map(PropertyList.date) : nil
    case 0x4: return paid(run(at: offset, low, width: 1)).map { .data(Array(bytes[$0])) }
    case 0x5:
      return paid(run(at: offset, low, width: 1)).flatMap { range in
        String(validating: bytes[range], as: UTF8.self).map(PropertyList.text)
      }
    case 0x6: return paid(run(at: offset, low, width: 2)).flatMap(text16)
    case 0xA, 0xC: return array(at: offset, low, depth)
    case 0xD: return dictionary(at: offset, low, depth)
    default: return nil
    }
  }

  /// Where the content of an object lies that has so many units of so many bytes.
  private func run(at offset: Int, _ low: Int, width: Int) -> Range<Int>? {
    var (start, length) = (offset + 1, low)
    if low == 15 {
      guard start < table, bytes[start] >> 4 == 1 else { return nil }
      let size = 1 << Int(bytes[start] & 15)
      guard size <= 8, start + 1 + size <= table,
        let number = Self.number(bytes[(start + 1)..<(start + 1 + size)])
      else { return nil }
      start += 1 + size
      length = number
    }
    guard length <= (table - start) / width else { return nil }
    return start..<start + length * width
  }

  /// - Returns: the range, when what it holds may still be copied.
  private mutating func paid(_ range: Range<Int>?) -> Range<Int>? {
    guard let range, range.count <= left else { return nil }
    left -= range.count
    return range
  }

  private func integer(at start: Int, length: Int) -> PropertyList? {
    // Of 16 bytes the last eight count: Apple writes numbers above Int64.max so.
    guard length <= 16, start + length <= table else { return nil }
    let last = bytes[start..<start + length].suffix(8)
    let value = last.reduce(0) { $0 << 8 | UInt64($1) }
    return .integer(Int64(bitPattern: value))
  }

  private func real(at start: Int, length: Int) -> Double? {
    guard length == 4 || length == 8, start + length <= table else { return nil }
    let value = bytes[start..<start + length].reduce(0) { $0 << 8 | UInt64($1) }
    return length == 4 ? Double(Float(bitPattern: UInt32(value))) : Double(bitPattern: value)
  }

  private func text16(_ range: Range<Int>) -> PropertyList? {
    let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
      UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
    }
    return String(validating: units, as: UTF16.self).map(PropertyList.text)
  }

  private func references(_ range: Range<Int>) -> [Int]? {
    guard range.count / referenceSize <= Self.mostObjects - made else { return nil }
    var found: [Int] = []
    for start in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
      guard let index = Self.number(bytes[start..<start + referenceSize]) else { return nil }
      found.append(index)
    }
    return found
  }

  private mutating func array(at offset: Int, _ low: Int, _ depth: Int) -> PropertyList? {
    guard let range = run(at: offset, low, width: referenceSize), let indices = references(range) else { return nil }
    var elements: [PropertyList] = []
    for index in indices {
      guard let element = object(index, depth: depth + 1) else { return nil }
      elements.append(element)
    }
    return .array(elements)
  }

  private mutating func dictionary(at offset: Int, _ low: Int, _ depth: Int) -> PropertyList? {
    guard let range = run(at: offset, low, width: 2 * referenceSize), let indices = references(range) else {
      return nil
    }
    var entries: [(key: String, value: PropertyList)] = []
    for (key, value) in zip(indices.prefix(indices.count / 2), indices.dropFirst(indices.count / 2)) {
      guard let key = object(key, depth: depth + 1), let value = object(value, depth: depth + 1) else { return nil }
      if let name = key.text { entries.append((name, value)) }
    }
    return .dictionary(entries)
  }
}
