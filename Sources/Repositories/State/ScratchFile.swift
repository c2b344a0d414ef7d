import Glibc

/// Bytes that only this run needs, in a file without a name. Parts may be read and written by several tasks at once.
final class ScratchFile: Sendable {
  private let descriptor: Int32
  private let folder: String

  /// - Throws: `.stateFolder`, `.noSpace`.
  init(in folder: String) throws(RepositoryError) {
    self.folder = folder
    descriptor = try NamelessFile.open(in: folder)
  }

  deinit { close(descriptor) }

  /// - Throws: `.stateFolder`; `.noSpace` on a full disk.
  func write(_ bytes: [UInt8], at offset: Int) throws(RepositoryError) {
    var done = 0
    while done < bytes.count {
      let put = bytes.withUnsafeBytes {
        pwrite(
          descriptor, UnsafeRawBufferPointer(rebasing: $0[done...]).baseAddress, $0.count - done, off_t(offset + done))
      }
      if put < 0, errno == EINTR { continue }
      guard put > 0 else { throw NamelessFile.failure("cannot write a scratch file", in: folder, errno) }
      done += put
    }
  }

  /// These parts of it, joined.
  /// - Throws: `.stateFolder`.
  func read(_ parts: [Range<Int>]) throws(RepositoryError) -> [UInt8] {
    var problem: Int32 = 0
    let joined = [UInt8](unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.count }) { buffer, filled in
      for part in parts {
        var offset = part.lowerBound
        while offset < part.upperBound, problem == 0 {
          let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
          let got = pread(descriptor, rest.baseAddress, part.upperBound - offset, off_t(offset))
          if got < 0, errno == EINTR { continue }
          if got <= 0 { problem = got < 0 ? errno : EIO }
          offset += max(0, got)
          filled += max(0, got)
        }
      }
    }
    guard problem == 0 else { throw NamelessFile.failure("cannot read a scratch file", in: folder, problem) }
    return joined
  }
}
