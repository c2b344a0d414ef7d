import CSQLite
import Glibc
import TestKit
import Testing

@testable import Snapshots

private let sharedMemorySize: Int32 = SQLITE_IOERR | (19 << 8)
private let failedRead: Int32 = SQLITE_IOERR | (1 << 8)

/// What this machine is short of is no fault of the database, nor of its disk, whatever SQLite calls it.
@Suite struct ShortMachineTests {
  @Test(
    arguments: [
      (SQLITE_CANTOPEN, EMFILE, .spool, "LimitNOFILE="), (SQLITE_CANTOPEN, ENFILE, .spool, "LimitNOFILE="),
      (SQLITE_CANTOPEN, ENOSPC, .noSpace, "Free space there"), (sharedMemorySize, ENOSPC, .noSpace, "Free space there"),
      (sharedMemorySize, EDQUOT, .noSpace, "Free space there"), (sharedMemorySize, EFBIG, .noSpace, "LimitFSIZE="),
      (SQLITE_CANTOPEN, EACCES, .unreadable, "Run as the user"),
      (SQLITE_CANTOPEN, ENOENT, .unreadable, "Run as the user"),
      (sharedMemorySize, EIO, .unreadable, "kernel's log"),
      // Of another call: a read is not kept from its file by a full disk.
      (failedRead, ENOSPC, .unreadable, "kernel's log"),
    ] as [(Int32, Int32, SnapshotError.Code, String)])
  func `what SQLite could not make is told by what the system said`(
    _ code: Int32, _ number: Int32, _ told: SnapshotError.Code, _ hint: String
  ) {
    let failure = SQLiteFailure(code: code, message: "its own words", systemError: number)
    let error = failure.explained(of: "/nonexistent/app.db")
    #expect(error.code == told && error.hint?.contains(hint) == true, "\(error)")
  }

  /// The one lack of room that a test can have without being root.
  @Test func `no room for the -shm is not told as a disk that fails`() async throws {
    let desk = try Desk()
    try SampleDatabase.walClosed.make(at: desk.source)
    await #expect(processExitsWith: .success) { [source = desk.source as String, spool = desk.spool as String] in
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 1000, rlim_max: 1000)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let error = await #expect(throws: SnapshotError.self) {
        try await takeSnapshot(SnapshotRequest(source: source, method: .pages, spoolFolder: spool))
      }
      #expect(error?.code == .noSpace && error?.hint?.contains("LimitFSIZE=") == true, "\(error?.message ?? "")")
    }
    #expect(try names(in: desk.spool).isEmpty)
  }
}
