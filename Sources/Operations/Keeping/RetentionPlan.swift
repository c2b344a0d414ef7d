/// Which versions of one chain stay and which go, and why. Pure: versions, rules and a time in, decisions out.
///
/// What always holds: whatever goes, a newer version stays that is sound. So the newest sound version never goes, nor
/// anything pushed after it, nor what two machines pushed as one; nor the newest sound one that does not lack what came
/// with the database before, as where a disk is not mounted. Order in a chain is by sequence: clocks go back. By rules,
/// the newest sound one stays as well from before a restore that did not end: later ones may be of two moments.
package struct RetentionPlan: Sendable {
  /// Why a version is not sound: it takes no other's place, and goes as soon as a newer one is sound. But a condemned
  /// version stays where a rule would keep it: most likely it is whole. So does one whose packs somebody took away, who
  /// may put them back, and one that a check or a drill found harmed and nobody tried to save: a repair may. And one that
  /// lost companions alone: nothing may bring them back, but its database is whole, and may be the only one of its time.
  package enum Flaw: String, Sendable {
    /// The database failed its own check when it was pushed.
    case damaged
    case foundDamaged = "found damaged"
    /// The same, but its database comes back.
    case companionsLost = "companions lost"
    /// By a check or a drill on this machine, of which nothing is said at the target.
    case harmed = "found harmed"
    /// Packs of it are missing.
    case incomplete
    /// All of it is there, but a prune has named a part of it, and may or may not delete that.
    case condemned
  }

  package struct Version: Sendable {
    package var id: String
    package var sequence: UInt64
    /// Milliseconds since 1970 UTC.
    package var time: UInt64
    package var tags: [String] = []
    package var isPinned = false
    /// Another version may stand at its place, or before it in another branch.
    package var isContested = false
    /// What earlier versions had of a companion is not in it; `nil`: not known, and taken for no.
    package var lacksCompanions: Bool? = false
    /// `nil`: sound. What could not be checked at push is taken for sound.
    package var flaw: Flaw?
    /// It is incomplete, and neither did a prune take what it lacks, nor has a repair or a drill said so.
    package var mayComeBack = false

    package init(id: String, sequence: UInt64, time: UInt64) {
      self.id = id
      self.sequence = sequence
      self.time = time
    }
  }

  package struct Decision: Sendable {
    package let version: Version
    package let stays: Bool
    /// In words: `newest`, `daily 2026-11-20`, `no rule keeps it`.
    package let reasons: [String]
    /// The rules that would keep it if it were whole, where it stays for nothing else.
    package let wouldKeep: [String]
  }

  /// Oldest first.
  package private(set) var decisions: [Decision]
  /// The newest version that is sound: nothing from it on goes.
  package let newestSound: Version?
  /// The newest of the sound ones that does not lack its companions: that is a copy of them which may be the only one.
  package let newestWithCompanions: Version?

  /// Adds versions that stay whatever is asked for: those that stand behind another one of their place, where two machines
  /// pushed as one. They take no other's place, and none takes theirs.
  mutating func keep(_ displaced: [Version]) {
    decisions += displaced.map { version in
      let reasons = (version.isPinned ? ["pinned"] : []) + ["two machines pushed as one"]
      return Decision(version: version, stays: true, reasons: reasons, wouldKeep: [])
    }
    decisions.sort { ($0.version.sequence, $0.version.id) < ($1.version.sequence, $1.version.id) }
  }

  /// The ids of both.
  var floors: [String] {
    let other = newestWithCompanions.flatMap { $0.sequence == newestSound?.sequence ? nil : $0.id }
    return [newestSound?.id, other].compactMap { $0 }
  }

  package var staying: [Decision] { decisions.filter(\.stays) }
  package var going: [Decision] { decisions.filter { !$0.stays } }
  /// What stays though packs of it are missing, until somebody has looked.
  package var harmed: [Decision] { decisions.filter { !$0.wouldKeep.isEmpty } }

  /// By rules.
  /// - Parameters:
  ///   - versions: of one chain, in any order.
  ///   - now: milliseconds since 1970 UTC.
  ///   - unsettled: since when a restore into the database has not ended, likewise.
  package init(_ versions: [Version], rules: RetentionRules, now: UInt64, unsettledSince unsettled: UInt64? = nil) {
    let newestFirst = versions.sorted { $0.sequence > $1.sequence }
    let sound = newestFirst.filter { $0.flaw == nil }
    let kept = Self.kept(sound, by: rules, now: now)
    let present = newestFirst.filter { $0.flaw == nil || $0.flaw == .condemned }
    let keptInDoubt = Self.kept(present, by: rules, now: now)
    let savable = newestFirst.filter { $0.flaw == nil || $0.flaw == .harmed }
    let keptIfSaved = Self.kept(savable, by: rules, now: now)
    let restorable = newestFirst.filter { $0.flaw == nil || $0.flaw == .companionsLost }
    let keptWithoutCompanions = Self.kept(restorable, by: rules, now: now)
    let returning = newestFirst.filter { $0.flaw == nil || $0.mayComeBack }
    let keptIfWhole = Self.kept(returning, by: rules, now: now)
    let settled = unsettled.map { Self.settled(sound, before: $0, now: now) } ?? [:]
    self.init(newestFirst) { version in
      if let reason = settled[version.sequence] {
        return (true, [reason] + kept[version.sequence, default: []], [])
      }
      if version.flaw == .condemned, let reasons = keptInDoubt[version.sequence] {
        return (true, reasons + ["in doubt: a prune named it"], [])
      }
      if version.flaw == .harmed, let reasons = keptIfSaved[version.sequence] {
        return (true, reasons + ["in doubt: this machine found it harmed"], [])
      }
      if version.flaw == .companionsLost, let reasons = keptWithoutCompanions[version.sequence] {
        return (true, reasons + ["companions are lost, the database is whole"], [])
      }
      if version.mayComeBack, let reasons = keptIfWhole[version.sequence] {
        return (true, reasons + ["packs are missing"], reasons)
      }
      if let reasons = kept[version.sequence] { return (true, reasons, []) }
      return (false, [version.flaw.map { "\($0.rawValue), does not count" } ?? "no rule keeps it"], [])
    }
  }

  /// By name: only those go.
  /// - Parameter named: ids.
  package init(_ versions: [Version], forgetting named: Set<String>) {
    let newestFirst = versions.sorted { $0.sequence > $1.sequence }
    self.init(newestFirst) { version in
      named.contains(version.id) ? (false, ["named"], []) : (true, ["not named"], [])
    }
  }

  private init(
    _ newestFirst: [Version], _ decide: (Version) -> (stays: Bool, reasons: [String], wouldKeep: [String])
  ) {
    let newestSound = newestFirst.first { $0.flaw == nil }
    let newestWithCompanions = newestFirst.first { $0.flaw == nil && $0.lacksCompanions != true }
    self.newestSound = newestSound
    self.newestWithCompanions = newestWithCompanions
    decisions = newestFirst.reversed().map { version in
      var (stays, reasons, wouldKeep) = decide(version)
      let always = Self.always(version, newestSound, newestWithCompanions)
      if !always.isEmpty {
        reasons = always + (stays ? reasons : [])
        stays = true
        wouldKeep = []
      }
      return Decision(version: version, stays: stays, reasons: reasons, wouldKeep: wouldKeep)
    }
  }

  /// What keeps a version whatever is asked for.
  private static func always(
    _ version: Version, _ newestSound: Version?, _ newestWithCompanions: Version?
  ) -> [String] {
    let held = (version.isPinned ? ["pinned"] : []) + (version.isContested ? ["two machines pushed as one"] : [])
    guard let newestSound, version.sequence <= newestSound.sequence else { return ["nothing newer is sound"] + held }
    if version.sequence == newestSound.sequence { return ["newest"] + held }
    return version.sequence == newestWithCompanions?.sequence ? ["newest with its companions"] + held : held
  }

  /// By sequence, why a version stays that may be the last whole one: what was pushed since may be of two moments. By a
  /// clock that was wrong when the restore was noted all versions are from before, or none; then the oldest one stays, too.
  /// - Parameter sound: those that count, newest first.
  private static func settled(_ sound: [Version], before time: UInt64, now: UInt64) -> [UInt64: String] {
    func both(_ versions: [Version], _ reason: String) -> [UInt64: String] {
      let found = [versions.first, versions.first { $0.lacksCompanions != true }].compactMap { $0?.sequence }
      return Dictionary(found.map { ($0, reason) }) { first, _ in first }
    }
    let before = sound.filter { $0.time <= time }
    let newest = both(before, "newest from before a restore that did not end")
    guard before.isEmpty || time > now else { return newest }
    let oldest = both(sound.reversed(), "oldest, perhaps from before a restore that did not end")
    return newest.merging(oldest) { first, _ in first }
  }

  /// By sequence, the rules that keep a version.
  /// - Parameter sound: those that count, newest first.
  private static func kept(_ sound: [Version], by rules: RetentionRules, now: UInt64) -> [UInt64: [String]] {
    var kept: [UInt64: [String]] = [:]
    if let last = rules.last {
      for (index, version) in sound.prefix(last).enumerated() {
        kept[version.sequence, default: []].append("last \(index + 1) of \(last)")
      }
    }
    for (period, count) in rules.periods {
      var names: Set<String> = []
      for version in sound {
        let name = period.name(of: version.time)
        if names.count < count, names.insert(name).inserted {
          kept[version.sequence, default: []].append("\(period) \(name)")
        }
      }
    }
    if let span = rules.within, !sound.isEmpty {
      let newest = newestBelieved(sound.map(\.time), now: now)
      for version in sound where version.time >= newest - min(newest, span) {
        kept[version.sequence, default: []].append("within \(Times.span(span))")
      }
    }
    for version in sound {
      for tag in rules.tags where version.tags.contains(tag) {
        kept[version.sequence, default: []].append("tag '\(tag)'")
      }
    }
    return kept
  }

  /// How far a clock may jump between two versions and be believed at once.
  private static let jump: UInt64 = 7 * 86_400_000

  /// What `within` is counted back from: the newest version, so that nothing goes because time goes by. One whose clock
  /// runs ahead is not believed, and says nothing about when the others are to go; where this clock runs ahead, too, a
  /// second version must say what the first one does.
  private static func newestBelieved(_ times: [UInt64], now: UInt64) -> UInt64 {
    let believed = times.filter { $0 <= now }.sorted(by: >).prefix(2)
    guard let newest = believed.first, let before = believed.last else { return now }
    return newest - before > jump ? before : newest
  }
}

extension Times {
  /// A span of time as people write it: `48h`, `30d`; milliseconds when nothing longer fits.
  package static func span(_ milliseconds: UInt64) -> String {
    let units: [(String, UInt64, atLeast: UInt64)] = [
      ("d", 86_400_000, 3), ("h", 3_600_000, 1), ("m", 60_000, 1), ("s", 1000, 1),
    ]
    for (unit, length, least) in units where milliseconds % length == 0 && milliseconds / length >= least {
      return "\(milliseconds / length)\(unit)"
    }
    return "\(milliseconds)ms"
  }
}
