import Glibc

/// The name a person sees: `<basename>-<UTC yyyyMMdd'T'HHmmss'Z'>.sqlite`.
/// - Parameter takenAt: milliseconds since 1970, UTC.
package func snapshotFileName(database baseName: String, takenAt: Int64) -> String {
  // Rounded down also before 1970.
  var seconds = time_t(takenAt >= 0 ? takenAt / 1000 : (takenAt - 999) / 1000)
  var parts = tm()
  gmtime_r(&seconds, &parts)
  func digits(_ number: Int32, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
  let date = digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2)
  let time = digits(parts.tm_hour, 2) + digits(parts.tm_min, 2) + digits(parts.tm_sec, 2)
  return "\(baseName)-\(date)T\(time)Z.sqlite"
}
