import Glibc

/// A moment in the calendar of UTC.
struct UTCTime {
  /// `yyyyMMdd'T'HHmmss'Z'`
  let compact: String

  init(milliseconds: Int64) {
    var seconds = time_t(milliseconds / 1000)
    var fields = tm()
    gmtime_r(&seconds, &fields)
    func digits(_ value: Int32, _ width: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    let date = digits(fields.tm_year + 1900, 4) + digits(fields.tm_mon + 1, 2) + digits(fields.tm_mday, 2)
    compact = "\(date)T\(digits(fields.tm_hour, 2))\(digits(fields.tm_min, 2))\(digits(fields.tm_sec, 2))Z"
  }
}
