import CLinux
import Glibc

/// Where SQLite's locks are not to be believed.
enum LockTrust {
  /// Why a database there must not be written to while others have it open; `nil` where it may.
  static func doubt(_ path: String) -> String? {
    var facts = statfs()
    guard statfs(path, &facts) == 0 else { return nil }
    return names[UInt32(truncatingIfNeeded: facts.f_type)]
  }

  /// By the numbers of `statfs(2)`.
  private static let names: [UInt32: String] = [
    0x6969: "NFS", 0x517b: "SMB", 0xff53_4d42: "SMB", 0xfe53_4d42: "SMB", 0x6573_5546: "FUSE (WebDAV, SSH and others)",
    0x0102_1997: "9P", 0x5346_414f: "AFS", 0x7375_7245: "Coda",
  ]

  static func demand(_ path: String) throws {
    guard let name = doubt(path) else { return }
    throw OperationError(
      .failed, code: "untrustedLocks",
      "\(path) is on a file system where SQLite's locks cannot be trusted: \(name)",
      hint: "Stop what uses the database and restore with --replace, or restore where the database is local.")
  }
}
