import Sealift

/// Numbers of things, as people say them.
enum Count {
  /// `1 version`, `2 versions`.
  static func text(_ count: Int, _ thing: String, _ things: String? = nil) -> String {
    "\(count) \(count == 1 ? thing : things ?? "\(thing)s")"
  }
}

/// Numbers of bytes between people and programs.
enum ByteCount {
  private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]

  /// `812 B`, `8.4 MiB`: at most 10 characters.
  static func text(_ bytes: Int) -> String {
    guard bytes >= 1024 else { return "\(bytes) B" }
    var value = Double(bytes)
    var unit = 0
    // 1023.95 would be rounded to 1024.0: that is one of the next unit.
    while value >= 1023.95, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  /// `4096`, `512KiB`, `1 GiB`, `5MB`: binary and decimal units; `nil` when it is not a number of bytes.
  static func parse(_ text: String) -> Int? {
    guard let (number, unit) = splitQuantity(text) else { return nil }
    let factor: Int
    switch unit.lowercased() {
    case "", "b": factor = 1
    case "k", "kib": factor = 1 << 10
    case "m", "mib": factor = 1 << 20
    case "g", "gib": factor = 1 << 30
    case "t", "tib": factor = 1 << 40
    case "kb": factor = 1000
    case "mb": factor = 1_000_000
    case "gb": factor = 1_000_000_000
    case "tb": factor = 1_000_000_000_000
    default: return nil
    }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
    return overflow ? nil : bytes
  }

  /// Bytes a second: as `parse`, with or without `/s`; `nil` also for fewer than anything goes with (`5` for `5MiB`).
  static func parseRate(_ text: String) -> Int? {
    parse(text.hasSuffix("/s") ? String(text.dropLast(2)) : text).flatMap { $0 >= LimitedRate.least ? $0 : nil }
  }
}

/// Lengths of time as people write them.
enum TimeSpan {
  /// Milliseconds of `500ms`, `30s`, `5m`, `24h`, `7d`; the unit is needed. `nil` when it is not such a span.
  static func parse(_ text: String) -> Int? {
    guard let (number, unit) = splitQuantity(text) else { return nil }
    let factor: Int
    switch unit {
    case "ms": factor = 1
    case "s": factor = 1000
    case "m": factor = 60_000
    case "h": factor = 3_600_000
    case "d": factor = 86_400_000
    default: return nil
    }
    let (milliseconds, overflow) = number.multipliedReportingOverflow(by: factor)
    return overflow ? nil : milliseconds
  }

  /// `6m` is six months to who comes from other programs. How long versions are kept is not left to that: six minutes would
  /// let all of them go.
  static func mayMeanMonths(_ text: String) -> Bool { splitQuantity(text)?.unit.lowercased() == "m" }

  /// As `parse`; `nil` also for no time at all.
  static func parseSome(_ text: String) -> Int? { parse(text).flatMap { $0 > 0 ? $0 : nil } }
}

private func splitQuantity(_ text: String) -> (number: Int, unit: String)? {
  let digits = text.prefix { $0.isASCII && $0.isNumber }
  guard let number = Int(digits) else { return nil }
  return (number, String(text.dropFirst(digits.count).drop { $0 == " " }))
}
