import TestKit
import Testing

@testable import Snapshots

/// Where SQLite's locks can be trusted, from what Linux says of a place. The lists are as real machines wrote them.
@Suite struct FileSystemTests {
  private static let mounts = MountTable(
    parsing: """
      22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
      23 22 0:21 / /proc rw - proc proc rw
      24 22 0:40 / /mnt/files rw,relatime shared:3 master:4 - nfs4 nas:/export rw,vers=4.2
      25 24 0:41 / /mnt/files/alice\\040and\\011bob rw,nosuid - fuse.sshfs alice@host:/srv rw,user_id=0
      26 22 0:42 / /mnt/cloud rw - fuse https://cloud.example.com/dav rw,user_id=0
      27 22 8:17 / /media/stick rw - fuseblk /dev/sdb1 rw
      28 22 0:43 / /mnt/cloud2 rw - fuse anything rw
      29 22 0:44 / /srv rw - tmpfs tmpfs rw
      30 22 0:45 / /srv rw - virtiofs shared rw
      31 22 broken line
      32
      """)

  @Test func `a path lies in the innermost mount, the last of those in one place`() {
    func type(_ path: String) -> String? { Self.mounts.mount(holding: path)?.type }
    #expect(type("/var/lib/app.db") == "ext4")
    #expect(type("/mnt/files/app.db") == "nfs4")
    #expect(type("/mnt/files") == "nfs4")
    #expect(type("/mnt/filesystem/app.db") == "ext4")
    #expect(type("/mnt/files/alice and\tbob/app.db") == "fuse.sshfs")
    #expect(type("/srv/app.db") == "virtiofs")
    #expect(Self.mounts.mounts.count == 9)
    #expect(MountTable(parsing: "").mount(holding: "/") == nil)
  }

  @Test(arguments: [
    (0xef53, "/var/app.db", FileSystemKind.local("ext4"), true),
    (0x0102_1994, "/srv2/app.db", .local("ext4"), true),
    (0x794c_7630, "/app.db", .overlay, true),
    (0x6969, "/mnt/files/app.db", .nfs, false),
    (0xff53_4d42, "/mnt/files/app.db", .smb, false),
    (0xfe53_4d42, "/mnt/files/app.db", .smb, false),
    (0x517b, "/mnt/files/app.db", .smb, false),
    (0x0102_1997, "/app.db", .plan9, false),
    (0x00c3_6400, "/app.db", .cluster("Ceph"), false),
    (0x6573_5546, "/mnt/files/alice and\tbob/app.db", .fuse("sshfs"), false),
    (0x6573_5546, "/mnt/cloud/app.db", .fuse("davfs"), false),
    (0x6573_5546, "/mnt/cloud2/app.db", .fuse(nil), false),
    (0x6573_5546, "/media/stick/app.db", .fuse("fuseblk"), true),
    (0x6573_5546, "/srv/app.db", .fuse("virtiofs"), false),
    (0x6573_5546, "/var/app.db", .fuse(nil), false),
  ] as [(UInt32, String, FileSystemKind, Bool)])
  func `the kernel's number says what it is`(_ magic: UInt32, _ path: String, _ kind: FileSystemKind, _ trusted: Bool) {
    let found = FileSystemKind(magic: magic, Self.mounts.mount(holding: path))
    #expect(found == kind)
    #expect(found.locksCanBeTrusted == trusted)
    #expect((found.reason == nil) == trusted)
    #expect(found.reason?.hasSuffix(".") != true && !found.name.isEmpty)
  }

  @Test func `this machine's disk is looked at, also for a file that is not there yet`() throws {
    let scratch = try Scratch()
    try writeFile(scratch.file("app.db"), [1])
    let kind = FileSystemKind.of(path: scratch.file("app.db"))
    #expect(FileSystemKind.of(path: scratch.file("new.db")) == kind)
    #expect(FileSystemKind.of(path: scratch.path) == kind)
    #expect(FileSystemKind.of(path: "/proc/self/maps") == .local("proc"))
    #expect(FileSystemKind.of(path: "no such file here").locksCanBeTrusted)
  }
}
