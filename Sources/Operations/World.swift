import Repositories
package import Sealing
package import Snapshots

/// What an operation needs of the machine it runs on. Nothing below reads the environment, the clock or the home
/// folder by itself: it all comes in here, so that tests decide it.
package struct World: Sendable {
  /// The folder of journals, marks, caches and spools (0700). Losing it never loses a version, only bytes.
  package var stateFolder: String
  /// The host that chains are named after, when the configuration gives one; else the name remembered in the state folder.
  package var host: String?
  /// Milliseconds since 1970-01-01 UTC.
  package var now: @Sendable () -> UInt64
  /// The process is an application's, whose locks are on what it has open. A program of ours has nothing open but what
  /// whoever began it left to it, such as the lock file of `flock`.
  package var isApplication = false
  /// Bytes that the plain images of all databases that are kept for deltas may take in one folder.
  package var baseLimit = 20 << 30
  /// What the system calls this machine; tests call it something else.
  package var systemName: @Sendable () -> String = { HostName.ofSystem() }
  /// Finds out what a path lies on; tests make it something else.
  package var fileSystem: @Sendable (_ path: String) -> FileSystemKind = { .of(path: $0) }
  /// Bytes that are free for a file that is moved to a folder of another file system; tests say otherwise.
  package var roomAcross: @Sendable (_ file: String, _ folder: String) -> Int? = { BaseRoom.across($0, $1) }
  /// Where the targets and databases of the configuration, and targets of the command line, have folders of ours here.
  package var configuredFolders: [OwnFolder] = []
  /// What keys and salts are drawn from.
  package var random: RandomSource = systemRandom
  /// What keys have opened in this run; `nil`: each opening derives its key anew, and no secret outlives it.
  var openedSlots: OpenedSlots?
  /// Where progress and remarks go.
  package var reporter: any Reporter

  package init(
    stateFolder: String, host: String? = nil, now: @escaping @Sendable () -> UInt64, reporter: any Reporter
  ) {
    self.stateFolder = stateFolder
    self.host = host
    self.now = now
    self.reporter = reporter
  }

  /// From now on a key is derived once for each slot that it opens, and its secret stays in memory as long as this world.
  package mutating func rememberOpenedSlots() { openedSlots = OpenedSlots() }
}

/// A listener to what an operation is doing. Operations never print.
package protocol Reporter: Sendable {
  func progress(_ progress: Progress)
  /// A remark a person should see even when all goes well (a fallback, side files that appeared, freshness).
  func notice(_ text: String)
  /// A remark for a person who asks for more words: it is as it was last time.
  func detail(_ text: String)
}

extension Reporter {
  package func detail(_ text: String) {}
}

/// How far an operation is.
package struct Progress: Sendable {
  package enum Stage: String, Sendable {
    case copying
    case checking
    case sealing
    case fetching
    /// The old content of a database is copied before a live restore.
    case keeping
    case restoring
  }

  package var stage: Stage
  /// The database or version it is about.
  package var subject: String
  package var bytesDone: Int
  /// `nil` when it cannot be known.
  package var bytesTotal: Int?

  package init(_ stage: Stage, subject: String, bytesDone: Int, bytesTotal: Int?) {
    self.stage = stage
    self.subject = subject
    self.bytesDone = bytesDone
    self.bytesTotal = bytesTotal
  }
}
