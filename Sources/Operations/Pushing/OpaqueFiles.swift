import Platform
import Repositories
import Sealing
package import Snapshots

/// What a push does with a database that is no SQLite database: it is kept as one file, as it is.
extension Push {
  /// Whether this one is taken as a file: because that was asked for, or because it is written as a whole anyhow.
  /// - Throws: `SnapshotError`.
  func takesFile(_ database: DatabaseSource) throws -> Bool {
    if database.method == .file { return true }
    if case .atomicStore = try identify(database.path).kind { return true }
    return false
  }

  /// To be asked before anything opens the file: to close it drops all locks that its process has on it, those of the
  /// application's own SQLCipher too (sqlite.org/howtocorrupt.html, 2.2).
  /// - Throws: `.sourceUnreadable`, code `openHere`; `CancellationError`.
  func demandNotOpenHere(_ database: DatabaseSource) async throws {
    guard world.isApplication, database.method == .file,
      let file = realPath(database.path).flatMap({ FileIdentity(at: $0) })
    else { return }
    // Another push that finds out what it is has it open for a moment.
    for _ in 0..<10 {
      guard ProcessTable.isOpenHere(file) else { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw OperationError(
      .sourceUnreadable, code: "openHere",
      "this process has \(database.path) open, and to read it as a file would take its locks away",
      hint: "Export a copy, close it, and push that one.")
  }

  func takeFile(_ database: DatabaseSource, in folder: String) async throws -> Snapshot {
    let request = FileRequest(source: database.path, spoolFolder: folder)
    let snapshot = try await takeFile(request) { [reporter = world.reporter] progress in
      reporter.progress(Progress(progress, subject: database.name))
    }
    guard database.method != .file else { return snapshot }
    guard case .atomicStore(let store) = snapshot.form else {
      throw SnapshotError(
        .changedMeanwhile, "\(database.path) became another kind of file while it was looked at", hint: "Push it again."
      )
    }
    world.reporter.notice("'\(database.name)' is \(store.name): it was kept as one file, as it stood there")
    return snapshot
  }

  /// A remark where SQLite's locks may not hold: what it is for is that a copy is of one moment.
  func warnOfLocks(_ database: DatabaseSource) {
    if let folder = LockFolder.beside(database.path), !LockTrust.isShared(database.path) {
      world.reporter.notice(
        "'\(database.name)': \(LockFolder.remark(folder)). The copy may be of two moments.")
    }
    let kind = fileSystem(database.path)
    guard let reason = kind.reason else { return }
    world.reporter.notice(
      "'\(database.name)' lies on \(kind.name), where SQLite's locks cannot be trusted: \(reason). The copy may be of two "
        + "moments when it is written to from elsewhere; push from the machine that has the disk.")
  }

  /// What is to be told of a copy beside which somebody wrote who goes by no lock; nil where nobody was seen.
  func shortfall(of snapshot: Snapshot, _ database: DatabaseSource) -> OperationError? {
    guard snapshot.lockWasPassed else { return nil }
    return OperationError(
      .partlyDone, code: "lockPassed",
      "'\(database.name)' was written to while SQLite's lock was held: the copy may be of two moments",
      hint: "Some program passes over the locks (nolock=1, a VFS like unix-none): let it use them, or push while it is "
        + "stopped.")
  }

  /// Takes a file, as `takeFile` does.
  package typealias TakeFile =
    @Sendable (_ request: FileRequest, _ progress: @escaping @Sendable (SnapshotProgress) throws -> Void)
    async throws -> Snapshot

  /// What a path lies on, as `FileSystemKind.of(path:)` finds it.
  package typealias FileSystem = @Sendable (_ path: String) -> FileSystemKind
}

extension DatabaseSource {
  /// How a version of a copy of it says it was made.
  func coreMethod(_ snapshot: Snapshot) -> Core.Method {
    switch snapshot.form {
    case .image: snapshot.method == .vacuum ? .vacuum : .pages
    case .file, .atomicStore: method == .file ? .file : .atomic
    }
  }

  func coreFlags(_ snapshot: Snapshot) -> Core.Flags {
    snapshot.form == .image && keepFreePages && snapshot.method == .pages ? .freePagesKept : []
  }
}

extension Snapshot {
  /// What a version holds of it, and since when it is so: an image is of the moment it was taken, a file has its own time.
  var memberContent: MemberSource.Content { form == .image ? .image(pageSize: pageSize) : .file }
  var memberTime: UInt64 {
    UInt64(max(0, form == .image ? takenAt : source.database.modified / 1_000_000))
  }
}

extension VersionSummary {
  /// It holds a database image; else one file as its application made it.
  package var isDatabase: Bool { method == Core.Method.vacuum.name || method == Core.Method.pages.name }
}
