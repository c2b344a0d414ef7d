/// What kind of world a seed makes.
struct Profile {
  var hosts: Int
  /// Deeds in all.
  var deeds: Int
  /// A request in so many meets a fault; 0: none.
  var fault: Int
  /// A put or delete in so many is delivered once more.
  var repeated: Int
  /// A step in so many kills a machine.
  var crash: Int
  var packsPerPartial: Int
  var prunes: Bool
  /// Packs younger than this, in milliseconds, are no candidates of a prune.
  var minimumAge: UInt64
  /// Prunes condemn in one run and delete in another.
  var twoRuns: Bool
  /// A session is favoured for about so many requests.
  var favour: Int
  /// A decisive request in so many sleeps for long; 0: none.
  var sleep: Int
  /// How often a request is tried in all.
  var tries: Int
  /// How far clocks are off at most, in milliseconds.
  var skew: Int
  /// How late a listing may show what was stored or deleted, in milliseconds; 0: it shows what was stored before it began.
  var lateness: Int
  /// A listing may leave out what it likes, without a word.
  var leavesOut: Bool
  /// A listing in so many names some objects twice; 0: none.
  var twice: Int
  /// Listings say when an object was stored.
  var tellsTimes: Bool
  /// A request takes so long at most, in milliseconds.
  var pace: Int

  /// Whether nothing is certain that a listing leaves out.
  var isVague: Bool { lateness > 0 || leavesOut }

  init(_ dice: inout Dice) {
    hosts = 2 + dice.below(3)
    deeds = 12 + dice.below(16)
    fault = [0, 60, 25, 12][dice.below(4)]
    repeated = [0, 12, 4][dice.below(3)]
    crash = [0, 250, 80][dice.below(3)]
    packsPerPartial = dice.once(in: 3) ? 1 : 64
    prunes = !dice.once(in: 4)
    minimumAge = dice.once(in: 5) ? 86_400_000 : 0
    favour = [1, 8, 24][dice.below(3)]
    sleep = [0, 3, 8][dice.below(3)]
    tries = 1 + dice.below(4)
    skew = [0, 7_200_000, 400 * 86_400_000][dice.below(3)]
    lateness = dice.once(in: 4) ? [600_000, 3 * 3_600_000, 8 * 3_600_000][dice.below(3)] : 0
    leavesOut = dice.once(in: lateness > 0 ? 2 : 8)
    twice = [0, 0, 5][dice.below(3)]
    tellsTimes = !dice.once(in: 4)
    pace = lateness > 0 || dice.once(in: 4) ? 120_000 : 0
    // Prunes rely on no single listing where listings are not to be relied on.
    twoRuns = lateness > 0 || leavesOut || dice.once(in: 12)
  }
}

/// What a run was made of.
struct Tally {
  var steps = 0
  var faults = 0
  var late = 0
  var crashes = 0
  var acknowledged = 0
  var failedPushes = 0
  var conflicts = 0
  var forks = 0
  var forgotten = 0
  var takenBack = 0
  var prunes = 0
  var refusedPrunes = 0
  var deleted = 0
  var repairs = 0
  var restores = 0
  var scenes = 0
  /// Listings that came late, left something out, or named something twice.
  var lateListings = 0
  var cutListings = 0
  var doubledListings = 0
  var refusedForgets = 0
  var pinned = 0
  var marked = 0
  var lost = 0
  var givenUp = 0

  static func + (left: Tally, right: Tally) -> Tally {
    var sum = left
    sum.steps += right.steps
    sum.faults += right.faults
    sum.late += right.late
    sum.crashes += right.crashes
    sum.acknowledged += right.acknowledged
    sum.failedPushes += right.failedPushes
    sum.conflicts += right.conflicts
    sum.forks += right.forks
    sum.forgotten += right.forgotten
    sum.takenBack += right.takenBack
    sum.prunes += right.prunes
    sum.refusedPrunes += right.refusedPrunes
    sum.deleted += right.deleted
    sum.repairs += right.repairs
    sum.restores += right.restores
    sum.scenes += right.scenes
    sum.lateListings += right.lateListings
    sum.cutListings += right.cutListings
    sum.doubledListings += right.doubledListings
    sum.refusedForgets += right.refusedForgets
    sum.pinned += right.pinned
    sum.marked += right.marked
    sum.lost += right.lost
    sum.givenUp += right.givenUp
    return sum
  }

  var words: String {
    "\(steps) steps, \(acknowledged) versions acknowledged, \(failedPushes) pushes failed, \(restores) restores compared, "
      + "\(forgotten) versions forgotten, \(takenBack) taken back, \(repairs) written anew, \(prunes) prunes deleted \(deleted) objects, "
      + "\(refusedPrunes) prunes failed or refused, \(conflicts) conflicts, \(faults) faults, \(late) late requests, \(crashes) crashes, "
      + "\(forks) forks told, \(scenes) tamperings told, \(lateListings) late listings, \(cutListings) cut listings, "
      + "\(doubledListings) doubled listings, \(refusedForgets) forgets refused, \(pinned) pins, \(marked) marks of damage, "
      + "\(lost) manifests lost, \(givenUp) given up"
  }
}
