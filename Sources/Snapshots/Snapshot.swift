/// How the copy is made.
package enum SnapshotMethod: String, Sendable, CaseIterable, Codable {
  /// `VACUUM INTO`: the smallest copy, repacked; refuses a damaged source.
  case vacuum
  /// The backup API inside a held read transaction: the exact pages, needing no code of the application.
  case pages
}

/// What to take a snapshot of, and how.
package struct SnapshotRequest: Sendable {
  /// Path of the database, as given; symbolic links are followed once.
  package var source: String
  package var method: SnapshotMethod
  /// An existing folder that only we can read, see `Spool`.
  package var spoolFolder: String
  /// How long to wait for another process's lock.
  package var busyTimeout: Duration
  /// Opens a database with a hot journal for writing once, so that SQLite rolls it back. It changes the source.
  package var allowRecovery: Bool
  /// Carries along what free pages still hold of deleted rows (only with `pages`).
  package var keepFreePages: Bool
  /// Bytes by which the -wal may grow while we hold its readers' mark; nil for no limit.
  package var maxWalGrowth: Int?
  /// Whether the copy is checked before it is handed over. Whoever says no checks it with `checkImage`, best while it
  /// is read for other purposes. Damage that shows while copying is looked into in any case.
  ///
  /// Without the check, free pages become zeros on the word of the list of free pages alone. In a damaged database
  /// that may name a page in use: when `checkImage` finds damage, take the snapshot again, with `pages` and the check.
  package var check: Bool
  /// Whether the live database itself is checked too, behind a vacuum of it: that leaves behind what cannot be reached, and
  /// the copy of a damaged database is sound. With `pages` the check of the copy sees all there is.
  package var checksSource = false
  /// How many pages lie between two calls of progress, at least 1; with `vacuum` so many or more. Nil for what a person
  /// can see, some fifty times a second.
  package var pagesPerStep: Int?

  package init(
    source: String, method: SnapshotMethod = .vacuum, spoolFolder: String, busyTimeout: Duration = .seconds(30),
    allowRecovery: Bool = false, keepFreePages: Bool = false, maxWalGrowth: Int? = nil, check: Bool = true
  ) {
    self.source = source
    self.method = method
    self.spoolFolder = spoolFolder
    self.busyTimeout = busyTimeout
    self.allowRecovery = allowRecovery
    self.keepFreePages = keepFreePages
    self.maxWalGrowth = maxWalGrowth
    self.check = check
  }
}

package struct SnapshotProgress: Sendable {
  package enum Stage: Sendable {
    case copying
    case checking
  }

  package var stage: Stage
  package var pagesDone: Int
  /// Nil where it cannot be known: `VACUUM INTO` writes as many pages as it needs.
  package var pagesTotal: Int?
  package var bytesDone: Int
  /// What is known already of a copy that others may read while it is written: its `pageCount` is how many pages are
  /// expected, and nothing says that it will be finished. Nil where it must not be read yet: the copy holds writers up
  /// and should be over soon, something in it will become zeros, or it has hardly begun.
  ///
  /// Pages are written in order, nearly: some far behind `bytesDone` come late or are written again. So whoever read
  /// them compares them with the finished copy.
  package var growing: Snapshot?
  /// The copy that was growing, finished: nobody writes to it any more. Told where its source is still being checked, which
  /// may lead to another copy in its place, or to damage that is told in the end.
  package var complete: Snapshot?
}

/// What was copied.
package enum SnapshotForm: Sendable, Hashable {
  /// A database.
  case image
  /// A file that its application made, taken as it is, because that was asked for.
  case file
  /// A store that is written as a whole, taken as it is.
  case atomicStore(AtomicStore)
}

/// A finished copy of a database at one moment: a single file without side files.
package struct Snapshot: Sendable {
  /// Of what is no database, the pages below are single bytes, and `method` and `check` say nothing.
  package var form = SnapshotForm.image
  /// The image, mode 0600, in the spool folder; whoever asked for it removes it.
  package var path: String
  /// Bytes.
  package var pageSize: Int
  package var pageCount: Int
  /// The method really used.
  package var method: SnapshotMethod
  /// Why it is `pages` although `vacuum` was asked for.
  package var fallback: String?
  /// That reason was one of the moment: the next copy may well be a `vacuum`.
  package var fallbackIsPassing = false
  /// Of the database before it was copied; nil of what is none.
  package var schemaMark: SchemaMark?
  /// Nil while nobody has looked, see `SnapshotRequest.check`.
  package var check: CheckOutcome?
  /// What the check of the live database itself found, see `SnapshotRequest.checksSource`; nil where there was none.
  /// `.notCheckable` also where it could not be made this time.
  package var sourceCheck: CheckOutcome?
  /// Milliseconds since 1970, UTC: when the read transaction began.
  package var takenAt: Int64
  /// How long a writer had to wait at most; nil in WAL mode, where none has to.
  package var longestWriterStall: Duration?
  /// Bytes by which the -wal grew meanwhile.
  package var walGrowth: Int
  /// Paths of files beside the database that are there only since we opened it.
  package var sideFilesAppeared: [String]
  /// The state of the source before the read transaction began: as long as `stat` says the same, and it is
  /// settled, there is nothing newer to copy.
  package var source: SourceSignature
  package var freePagesZeroed: Int
  /// Somebody wrote to the database while SQLite's lock on it was held, twice: the copy may be of two moments.
  package var lockWasPassed = false

  /// In bytes.
  package var length: Int { pageSize * pageCount }

  package init(
    path: String, pageSize: Int, pageCount: Int, method: SnapshotMethod, fallback: String? = nil,
    check: CheckOutcome?, takenAt: Int64, longestWriterStall: Duration? = nil, walGrowth: Int = 0,
    sideFilesAppeared: [String] = [], source: SourceSignature, freePagesZeroed: Int = 0
  ) {
    self.path = path
    self.pageSize = pageSize
    self.pageCount = pageCount
    self.method = method
    self.fallback = fallback
    self.check = check
    self.takenAt = takenAt
    self.longestWriterStall = longestWriterStall
    self.walGrowth = walGrowth
    self.sideFilesAppeared = sideFilesAppeared
    self.source = source
    self.freePagesZeroed = freePagesZeroed
  }
}
