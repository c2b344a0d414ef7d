import CLinux
import Glibc

/// Reads and writes of a file that end when everything is done, however often the system interrupts them.
enum WholeTransfer {
  /// - Returns: 0, or the error's number.
  static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let put = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
        if put < 0, errno == EINTR { continue }
        guard put > 0 else { return put < 0 ? errno : EIO }
        done += put
      }
      return 0
    }
  }

  /// Where the descriptor stands.
  /// - Returns: 0, or the error's number.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let put = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if put < 0, errno == EINTR { continue }
      guard put > 0 else { return put < 0 ? errno : EIO }
      done += put
    }
    return 0
  }

  /// Fills the buffer from an offset on.
  /// - Returns: 0, or the error's number; `EIO` where the file ends before.
  static func read(into buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: Int) -> Int32 {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let got = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { return got < 0 ? errno : EIO }
      done += got
    }
    return 0
  }

  /// Takes room on the disk for a part of a file; zeros stand there until something is written.
  /// - Returns: 0, `ENOSPC` or `EDQUOT`. Where the file system cannot, or may not, whoever writes will see what comes of it.
  static func reserve(_ range: Range<Int>, of descriptor: Int32) -> Int32 {
    while sl_reserve(descriptor, Int64(range.lowerBound), Int64(range.count)) != 0 {
      if errno == EINTR { continue }
      return [ENOSPC, EDQUOT].contains(errno) ? errno : 0
    }
    return 0
  }
}
