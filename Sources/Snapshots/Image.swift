import Platform

/// The finished copy in the spool, when SQLite has let go of it: a file whose bytes we may set right.
final class Image {
  let path: String
  private let file: Int32
  /// Bytes a page.
  let pageSize: Int
  let pageCount: Int

  /// - Throws: `.spool`; `.damaged` when its header makes no sense.
  convenience init(_ path: String) throws(SnapshotError) {
    try self.init(taking: open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), path)
  }

  /// One that is open already, wherever its name leads.
  convenience init(_ own: OwnFile) throws(SnapshotError) {
    try self.init(taking: fcntl(own.descriptor, F_DUPFD_CLOEXEC, 0), own.path)
  }

  /// - Parameter opened: is closed with this; where it could not be opened, `errno` says why.
  private init(taking opened: Int32, _ path: String) throws(SnapshotError) {
    self.path = path
    file = opened
    guard file >= 0 else { throw imageError(path, errno) }
    let header: DatabaseHeader?
    do throws(SnapshotError) {
      header = DatabaseHeader(try readBytes(file, path, at: 0, DatabaseHeader.size))
    } catch {
      close(file)
      throw error
    }
    guard let size = header?.pageSize else {
      close(file)
      throw SnapshotError(.damaged, "the header of the copy \(path) makes no sense")
    }
    pageSize = size
    var status = stat()
    let bytes = fstat(file, &status) == 0 ? Int(status.st_size) : 0
    pageCount = (bytes + size - 1) / size
  }

  deinit { close(file) }

  /// Puts the counters back that the backup API changed in its copy of page 1.
  func restoreCounters(of header: DatabaseHeader) throws(SnapshotError) {
    for range in DatabaseHeader.counters { try write(Array(header.bytes[range]), at: range.lowerBound) }
  }

  func isWAL() throws(SnapshotError) -> Bool { try readHeader().isWAL }

  /// Makes the image say what its source says: whether it is to be read through a -wal.
  func restoreJournalMode(isWAL: Bool) throws(SnapshotError) {
    let version: UInt8 = isWAL ? 2 : 1
    try write([version, version], at: DatabaseHeader.journalMode.lowerBound)
  }

  /// Fills the pages that hold nothing but remains of deleted rows, and the page of lock bytes, with zeros.
  ///
  /// A trunk page of the free list keeps its list; what lies behind that is zeroed too, unless the page ends with a sum of
  /// it all that only the application can write. Remains inside pages that are in use stay: only a vacuum removes those.
  ///
  /// The whole list of free pages is read and doubted first: when anything in it cannot be right, nothing is
  /// touched.
  /// - Returns: how many free pages were filled.
  func zeroFreePages() throws(SnapshotError) -> Int {
    let lockPage = lockBytePage(pageSize: pageSize)
    let zeros = [UInt8](repeating: 0, count: pageSize)
    if pageCount >= lockPage { try write(zeros, at: (lockPage - 1) * pageSize) }
    guard try freelistIsSound() else { return 0 }
    var zeroed = 0
    try eachTrunk { (trunk: Int, leaves: [Int]) throws(SnapshotError) -> Bool in
      for run in runs(of: leaves) { try zero(run) }
      let used = 8 + 4 * leaves.count
      if try reservedBytes(ofPage: trunk).allSatisfy({ $0 == 0 }) {
        try write(Array(zeros.dropFirst(used)), at: (trunk - 1) * pageSize + used)
      }
      zeroed += leaves.count
      return true
    }
    return zeroed
  }

  /// Bytes of neighbouring pages, joined. The last page of the file stands alone: less than all of it may be there.
  private func runs(of leaves: [Int]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    for leaf in leaves.sorted() {
      let page = (leaf - 1) * pageSize..<leaf * pageSize
      if let last = runs.last, last.upperBound == page.lowerBound, leaf < pageCount {
        runs[runs.count - 1] = last.lowerBound..<page.upperBound
      } else {
        runs.append(page)
      }
    }
    return runs
  }

  /// Longer ones become holes, where the file system makes any: nothing is written of them, nor has to be read again.
  private static let leastHole = 128 << 10

  private func zero(_ run: Range<Int>) throws(SnapshotError) {
    if run.count >= Self.leastHole, punchHole(run, into: file) { return }
    let zeros = [UInt8](repeating: 0, count: min(run.count, Self.leastHole))
    for start in stride(from: run.lowerBound, to: run.upperBound, by: zeros.count) {
      try write(Array(zeros.prefix(run.upperBound - start)), at: start)
    }
  }

  private func freelistIsSound() throws(SnapshotError) -> Bool {
    var seen = PageSet(upTo: pageCount)
    let lockPage = lockBytePage(pageSize: pageSize)
    func isNew(_ page: Int) -> Bool { page > 1 && page <= pageCount && page != lockPage && seen.insert(page) }
    var count = 0
    let sound = try eachTrunk { (trunk: Int, leaves: [Int]) throws(SnapshotError) -> Bool in
      count += 1 + leaves.count
      return isNew(trunk) && leaves.allSatisfy(isNew)
    }
    return sound ? try readHeader().freelistCount == count : false
  }

  /// See `FreePages.eachTrunk`.
  @discardableResult
  private func eachTrunk(
    _ body: (_ trunk: Int, _ leaves: [Int]) throws(SnapshotError) -> Bool
  ) throws(SnapshotError) -> Bool {
    try FreePages.eachTrunk(
      from: readHeader().firstFreelistTrunk, pageSize: pageSize, pageCount: pageCount,
      reading: { (page) throws(SnapshotError) in
        try readBytes(file, path, at: (page - 1) * pageSize, pageSize)
      }, body)
  }

  /// See ReservedBytes.swift.
  func usesReservedBytes() throws(SnapshotError) -> Bool {
    try DatabaseHeader.usesReservedBytes { (count) throws(SnapshotError) in try readBytes(file, path, at: 0, count) }
  }

  private func reservedBytes(ofPage page: Int) throws(SnapshotError) -> [UInt8] {
    let count = try readHeader().reservedBytes
    return try readBytes(file, path, at: page * pageSize - count, count)
  }

  private func readHeader() throws(SnapshotError) -> DatabaseHeader {
    guard let header = DatabaseHeader(try readBytes(file, path, at: 0, DatabaseHeader.size)) else {
      throw SnapshotError(.damaged, "the header of the copy \(path) makes no sense")
    }
    return header
  }

  private func write(_ bytes: [UInt8], at offset: Int) throws(SnapshotError) {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(SnapshotError) in try writeBytes(bytes, to: file, path, at: offset) }
    }.get()
  }
}

/// Writes all of `bytes` at `offset` of a copy that is open at `path`.
/// - Throws: `.noSpace`, `.spool`.
func writeBytes(_ bytes: UnsafeRawBufferPointer, to file: Int32, _ path: String, at offset: Int) throws(SnapshotError) {
  var done = 0
  while done < bytes.count {
    let written = pwrite(file, bytes[done...].rebased, bytes.count - done, off_t(offset + done))
    if written < 0, errno == EINTR { continue }
    guard written > 0 else { throw imageError(path, errno) }
    done += written
  }
}

func readBytes(_ file: Int32, _ path: String, at offset: Int, _ count: Int) throws(SnapshotError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  var done = 0
  while done < count {
    let found = bytes.withUnsafeMutableBytes { pread(file, $0[done...].rebased, count - done, off_t(offset + done)) }
    if found < 0, errno == EINTR { continue }
    guard found >= 0 else { throw imageError(path, errno) }
    if found == 0 { break }
    done += found
  }
  return bytes
}

func imageError(_ path: String, _ number: Int32) -> SnapshotError {
  if [ENOSPC, EDQUOT, EFBIG].contains(number) {
    return SnapshotError(
      .noSpace, "no room was left while \(path) was written: \(words(number))",
      hint: "Free space there, or raise the limit that stands in the way.")
  }
  return SnapshotError(.spool, "the copy \(path) cannot be read or written: \(words(number))")
}

extension Slice where Base == UnsafeRawBufferPointer {
  fileprivate var rebased: UnsafeRawPointer? { UnsafeRawBufferPointer(rebasing: self).baseAddress }
}

extension Slice where Base == UnsafeMutableRawBufferPointer {
  fileprivate var rebased: UnsafeMutableRawPointer? { UnsafeMutableRawBufferPointer(rebasing: self).baseAddress }
}
