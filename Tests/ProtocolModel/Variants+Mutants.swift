/// Shortcuts, most of which somebody has shipped. Each must lose something.
extension Variant {
  static var mutants: [Variant] {
    [
      mutant("M1 no check before success") { rules, _ in rules.checksBeforeSuccess = false },
      mutant("M2 packs are looked for, records are not read") { rules, _ in rules.checksRecords = false },
      mutant("M3 only records are read, and prune drops its record in the end") { rules, instance in
        rules.checksPacks = false
        rules.records = .droppedAfterDeletes
        instance.lateDeletes = false
      },
      mutant("M4 packs are listed before records, and prune drops its record in the end") { rules, instance in
        rules.listsRecordsFirst = false
        rules.records = .droppedAfterDeletes
        instance.lateDeletes = false
      },
      mutant("M5 prune does not list again after its record") { rules, _ in rules.listsAgain = false },
      mutant("M6 prune drops its record while a delete is under way") { rules, instance in
        rules.records = .droppedWithDeletesInFlight
        instance.lateDeletes = false
      },
      mutant("M7 prune drops its record after all answers; a delete and a put arrive twice") { rules, instance in
        rules.records = .droppedAfterDeletes
        instance.latePuts = true
      },
      mutant("M8 prune drops another's record as stale") { rules, instance in
        rules.dropsRecordsOfOthers = true
        instance.pruners = 2
        instance.lateDeletes = false
      },
      mutant("M9 a short listing is believed") { rules, instance in
        rules.toleratesShortListings = true
        instance.shortListings = true
      },
      mutant("M10 records may be read stale") { rules, _ in rules.mayReadStaleRecords = true },
      mutant("M11 fossils go when a newer version was acknowledged, nobody checks") { rules, instance in
        rules.fossils = true
        rules.checksBeforeSuccess = false
        instance.writers = 2
      },
      mutant("M12 a name that was deleted is stored again, records are dropped") { rules, _ in
        rules.uploadsDeletedNamesAgain = true
        rules.records = .droppedAfterDeletes
      },
      mutant("N1 unforget only annotates") { rules, instance in
        rules.unforgetChecks = false
        instance.forUnforgetting()
      },
      mutant("N2 unforget looks first and annotates then") { rules, instance in
        rules.unforgetAnnotatesFirst = false
        instance.forUnforgetting()
      },
      mutant("N3 unforget does not look whether the manifest is condemned") { rules, instance in
        rules.unforgetMindsManifests = false
        instance.forUnforgetting()
        instance.writers = 1
      },
      mutant("N4 unforget puts the manifest anew and does not check again") { rules, instance in
        rules.unforgetChecksNewRevision = false
        instance.forUnforgetting()
        instance.writers = 1
        instance.pruners = 2
        instance.lateDeletes = false
      },
      mutant("N5 unforget deletes the tombstone, whose put arrives once more") { rules, instance in
        rules.unforgetDeletesTombstones = true
        instance.forUnforgetting()
        instance.latePuts = true
      },
      mutant("N6 unforget counts for tombstones that are older by a clock") { rules, instance in
        rules.unforgetGoesByClock = true
        instance.forUnforgetting()
      },
      mutant("N7 prune deletes manifests that its record does not name") { rules, instance in
        rules.recordNamesManifests = false
        instance.forUnforgetting()
        instance.writers = 1
      },
      mutant("N8 a lower revision goes when a higher one is listed, whole or not") { rules, instance in
        rules.supersession = .believed
        instance.forRepairing()
        instance.pruners = 2
      },
      mutant("N9 a higher revision is judged by records and packs listed before the own record") { rules, instance in
        rules.supersession = .provedTooEarly
        instance.forRepairing()
        instance.pruners = 2
        instance.carelessCandidates = true
      },
      mutant("N9b a higher revision is judged by records listed after the own one, before the manifests") {
        rules, instance in
        rules.supersession = .provedByEarlierRecords
        instance.forUnforgettingAndRepairing()
      },
      mutant("N10 a revision of another core counts as a higher one") { rules, instance in
        rules.supersession = .provedOfAnyCore
        instance.writers = 2
        instance.forgets = 0
      },
      mutant("N11 prune also deletes by records that came after its own listing") { rules, instance in
        rules.sweepsLaterRecords = true
        instance.pruners = 2
        instance.lateDeletes = false
      },
      mutant("N12 a reader takes the highest revision, whole or not") { rules, instance in
        rules.readsHighestRevision = true
        instance.forRepairing()
      },
      mutant("N13 forget relies on a version it has only seen listed") { rules, instance in
        rules.forgetChecksOther = false
        instance.hasOther = false
        instance.pruners = 2
      },
      mutant("N14 an unforget that fails forgets again, beside one that succeeds") { rules, instance in
        rules.unforgetForgetsAgain = true
        instance.forUnforgetting()
        instance.unforgets = 2
      },
      attempts("B1 a manifest is noted once it is there", isSafe: false) { $0.notesBefore = false },
      attempts("B2 what was given up counts again when its packs are listed", isSafe: false) {
        $0.staysGivenUp = false
        $0.shortListings = true
      },
      attempts("B3 the note goes with the request for the tombstone", isSafe: false) { $0.keepsNoteOfGivenUp = false },
      attempts("B4 a version is acknowledged by listings from before it was seen", isSafe: false) {
        $0.looksAgain = false
      },
      progress("Q1 partial manifests protect nothing", isSafe: false) { $0.packsPerPartial = 0 },
      progress("Q2 a partial manifest dies with the first attempt's manifest", isSafe: false) {
        $0.partialsOutliveEarlierRevisions = false
      },
      progress("Q3 prune lists manifests before packs when it looks for candidates", isSafe: false) {
        $0.listsPacksFirst = false
      },
    ]
  }
}

extension Instance {
  fileprivate mutating func forUnforgetting() {
    writers = 0
    unforgets = 1
  }

  fileprivate mutating func forRepairing() {
    forgets = 0
    repairs = true
  }
}
