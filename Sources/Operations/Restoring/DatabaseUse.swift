import Glibc

/// Who has a database open, as far as it can be told without touching it.
///
/// Connections in WAL mode show by SQLite's own locks, also when they are idle. Idle ones in rollback mode hold none: they
/// show in the process table only, and only where this user may look.
package struct DatabaseUse: Sendable {
  package struct Holder: Sendable, Hashable {
    /// 0 where the system does not say which process it is.
    package var pid: Int32
    package var command: String
    /// The files that it has open or locked.
    package var files: [String]
  }

  package private(set) var holders: [Holder] = []
  /// Processes of other users that could not be looked into.
  package private(set) var unseen: [Holder] = []
  /// False where there may be processes that are not listed at all.
  package let seesAll: Bool

  /// - Parameters:
  ///   - path: the database's real path.
  ///   - own: descriptors of this process that do not count, nor do locks of which nobody can tell whose they are.
  ///   - namespace: see `ProcessTable`.
  init(of path: String, ignoring own: Set<Int32> = [], namespace: UInt64? = ProcessTable.ownNamespace) {
    var files: [String: FileIdentity] = [:]
    for ending in SideFiles.present(of: path) { files[path + ending] = FileIdentity(at: path + ending) }
    self.init(of: [path], files, ProcessTable(holding: files, ignoring: own, namespace: namespace), ignoring: own)
  }

  /// Of the databases in what stands where companions are to come, all at once: of each the process table would be read
  /// anew. A push that reads them is in nobody's way: it goes on reading what it has begun with.
  init(of standing: StandingCompanions) {
    let table = ProcessTable(holding: standing.files, passesReaders: true)
    self.init(of: standing.databases.sorted(), standing.files, table, counting: standing.isOfDatabase)
  }

  /// - Parameters:
  ///   - databases: those that are asked for their locks.
  ///   - counting: whether a file is one that nobody may have open, given those that this process has.
  private init(
    of databases: [String], _ files: [String: FileIdentity], _ table: ProcessTable, ignoring own: Set<Int32> = [],
    counting: (_ file: String, _ heldHere: Set<String>) -> Bool = { _, _ in true }
  ) {
    let heldHere = Set(table.holders.filter { $0.pid == getpid() }.flatMap(\.files))
    seesAll = table.isWhole
    unseen = table.unseen.map { Holder(pid: $0.pid, command: $0.command, files: []) }
    for holder in table.holders {
      let files = holder.files.filter { counting($0, heldHere) }
      if !files.isEmpty { holders.append(Holder(pid: holder.pid, command: holder.command, files: files)) }
    }
    for (pid, paths) in FileLocks.holders(of: files) where pid != getpid() && (pid > 0 || own.isEmpty) {
      let files = paths.filter { counting($0, heldHere) }
      if !files.isEmpty { add(pid, files) }
    }
    // To ask a file for its locks opens it: never while this process itself has it open.
    guard own.isEmpty else { return }
    for path in databases where ([""] + SideFiles.endings).allSatisfy({ !heldHere.contains(path + $0) }) {
      for (ending, range) in [("", FileLocks.database), ("-shm", FileLocks.sharedMemory)] {
        if let pid = FileLocks.holder(of: path + ending, range) { add(pid, [path + ending]) }
      }
    }
  }

  package var isOpen: Bool { !holders.isEmpty }

  private mutating func add(_ pid: Int32, _ paths: Set<String>) {
    guard !holders.contains(where: { $0.pid == pid && pid > 0 }) else { return }
    // A lock that nobody known holds: of another namespace, or of another machine.
    if pid <= 0, !holders.isEmpty { return }
    holders.append(
      Holder(
        pid: max(0, pid), command: ProcessTable.command(of: pid) ?? "a process that cannot be seen from here",
        files: paths.sorted()))
  }

  /// `python3 app.py (process 4711) has /srv/app.db open`.
  package var lines: [String] {
    holders.map { holder in
      let process = holder.pid > 0 ? " (process \(holder.pid))" : ""
      return "\(holder.command)\(process) has \(holder.files.joined(separator: ", ")) open"
    }
  }

  /// What could not be looked at; `nil` when everything could.
  package var remark: String? {
    guard seesAll else {
      return
        "the process table does not show all processes, as in a container: one of them may have the database open without a lock"
    }
    guard let first = unseen.first else { return nil }
    let others = unseen.count == 1 ? "" : ", and \(unseen.count - 1) more"
    return
      "processes of other users could not be looked into (\(first.command), process \(first.pid)\(others)): one of them may "
      + "have the database open without a lock"
  }

  /// - Throws: `.failed` with the code `databaseInUse`.
  func demandNobody(_ path: String) throws {
    guard isOpen else { return }
    throw OperationError(
      .failed, code: "databaseInUse", "\(path) is open: \(lines.joined(separator: "; "))",
      hint: "End what has it open and restore again, or use --live, which restores into a database that is in use.")
  }

  /// What is moved aside goes on under another name: whoever has it open writes there, and sees nothing of what took its
  /// place.
  /// - Throws: `.failed` with the code `databaseInUse`.
  static func demandNobody(at standing: StandingCompanions) throws {
    guard !standing.files.isEmpty else { return }
    let use = DatabaseUse(of: standing)
    guard let place = use.holders.first?.files.first.map(standing.place(of:)) else { return }
    throw OperationError(
      .failed, code: "databaseInUse",
      "\(place), in whose place a companion is to come, is open: \(use.lines.joined(separator: "; "))",
      hint: "Stop what has it open and restore again, or leave all companions as they are: --no-companions.")
  }
}
