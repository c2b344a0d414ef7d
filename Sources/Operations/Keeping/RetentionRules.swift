/// What a person wants kept of the versions of one database. A version stays when any of the rules keeps it.
///
/// Counts are of hours, days, weeks … that have a sound version, not of those that went by: a machine that was off for a
/// month loses nothing by it.
package struct RetentionRules: Sendable, Equatable {
  /// So many newest versions.
  package var last: Int?
  /// The newest version of each of so many hours, and so on. Hours, days, weeks (from Monday), months and years are those
  /// of UTC: wherever a plan is made, it is the same.
  package var hourly: Int?
  package var daily: Int?
  package var weekly: Int?
  package var monthly: Int?
  package var yearly: Int?
  /// Every version this much older than the newest, at most: milliseconds.
  package var within: UInt64?
  /// Every version with one of these tags.
  package var tags: [String] = []

  package init() {}

  /// Nothing would be kept but what always is. Nobody means that.
  package var isEmpty: Bool { self == RetentionRules() }

  /// The rules that count periods.
  var periods: [(period: RetentionPeriod, count: Int)] {
    let counts: [(RetentionPeriod, Int?)] = [
      (.hourly, hourly), (.daily, daily), (.weekly, weekly), (.monthly, monthly), (.yearly, yearly),
    ]
    return counts.compactMap { period, count in count.map { (period, $0) } }
  }
}

/// A span of time of which one version stays.
enum RetentionPeriod: String, CaseIterable {
  case hourly
  case daily
  case weekly
  case monthly
  case yearly

  /// The hour, day, week … that a time lies in, as people write it: `2026-11-20`. A week is called after its Monday.
  /// - Parameter time: milliseconds since 1970 UTC.
  func name(of time: UInt64) -> String {
    switch self {
    case .hourly: String(Times.seconds(time).prefix("2026-11-20T08".count))
    case .daily: String(Times.seconds(time).prefix("2026-11-20".count))
    case .weekly: Self.daily.name(of: time - min(time, Self.daysSinceMonday(time) * Self.day))
    case .monthly: String(Times.seconds(time).prefix("2026-11".count))
    case .yearly: String(Times.seconds(time).prefix("2026".count))
    }
  }

  private static let day: UInt64 = 86_400_000

  /// 1970-01-01 was a Thursday.
  private static func daysSinceMonday(_ time: UInt64) -> UInt64 { (time / day + 3) % 7 }
}
