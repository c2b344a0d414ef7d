import Glibc
package import Sealing

/// Plain images on this machine that may hold what the target lost: a fresh snapshot, and the bases of deltas. Pages are
/// found by their fingerprints, whatever image they are in.
package final class LocalPages: @unchecked Sendable {
  private let descriptors: [Int32]
  private let pageCounts: [Int]
  private let pageSize: Int
  private let index: UnitIndex

  /// - Parameters:
  ///   - paths: of images; those that cannot be read, or have pages of another size, bring nothing.
  ///   - folder: for files without names.
  /// - Throws: `.stateFolder`; `CancellationError`.
  package init(_ paths: [String], pageSize: Int, keys: SealingKeys, tables folder: String) throws {
    self.pageSize = pageSize
    descriptors = paths.map { open($0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }.filter { $0 >= 0 }
    pageCounts = descriptors.map { descriptor in
      var status = stat()
      return fstat(descriptor, &status) == 0 ? Int(status.st_size) / pageSize : 0
    }
    do {
      index = try UnitIndex(in: folder, expected: pageCounts.reduce(0, +))
    } catch {
      // Nobody else does: what is not whole yet is not deinitialised.
      for descriptor in descriptors { close(descriptor) }
      throw error
    }
    let fingerprinter = Fingerprinter(keys)
    for (image, count) in pageCounts.enumerated() {
      for number in 0..<count {
        if number % 256 == 0 { try Task.checkCancellation() }
        guard let page = page(number, ofImage: image) else { break }
        let fingerprint = page.withUnsafeBytes { fingerprinter.fingerprint(.page, $0) }
        try index.insert(fingerprint, at: .init(frame: UInt32(number), unit: UInt16(image)))
      }
    }
  }

  deinit { for descriptor in descriptors { close(descriptor) } }

  var images: Range<Int> { 0..<descriptors.count }

  func page(_ fingerprint: Fingerprint) -> [UInt8]? {
    index[fingerprint].flatMap { page(Int($0.frame), ofImage: Int($0.unit)) }
  }

  /// `nil` beyond the end, or when it cannot be read.
  func page(_ number: Int, ofImage image: Int) -> [UInt8]? {
    guard number < pageCounts[image] else { return nil }
    var done = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: pageSize) { buffer, filled in
      while done < pageSize {
        let rest = UnsafeMutableRawBufferPointer(buffer)[done...]
        let got = pread(
          descriptors[image], UnsafeMutableRawBufferPointer(rebasing: rest).baseAddress, pageSize - done,
          off_t(number * pageSize + done))
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { break }
        done += got
      }
      filled = done
    }
    return done == pageSize ? bytes : nil
  }
}
