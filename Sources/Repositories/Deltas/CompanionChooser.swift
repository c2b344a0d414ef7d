import Sealing
import Storage

/// Finds, for the blocks of companions in a new frame, what lay around them when their files became bases. Blocks of all
/// files are counted through.
final class CompanionChooser: FrameBases {
  /// A file with a base, or one that may become one.
  private struct File {
    /// Number of its first block among those of all files.
    let first: Int
    let blocks: Int
    let name: String
    /// Of the base, in bytes; `nil` without one.
    let base: Int?
  }

  private static let blockSize = MemberSource.blockSize

  private let bases: CompanionBases
  private let known: KnownPacks
  /// Frames deeper than that are no bases.
  private let depth: Int
  private let makesDeltas: Bool
  private let records: Bool
  private let fingerprinters: WorkerPool<Fingerprinter>
  private let files = Locked<(list: [File], next: Int)>(([], 0))

  /// - Parameters:
  ///   - makesDeltas: else all frames are whole.
  ///   - records: what is stored decides what will be a base.
  init(
    _ bases: CompanionBases, known: KnownPacks, depth: Int, makesDeltas: Bool, records: Bool,
    fingerprinters: WorkerPool<Fingerprinter>
  ) {
    self.bases = bases
    self.known = known
    self.depth = depth
    self.makesDeltas = makesDeltas
    self.records = records
    self.fingerprinters = fingerprinters
    if records { bases.begin() }
  }

  /// A file is about to be read.
  /// - Parameters:
  ///   - length: in bytes.
  ///   - isChanged: the version before has other content under this path, as far as can be told now.
  /// - Returns: the number of its first block, whether there is a base for them, and where its bytes are to be copied to,
  ///   if so.
  func begin(_ path: String, length: Int, isChanged: Bool) -> (first: Int, hasBase: Bool, copy: CompanionCopy?) {
    let blocks = (length + Self.blockSize - 1) / Self.blockSize
    let name = CompanionBases.lengths.contains(length) ? CompanionBases.name(of: path) : nil
    let base = name.flatMap(knownBase)
    let first = files.withLock { files in
      defer { files.next += blocks }
      // What changed last time may have to be stored again: it rode in a manifest, or lies too deep for this version.
      if let name, isChanged || base != nil {
        files.list.append(File(first: files.next, blocks: blocks, name: name, base: base))
      }
      return files.next
    }
    let copied = isChanged && records ? name : nil
    return (first, makesDeltas && base != nil, copied.flatMap { CompanionCopy($0, length: length, of: bases) })
  }

  /// The length of a base, in bytes, if new frames may rest on it, as its first block tells.
  private func knownBase(_ name: String) -> Int? {
    guard let length = bases.base(name) else { return nil }
    let range = 0..<min(Self.blockSize, length)
    let isKnown = bases.read(name, range).withUnsafeBytes { bytes in
      guard bytes.count == range.count else { return false }
      return known.ordinal(of: fingerprinters.with { $0.fingerprint(.block, bytes) }, depth: depth) != nil
    }
    return isKnown ? length : nil
  }

  func choose(for units: UnsafeRawBufferPointer, positions: [Int], fingerprints: [Fingerprint]) -> BaseChoice {
    var choice = BaseChoice()
    guard makesDeltas else { return choice }
    for (file, positions) in byFile(positions) {
      guard let length = file.base else { continue }
      for block in Self.blocks(around: positions.map { $0 - file.first }, of: file.blocks, in: length) {
        let start = block * Self.blockSize
        let range = start..<min(start + Self.blockSize, length)
        bases.read(file.name, range).withUnsafeBytes { bytes in
          guard bytes.count == range.count else { return }
          let fingerprint = fingerprinters.with { $0.fingerprint(.block, bytes) }
          if let place = known.ordinal(of: fingerprint, depth: depth) { choice.add(bytes, at: place, of: known) }
        }
      }
    }
    return choice
  }

  func note(_ frame: MadeFrame, positions: [Int], lengths: [Int]) {
    guard records else { return }
    let total = max(1, lengths.reduce(0, +))
    var index = 0
    for (file, own) in byFile(positions) {
      while index < positions.count, positions[index] != own[0] { index += 1 }
      let length = lengths[index..<index + own.count].reduce(0, +)
      let cost = frame.encoded.payload.count * length / total + 1
      bases.note(file.name) { stored in
        if frame.bases.isEmpty { stored.inWholeFrames += cost } else { stored.inDeltas += cost }
      }
    }
  }

  /// The positions that belong to files of interest. Both ascend.
  private func byFile(_ positions: [Int]) -> [(file: File, positions: [Int])] {
    files.withLock { files in
      var found: [(file: File, positions: [Int])] = []
      for position in positions {
        if let last = found.last?.file, position < last.first + last.blocks {
          found[found.count - 1].positions.append(position)
        } else if let file = Self.file(of: position, in: files.list) {
          found.append((file, [position]))
        }
      }
      return found
    }
  }

  private static func file(of position: Int, in list: [File]) -> File? {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].first <= position { low = middle + 1 } else { high = middle }
    }
    guard low > 0, position < list[low - 1].first + list[low - 1].blocks else { return nil }
    return list[low - 1]
  }

  /// Blocks of the base where the content may be: around the same place, counted from the beginning and from the end.
  private static func blocks(around wanted: [Int], of count: Int, in length: Int) -> [Int] {
    let held = (length + blockSize - 1) / blockSize
    var blocks: Set<Int> = []
    for block in wanted {
      for place in [block, block + held - count] { blocks.formUnion(place - 1...place + 1) }
    }
    return blocks.filter { (0..<held).contains($0) }.sorted()
  }
}
