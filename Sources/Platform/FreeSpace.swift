extension statvfs {
  /// Bytes that are free for everybody. A file system of a program, or of another machine, may say any numbers: where
  /// they come to more than there can be, it is that.
  package var freeBytes: Int {
    let (bytes, isMore) = UInt64(f_bavail).multipliedReportingOverflow(by: UInt64(f_frsize))
    return isMore ? .max : Int(clamping: bytes)
  }
}
