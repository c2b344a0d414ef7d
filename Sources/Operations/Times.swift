/// Times between people and programs: milliseconds since 1970-01-01 UTC ↔ RFC 3339.
///
/// By hand, because it is thirty lines of arithmetic: no calendar, no locale, no time zone database is involved.
package enum Times {
  /// `2026-11-20T12:00:00.123Z`: always UTC, always milliseconds, so that texts sort as times do.
  package static func text(_ milliseconds: UInt64) -> String {
    let (whole, fraction) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    return "\(body(whole)).\(padded(fraction, 3))Z"
  }

  /// `2026-11-20T12:00:00Z`: whole seconds, cut, for tables.
  package static func seconds(_ milliseconds: UInt64) -> String { body(milliseconds / 1000) + "Z" }

  /// `20261120T120000Z`, as file names carry it.
  package static func compact(_ milliseconds: UInt64) -> String {
    seconds(milliseconds).filter { $0 != "-" && $0 != ":" }
  }

  /// Seconds with one digit after the point, cut.
  package static func tenths(_ duration: Duration) -> String {
    let tenths = duration.components.seconds * 10 + duration.components.attoseconds / 100_000_000_000_000_000
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// When something is done before which there is a pause: `in 2.5 s`.
  package static func after(_ pause: Duration) -> String { pause > .zero ? "in \(tenths(pause)) s" : "at once" }

  /// Reads RFC 3339, with any offset: `2026-11-20T12:00:00Z`, `2026-11-20t14:00:00.5+02:00`. Digits beyond
  /// milliseconds are cut. `nil` when it is not such a time, or lies before 1970.
  package static func milliseconds(_ text: String) -> UInt64? {
    var reader = TimeReader(text)
    guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
      let day = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
      let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
      let second = reader.number(2), let fraction = reader.fraction(), let offset = reader.offset(), reader.isAtEnd,
      (1...12).contains(month), (1...daysIn(month, of: year)).contains(day), hour < 24, minute < 60, second < 61
    else { return nil }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
    return seconds < 0 ? nil : UInt64(seconds) * 1000 + UInt64(fraction)
  }

  private static func body(_ seconds: UInt64) -> String {
    let (day, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let date = date(ofDay: Int(day))
    let clock = "\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))"
    return "\(padded(UInt64(date.year), 4))-\(padded(UInt64(date.month), 2))-\(padded(UInt64(date.day), 2))T\(clock)"
  }

  private static func padded(_ number: UInt64, _ width: Int) -> String {
    let digits = "\(number)"
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  private static func daysIn(_ month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  }

  // Both ways after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March, so that the
  // leap day is the last of its year; 146,097 days are 400 years; day 719,468 is 1970-01-01.

  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let (era, dayOfEra) = (day + 719_468).quotientAndRemainder(dividingBy: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }
}

/// Takes the parts of a time from a text, one after the other.
private struct TimeReader {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text[...].utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  mutating func number(_ digits: Int) -> Int? {
    let text = rest.prefix(digits)
    guard text.count == digits, text.allSatisfy(Self.isDigit) else { return nil }
    rest = rest.dropFirst(digits)
    return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Milliseconds; 0 when there is no fraction.
  mutating func fraction() -> Int? {
    guard take(".") else { return 0 }
    let digits = rest.prefix(while: Self.isDigit)
    guard (1...20).contains(digits.count) else { return nil }
    rest = rest.dropFirst(digits.count)
    let padded = (digits.map { Int($0 - UInt8(ascii: "0")) } + [0, 0]).prefix(3)
    return padded.reduce(0) { $0 * 10 + $1 }
  }

  /// Minutes east of UTC.
  mutating func offset() -> Int? {
    if take("Z") || take("z") { return 0 }
    let sign = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
      return nil
    }
    return sign * (hours * 60 + minutes)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
