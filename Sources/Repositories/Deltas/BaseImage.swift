import Glibc

/// The plain image of an earlier version, kept on this machine as a base for deltas.
///
/// Nothing depends on it: a page of it is used only when its fingerprint, computed at that moment, is one of a unit that
/// the target is known to hold. A base that rotted, was cut, or belongs to something else costs bytes and no more.
package final class BaseImage: Sendable {
  private let descriptor: Int32
  let pageSize: Int
  let pageCount: Int
  let samples: SampleTable

  /// - Parameters:
  ///   - path: of the image; its samples lie beside it.
  ///   - folder: where tables may lie.
  /// - Returns: `nil` when there is no such image, or no samples that fit it.
  package init?(at path: String, pageSize: Int, in folder: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    var status = stat()
    let pages = fstat(descriptor, &status) == 0 ? Int(status.st_size) / pageSize : 0
    guard pages > 0,
      let samples = SampleTable.read(from: Self.samplesPath(path), pages: pages, pageSize: pageSize, in: folder)
    else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.pageSize = pageSize
    pageCount = pages
    self.samples = samples
  }

  deinit { close(descriptor) }

  package static func samplesPath(_ image: String) -> String { image + ".samples" }

  /// - Returns: false when not all of these pages can be read.
  func read(_ pages: Range<Int>, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    var done = 0
    while done < pages.count * pageSize {
      let got = pread(
        descriptor, buffer.baseAddress.map { $0 + done }, pages.count * pageSize - done,
        off_t(pages.lowerBound * pageSize + done))
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { return false }
      done += got
    }
    return true
  }
}
