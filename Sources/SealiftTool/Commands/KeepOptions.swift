import ArgumentParser
import Sealift

/// The rules of `forget`, as options.
struct KeepOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Keep so many newest versions.", valueName: "n"))
  var keepLast: Int?

  @Option(help: ArgumentHelp("Keep the newest version of so many hours.", valueName: "n"))
  var keepHourly: Int?

  @Option(help: ArgumentHelp("Keep the newest version of so many days (UTC).", valueName: "n"))
  var keepDaily: Int?

  @Option(help: ArgumentHelp("Keep the newest version of so many weeks, which begin on Monday.", valueName: "n"))
  var keepWeekly: Int?

  @Option(help: ArgumentHelp("Keep the newest version of so many months.", valueName: "n"))
  var keepMonthly: Int?

  @Option(help: ArgumentHelp("Keep the newest version of so many years.", valueName: "n"))
  var keepYearly: Int?

  @Option(help: ArgumentHelp("Keep what is at most so much older than the newest, such as 48h.", valueName: "time"))
  var keepWithin: String?

  @Option(
    name: .customLong("keep-tag"), parsing: .singleValue,
    help: ArgumentHelp("Keep versions with this tag; may be given more than once.", valueName: "tag"))
  var keepTags: [String] = []

  func validate() throws {
    for count in [keepLast, keepHourly, keepDaily, keepWeekly, keepMonthly, keepYearly].compactMap({ $0 })
    where !KeepRule.counts.contains(count) {
      throw ValidationError("a number of versions to keep lies between 1 and \(KeepRule.counts.upperBound)")
    }
    if let keepWithin, TimeSpan.mayMeanMonths(keepWithin) {
      throw ValidationError("--keep-within \(KeepRule.monthsOrMinutes), not '\(keepWithin)'")
    }
    if let keepWithin, KeepRule.span(keepWithin) == nil {
      throw ValidationError("--keep-within needs a time above 0, such as 48h or 30d, not '\(keepWithin)'")
    }
    if keepTags.contains("") { throw ValidationError("a tag must not be empty") }
  }

  /// `nil` when none is given.
  var rules: RetentionRules? {
    var rules = RetentionRules()
    (rules.last, rules.hourly, rules.daily) = (keepLast, keepHourly, keepDaily)
    (rules.weekly, rules.monthly, rules.yearly) = (keepWeekly, keepMonthly, keepYearly)
    rules.within = keepWithin.flatMap(KeepRule.span)
    rules.tags = keepTags
    return rules.isEmpty ? nil : rules
  }
}

/// What a rule may say, on the command line and in the configuration alike.
enum KeepRule {
  /// None would keep nothing: whoever wants that leaves the rule out.
  static let counts = 1...1_000_000

  /// What a text in the configuration that is no such time must be.
  static func expected(insteadOf text: String) -> String {
    TimeSpan.mayMeanMonths(text)
      ? "in days or hours, such as 180d, as m may mean minutes or months" : "a time above 0, such as 48h"
  }

  static let monthsOrMinutes = "does not tell minutes and months apart: write days or hours, such as 180d or 48h"

  /// Milliseconds; `nil` when it is no time, or none at all, or may mean months.
  static func span(_ text: String) -> UInt64? {
    TimeSpan.mayMeanMonths(text) ? nil : TimeSpan.parseSome(text).map { UInt64($0) }
  }
}

extension RetentionRules {
  /// The `keep` section of a database.
  init(_ section: ConfigurationSection) throws {
    self.init()
    last = try section.integer("last", in: KeepRule.counts)
    hourly = try section.integer("hourly", in: KeepRule.counts)
    daily = try section.integer("daily", in: KeepRule.counts)
    weekly = try section.integer("weekly", in: KeepRule.counts)
    monthly = try section.integer("monthly", in: KeepRule.counts)
    yearly = try section.integer("yearly", in: KeepRule.counts)
    within = try section.value("within", expected: KeepRule.expected(insteadOf:), KeepRule.span)
    tags = try section.texts("tags") ?? []
    try section.finish()
    guard !isEmpty else {
      throw ConfigurationSection.mistake(
        "badValue", section.file, section.line, "'\(section.path)' has no rule",
        hint: "Leave it out, or say what to keep, such as \"daily\": 14.")
    }
  }
}
