/// One question: this protocol, among these participants; and what the answer must be.
struct Variant {
  let name: String
  let isSafe: Bool
  let search: (_ limit: Int, _ keepsTrace: Bool) -> Finding

  static func safe(_ name: String, _ shape: (inout Rules, inout Instance) -> Void) -> Variant {
    Variant(name, isSafe: true, shape)
  }

  static func mutant(_ name: String, _ shape: (inout Rules, inout Instance) -> Void) -> Variant {
    Variant(name, isSafe: false, shape)
  }

  private init(_ name: String, isSafe: Bool, _ shape: (inout Rules, inout Instance) -> Void) {
    var rules = Rules()
    var instance = Instance()
    shape(&rules, &instance)
    self.name = name
    self.isSafe = isSafe
    search = { [rules, instance] limit, keepsTrace in
      let model = Protocol(rules: rules, instance: instance, usesSymmetry: !keepsTrace)
      return Search(model: model, limit: limit, keepsTrace: keepsTrace).run()
    }
  }

  static func progress(
    _ name: String, isSafe: Bool = true, pieces: Int = 3, runs: Int = 4,
    _ shape: (inout Progress.Rules) -> Void = { _ in }
  ) -> Variant {
    var rules = Progress.Rules()
    shape(&rules)
    return Variant(name: name, isSafe: isSafe) { [rules] limit, keepsTrace in
      Search(model: Progress(pieces: pieces, runs: runs, rules: rules), limit: limit, keepsTrace: keepsTrace).run()
    }
  }

  static func attempts(
    _ name: String, isSafe: Bool = true, prunes: Int = 2, _ shape: (inout Attempts.Rules) -> Void = { _ in }
  ) -> Variant {
    var rules = Attempts.Rules()
    shape(&rules)
    return Variant(name: name, isSafe: isSafe) { [rules] limit, keepsTrace in
      Search(model: Attempts(pushes: 3, prunes: prunes, rules: rules), limit: limit, keepsTrace: keepsTrace).run()
    }
  }

  private init(name: String, isSafe: Bool, search: @escaping (Int, Bool) -> Finding) {
    self.name = name
    self.isSafe = isSafe
    self.search = search
  }
}

extension Instance {
  mutating func forUnforgettingAndRepairing() {
    unforgets = 1
    repairs = true
    pruners = 2
    prunes = 2
    hasOtherGarbage = true
    lateDeletes = false
    pushes = false
  }
}

extension Variant {
  /// What must be safe, small enough for every run of the tests.
  static var short: [Variant] {
    [
      safe("S1 push, prune, forget; late deletes and puts") { _, instance in instance.latePuts = true },
      safe("S2 push beside two prunes") { _, instance in instance.pruners = 2 },
      safe("S3 two pushes, the second may go on from the first one's partial manifest") { _, instance in
        instance.writers = 2
        instance.partials = true
        instance.lateDeletes = false
      },
      safe("S4 forget, unforget, forget again, two prunes") { _, instance in
        instance.writers = 0
        instance.pruners = 2
        instance.forgets = 2
        instance.unforgets = 1
        instance.latePuts = true
      },
      safe("S5 forget, unforget, a push that needs the same pack") { _, instance in
        instance.forgets = 2
        instance.unforgets = 1
      },
      safe("S6 repair writes a higher revision, two prunes, nobody forgets") { _, instance in
        instance.forgets = 0
        instance.pruners = 2
        instance.repairs = true
      },
      safe("S7 candidates prove nothing: a prune condemns all it sees") { _, instance in
        instance.carelessCandidates = true
        instance.unforgets = 1
      },
      safe("S8 listings leave manifests out, and prune notices") { _, instance in instance.shortListings = true },
      safe("S9 forget leaves nothing but what a push has just stored") { _, instance in
        instance.hasOther = false
      },
      safe("S10 a record is shrunk by its own prune to what it deletes") { rules, instance in
        rules.records = .shrunkToDeleted
        rules.sweepsEarlierRecords = false
        instance.pruners = 2
      },
      safe("S11 forget, unforget, repair, two prunes, twice each") { _, instance in
        instance.forUnforgettingAndRepairing()
      },
      progress("P1 a push of 3 packs among 4 prunes: at most one pack anew for each"),
      progress(
        "P1b the same where prunes spare packs while the newest version is not whole: three attempts at most", runs: 12
      ) {
        $0.sparesUnsafeNewest = true
      },
      progress("P1c the same, without partial manifests, and manifests are listed before packs", runs: 12) {
        $0.sparesUnsafeNewest = true
        $0.packsPerPartial = 0
        $0.listsPacksFirst = false
      },
      attempts("A1 one machine, three pushes whose manifests and tombstones come late, two prunes"),
      attempts("A2 the same where listings leave packs out") { $0.shortListings = true },
      progress("P2 the same, a partial manifest after 2 packs of 4", pieces: 4) { $0.packsPerPartial = 2 },
    ]
  }

  /// More participants at once: hours are allowed, minutes were needed.
  static var large: [Variant] {
    [
      safe("L1 two pushes, a prune, forget, unforget; late deletes") { _, instance in
        instance.writers = 2
        instance.forgets = 2
        instance.unforgets = 1
      },
      safe("L2 a push, two prunes, forget, unforget, forget again") { _, instance in
        instance.pruners = 2
        instance.forgets = 2
        instance.unforgets = 1
        instance.lateDeletes = false
      },
      safe("L3 a push, two prunes, forget; late deletes and puts") { _, instance in
        instance.pruners = 2
        instance.latePuts = true
      },
      safe("L4 two pushes with partials, a prune, repair, nobody forgets") { _, instance in
        instance.writers = 2
        instance.partials = true
        instance.repairs = true
        instance.forgets = 0
      },
      safe("L5 a push, two prunes that condemn all they see, forget, unforget") { _, instance in
        instance.pruners = 2
        instance.unforgets = 1
        instance.carelessCandidates = true
        instance.lateDeletes = false
      },
      safe("L6 two pushes, two prunes, forget") { _, instance in
        instance.writers = 2
        instance.pruners = 2
        instance.lateDeletes = false
        instance.supersedes = false
      },
      safe("L7 a push, two prunes, forget leaves nothing but what the push has just stored") { _, instance in
        instance.pruners = 2
        instance.hasOther = false
      },
      progress("P3 a push of 5 packs among 6 prunes", pieces: 5, runs: 6),
      progress("P4 the same, a partial manifest after 3 packs of 6", pieces: 6, runs: 5) { $0.packsPerPartial = 3 },
    ]
  }
}
