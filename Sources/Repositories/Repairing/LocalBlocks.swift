package import Sealing

/// Files beside a database, as they are on this machine now, that may hold what the target lost of its companions. Blocks
/// are found by their fingerprints, whatever file they are in. Others may write to the files meanwhile: a block that is not
/// what it was when it was found is none.
///
/// Nothing is read before the first block is asked for: companions may be far more than what was lost. One task at a time.
package final class LocalBlocks: @unchecked Sendable {
  private static let blockSize = MemberSource.blockSize

  private struct File {
    let path: String
    let open: @Sendable () throws -> (any CompanionFile)?
  }

  private let files: [File]
  private let numbers: [String: Int]
  private let fingerprinter: Fingerprinter
  private let folder: String
  private var index: UnitIndex?
  /// Blocks are counted over all files: of each file, the number behind its last one.
  private var ends: [Int] = []
  private var opened: (number: Int, file: any CompanionFile)?

  /// - Parameters:
  ///   - sources: those that are no files bring nothing.
  ///   - folder: for files without names.
  package init(_ sources: [CompanionSource], keys: SealingKeys, tables folder: String) {
    files = sources.compactMap { source -> File? in
      guard case .file(let open) = source.content else { return nil }
      return File(path: source.path, open: open)
    }
    numbers = Dictionary(files.enumerated().map { ($1.path, $0) }) { first, _ in first }
    fingerprinter = Fingerprinter(keys)
    self.folder = folder
  }

  /// - Throws: `.stateFolder`; `CancellationError`.
  func block(_ print: Fingerprint) throws -> [UInt8]? {
    guard let place = try indexed()[print] else { return nil }
    let number = fileNumber(ofBlock: Int(place.frame))
    let start = number > 0 ? ends[number - 1] : 0
    guard let block = block(Int(place.frame) - start, ofFile: number), fingerprint(of: block) == print else {
      return nil
    }
    return block
  }

  /// What stands at that place of the file of that path; `nil` beyond its end, or when it cannot be read.
  func block(_ block: Int, of path: String) -> [UInt8]? { numbers[path].flatMap { self.block(block, ofFile: $0) } }

  /// So many bytes from the beginning of what stands at that place of the file of that path; `nil` unless there is more, and
  /// they have that fingerprint.
  func beginning(_ length: Int, ofBlock block: Int, of path: String, _ print: Fingerprint) -> [UInt8]? {
    guard let whole = self.block(block, of: path), whole.count > length else { return nil }
    let beginning = Array(whole.prefix(length))
    return fingerprint(of: beginning) == print ? beginning : nil
  }

  private func indexed() throws -> UnitIndex {
    if let index { return index }
    let made = try UnitIndex(in: folder)
    ends = []
    for number in files.indices {
      try Task.checkCancellation()
      let start = ends.last ?? 0
      // As many as a place in the index can tell apart: 256 TiB.
      let count = min(file(number).map { $0.length / Self.blockSize + 1 } ?? 0, Int(UInt32.max) - start)
      for step in 0..<count {
        if step % 64 == 0 { try Task.checkCancellation() }
        // Of a disk that is dying, some blocks may be had.
        guard let block = block(step, ofFile: number) else { continue }
        try made.insert(fingerprint(of: block), at: .init(frame: UInt32(start + step), unit: 0))
      }
      ends.append(start + count)
    }
    index = made
    return made
  }

  /// The first file that ends behind the block.
  private func fileNumber(ofBlock block: Int) -> Int {
    var (low, high) = (0, ends.count)
    while low < high {
      let middle = (low + high) / 2
      if ends[middle] > block { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private func block(_ block: Int, ofFile number: Int) -> [UInt8]? {
    guard let file = file(number) else { return nil }
    let (start, overflows) = block.multipliedReportingOverflow(by: Self.blockSize)
    guard !overflows, start < file.length else { return nil }
    return try? file.read(start..<start + min(Self.blockSize, file.length - start))
  }

  /// The one that was opened last stays open: its blocks come one after the other.
  private func file(_ number: Int) -> (any CompanionFile)? {
    if let opened, opened.number == number { return opened.file }
    opened = nil
    guard let file = try? files[number].open() else { return nil }
    opened = (number, file)
    return file
  }

  private func fingerprint(of block: [UInt8]) -> Fingerprint {
    block.withUnsafeBytes { fingerprinter.fingerprint(.block, $0) }
  }
}
