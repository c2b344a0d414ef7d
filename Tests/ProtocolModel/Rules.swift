/// How everybody behaves. The defaults are the protocol of `Docs/Design.md`; each mutant changes one of them.
struct Rules {
  enum Records { case keptForever, droppedAfterDeletes, droppedWithDeletesInFlight, shrunkToDeleted }
  enum Supersession {
    /// A lower revision is deleted only if a higher one is listed, all its packs are there, and no record names it or them; records
    /// and packs are listed after the manifests.
    case proved
    /// The same, but records and packs were listed before the condemned record was put.
    case provedTooEarly
    /// The same, but records were listed after the own one was put and before the manifests.
    case provedByEarlierRecords
    /// A higher revision is listed.
    case believed
    /// As `proved`, but revisions of another core count too: those of a cloned host.
    case provedOfAnyCore
  }

  // Push
  var checksBeforeSuccess = true
  var checksRecords = true
  var checksPacks = true
  var listsRecordsFirst = true
  var mayReadStaleRecords = false
  var uploadsDeletedNamesAgain = false

  // Prune
  var listsAgain = true
  var records = Records.keptForever
  var dropsRecordsOfOthers = false
  var recordNamesManifests = true
  var supersession = Supersession.proved
  /// Deletes by every record that was there when its re-list of manifests began.
  var sweepsEarlierRecords = true
  /// … or whenever they came to be.
  var sweepsLaterRecords = false
  var toleratesShortListings = false
  /// A fossil is deleted when a version newer than it was acknowledged and none refers to it; nobody checks.
  var fossils = false

  // Forget, unforget, read
  var unforgetAnnotatesFirst = true
  var unforgetChecks = true
  var unforgetMindsManifests = true
  var unforgetChecksNewRevision = true
  var unforgetDeletesTombstones = false
  /// An unforget that fails puts a tombstone, so that the version is as forgotten as it was.
  var unforgetForgetsAgain = false
  /// The annotation counts for tombstones that are older by the clock, and the clock is wrong.
  var unforgetGoesByClock = false
  var forgetChecksOther = true
  /// A reader takes the highest revision, whole or not.
  var readsHighestRevision = false
}

/// Who takes part, and what may go wrong.
struct Instance {
  var writers = 1
  var pruners = 1
  /// How often each of them prunes.
  var prunes: UInt8 = 1
  /// How often somebody forgets A.
  var forgets = 1
  var unforgets = 0
  var repairs = false
  /// Writers make versions of their own.
  var pushes = true
  var partials = false
  /// There is a version besides, so that forgetting A leaves one. Without it, forget must find one of the writers'.
  var hasOther = true
  /// Deletes that were answered take effect again.
  var lateDeletes = true
  /// Puts too.
  var latePuts = false
  /// A listing leaves manifests out, or is noticed to do so (`Rules.toleratesShortListings`).
  var shortListings = false
  /// Prunes condemn all they see instead of what nothing refers to: candidates prove nothing.
  var carelessCandidates = false
  /// A prune always has something else to delete as well, so that it goes through all its steps.
  var hasOtherGarbage = false
  /// Lower revisions are candidates.
  var supersedes = true
}
