import TestKit
import Testing

@testable import Operations

/// Which versions stay: by hand for single rules, and by chance for what must always hold.
@Suite struct RetentionPlanTests {
  /// One version for each time, in this order.
  private func versions(_ times: [String]) throws -> [RetentionPlan.Version] {
    try times.enumerated().map { index, time in
      RetentionPlan.Version(
        id: "v\(index + 1)", sequence: UInt64(index + 1), time: try #require(Times.milliseconds(time)))
    }
  }

  private func rules(_ set: (inout RetentionRules) -> Void) -> RetentionRules {
    var rules = RetentionRules()
    set(&rules)
    return rules
  }

  private static let times = [
    "2024-12-30T10:00:00Z", "2025-01-01T00:00:00Z", "2026-11-14T23:59:59Z", "2026-11-15T00:00:00Z",
    "2026-11-16T08:00:00Z", "2026-11-16T08:59:59Z", "2026-11-16T09:00:00Z", "2026-11-20T12:00:00Z",
  ]

  @Test(
    arguments: [
      ("last", 1, [8]), ("last", 3, [6, 7, 8]), ("last", 99, [1, 2, 3, 4, 5, 6, 7, 8]),
      ("hourly", 3, [6, 7, 8]), ("hourly", 4, [4, 6, 7, 8]), ("daily", 3, [4, 7, 8]), ("daily", 4, [3, 4, 7, 8]),
      // 2026-11-16 is a Monday, as 2024-12-30 is: the turn of the year cuts no week in two.
      ("weekly", 1, [8]), ("weekly", 2, [4, 8]), ("weekly", 3, [2, 4, 8]), ("weekly", 9, [2, 4, 8]),
      ("monthly", 2, [2, 8]), ("monthly", 3, [1, 2, 8]), ("yearly", 2, [2, 8]), ("yearly", 3, [1, 2, 8]),
    ] as [(String, Int, [UInt64])])
  func `a rule counts the periods that have a version`(rule: String, count: Int, staying: [UInt64]) throws {
    let rules = rules {
      switch rule {
      case "last": $0.last = count
      case "hourly": $0.hourly = count
      case "daily": $0.daily = count
      case "weekly": $0.weekly = count
      case "monthly": $0.monthly = count
      default: $0.yearly = count
      }
    }
    let plan = RetentionPlan(try versions(Self.times), rules: rules, now: .max)
    #expect(plan.staying.map(\.version.sequence) == staying)
    #expect(plan.decisions.map(\.version.sequence) == Array(1...8))
  }

  @Test func `the newest version that does not lack its companions stays, whatever is asked for`() throws {
    var versions = try versions(Self.times)
    for index in 5...7 { versions[index].lacksCompanions = true }
    let plan = RetentionPlan(versions, rules: rules { $0.last = 1 }, now: .max)
    #expect(plan.staying.map(\.version.sequence) == [5, 8])
    #expect(plan.decisions[4].reasons == ["newest with its companions"])
    #expect(RetentionPlan(versions, forgetting: ["v4", "v5", "v6"]).going.map(\.version.id) == ["v4", "v6"])
    // One that is not all there has no companions to give either.
    versions[4].flaw = .incomplete
    #expect(
      RetentionPlan(versions, rules: rules { $0.last = 1 }, now: .max).staying.map(\.version.sequence) == [4, 8])
  }

  /// Its database comes back, and may be the only one of its time.
  @Test func `a version that lost companions alone takes no place, and stays where a rule would keep it`() throws {
    let whole = try versions(Self.times)
    var versions = whole
    for index in [0, 2, 3, 6] { versions[index].flaw = .companionsLost }
    let three = RetentionPlan(versions, rules: rules { $0.daily = 3 }, now: .max)
    #expect(three.staying.map(\.version.sequence) == [2, 4, 6, 7, 8])
    #expect(three.decisions[6].reasons == ["daily 2026-11-16", "companions are lost, the database is whole"])
    #expect(three.decisions[2].reasons == ["companions lost, does not count"] && three.newestSound?.sequence == 8)
    // Nor does one take its place of which nobody knows whether the database comes back.
    versions = whole
    (versions[4].flaw, versions[5].flaw, versions[6].flaw) = (.companionsLost, .companionsLost, .harmed)
    let two = RetentionPlan(versions, rules: rules { $0.daily = 2 }, now: .max)
    #expect(two.staying.map(\.version.sequence) == [4, 6, 7, 8])
  }

  @Test func `within is seen from the newest version, and a clock that ran ahead is not believed`() throws {
    let rules = rules { $0.within = 5 * 86_400_000 }
    var versions = try versions(Self.times)
    let now = try #require(Times.milliseconds("2030-01-01T00:00:00Z"))
    #expect(RetentionPlan(versions, rules: rules, now: now).staying.map(\.version.sequence) == [5, 6, 7, 8])
    versions[7].time = UInt64.max / 2
    // Then it is seen from the newest of the others.
    let soon = try #require(Times.milliseconds("2026-11-20T12:00:00Z"))
    #expect(RetentionPlan(versions, rules: rules, now: soon).staying.map(\.version.sequence) == [3, 4, 5, 6, 7, 8])
  }

  @Test func `one clock that ran ahead, once, lets nothing go because time goes by`() throws {
    var versions = try versions(Self.times)
    versions[3].time = try #require(Times.milliseconds("2036-01-01T00:00:00Z"))
    let rules = rules { $0.within = 5 * 86_400_000 }
    for now in ["2026-11-20T12:00:00Z", "2026-12-24T12:00:00Z", "2031-01-01T00:00:00Z"] {
      let plan = RetentionPlan(versions, rules: rules, now: try #require(Times.milliseconds(now)))
      #expect(plan.staying.map(\.version.sequence) == [4, 5, 6, 7, 8], "at \(now)")
    }
  }

  @Test func `a clock that is ahead for one night lets nothing go, and two versions are believed`() throws {
    let rules = rules { $0.within = 5 * 86_400_000 }
    func staying(_ added: [String], at now: String) throws -> [UInt64] {
      let plan = RetentionPlan(
        try versions(Self.times + added), rules: rules, now: try #require(Times.milliseconds(now)))
      return plan.staying.map(\.version.sequence)
    }
    // The machine that plans is the one whose clock is wrong.
    #expect(try staying(["2036-02-01T02:30:00Z"], at: "2036-02-01T02:31:00Z") == [5, 6, 7, 8, 9])
    #expect(
      try staying(["2036-02-01T02:30:00Z", "2026-11-21T02:30:00Z"], at: "2026-11-21T02:31:00Z")
        == [5, 6, 7, 8, 9, 10])
    #expect(try staying(["2036-02-01T02:30:00Z", "2036-02-02T02:30:00Z"], at: "2036-02-02T02:31:00Z") == [9, 10])
    // A week of a database at rest is no jump.
    #expect(try staying(["2026-11-27T12:00:00Z"], at: "2026-11-27T12:01:00Z") == [9])
  }

  @Test func `order is by sequence: a clock that went back hides nothing newer`() throws {
    let versions = try versions(["2026-11-20T12:00:00Z", "2026-11-20T13:00:00Z", "2026-11-20T11:00:00Z"])
    #expect(
      RetentionPlan(versions, rules: rules { $0.daily = 1 }, now: .max).staying.map(\.version.sequence) == [3])
    #expect(
      RetentionPlan(versions, rules: rules { $0.hourly = 2 }, now: .max).staying.map(\.version.sequence) == [2, 3])
  }

  @Test func `the newest sound version from before a restore that did not end stays`() throws {
    var versions = try versions(Self.times)
    func staying(since time: String, now: UInt64 = .max) throws -> [UInt64] {
      let unsettled = try #require(Times.milliseconds(time))
      return RetentionPlan(versions, rules: rules { $0.last = 1 }, now: now, unsettledSince: unsettled).staying
        .map(\.version.sequence)
    }
    #expect(try staying(since: "2026-11-16T08:30:00Z") == [5, 8])
    #expect(try staying(since: "2026-11-16T08:59:59Z") == [6, 8])
    #expect(try staying(since: "2026-11-21T00:00:00Z") == [8])
    // By a clock that was wrong then.
    #expect(try staying(since: "2020-01-01T00:00:00Z") == [1, 8])
    let now = try #require(Times.milliseconds("2026-11-21T00:00:00Z"))
    #expect(try staying(since: "2026-11-21T00:00:00Z", now: now) == [8])
    #expect(try staying(since: "2026-11-21T00:00:01Z", now: now) == [1, 8])
    versions[4].flaw = .harmed
    #expect(try staying(since: "2026-11-16T08:30:00Z") == [4, 8])
    // One that lacks its companions is not enough.
    versions[3].lacksCompanions = true
    #expect(try staying(since: "2026-11-16T08:30:00Z") == [3, 4, 8])
    #expect(
      RetentionPlan(
        versions, rules: rules { $0.daily = 1 }, now: .max,
        unsettledSince: Times.milliseconds("2026-11-20T13:00:00Z")
      ).staying.map(\.reasons) == [["newest", "newest from before a restore that did not end", "daily 2026-11-20"]])
  }

  @Test func `what is not sound takes no place, and stays only while nothing newer is sound`() throws {
    var versions = try versions(Self.times)
    versions[6].flaw = .foundDamaged
    versions[7].flaw = .damaged
    versions[1].flaw = .incomplete
    versions[1].isPinned = true
    versions[2].tags = ["keep"]
    versions[4].tags = ["keep"]
    versions[4].flaw = .damaged
    let plan = RetentionPlan(
      versions,
      rules: rules {
        $0.daily = 1
        $0.tags = ["other", "keep"]
      }, now: .max)
    #expect(plan.newestSound?.sequence == 6)
    #expect(
      plan.decisions.map(\.reasons) == [
        ["no rule keeps it"], ["pinned"], ["tag 'keep'"], ["no rule keeps it"], ["damaged, does not count"],
        ["newest", "daily 2026-11-16"], ["nothing newer is sound"], ["nothing newer is sound"],
      ])
    #expect(plan.staying.map(\.version.sequence) == [2, 3, 6, 7, 8])
    for index in versions.indices { versions[index].flaw = .damaged }
    #expect(RetentionPlan(versions, rules: rules { $0.last = 1 }, now: .max).going.isEmpty)
    #expect(RetentionPlan([], rules: rules { $0.last = 1 }, now: .max).decisions.isEmpty)
  }

  @Test func `reasons are told in words`() throws {
    let rules = rules {
      ($0.last, $0.hourly, $0.daily, $0.weekly, $0.monthly, $0.yearly) = (2, 1, 1, 1, 1, 1)
      $0.within = 48 * 3_600_000
    }
    let plan = RetentionPlan(try versions(Self.times), rules: rules, now: .max)
    #expect(
      plan.decisions[7].reasons == [
        "newest", "last 1 of 2", "hourly 2026-11-20T12", "daily 2026-11-20", "weekly 2026-11-16", "monthly 2026-11",
        "yearly 2026", "within 48h",
      ])
    #expect(plan.decisions[6].reasons == ["last 2 of 2"])
    #expect(Times.span(30 * 86_400_000) == "30d" && Times.span(90_000) == "90s" && Times.span(1500) == "1500ms")
  }

  @Test(arguments: [
    ("1970-01-01T00:00:00Z", "1970-01-01"), ("1970-01-04T23:59:59Z", "1970-01-01"),
    ("1970-01-05T00:00:00Z", "1970-01-05"), ("2024-02-29T12:00:00Z", "2024-02-26"),
    ("2025-01-05T23:59:59Z", "2024-12-30"), ("2025-01-06T00:00:00Z", "2025-01-06"),
  ])
  func `a week is called after its Monday`(time: String, monday: String) throws {
    #expect(RetentionPeriod.weekly.name(of: try #require(Times.milliseconds(time))) == monday)
  }

  @Test func `by name only those go, and never the newest sound one`() throws {
    var versions = try versions(Self.times)
    versions[7].flaw = .damaged
    let plan = RetentionPlan(versions, forgetting: ["v1", "v3", "v7", "v8"])
    #expect(plan.going.map(\.version.id) == ["v1", "v3"])
    #expect(plan.decisions[6].reasons == ["newest"] && plan.decisions[1].reasons == ["not named"])
  }

  // MARK: by chance

  /// A history with gaps, clocks that go back, several versions at one instant, pins, tags and flaws.
  private func history(_ random: inout SeededRandom) -> [RetentionPlan.Version] {
    var time: UInt64 = 1_790_000_000_000
    var sequence: UInt64 = 0
    return (0..<Int.random(in: 0...40, using: &random)).map { _ in
      sequence += UInt64.random(in: 1...3, using: &random)
      let step = UInt64.random(in: 0...(1 << UInt64.random(in: 10...34, using: &random)), using: &random)
      time = Int.random(in: 0..<8, using: &random) == 0 ? time - min(time, step) : time + step
      return version(sequence, time, &random)
    }
  }

  private func version(
    _ sequence: UInt64, _ time: UInt64, _ random: inout SeededRandom
  ) -> RetentionPlan.Version {
    var version = RetentionPlan.Version(id: "v\(sequence)", sequence: sequence, time: time)
    version.isPinned = Int.random(in: 0..<12, using: &random) == 0
    if Bool.random(using: &random) { version.tags = [["a", "b", "c"].randomElement(using: &random) ?? "a"] }
    if Int.random(in: 0..<4, using: &random) == 0 {
      let flaws: [RetentionPlan.Flaw] = [
        .damaged, .foundDamaged, .companionsLost, .harmed, .incomplete, .condemned,
      ]
      version.flaw = flaws.randomElement(using: &random)
      version.mayComeBack = version.flaw == .incomplete && sequence.isMultiple(of: 2)
    }
    return version
  }

  private func someRules(_ random: inout SeededRandom) -> RetentionRules {
    func count() -> Int? { Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil }
    var rules = RetentionRules()
    (rules.last, rules.hourly, rules.daily) = (count(), count(), count())
    (rules.weekly, rules.monthly, rules.yearly) = (count(), count(), count())
    if Bool.random(using: &random) { rules.within = UInt64.random(in: 1...(1 << 33), using: &random) }
    if Bool.random(using: &random) { rules.tags = ["a"] }
    return rules
  }

  private func stays(_ versions: [RetentionPlan.Version], _ rules: RetentionRules, now: UInt64) -> Set<UInt64> {
    Set(RetentionPlan(versions, rules: rules, now: now).staying.map(\.version.sequence))
  }

  @Test(arguments: 0..<200)
  func `what must hold of every plan`(seed: UInt64) throws {
    var random = SeededRandom(seed)
    let versions = history(&random)
    let rules = someRules(&random)
    let now = (versions.map(\.time).max() ?? 1_790_000_000_000) - UInt64.random(in: 0...(1 << 33), using: &random)
    let staying = stays(versions.shuffled(using: &random), rules, now: now)

    // Whatever goes, a newer version stays that is sound; pins stay.
    let sound = versions.filter { $0.flaw == nil }
    let newest = sound.last?.sequence
    if let newest { #expect(staying.contains(newest)) }
    for version in versions where !staying.contains(version.sequence) {
      #expect(newest.map { version.sequence < $0 } ?? false)
      #expect(!version.isPinned)
    }

    // Each rule keeps as many as it says, or as many as there are.
    for (period, count) in rules.periods {
      var latest: [String: UInt64] = [:]
      for version in sound { latest[period.name(of: version.time)] = version.sequence }
      let demanded = latest.values.sorted(by: >).prefix(count)
      #expect(staying.isSuperset(of: demanded), "\(period)")
      var alone = RetentionRules()
      switch period {
      case .hourly: alone.hourly = count
      case .daily: alone.daily = count
      case .weekly: alone.weekly = count
      case .monthly: alone.monthly = count
      case .yearly: alone.yearly = count
      }
      let bare = sound.map { RetentionPlan.Version(id: $0.id, sequence: $0.sequence, time: $0.time) }
      #expect(stays(bare, alone, now: now) == Set(demanded), "\(period)")
    }
    if let last = rules.last { #expect(staying.isSuperset(of: sound.suffix(last).map(\.sequence))) }

    // What is only condemned, may come back or be saved, or lost companions alone is not let go where it would stay if it
    // were sound.
    let doubts: [(RetentionPlan.Version) -> Bool] = [
      { $0.flaw == .condemned }, { $0.mayComeBack }, { $0.flaw == .harmed }, { $0.flaw == .companionsLost },
    ]
    for isInDoubt in doubts {
      var trusting = versions
      for index in trusting.indices where isInDoubt(trusting[index]) {
        (trusting[index].flaw, trusting[index].mayComeBack) = (nil, false)
      }
      let doubted = Set(versions.filter(isInDoubt).map(\.sequence))
      #expect(stays(trusting, rules, now: now).intersection(doubted).isSubset(of: staying))
    }

    // More rules keep more.
    var more = rules
    let others = someRules(&random)
    more.last = max(rules.last ?? 0, others.last ?? 0).nonZero
    more.hourly = max(rules.hourly ?? 0, others.hourly ?? 0).nonZero
    more.daily = max(rules.daily ?? 0, others.daily ?? 0).nonZero
    more.weekly = max(rules.weekly ?? 0, others.weekly ?? 0).nonZero
    more.monthly = max(rules.monthly ?? 0, others.monthly ?? 0).nonZero
    more.yearly = max(rules.yearly ?? 0, others.yearly ?? 0).nonZero
    more.within = [rules.within, others.within].compactMap { $0 }.max()
    more.tags = rules.tags + ["b"]
    #expect(staying.isSubset(of: stays(versions, more, now: now)))

    // A new version brings none back that went, nor does the plan without those that went.
    let next = version(
      (versions.last?.sequence ?? 0) + 1, (versions.last?.time ?? 0) + UInt64.random(in: 0...(1 << 30), using: &random),
      &random)
    #expect(stays(versions + [next], rules, now: now).isSubset(of: staying.union([next.sequence])))
    #expect(stays(versions.filter { staying.contains($0.sequence) }, rules, now: now) == staying)
  }
}

extension Int {
  fileprivate var nonZero: Int? { self == 0 ? nil : self }
}
