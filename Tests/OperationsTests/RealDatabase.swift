import FoundationEssentials
import Glibc
import TestKit

/// Databases that programs other than our tests have made: they come with Debian packages, or the program makes one now.
enum RealDatabase: String, CaseIterable, Sendable {
  /// Coordinate reference systems: 8 MiB, views and triggers.
  case proj
  /// The working copy and the repository's cache of Subversion.
  case subversion
  /// Certificates and keys of NSS, as Firefox and Thunderbird have them.
  case nss
  /// SQLite's own archive.
  case archive

  /// Where the whole test script runs, none may be missing.
  static var mustBe: Bool { Environment.value("SEALIFT_TEST_TARGETS") != nil }

  var isMade: Bool {
    switch self {
    case .proj: access("/usr/share/proj/proj.db", R_OK) == 0
    case .subversion: access("/usr/bin/svnadmin", X_OK) == 0 && access("/usr/bin/svn", X_OK) == 0
    case .nss: access("/usr/bin/certutil", X_OK) == 0
    case .archive: true
    }
  }

  /// - Returns: paths of the databases.
  func make(in scratch: Scratch) async throws -> [String] {
    switch self {
    case .proj: return ["/usr/share/proj/proj.db"]
    case .subversion:
      try await shell(
        """
        svnadmin create repo && svn checkout -q "file://$PWD/repo" copy && cd copy && seq 2000 > numbers && mkdir sub
        echo text > sub/text && svn add -q numbers sub && svn propset -q colour red numbers && svn commit -q -m first
        seq 1000 > numbers && svn commit -q -m second && svn copy -q sub sub2 && svn update -q
        """, in: scratch)
      return ["copy/.svn/wc.db", "repo/db/rep-cache.db"].map(scratch.file)
    case .nss:
      try await shell(
        """
        mkdir nss && echo secret-1 > pass && head -c 100 /dev/zero > noise && certutil -N -d sql:nss -f pass
        certutil -S -d sql:nss -f pass -z noise -n me -s CN=me -x -t ,,
        """, in: scratch)
      return ["nss/cert9.db", "nss/key4.db"].map(scratch.file)
    case .archive:
      try await shell("seq 30000 > numbers && sqlite3 made.sqlar '.archive --create numbers /etc/passwd'", in: scratch)
      return [scratch.file("made.sqlar")]
    }
  }

  private func shell(_ script: String, in scratch: Scratch) async throws {
    let result = try await Child.run(["sh", "-ec", "cd \"$1\"\n\(script)", "sh", scratch.path])
    guard result.isSuccess else { throw DumpError(text: "\(rawValue): \(result.error)") }
  }
}
