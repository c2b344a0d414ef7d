import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import Operations

/// Folders can have a list of people who get access to whatever is made in them: a restore makes files there, for those
/// who had access before.
@Suite struct AccessListTests {
  /// - Returns: false where the file system knows no such lists.
  private func giveDefaultList(_ folder: String) async throws -> Bool {
    try await RestoreRoad.shell(
      """
      python3 - '\(folder)' <<'END'
      import errno, os, struct, sys
      # Version 2; owner, user 65534, group, mask, others.
      entries = [(1, 7, 2**32 - 1), (2, 6, 65534), (4, 5, 2**32 - 1), (16, 7, 2**32 - 1), (32, 0, 2**32 - 1)]
      value = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)
      try: os.setxattr(sys.argv[1], 'system.posix_acl_default', value)
      except OSError as error:
          if error.errno != errno.ENOTSUP: raise
          print('unknown')
      END
      """) == ""
  }

  private func attributes(_ path: String) async throws -> String {
    try await RestoreRoad.shell("python3 -c 'import os, sys; print(os.listxattr(sys.argv[1]))' '\(path)'")
  }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func `a database without an access list gets none from its folder`() async throws {
    let home = try await RestoreRoad(wal: false)
    try #require(chmod(home.path, 0o640) == 0)
    let given = try await giveDefaultList(home.road.scratch.path)
    try #require(given || !Environment.isWhole)
    guard given else { return }
    #expect(try await attributes(home.path) == "[]\n")
    _ = try await home.run(.replace)
    #expect(mode(home.path) == 0o640)
    #expect(try await attributes(home.path) == "[]\n")
  }

  @Test func `nor does what comes with it`() async throws {
    let road = try await Road()
    var source = DatabaseSource(name: "app", path: try road.database(rows: 4))
    source.companions = [Companion("att")]
    let (folder, file) = (road.scratch.file("att"), road.scratch.file("att/a"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try writeFile(file, [1])
    try #require(chmod(file, 0o640) == 0 && chmod(folder, 0o750) == 0)
    _ = try await road.push(source)
    let given = try await giveDefaultList(road.scratch.path)
    try #require(given || !Environment.isWhole)
    guard given else { return }
    let request = Restore.Request(place: .origin(["app": source.path]), mode: .replace)
    _ = try await Restore(Pull(road.world)).run(.latest(database: "app"), from: road.target, request)
    for path in [folder, file] { #expect(try await attributes(path) == "[]\n") }
    #expect(mode(file) == 0o640 && mode(folder) == 0o750)
  }

  /// Where no policy is loaded, as here, the kernel keeps a label that root gives, and looks at none.
  @Test func `the label that SELinux goes by is kept`() async throws {
    let home = try await RestoreRoad(wal: true)
    let label = "system_u:object_r:httpd_sys_rw_content_t:s0"
    let given = try await RestoreRoad.shell(
      """
      python3 - '\(home.path)' <<'END'
      import errno, os, sys
      try: os.setxattr(sys.argv[1], 'security.selinux', b'\(label)\\0')
      except OSError as error:
          if error.errno not in (errno.ENOTSUP, errno.EPERM): raise
          print('unknown')
      END
      """)
    // Only root may give one.
    try #require(given == "" || !Environment.isWhole || geteuid() != 0)
    guard given == "" else { return }
    _ = try await home.run(.replace)
    let show = "python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], \"security.selinux\"))' '\(home.path)'"
    #expect(try await RestoreRoad.shell(show) == "b'\(label)\\x00'\n")
    #expect(try home.dump(home.path) == home.pushed)
  }
}
