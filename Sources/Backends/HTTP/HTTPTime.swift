/// Dates as HTTP writes them, and what a server means by "Retry-After".
enum HTTPTime {
  /// Seconds since 1970 UTC of a date such as "Sun, 06 Nov 1994 08:49:37 GMT", `nil` for anything else.
  static func seconds(_ text: String) -> Int? {
    let words = text.split { $0 == " " || $0 == "," }
    guard words.count == 6, words[5] == "GMT", let day = Int(words[1]), let year = Int(words[3]),
      let month = months.firstIndex(where: { $0 == words[2] })
    else { return nil }
    let clock = words[4].split(separator: ":").compactMap { Int($0) }
    guard clock.count == 3, (1...31).contains(day), (1970...9999).contains(year), (0...23).contains(clock[0]),
      (0...59).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    let days = CivilDay.number(year: year, month: month + 1, day: day)
    return days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
  }

  /// Seconds since 1970 UTC of a time such as "2009-10-12T17:50:30.000Z", `nil` for anything else.
  static func secondsOfISO(_ text: String) -> Int? {
    let fields = text.split { "-:T.Z".contains($0) }
    guard text.hasSuffix("Z"), text.contains("T"), (6...7).contains(fields.count) else { return nil }
    let numbers = fields.prefix(6).compactMap { Int($0) }
    guard numbers.count == 6, (1970...9999).contains(numbers[0]), (1...12).contains(numbers[1]),
      (1...31).contains(numbers[2]), (0...23).contains(numbers[3]), (0...59).contains(numbers[4]),
      (0...60).contains(numbers[5])
    else { return nil }
    let days = CivilDay.number(year: numbers[0], month: numbers[1], day: numbers[2])
    return days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
  }

  /// The time as "2009-10-12T17:50:30Z".
  static func iso(_ seconds: Int) -> String {
    let date = CivilDay.date(of: seconds / 86_400)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let clock = seconds % 86_400
    return "\(date.year)-\(two(date.month))-\(two(date.day))T"
      + "\(two(clock / 3600)):\(two(clock / 60 % 60)):\(two(clock % 60))Z"
  }

  /// How long a server wants to be left alone: it names seconds, or a date, by its own clock.
  /// - Parameter now: seconds since 1970 UTC.
  static func retryAfter(_ response: HTTPResponse, now: Int) -> Duration? {
    guard let text = response.header("retry-after") else { return nil }
    if let seconds = Int(text) { return seconds >= 0 ? .seconds(min(seconds, 1_000_000)) : nil }
    let now = response.header("date").flatMap(seconds) ?? now
    return seconds(text).map { .seconds(min(max(0, $0 - now), 1_000_000)) }
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

/// Days of the Gregorian calendar, counted from 1970-01-01.
/// See: howardhinnant.github.io/date_algorithms.html
enum CivilDay {
  static func number(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func date(of number: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = number + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }
}
